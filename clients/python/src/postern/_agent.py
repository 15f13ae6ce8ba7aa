"""The agent's interface as methods."""

from __future__ import annotations

import http.client
import time
from types import TracebackType
from typing import Any, Iterator, Literal, Mapping
from urllib.parse import quote, urlencode

from ._connection import Server, failure
from ._errors import StillRunning, Unreachable
from ._events import Event, read_events
from ._types import Health, Task

#: Where the agent listens.
SOCKET = "/run/postern/agent.sock"
# The agent sends a comment every 15 s on a stream without events.
_SILENCE = 60.0
# Pauses between looks at a task, in seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


class Agent:
    """A client of the agent. It holds no connection between calls, and may be used by several threads."""

    def __init__(
        self, socket: str = SOCKET, *, tcp: tuple[str, int] | None = None, token: str | None = None
    ) -> None:
        """The agent at a socket; or at a loopback address, with the token of ``[http]`` in agent.toml."""
        self._server = Server(socket, tcp, token)

    def __enter__(self) -> Agent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is open."""

    def run(
        self,
        task: str = "",
        *,
        plan: Mapping[str, Any] | None = None,
        session: str = "",
        preview: bool = False,
        reason: str = "",
        wait_ms: int = 0,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Task:
        """Gives a task, or a plan to carry out, and returns it once it has ended.

        With ``preview`` nothing is changed. After ``timeout`` seconds it raises :class:`StillRunning`, which has the id;
        the task goes on. See :meth:`submit` for ``idempotency_key``.
        """
        id = self.submit(
            task,
            plan=plan,
            session=session,
            preview=preview,
            reason=reason,
            wait_ms=wait_ms,
            idempotency_key=idempotency_key,
        )
        deadline = None if timeout is None else time.monotonic() + timeout
        pause = _FIRST_PAUSE
        while not (record := self.task(id)).ended:
            if deadline is not None and time.monotonic() + pause > deadline:
                raise StillRunning(id)
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        return record

    def submit(
        self,
        task: str = "",
        *,
        plan: Mapping[str, Any] | None = None,
        session: str = "",
        preview: bool = False,
        reason: str = "",
        wait_ms: int = 0,
        interactive: bool = False,
        idempotency_key: str | None = None,
    ) -> str:
        """Gives a task and returns its id at once. With ``interactive`` it may ask questions: see :meth:`answer`.

        After :class:`Unreachable` the task may have been given or not. With the same ``idempotency_key``, such as a UUID,
        it can be given again: within 24 hours the agent returns the same task, and carries it out once.
        """
        body: dict[str, Any] = {
            "task": task,
            "session": session,
            "reason": reason,
            "wait_ms": wait_ms,
            "mode": "preview" if preview else "execute",
            "wait": False,
            "interactive": interactive,
        }
        if plan is not None:
            body["plan"] = plan
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return str(self._server.call("POST", "/execute", body, headers=headers)["id"])

    def plan(self, task: str) -> list[Mapping[str, Any]]:
        """Returns the steps that the offline planner makes of a task."""
        return list(self._server.call("POST", "/plan", {"task": task})["steps"])

    def tasks(self, *, limit: int | None = None, before: str | None = None) -> list[Task]:
        """Returns one's tasks, the newest first; those older than the task ``before``."""
        page = {key: value for key, value in (("limit", limit), ("before", before)) if value is not None}
        path = f"/tasks?{urlencode(page)}" if page else "/tasks"
        return [Task.read(task) for task in self._server.call("GET", path)]

    def task(self, id: str) -> Task:
        """Returns a task by its id or the beginning of it."""
        return Task.read(self._server.call("GET", _path(id)))

    def cancel(self, id: str) -> Task:
        """Ends a task before its next step. What it changed stays."""
        return Task.read(self._server.call("POST", _path(id, "cancel")))

    def resume(self, id: str) -> str:
        """Goes on with a task that the end of an earlier agent interrupted; returns its id."""
        return str(self._server.call("POST", _path(id, "resume"))["id"])

    def answer(
        self, id: str, question: int, answer: Literal["yes", "no", "always", "text"], text: str | None = None
    ) -> Task:
        """Answers the question of this number that a task asks."""
        body: dict[str, Any] = {"question": question, "answer": answer}
        if text is not None:
            body["text"] = text
        return Task.read(self._server.call("POST", _path(id, "answer"), body))

    def events(self, id: str, *, after: int = 0) -> Iterator[Event]:
        """Yields a task's events from the first, or from the one after ``after``, to the task's end.

        A stream that ends before the task is asked for again, from the event after the last one.
        """
        pause = _FIRST_PAUSE
        while True:
            known = after
            try:
                for event in self._stream(id, after):
                    after = event.number or after
                    yield event
                ended = self.task(id).ended
            except Unreachable:
                # Nothing came since the last time: the agent is gone.
                if after == known:
                    raise
                ended = False
            if ended and after == known:
                return
            # Once more after the end: the last events may have come after the stream broke off.
            if not ended:
                time.sleep(pause)
                pause = _FIRST_PAUSE if after > known else min(pause * 2, _LONGEST_PAUSE)

    def _stream(self, id: str, after: int) -> Iterator[Event]:
        connection, response = self._server.open("GET", f"{_path(id, 'events')}?after={after}", None, _SILENCE)
        try:
            if response.status != 200:
                raise failure(response.status, response.read())
            yield from read_events(response)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Unreachable(f"the stream broke off: {error}") from error
        finally:
            connection.close()

    def health(self) -> Health:
        """Returns what works."""
        return Health.read(self._server.call("GET", "/health"))


def _path(id: str, action: str = "") -> str:
    return f"/tasks/{quote(id, safe='')}" + (f"/{action}" if action else "")
