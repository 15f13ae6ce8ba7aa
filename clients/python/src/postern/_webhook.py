"""Checks messages of the agent's webhook (Standard Webhooks)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import Any, Mapping

#: The prefix of a key, and its length in bytes.
KEY_PREFIX = "whsec_"
KEY_BYTES = range(24, 65)
#: Oldest and most future message that is taken, in seconds.
TOLERANCE = 300


class InvalidWebhook(ValueError):
    """The message is not one of the agent's, or is too old."""


@dataclass(frozen=True)
class WebhookMessage:
    """A message whose signature holds. Refuse one whose id you have seen."""

    id: str
    #: ``waiting`` or ``completed``.
    type: str
    data: Mapping[str, Any]


def verify_webhook(
    key: str, headers: Mapping[str, str], body: bytes, *, now: float | None = None
) -> WebhookMessage:
    """Returns a message after checking its signature and age; ``key`` is the content of the agent's key file.

    Raises :class:`InvalidWebhook`, also for a key that is missing or too short.
    """
    if not key.startswith(KEY_PREFIX):
        raise InvalidWebhook("the key does not begin with whsec_")
    found = {name.lower(): value for name, value in headers.items()}
    try:
        secret = base64.b64decode(key.strip().removeprefix(KEY_PREFIX), validate=True)
        id, timestamp = found["webhook-id"], found["webhook-timestamp"]
        signatures = [signature.encode() for signature in found["webhook-signature"].split(" ")]
        signed = b".".join((id.encode(), timestamp.encode(), body))
        age = abs((time.time() if now is None else now) - int(timestamp))
    except (KeyError, ValueError, binascii.Error) as error:
        raise InvalidWebhook("a header is missing or malformed, or the key is no base64") from error
    if len(secret) not in KEY_BYTES:
        raise InvalidWebhook("the key does not have 24 to 64 bytes")
    if age > TOLERANCE:
        raise InvalidWebhook("the message is too old or from the future")
    expected = b"v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256))
    if not any(hmac.compare_digest(expected, signature) for signature in signatures):
        raise InvalidWebhook("the signature does not hold")
    try:
        message = json.loads(body)
        return WebhookMessage(id, message["type"], message["data"])
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidWebhook("the message has no type or no data") from error
