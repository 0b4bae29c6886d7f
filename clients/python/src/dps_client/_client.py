"""The client: every operation of the service by resource, and what takes several requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any

from ._generated import resources, types
from ._transport import Transport
from ._writing import RECORDS_MAX, SILENCE, Written, write_records

DATA_PAGE = 1000
# 15 to 30 seconds where the service can't be reached: longer than a control plane takes to start.
RETRIES_MAX = 8
# Longer than any operation takes but `manifests.apply`.
TIMEOUT = 180.0
ENDED = ("finished", "failed", "cancelled")


class Streams(resources.Streams):
    def records(self, stream_id: str) -> Iterator[Any]:
        """All records of a stream, those of a partition in their order; ends at the stream's end."""
        cursor: str | None = None
        while True:
            page = self.get_data(stream_id, limit=DATA_PAGE, cursor=cursor)
            yield from page["data"]
            if not page["pagination"].get("has_more"):
                return
            cursor = page["pagination"].get("next_cursor")

    def write(
        self,
        stream_id: str,
        records: Iterable[Any],
        *,
        records_max: int = RECORDS_MAX,
        silence: float = SILENCE,
        key_prefix: str | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> Written:
        """Writes records of any number; each request of them is written once, or not at all.

        After about `silence` seconds without a new record, those at hand are sent, by another thread: `on_progress` is called there then,
        and where that fails, the next record or the end raises it. Writing the same records again with the same `key_prefix` and
        `records_max` writes none of them twice, within 24 hours; with a prefix, silence sends nothing.
        """
        return write_records(self._transport, stream_id, records, records_max, silence, key_prefix, on_progress)


class Jobs(resources.Jobs):
    def wait(self, job_id: str, *, timeout: float = 600.0, on_progress: Callable[[types.Job], None] | None = None) -> types.Job:
        """Waits until the job has ended, however it ends. Raises TimeoutError; the job goes on."""
        until = time.monotonic() + timeout
        look = 0.5
        while True:
            job = self.get(job_id)
            if on_progress is not None:
                on_progress(job)
            if job["status"] in ENDED:
                return job
            if time.monotonic() > until:
                raise TimeoutError(f"job {job_id} has not ended within {timeout} s; it goes on")
            time.sleep(look)
            look = min(look * 1.5, 5.0)


class Client(resources.Resources):
    """A client of one API key. It keeps a token, and may be used by any number of threads."""

    jobs: Jobs
    streams: Streams

    def __init__(self, url: str, api_key: str, api_secret: str, *, retries_max: int = RETRIES_MAX, timeout: float = TIMEOUT) -> None:
        self._transport = Transport(url, api_key, api_secret, retries_max, timeout)
        super().__init__(self._transport)
        # With what takes several requests.
        self.jobs = Jobs(self._transport)
        self.streams = Streams(self._transport)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
