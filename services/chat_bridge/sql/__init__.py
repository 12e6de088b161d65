"""SQL statements of chat_bridge."""

from pathlib import Path
from typing import Final

from servicekit import load_statements

SQL: Final = load_statements(Path(__file__).parent)
