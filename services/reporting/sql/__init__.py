"""SQL statements of the reporting service."""

from pathlib import Path
from typing import Final

from contracts.chat import DELETED
from contracts.erasure import ERASURE_MARGIN
from contracts.instants import DAY
from reporting.queries.paging import ITEM_BYTES, OVERHEAD, PAGE_BYTES
from reporting.queries.selection import BINS, HOUR
from servicekit import load_statements

SQL: Final = load_statements(
    Path(__file__).parent,
    bins=BINS,
    day=DAY,
    deleted=DELETED,
    erasure_margin=ERASURE_MARGIN,
    hour=HOUR,
    item_bytes=ITEM_BYTES,
    overhead=OVERHEAD,
    page_bytes=PAGE_BYTES,
)
