"""A trained model for other programs: one file a format, and the check that it translates there as in mtrain."""
