"""Asks Postern for changes, as the user that runs the module."""

import base64
import json

POSTERN = "/usr/bin/postern"
# What a task returns of each request.
RETURNED = ("request_id", "verb", "status", "rule", "decision", "undo")
# Refusals of a read that say that this user may not know the file, or that it cannot be shown. All others say nothing of it: what
# failed in passing would be taken for a change.
UNKNOWABLE = (
    "no_grant",
    "denied",
    "limit_exceeded",
    "unknown_client",
    "protected",
    "unsafe_path",
    "special_file",
    "too_large",
    "unsupported",
    "not_approved",
    "approval_expired",
    "directory_missing",
)

OPTIONS = {
    "reason": {"type": "str"},
    "wait": {"type": "str"},
    "through_agent": {"type": "bool", "default": False},
}


class Requests:
    """The requests of one task, and what they changed."""

    def __init__(self, module):
        self.module = module
        self.changed = False
        self.requests = []

    def ask(self, *words, content=None):
        """Sends one request and returns its report; ends the task when it is refused or fails."""
        report = self._send(words, content, self.module.check_mode)
        if report.get("status") not in ("done", "unchanged", "previewed"):
            self.fail(report)
        self.requests.append({name: report[name] for name in RETURNED if name in report})
        return report

    def read(self, path):
        """Returns a file's content and its mode, owner and group; None for each that may not be known."""
        report = self._send(("file", "read", "--", path), None, False)
        if report.get("code") == "not_found":
            return b"", None
        if report.get("code") in UNKNOWABLE:
            return None, None
        if report.get("status") != "done":
            self.fail(report)
        result = report.get("result", {})
        if result.get("truncated"):
            return None, None
        if "content_base64" in result:
            content = base64.b64decode(result["content_base64"])
        else:
            content = result.get("content", "").encode()
        return content, (result.get("files") or [None])[0]

    def fail(self, report):
        """Ends the task with the reason why the request was not carried out."""
        message = report.get("message") or "the request was not carried out"
        words = ["%s: %s" % (report.get("code") or report.get("status"), message)]
        if report.get("missing"):
            words.append("missing grant: %s" % report["missing"])
        if report.get("next"):
            words.append("an operator's next command: %s" % report["next"])
        self.module.fail_json(
            msg=". ".join(words), changed=self.changed, requests=self.requests, refused=report.get("code", "")
        )

    def end(self, **more):
        """Ends the task with what it changed."""
        self.module.exit_json(changed=self.changed, requests=self.requests, **more)

    def _send(self, words, content, is_preview):
        parameters = self.module.params
        command = [POSTERN, "--json"]
        if not parameters["through_agent"]:
            command.append("--direct")
        if is_preview:
            command.append("--dry-run")
        for name, option in (("reason", "--reason"), ("wait", "--timeout")):
            if parameters[name]:
                command.append("%s=%s" % (option, parameters[name]))
        command.extend(words)
        _code, out, err = self.module.run_command(
            command,
            data=b"" if content is None else content,
            binary_data=True,
            encoding=None,
            # What was compared is what is sent: no variable of the environment is put into it.
            expand_user_and_vars=False,
        )
        try:
            return json.loads(out)
        except ValueError:
            said = (err or out).decode(errors="replace").strip()
            self.module.fail_json(msg="postern gave no report: %s" % said, cmd=command)
