"""Records of the agent. A member that a newer agent adds is in ``raw``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping

#: Statuses after which nothing more happens to a task.
FINAL = frozenset({"completed", "partial", "failed", "refused", "cancelled", "out_of_budget", "needs_person"})

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """Something that is different on the host now."""

    request_id: str
    verb: str
    target: str
    #: The id to undo it by; None if it cannot be undone.
    undo: str | None

    @classmethod
    def read(cls, data: Json) -> Change:
        return cls(data["request_id"], data["verb"], data["target"], data.get("undo"))


@dataclass(frozen=True)
class Waiting:
    """A request that waits for an operator: ``postern-admin approve APPROVAL_ID``."""

    approval_id: str
    request_id: str
    verb: str
    target: str
    expires_unix_s: int

    @classmethod
    def read(cls, data: Json) -> Waiting:
        return cls(data["approval_id"], data["request_id"], data["verb"], data["target"], data["expires_unix_s"])


@dataclass(frozen=True)
class Question:
    """What a task asks the person who gave it."""

    number: int
    #: The answers that it takes: some of ``yes``, ``no``, ``always``, ``text``.
    choices: tuple[str, ...]
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, data: Json) -> Question:
        return cls(data["number"], tuple(data["choices"]), data)


@dataclass(frozen=True)
class Result:
    """One step that was tried."""

    step: int
    tool: str
    #: ``ok``, ``error``, ``refused``, ``truncated``, ``denied``, ``timeout`` or ``cancelled``.
    status: str
    error: str
    stdout: str
    stderr: str
    exit_code: int | None
    request_id: str | None
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, data: Json) -> Result:
        return cls(
            data.get("step", 0),
            data.get("tool", ""),
            data.get("status", "error"),
            data.get("error", ""),
            data.get("stdout", ""),
            data.get("stderr", ""),
            data.get("exit_code"),
            data.get("request_id"),
            data,
        )


@dataclass(frozen=True)
class Task:
    """A task's record."""

    id: str
    session: str
    #: The words of the order.
    task: str
    status: str
    summary: str
    results: tuple[Result, ...]
    changes: tuple[Change, ...]
    warnings: tuple[str, ...]
    #: What waits for an operator.
    waiting: tuple[Waiting, ...]
    question: Question | None
    trace_id: str
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, data: Json) -> Task:
        waiting = [data["waiting"]] if data.get("waiting") else []
        return cls(
            data["id"],
            data["session"],
            data["task"],
            data["status"],
            data["summary"],
            tuple(Result.read(result) for result in data["results"]),
            tuple(Change.read(change) for change in data["changes"]),
            tuple(data["warnings"]),
            tuple(Waiting.read(one) for one in [*waiting, *data.get("also_waiting", [])]),
            Question.read(data["question"]) if data.get("question") else None,
            data.get("trace_id", ""),
            data,
        )

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in FINAL


@dataclass(frozen=True)
class Health:
    """What works: each ``ok``, ``off``, or what is wrong."""

    agent: str
    llm: str
    helper: str

    @classmethod
    def read(cls, data: Json) -> Health:
        return cls(data["agent"], data["llm"], data["helper"])

    @property
    def ok(self) -> bool:
        """Whether agent and helper work, and the model if there is one."""
        return self.agent == self.helper == "ok" and self.llm in ("ok", "off")
