"""Renders a template on the controller and writes it through Postern."""

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import lookup_loader
from ansible_collections.postern.host.plugins.plugin_utils.send import send_text


class ActionModule(ActionBase):
    """The action `template`."""

    TRANSFERS_FILES = True

    def run(self, tmp=None, task_vars=None):
        """Runs the action."""
        result = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        source = arguments.get("src")
        if source is None or arguments.get("dest") is None:
            raise AnsibleActionFail("src and dest are required")
        # Ansible's own lookup finds, decrypts and renders the template.
        lookup = lookup_loader.get("ansible.builtin.template", loader=self._loader, templar=self._templar)
        (text,) = lookup.run([source], variables=task_vars)
        if not isinstance(text, str):
            raise AnsibleActionFail("the template does not render to text: this needs ansible-core 2.19 or later")
        try:
            result.update(send_text(self, text, arguments, task_vars))
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)
        return result
