"""SQL statements of the feedback service."""

from pathlib import Path
from typing import Final

from contracts.sources import REVIEW
from servicekit import load_statements

SQL: Final = load_statements(Path(__file__).parent, review=REVIEW)
