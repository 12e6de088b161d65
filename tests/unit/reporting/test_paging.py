"""Pages are limited in items and bytes, and never empty before the end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reporting.model.paging import PAGE_BYTES, page_of


@given(st.lists(st.integers(0, 2 * PAGE_BYTES), max_size=12), st.integers(1, 10))
def test_a_page_is_bounded_and_goes_on(sizes: list[int], limit: int) -> None:
    sizes = sizes[: limit + 1]
    page, more = page_of(range(len(sizes)), sizes, limit)
    assert list(page) == list(range(len(page)))
    assert len(page) <= limit
    assert more == (len(page) < len(sizes))
    assert bool(page) == bool(sizes)
    assert len(page) <= 1 or sum(min(size, PAGE_BYTES) for size in sizes[: len(page)]) <= PAGE_BYTES
    if more and len(page) < limit:
        assert sum(min(size, PAGE_BYTES) for size in sizes[: len(page) + 1]) > PAGE_BYTES
