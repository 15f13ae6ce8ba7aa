"""Server-sent events (WHATWG HTML, section 9.2), as far as the agent uses them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Iterable, Iterator


@dataclass(frozen=True)
class Event:
    """An event of a task."""

    #: Counts from 1; None for words of a model as they come, which are not kept.
    number: int | None
    #: ``step``, ``waiting``, ``progress``, ``output``, ``says``, ...
    name: str
    data: Any


def read_events(lines: Iterable[bytes]) -> Iterator[Event]:
    """Reads events from the lines of a stream."""
    number, name, data = None, "message", []
    for line in lines:
        text = line.decode("utf-8").rstrip("\r\n")
        if not text:
            if data:
                yield Event(number, name, json.loads("\n".join(data)))
            number, name, data = None, "message", []
            continue
        key, _colon, value = text.partition(":")
        value = value.removeprefix(" ")
        if key == "id" and value.isdecimal():
            number = int(value)
        elif key == "event":
            name = value
        elif key == "data":
            data.append(value)
