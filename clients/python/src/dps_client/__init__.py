"""Client for Data Pipeline Service."""

from . import types
from ._client import Client
from ._errors import ApiError, ConnectionFailed, Detail, WriteError
from ._events import Event
from ._signing import sign_ingest
from ._writing import Written

__all__ = ["ApiError", "Client", "ConnectionFailed", "Detail", "Event", "WriteError", "Written", "sign_ingest", "types"]
