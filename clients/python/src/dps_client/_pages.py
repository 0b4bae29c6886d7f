"""Lists as iterators: pages are fetched as they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

PAGE_SIZE = 100


def all_of(fetch: Callable[[str | None], Any], member: str) -> Iterator[Any]:
    """All items of a list, which `member` of each page holds."""
    cursor: str | None = None
    while True:
        page = fetch(cursor)
        yield from page[member]
        cursor = page.get("next_cursor")
        if cursor is None:
            return
