"""A model and text to translations: search over a step protocol, and the translator around it."""
