"""Signs bodies for `POST /v1/ingest/{pipeline}`, as Standard Webhooks has it: the pipeline's `webhook` source must have `scheme: standard`."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
import uuid


def sign_ingest(secret: str, body: bytes | str, *, message_id: str | None = None, at: float | None = None) -> dict[str, str]:
    """The headers of a request with this body, for the scheme `standard`; the same id again is the same message."""
    own = message_id or f"msg_{uuid.uuid4()}"
    seconds = str(int(time.time() if at is None else at))
    key = base64.b64decode(secret.removeprefix("whsec_")) if secret.startswith("whsec_") else secret.encode()
    sent = body.encode() if isinstance(body, str) else body
    signature = hmac.new(key, f"{own}.{seconds}.".encode() + sent, hashlib.sha256).digest()
    return {"webhook-id": own, "webhook-timestamp": seconds, "webhook-signature": f"v1,{base64.b64encode(signature).decode()}"}
