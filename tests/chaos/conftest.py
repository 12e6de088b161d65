"""The harness is a package of its own below `tests`, run as `python -m chaos`; its tests import it by that name."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
