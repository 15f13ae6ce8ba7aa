"""Client of Postern's agent: gives tasks, follows them, answers them, and checks webhooks."""

from ._agent import SOCKET, Agent
from ._errors import PosternError, StillRunning, Unreachable
from ._events import Event
from ._types import Change, Health, Question, Result, Task, Waiting
from ._webhook import InvalidWebhook, WebhookMessage, verify_webhook

__all__ = [
    "SOCKET",
    "Agent",
    "Change",
    "Event",
    "Health",
    "InvalidWebhook",
    "PosternError",
    "Question",
    "Result",
    "StillRunning",
    "Task",
    "Unreachable",
    "Waiting",
    "WebhookMessage",
    "verify_webhook",
]
