"""What was prepared, built and trained, to be looked at: as text in the terminal, and as pictures with Matplotlib."""
