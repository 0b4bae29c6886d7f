"""What can go wrong: an answer of the service, or none at all."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict, TypeVar

WAIT_MAX = 120.0
# The status of a body that is larger than the service takes (RFC 9110 §15.5.14).
_TOO_LARGE = 413
# A record of a request, in an error.
_PLACE = re.compile(r"((?:^|[\s;])/records/)(\d+)")


class Detail(TypedDict):
    """One fault of a request: a JSON pointer into it, and what is wrong there; line and column in a source."""

    path: str
    message: str
    line: NotRequired[int]
    column: NotRequired[int]


def wait_of(header: str | None) -> float | None:
    """Retry-After in seconds: a number or a date (RFC 9110 §10.2.3)."""
    if header is None:
        return None
    if header.isdigit():
        return min(float(header), WAIT_MAX)
    try:
        at = email.utils.parsedate_to_datetime(header).timestamp()
    except ValueError:
        return None
    return min(max(at - time.time(), 0.0), WAIT_MAX)


E = TypeVar("E", bound=Exception)


def _remade(kind: type[E], args: tuple[Any, ...], members: dict[str, Any]) -> E:
    error = kind.__new__(kind, *args)
    error.__dict__.update(members)
    return error


class _Kept(Exception):
    """Can be copied, and passed between processes; Python would call the constructor with the message alone."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self.args, self.__dict__)


class ApiError(_Kept):
    """The service refused the request, or failed.

    `code` is such as `not_found`, or `unexpected_answer` where it was not the service that answered. `request_id` names the request in the
    service's logs. `retry_after` is in seconds.
    """

    def __init__(self, status: int, body: Any, headers: Mapping[str, str]) -> None:
        error = body.get("error") if isinstance(body, dict) else None
        found: dict[str, Any] = error if isinstance(error, dict) else {}
        place = headers.get("location")
        kind = headers.get("content-type", "").partition(";")[0]
        said = f"{status}, which leads to {place}" if 300 <= status < 400 and place else f"{status} {kind}".rstrip()
        super().__init__(str(found.get("message", f"not the service's answer ({said})")))
        self.status = status
        self.code = str(found.get("code", "unexpected_answer"))
        self.details: list[Detail] = list(found.get("details", []))
        self.request_id = headers.get("x-request-id")
        self.retry_after = wait_of(headers.get("retry-after"))


class ConnectionFailed(Exception):
    """No answer came: the service can't be reached, or took too long."""


class WriteError(_Kept):
    """Not all records were written; `records` of them were. `__cause__` says why; its places count within the request that was refused.

    `code` is the service's for a refusal, `unreachable` where no answer came, `failed` where the source of the records did. In `details`,
    `/records/7/id` is a member of the source's eighth record, also one that could not be written as JSON. `status` and `request_id` are those
    of the answer, where there was one. `sent` is how many records the request had that failed.
    """

    def __init__(self, records: int, cause: BaseException, refused: str | None = None, sent: int = 0) -> None:
        def counted(text: str) -> str:
            return _PLACE.sub(lambda match: f"{match[1]}{int(match[2]) + records}", text)

        said = counted(str(cause)) if refused is None else f"{refused}: {cause}"
        super().__init__(f"{said} ({records} {'record was' if records == 1 else 'records were'} written before)")
        self.records = records
        self.code = "failed"
        self.status: int | None = None
        self.request_id: str | None = None
        self.details: list[Detail] = [] if refused is None else [{"path": refused, "message": str(cause)}]
        if isinstance(cause, ApiError):
            self.code = cause.code
            self.status = cause.status
            self.request_id = cause.request_id
            # One that is too large has a request to itself, and the answer to that names no record.
            if sent == 1 and cause.status == _TOO_LARGE:
                self.details.append({"path": f"/records/{records}", "message": "is too large for one request"})
            for each in cause.details:
                own = each.copy()
                own["path"] = counted(each["path"])
                self.details.append(own)
        elif isinstance(cause, ConnectionFailed):
            self.code = "unreachable"
