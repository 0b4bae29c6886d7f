"""Writes records of any source to a stream: in requests of a good size, one after the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ._errors import WriteError
from ._json import dumps, unwritable_in
from ._transport import Transport, segment

RECORDS_MAX = 5000
SILENCE = 1.0
# Below the service's limit of 1 MiB for a body.
BYTES_MAX = 900 << 10


@dataclass(frozen=True)
class Written:
    records: int
    requests: int


class _Batches:
    """Records on their way, and how many have arrived. Each request is written whole or not at all, also when it had to be sent twice."""

    def __init__(self, transport: Transport, stream_id: str, key_prefix: str | None, on_progress: Callable[[int], None] | None) -> None:
        self._transport = transport
        self._path = f"/streams/{segment(stream_id)}/data"
        self._key_prefix = key_prefix
        self._on_progress = on_progress
        self._waiting: list[str] = []
        self._size = 0
        self._lock = threading.Lock()
        self._last = time.monotonic()
        self._is_ended = threading.Event()
        self._failure: Exception | None = None
        self.records = 0
        self.requests = 0
        # Records of the request that was sent last.
        self.sent = 0

    def add(self, line: str, records_max: int) -> None:
        length = len(line.encode()) + 1
        with self._lock:
            self._raise_failure()
            if self._size + length > BYTES_MAX:
                self._send()
            self._waiting.append(line)
            self._size += length
            self._last = time.monotonic()
            if len(self._waiting) >= records_max:
                self._send()

    def flush(self) -> None:
        with self._lock:
            self._raise_failure()
            self._send()

    def flush_after(self, silence: float) -> None:
        """From now on, records wait no longer than about this many seconds for more. The source has the caller's thread to itself."""

        def watch() -> None:
            pause = silence
            while not self._is_ended.wait(pause):
                with self._lock:
                    pause = self._last + silence - time.monotonic() if self._waiting else silence
                    if pause > 0:
                        continue
                    pause = silence
                    try:
                        self._send()
                    except Exception as error:
                        self._failure = error
                        return

        threading.Thread(target=watch, name="dps-write", daemon=True).start()

    def end(self) -> None:
        self._is_ended.set()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _send(self) -> None:
        if not self._waiting:
            return
        lines = "\n".join(self._waiting)
        self.sent = len(self._waiting)
        self._waiting.clear()
        self._size = 0
        key = None if self._key_prefix is None else f"{self._key_prefix}-{self.requests}"
        answer = self._transport.call("POST", self._path, lines=lines, is_idempotent=True, idempotency_key=key)
        self.records += answer["records"]
        self.requests += 1
        if self._on_progress is not None:
            self._on_progress(self.records)


def write_records(
    transport: Transport,
    stream_id: str,
    records: Iterable[Any],
    records_max: int,
    silence: float,
    key_prefix: str | None,
    on_progress: Callable[[int], None] | None,
) -> Written:
    """Writes them all. Raises WriteError where the source or the service fails, and for a record that is no JSON."""
    batches = _Batches(transport, stream_id, key_prefix, on_progress)
    refused: str | None = None
    try:
        # With a prefix, the same records must make the same requests again, however long their source takes.
        if key_prefix is None:
            batches.flush_after(silence)
        for number, record in enumerate(records):
            try:
                line = dumps(record)
            except (TypeError, ValueError, RecursionError):
                refused = f"/records/{number}{unwritable_in(record)}"
                raise
            batches.add(line, records_max)
        batches.flush()
    except Exception as error:
        sent = batches.sent
        # What was read before the source failed is still written.
        with suppress(Exception):
            batches.flush()
        raise WriteError(batches.records, error, refused, sent) from error
    finally:
        batches.end()
    return Written(batches.records, batches.requests)
