"""mtrain: from raw parallel text to a trained, scored, usable translation model."""

import os

__version__ = "0.1.0"

# Read by OpenMP when torch is first imported. By default its threads wait for each other by spinning: alone on the
# machine that is as fast, but beside one other busy process training was measured to be twenty times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
