"""Takes a file or a text of the controller's to the host and writes it through Postern."""

import json
import os
import tempfile

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible_collections.postern.host.plugins.plugin_utils.send import send


class ActionModule(ActionBase):
    """The action `copy`."""

    TRANSFERS_FILES = True

    def run(self, tmp=None, task_vars=None):
        """Runs the action."""
        result = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        content = arguments.pop("content", None)
        if content is not None and "src" in arguments:
            raise AnsibleActionFail("content and src exclude each other")
        try:
            if content is not None:
                result.update(self._send_text(content, arguments, task_vars))
            elif "src" not in arguments or boolean(arguments.get("remote_src", False), strict=False):
                result.update(self._execute_module(module_args=arguments, task_vars=task_vars))
            else:
                result.update(self._send_file(arguments, task_vars))
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)
        return result

    def _send_text(self, content, arguments, task_vars):
        # A file, since modules write their parameters to the journal.
        text = content if isinstance(content, str) else json.dumps(content)
        handle, source = tempfile.mkstemp(dir=constants.DEFAULT_LOCAL_TMP)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            return send(self, source, arguments, task_vars)
        finally:
            os.unlink(source)

    def _send_file(self, arguments, task_vars):
        try:
            # Also one that ansible-vault encrypted.
            source = self._loader.get_real_file(self._find_needle("files", arguments["src"]))
        except AnsibleError as error:
            raise AnsibleActionFail(str(error)) from error
        try:
            return send(self, source, arguments, task_vars)
        finally:
            self._loader.cleanup_tmp_file(source)
