"""HTTP over a Unix socket or loopback, by the standard library."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any, Mapping

from ._errors import PosternError, Unreachable


#: A token would travel in clear to any other host.
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class UnixConnection(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def __init__(self, path: str, timeout: float | None) -> None:
        # The name is what the header Host says.
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connects."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except OSError:
            self.sock.close()
            raise


class Server:
    """Where the agent is, and how it is asked."""

    def __init__(self, path: str, tcp: tuple[str, int] | None, token: str | None) -> None:
        if tcp is not None and tcp[0] not in LOOPBACK:
            raise ValueError("the agent listens on loopback: 127.0.0.1 or ::1")
        if token is not None:
            _check_header("token", token)
        self._path = path
        self._tcp = tcp
        self._headers = {"Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def _connection(self, timeout: float | None) -> http.client.HTTPConnection:
        if self._tcp is not None:
            return http.client.HTTPConnection(*self._tcp, timeout=timeout)
        return UnixConnection(self._path, timeout)

    def open(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        timeout: float | None,
        more: Mapping[str, str] = {},
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Sends a request and returns the answer, whose body is not read yet, and its connection."""
        for name, value in more.items():
            _check_header(name, value)
        connection = self._connection(timeout)
        headers = {**self._headers, **more}
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, path, content, headers)
            return connection, connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Unreachable(f"cannot ask the agent: {error}") from error

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        timeout: float | None = 30,
        headers: Mapping[str, str] = {},
    ) -> Any:
        """Sends a request and returns the answer's JSON."""
        connection, response = self.open(method, path, body, timeout, headers)
        try:
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"the answer broke off: {error}") from error
        finally:
            connection.close()
        # /health answers 503 with the agent's faults; all other errors have a member `error`.
        if response.status >= 300 and not (path == "/health" and b'"agent"' in text):
            raise failure(response.status, text)
        try:
            return json.loads(text)
        except ValueError as error:
            raise Unreachable("the answer is no JSON: is this the agent?") from error


def _check_header(name: str, value: str) -> None:
    if not (value.isascii() and value.isprintable()):
        raise ValueError(f"the {name} has characters that no header can have")


def failure(status: int, text: bytes) -> PosternError:
    """Reads the error of an answer."""
    try:
        error = json.loads(text)["error"]
        return PosternError(status, error["code"], error["message"])
    except (ValueError, KeyError, TypeError):
        return PosternError(status, "internal", text[:500].decode("utf-8", "replace"))
