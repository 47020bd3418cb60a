"""mtrain: from raw parallel text to a trained, scored, usable translation model."""

import os

__version__ = "0.1.0"

# Read by GNU OpenMP when torch is first imported. Its threads wait for each other by spinning, by default so long that
# beside one other busy process training was measured to be twenty times slower; with a short spin it is a third slower,
# and alone on the machine hardly at all.
os.environ.setdefault("GOMP_SPINCOUNT", "2000")
