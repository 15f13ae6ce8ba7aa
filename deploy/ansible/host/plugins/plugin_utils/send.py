"""Runs the module `copy` with a file or a text of the controller's."""

import os
import tempfile

from ansible import constants


def send(action, source, arguments, task_vars):
    """Copies a file into the host's temporary directory and lets the module write it to its place."""
    shell = action._connection._shell
    if shell.tmpdir is None:
        action._make_tmp_path()
    remote = shell.join_path(shell.tmpdir, "." + os.path.basename(source))
    action._transfer_file(source, remote)
    action._fixup_perms2((shell.tmpdir, remote))
    arguments = dict(arguments, src=remote, remote_src=True)
    return action._execute_module(module_name="postern.host.copy", module_args=arguments, task_vars=task_vars)


def send_text(action, text, arguments, task_vars):
    """Does the same with a text. It travels in a file, since modules write their parameters to the journal."""
    handle, source = tempfile.mkstemp(dir=constants.DEFAULT_LOCAL_TMP)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return send(action, source, arguments, task_vars)
    finally:
        os.unlink(source)
