"""Server-sent events as an iterator that comes back where it left off, as long as its reader wants more."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from ._errors import ApiError, ConnectionFailed
from ._json import loads
from ._transport import Transport, backoff


@dataclass(frozen=True)
class Event:
    """An event by its name, with its data."""

    event: str
    data: Any
    id: str | None


def listen(transport: Transport, path: str, query: Mapping[str, Any], last_event_id: str | None = None) -> Generator[Event, None, None]:
    """Events until there is nothing to listen to any more, or the caller leaves the loop.

    Raises ApiError for a request that is refused, and ConnectionFailed where the service can't be reached from the start.
    """
    last = last_event_id
    failures = 0
    is_opened = False
    while True:
        wait: float | None = None
        try:
            headers = {} if last is None else {"last-event-id": last}
            answer = transport.open(path, query, headers)
            is_opened = True
            try:
                for event in _events_in(answer):
                    failures = 0
                    last = event.id if event.id is not None else last
                    yield event
            finally:
                answer.close()
        except ApiError as error:
            if is_opened and error.status == 404:
                return
            is_of_another = is_opened and error.status < 300
            if error.status != 429 and error.status < 500 and not is_of_another:
                raise
            if not is_opened and failures >= transport.retries_max:
                raise
            wait = error.retry_after
        except (ConnectionFailed, httpx.RequestError) as error:
            if not is_opened and failures >= transport.retries_max:
                raise ConnectionFailed(str(error)) from error
        time.sleep(wait if wait is not None else backoff(failures))
        failures += 1


def _lines_in(answer: httpx.Response) -> Iterator[str]:
    """Lines as the service ends them; httpx also ends them at separators that texts of JSON may hold as they are, such as U+2028."""
    rest = b""
    for part in answer.iter_bytes():
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r").decode(errors="replace")


def _events_in(answer: httpx.Response) -> Iterator[Event]:
    """The events of one answer (WHATWG HTML, 9.2.6)."""
    name, own = "", None
    data: list[str] = []
    for line in _lines_in(answer):
        if line == "":
            if data:
                yield Event(name or "message", loads("\n".join(data)), own)
            name, data = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)
        elif field == "id":
            own = value
