"""One request: token, timeout, retries.

What may be sent again is decided by the operation and by what came back: reads and operations that honour an Idempotency-Key always, every
other request only where it is certain that it was not done.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from ._errors import ApiError, ConnectionFailed
from ._json import dumps, loads

T = TypeVar("T")

RETRY = 0.2
RETRY_MAX = 10.0
DOUBLINGS = 10
TOKEN_EARLY = 60.0
SILENT_MAX = 60.0
CONNECT_MAX = 30.0
# How long a request waits for an earlier attempt of its own: the service takes about 90 seconds at most for the slowest, a deployment.
IN_PROGRESS_MAX = 120.0


class _NotSent(Exception):
    """There is no token: the request itself was not sent."""


def backoff(attempt: int) -> float:
    """With jitter, so that clients which were refused together do not come back together."""
    # From DOUBLINGS on it is RETRY_MAX; a power of more than 1,023 is no float.
    return min(RETRY * 2.0 ** min(attempt, DOUBLINGS), RETRY_MAX) * (0.5 + random.random() / 2)


def segment(value: str) -> str:
    """A part of a path. Raises ValueError for what would name another resource."""
    if value in ("", ".", ".."):
        raise ValueError(f"{value!r} is not an id")
    return quote(value, safe="")


def _parsed(answer: httpx.Response) -> Any:
    text = answer.text
    try:
        body = loads(text) if text else None
    except ValueError:
        body = None
    if body is None and answer.is_success and answer.headers.get("content-type", "").startswith("application/json"):
        # An answer without a length may end anywhere, and is then as good as none.
        raise httpx.RemoteProtocolError("the answer ended early")
    if answer.status_code >= 300 or (body is None and text):
        raise ApiError(answer.status_code, body, answer.headers)
    return body


class Transport:
    """The connection of a client; it may be used by any number of threads."""

    def __init__(self, url: str, api_key: str, api_secret: str, retries_max: int, timeout: float) -> None:
        if not url.lower().startswith(("http://", "https://")):
            raise ValueError(f"{url} is not an address as https://api.example.com")
        self.base = f"{url.rstrip('/')}/v1"
        self.retries_max = retries_max
        self._credentials = {"api_key": api_key, "api_secret": api_secret}
        self._timeout = timeout
        self._http = httpx.Client(timeout=httpx.Timeout(timeout, connect=min(timeout, CONNECT_MAX)))
        self._lock = threading.Lock()
        self._token: tuple[str, float] | None = None

    def close(self) -> None:
        self._http.close()

    def _send(self, method: str, path: str, on_tag: Callable[[str], object] | None = None, **more: Any) -> Any:
        try:
            answer = self._http.request(method, f"{self.base}{path}", **more)
            body = _parsed(answer)
        except httpx.RequestError as error:
            raise self._failed(error, self._timeout) from error
        if on_tag is not None and "etag" in answer.headers:
            on_tag(answer.headers["etag"])
        return body

    def _failed(self, error: httpx.RequestError, seconds: float) -> ConnectionFailed:
        if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
            return ConnectionFailed(f"no answer within {seconds:g} s")
        return ConnectionFailed(f"can't reach {self.base}: {error}")

    def token(self) -> str:
        """One token for all threads, renewed before it expires."""
        with self._lock:
            if self._token is None or self._token[1] <= time.monotonic():
                answer = self._send("POST", "/auth/token", json=self._credentials)
                self._token = (answer["access_token"], time.monotonic() + answer["expires_in"] - TOKEN_EARLY)
            return self._token[0]

    def _refuse(self, token: str) -> None:
        with self._lock:
            if self._token is not None and self._token[0] == token:
                self._token = None

    def authorised(self, work: Callable[[str], T]) -> T:
        """With a token; once more with another one where the service refuses it."""
        token = self._token_or_not()
        try:
            return work(f"Bearer {token}")
        except ApiError as error:
            if error.status != 401:
                raise
            self._refuse(token)
            return work(f"Bearer {self._token_or_not()}")

    def _token_or_not(self) -> str:
        try:
            return self.token()
        except (ApiError, ConnectionFailed) as error:
            raise _NotSent from error

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        lines: str | None = None,
        is_read: bool = False,
        is_idempotent: bool = False,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        on_tag: Callable[[str], object] | None = None,
    ) -> Any:
        """The answer's body; None where there is none.

        `is_read`: a POST that changes nothing. `if_match`: do it only if the resource still has this ETag; else an ApiError with the code
        `precondition_failed`. `on_tag`: called with the ETag of the resource as it is answered. Raises ApiError and ConnectionFailed.
        """
        headers: dict[str, str] = {}
        content: bytes | None = None
        if lines is not None:
            headers["content-type"] = "application/x-ndjson"
            content = lines.encode()
        elif body is not None:
            headers["content-type"] = "application/json"
            content = dumps(body).encode()
        if is_idempotent:
            headers["idempotency-key"] = idempotency_key or str(uuid.uuid4())
        if if_match is not None:
            headers["if-match"] = if_match
        given = {name: value for name, value in (query or {}).items() if value is not None}

        def attempt(authorization: str) -> Any:
            own = {**headers, "authorization": authorization}
            return self._send(method, path, on_tag, params=given, headers=own, content=content)

        tried = 0
        waits_until: float | None = None
        # Why an earlier attempt got no answer.
        lost: BaseException | None = None
        while True:
            try:
                return self.authorised(attempt)
            except (_NotSent, ApiError, ConnectionFailed) as thrown:
                error = thrown.__cause__ if isinstance(thrown, _NotSent) else thrown
                assert error is not None
                if is_idempotent and isinstance(error, ApiError) and error.status == 409 and error.retry_after is not None:
                    # The attempt before this one is still being worked on.
                    waits_until = waits_until or time.monotonic() + IN_PROGRESS_MAX
                    if time.monotonic() >= waits_until:
                        raise lost or error from None
                    time.sleep(error.retry_after)
                    continue
                is_safe = isinstance(thrown, _NotSent) or method == "GET" or is_read or is_idempotent
                wait = self._wait(error, tried, is_safe)
                if wait is None or tried >= self.retries_max:
                    raise error from None
                if isinstance(error, ConnectionFailed):
                    lost = error
                time.sleep(wait)
                tried += 1

    @staticmethod
    def _wait(error: BaseException, tried: int, is_safe: bool) -> float | None:
        """Seconds to wait before another attempt; None where there is to be none."""
        if isinstance(error, ConnectionFailed):
            return backoff(tried) if is_safe else None
        if not isinstance(error, ApiError):
            return None
        if error.status == 429 or (is_safe and error.status in (502, 503, 504)):
            return error.retry_after if error.retry_after is not None else backoff(tried)
        return None

    def open(self, path: str, query: Mapping[str, Any], headers: Mapping[str, str]) -> httpx.Response:
        """A stream of events; to be closed by the caller. Raises ApiError and ConnectionFailed."""
        given = {name: value for name, value in query.items() if value is not None}

        def attempt(authorization: str) -> httpx.Response:
            request = self._http.build_request(
                "GET",
                f"{self.base}{path}",
                params=given,
                headers={**headers, "authorization": authorization},
                # The service says something every 15 seconds.
                timeout=httpx.Timeout(30.0, read=SILENT_MAX),
            )
            try:
                answer = self._http.send(request, stream=True)
                if answer.status_code == 200 and answer.headers.get("content-type", "").startswith("text/event-stream"):
                    return answer
                try:
                    answer.read()
                finally:
                    answer.close()
                _parsed(answer)
            except httpx.RequestError as error:
                raise self._failed(error, SILENT_MAX) from error
            raise ApiError(answer.status_code, None, answer.headers)

        try:
            return self.authorised(attempt)
        except _NotSent as error:
            assert error.__cause__ is not None
            raise error.__cause__ from None
