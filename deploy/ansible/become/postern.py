"""Runs a task's command line through Postern's shims, as the connecting user."""

DOCUMENTATION = r"""
name: postern
short_description: Runs command lines through Postern's shims, as the connecting user
description:
  - Runs the command line of a task with C(postern exec), as the connecting user and under NoNewPrivileges. C(apt-get), C(systemctl),
    C(tee) and the other commands of C(/usr/lib/postern/shims) become requests to Postern, which the policy decides.
  - For M(ansible.builtin.command), M(ansible.builtin.shell), M(ansible.builtin.script) and M(ansible.builtin.raw).
    M(ansible.builtin.setup), M(ansible.builtin.ping) and the collection C(postern.host) run as without become.
  - Every other module changes the system by itself, in Python, and expects to be root. Postern gives root to no program, so such a
    task is refused before it begins, with the module to use instead.
  - There is no password.
author: Postern maintainers
options:
  become_user:
    description: C(root), which stands for what the policy grants. No other user is possible.
    type: string
    default: root
    ini:
      - section: privilege_escalation
        key: become_user
    vars:
      - name: ansible_become_user
    env:
      - name: ANSIBLE_BECOME_USER
    keyword:
      - name: become_user
  become_exe:
    description: The program C(postern).
    type: string
    default: /usr/bin/postern
    ini:
      - section: privilege_escalation
        key: become_exe
      - section: postern_become_plugin
        key: executable
    vars:
      - name: ansible_become_exe
      - name: ansible_postern_exe
    env:
      - name: ANSIBLE_BECOME_EXE
      - name: ANSIBLE_POSTERN_EXE
    keyword:
      - name: become_exe
"""

import shlex

from ansible.errors import AnsibleError
from ansible.plugins.become import BecomeBase

# Run a command line, in which the shims are found by PATH.
COMMAND_LINES = ("command", "raw", "script", "shell")
# Change nothing.
LOOKS = ("gather_facts", "ping", "setup")
COLLECTION = "postern.host."
REPLACED = {
    "apt": "package",
    "copy": "copy",
    "package": "package",
    "service": "service",
    "systemd": "service",
    "systemd_service": "service",
    "sysvinit": "service",
    "template": "template",
}


class BecomeModule(BecomeBase):
    """The become method `postern`."""

    name = "postern"
    _action = ""

    def set_options(self, task_keys=None, var_options=None, direct=None):
        """Takes the task's attributes, of which the action tells whether the task can run without root."""
        super().set_options(task_keys=task_keys, var_options=var_options, direct=direct)
        self._action = str((task_keys or {}).get("action") or "")

    def build_become_command(self, cmd, shell):
        """Returns the command that runs `cmd` with Postern's shims in PATH."""
        super().build_become_command(cmd, shell)
        if not cmd:
            return cmd
        user = self.get_option("become_user") or "root"
        if user != "root":
            raise AnsibleError("become_method postern runs as the connecting user: become_user %r is not possible" % user)
        self._check_action()
        program = shlex.quote(self.get_option("become_exe") or "/usr/bin/postern")
        return "%s exec -- %s" % (program, self._build_success_command(cmd, shell))

    def _check_action(self):
        name = self._action
        for prefix in ("ansible.builtin.", "ansible.legacy."):
            name = name.removeprefix(prefix)
        if name in COMMAND_LINES or name in LOOKS or name.startswith(COLLECTION):
            return
        if name in REPLACED:
            advice = "use %s%s" % (COLLECTION, REPLACED[name])
        else:
            advice = "use a command line with ansible.builtin.command, or a command of the policy (postern command NAME)"
        raise AnsibleError(
            "become_method postern: the module %r needs to be root itself, and Postern gives root to no program: %s" % (name, advice)
        )
