#!/usr/bin/python3
"""Writes a file through Postern."""

DOCUMENTATION = r"""
module: copy
short_description: Writes a file through Postern
description:
  - Asks Postern for C(file.write). The old content is kept for undo where the rule says so.
  - Needs no C(become). The policy of the host decides.
  - A file that the connecting user may read, itself or by a rule with C(file.read), is compared first, and no request is sent
    if it is as wanted. Of another file only the request itself can tell; check mode then reports a change.
options:
  content:
    description: The text that the file shall hold.
    type: str
  src:
    description: A file with the content, on the controller; with O(remote_src=true) on the host.
    type: path
  remote_src:
    description: Whether O(src) is on the host, where the connecting user can read it.
    type: bool
    default: false
extends_documentation_fragment: [postern.host.request, postern.host.request.file]
"""

EXAMPLES = r"""
- name: The site's front page
  postern.host.copy:
    src: index.html
    dest: /var/www/html/index.html
    mode: "0644"
"""

RETURN = r"""
requests:
  description: The requests that were sent, each with its id, verb, status, rule, and C(undo) where it can be taken back.
  returned: always
  type: list
  elements: dict
"""

import grp
import hashlib
import os
import pwd
import re
import stat

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.postern.host.plugins.module_utils.request import OPTIONS, Requests

# A longer file is not compared here.
READ_MAX = 64 * 1024 * 1024
# Longer or binary content is not shown as a difference.
SHOWN_MAX = 100 * 1024


def current(requests, path):
    """Returns a file's content and its mode, owner and group; None for what may not be known, b"" and None if it is missing."""
    try:
        # No link, and no device or pipe that never ends: the helper refuses these too.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b"", None
    except OSError:
        return requests.read(path)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > READ_MAX:
            return requests.read(path)
        content = file.read(READ_MAX)
    names = {"mode": "%04o" % stat.S_IMODE(status.st_mode)}
    for key, number, database in (("owner", status.st_uid, pwd.getpwuid), ("group", status.st_gid, grp.getgrgid)):
        try:
            names[key] = database(number)[0]
        except KeyError:
            names[key] = str(number)
    return content, names


def is_named(names, wanted):
    """Returns whether mode, owner and group are as wanted."""
    return all(names.get(key) == word for key, word in wanted.items())


def shown(content):
    """Returns a file's content for a difference."""
    if content is None:
        return "(not readable)\n"
    if len(content) > SHOWN_MAX or b"\0" in content:
        return "(%d bytes, SHA-256 %s)\n" % (len(content), hashlib.sha256(content).hexdigest())
    return content.decode(errors="replace")


def main():
    """Runs the module."""
    module = AnsibleModule(
        argument_spec=dict(
            OPTIONS,
            dest={"type": "path", "required": True},
            # The action puts it into a file: a parameter would be in the journal.
            content={"type": "str", "no_log": True},
            src={"type": "path"},
            remote_src={"type": "bool", "default": False},
            mode={"type": "str"},
            owner={"type": "str"},
            group={"type": "str"},
        ),
        required_one_of=[["content", "src"]],
        mutually_exclusive=[["content", "src"]],
        supports_check_mode=True,
    )
    path, mode = module.params["dest"], module.params["mode"]
    if mode is not None and not re.fullmatch("0?[0-7]{3}", mode):
        module.fail_json(msg="mode: three or four octal digits in quotes, such as \"0644\", not %r" % mode)
    wanted = {key: module.params[key] for key in ("mode", "owner", "group") if module.params[key] is not None}
    if mode is not None:
        wanted["mode"] = mode.zfill(4)
    if module.params["src"] is not None:
        with open(module.params["src"], "rb") as file:
            content = file.read()
    else:
        content = module.params["content"].encode()

    requests = Requests(module)
    before, names = current(requests, path)
    if not (before == content and names is not None and is_named(names, wanted)):
        options = ["--%s=%s" % pair for pair in wanted.items()]
        if before is not None:
            # What was compared is what is replaced.
            options.append("--expect=%s" % (hashlib.sha256(before).hexdigest() if names else "absent"))
        requests.changed = requests.ask("file", "write", *options, "--", path, content=content)["status"] != "unchanged"
    header = {"before_header": path, "after_header": path}
    after = content if requests.changed else before
    difference = [dict(header, before=shown(before), after=shown(after))]
    if requests.changed and names and not is_named(names, wanted):
        difference.append({"before": {key: names.get(key) for key in wanted}, "after": wanted})
    requests.end(dest=path, diff=difference)


if __name__ == "__main__":
    main()
