"""Model, batches, settings and data to a report of what is broken: one file per group of checks."""
