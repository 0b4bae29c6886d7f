"""JSON without losing digits: what a float would change is a Decimal, in both directions. Dates and times become texts (ISO 8601)."""

from __future__ import annotations

import json
import re
import uuid
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

# The json module writes a float subclass as the float that it is, so Decimals are written as texts that no record has, and
# put in place afterwards.
_MARK = f"decimal-{uuid.uuid4().hex}-"
_MARKED = re.compile(f'"{_MARK}(\\d+)"')


def _number(text: str) -> float | Decimal:
    value = float(text)
    shortest = repr(value)
    if shortest == text:
        return value
    try:
        exact = Decimal(text)
    except InvalidOperation:
        # Its exponent is beyond a Decimal's too.
        return value
    return value if Decimal(shortest) == exact else exact


def loads(text: str) -> Any:
    """Parses JSON; a number that a float would change becomes a Decimal. Raises ValueError."""
    return json.loads(text, parse_float=_number)


# A value that contains itself has no end.
_DEPTH_MAX = 50


def unwritable_in(value: Any) -> str:
    """JSON pointer to the first member that `dumps` refuses; empty where it is the value itself, or none."""
    path = ""
    for _ in range(_DEPTH_MAX):
        members: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
        found = next(((name, member) for name, member in members if not _is_writable(member)), None)
        if found is None:
            break
        name, value = found
        path += "/" + str(name).replace("~", "~0").replace("/", "~1")
    return path


def _is_writable(value: Any) -> bool:
    try:
        dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def dumps(value: Any) -> str:
    """Writes JSON, Decimals as numbers with all their digits.

    Raises ValueError for numbers that are not finite, times without a time zone and texts that are no Unicode, TypeError for other types.
    """
    found: list[str] = []

    def written(each: Any) -> str:
        if isinstance(each, datetime) and each.utcoffset() is None:
            raise ValueError(f"{each} has no time zone")
        if isinstance(each, date):
            return each.isoformat()
        if not isinstance(each, Decimal):
            raise TypeError(f"a value of the type {type(each).__name__} can't be written as JSON")
        if not each.is_finite():
            raise ValueError(f"{each} is no number of JSON")
        found.append(str(each))
        return f"{_MARK}{len(found) - 1}"

    text = json.dumps(value, allow_nan=False, ensure_ascii=False, default=written)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("a text has half of a surrogate pair, which is no Unicode") from None
    return _MARKED.sub(lambda match: found[int(match[1])], text) if found else text
