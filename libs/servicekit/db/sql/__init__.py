"""SQL statements of servicekit, for tables that several services have."""

from pathlib import Path
from typing import Final

from servicekit.db.statements import Statements

SQL: Final = Statements(Path(__file__).parent)
