"""Writes records of any source to a stream: in requests of a good size, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ._errors import WriteError
from ._json import dumps
from ._transport import Transport, segment

RECORDS_MAX = 5000
# Below the service's limit of 1 MiB for a body.
BYTES_MAX = 900 << 10


@dataclass(frozen=True)
class Written:
    records: int
    requests: int


def write_records(
    transport: Transport,
    stream_id: str,
    records: Iterable[Any],
    records_max: int,
    key_prefix: str | None,
    on_progress: Callable[[int], None] | None,
) -> Written:
    """Each request is written whole or not at all, also when it had to be sent twice. Raises WriteError."""
    path = f"/streams/{segment(stream_id)}/data"
    written = requests = size = 0
    waiting: list[str] = []

    def flush() -> None:
        nonlocal written, requests, size
        if not waiting:
            return
        lines = "\n".join(waiting)
        waiting.clear()
        size = 0
        key = None if key_prefix is None else f"{key_prefix}-{requests}"
        answer = transport.call("POST", path, lines=lines, is_idempotent=True, idempotency_key=key)
        written += answer["records"]
        requests += 1
        if on_progress is not None:
            on_progress(written)

    try:
        for record in records:
            line = dumps(record)
            length = len(line.encode()) + 1
            if size + length > BYTES_MAX:
                flush()
            waiting.append(line)
            size += length
            if len(waiting) >= records_max:
                flush()
        flush()
    except Exception as error:
        raise WriteError(written, error) from error
    return Written(written, requests)
