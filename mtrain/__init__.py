"""mtrain: from raw parallel text to a trained, scored, usable translation model."""

__version__ = "0.1.0"
