"""SQL statements of the inference service."""

from pathlib import Path
from typing import Final

from inference.store import PLACES_KEPT
from inference.turns.store import SIMILARITY_THRESHOLD
from servicekit import load_statements

SQL: Final = load_statements(Path(__file__).parent, places_kept=PLACES_KEPT, alike_from=SIMILARITY_THRESHOLD)
