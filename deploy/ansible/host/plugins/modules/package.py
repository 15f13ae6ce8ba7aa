#!/usr/bin/python3
"""Installs, upgrades and removes Debian packages through Postern."""

DOCUMENTATION = r"""
module: package
short_description: Installs, upgrades and removes Debian packages through Postern
description:
  - Asks Postern for C(package.install), C(package.upgrade), C(package.remove) or C(package.purge).
  - Needs no C(become). The policy of the host decides.
options:
  name:
    description: Packages, each with an exact version after C(=) if one is wanted.
    type: list
    elements: str
    default: []
    aliases: [pkg]
  state:
    description: C(latest) also upgrades what is installed.
    type: str
    choices: [present, latest, absent]
    default: present
  purge:
    description: With O(state=absent) also removes configuration files.
    type: bool
    default: false
  update_cache:
    description: Reads the package lists of the sources first. This alone is no change.
    type: bool
    default: false
extends_documentation_fragment: postern.host.request
"""

EXAMPLES = r"""
- name: The web server is installed
  postern.host.package:
    name: nginx-light
    update_cache: true
"""

RETURN = r"""
requests:
  description: The requests that were sent, each with its id, verb, status, rule, and C(undo) where it can be taken back.
  returned: always
  type: list
  elements: dict
"""

import re

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.postern.host.plugins.module_utils.request import OPTIONS, Requests

# Debian policy, section 5.6.7. dpkg-query would take others for patterns.
NAME = re.compile("[a-z0-9][a-z0-9+.-]+")
NOTHING_KNOWN = ("not-installed", "")


def installed(module, names):
    """Returns dpkg's state and version of each of these packages that it knows."""
    found = {}
    for name in names:
        query = ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", "--", name]
        code, out, _err = module.run_command(query, expand_user_and_vars=False)
        if code == 0:
            state, _blank, version = out.partition(" ")
            found[name] = (state, version)
    return found


def lines(steps, which):
    """Returns the packages of a plan before or after it, a line each."""
    return "".join(sorted("%s %s\n" % (step["name"], step[which]) for step in steps if step.get(which)))


def main():
    """Runs the module."""
    module = AnsibleModule(
        argument_spec=dict(
            OPTIONS,
            name={"type": "list", "elements": "str", "default": [], "aliases": ["pkg"]},
            state={"type": "str", "choices": ["present", "latest", "absent"], "default": "present"},
            purge={"type": "bool", "default": False},
            update_cache={"type": "bool", "default": False},
        ),
        supports_check_mode=True,
    )
    requests, wanted, state = Requests(module), module.params["name"], module.params["state"]
    names = [name.partition("=")[0] for name in wanted]
    for name in names:
        if not NAME.fullmatch(name):
            module.fail_json(msg="%r is no name of a package" % name)
    if module.params["update_cache"]:
        requests.ask("package", "update")
    known = installed(module, names)
    steps = []

    def ask(verb, names):
        if not names:
            return
        report = requests.ask("package", verb, "--", *names)
        planned = (report.get("plan") or {}).get("packages") or []
        steps.extend(planned)
        # The preview of an upgrade of what is up to date has an empty plan.
        requests.changed |= report["status"] == "done" or (report["status"] == "previewed" and bool(planned))

    if state == "absent":
        gone = NOTHING_KNOWN if module.params["purge"] else NOTHING_KNOWN + ("config-files",)
        there = [name for name in names if known.get(name, ("", ""))[0] not in gone]
        ask("purge" if module.params["purge"] else "remove", there)
    else:
        missing = []
        for name, word in zip(names, wanted):
            is_state, version = known.get(name, ("", ""))
            if is_state != "installed" or word not in (name, "%s=%s" % (name, version)):
                missing.append(word)
        ask("install", missing)
        if state == "latest":
            # A version that is asked for stays.
            ask("upgrade", [name for name, word in zip(names, wanted) if word == name and word not in missing])
    requests.end(diff={"before": lines(steps, "old"), "after": lines(steps, "new")})


if __name__ == "__main__":
    main()
