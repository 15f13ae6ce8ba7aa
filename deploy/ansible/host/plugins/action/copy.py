"""Takes a file or a text of the controller's to the host and writes it through Postern."""

import json

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible_collections.postern.host.plugins.plugin_utils.send import send, send_text


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
                text = content if isinstance(content, str) else json.dumps(content)
                result.update(send_text(self, text, arguments, task_vars))
            elif "src" not in arguments or boolean(arguments.get("remote_src", False), strict=False):
                result.update(self._execute_module(module_args=arguments, task_vars=task_vars))
            else:
                result.update(self._send_file(arguments, task_vars))
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)
        return result

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
