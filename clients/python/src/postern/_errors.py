"""Errors of the client."""


class PosternError(Exception):
    """The agent refused a call."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        #: The HTTP status.
        self.status = status
        #: A stable code, such as ``not_found``; postern-policy(5) has the list.
        self.code = code
        #: For people.
        self.message = message


class Unreachable(PosternError):
    """The agent could not be reached, or the connection broke before the answer was whole."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "unreachable", message)


class StillRunning(PosternError):
    """The task had not ended in time. It goes on: follow it by ``task``, and do not give it again."""

    def __init__(self, task: str) -> None:
        super().__init__(0, "timeout", f"task {task} goes on")
        #: The task's id.
        self.task = task
