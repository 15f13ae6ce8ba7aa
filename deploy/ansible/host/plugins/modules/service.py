#!/usr/bin/python3
"""Starts, stops, enables and disables systemd units through Postern."""

DOCUMENTATION = r"""
module: service
short_description: Starts, stops, enables and disables systemd units through Postern
description:
  - Asks Postern for the verbs C(unit.start), C(unit.stop), C(unit.restart), C(unit.reload), C(unit.enable) and C(unit.disable).
  - Needs no C(become). The policy of the host decides.
options:
  name:
    description: A unit. A name without suffix is a service.
    type: str
    required: true
    aliases: [unit]
  state:
    description: C(restarted) and C(reloaded) always change something.
    type: str
    choices: [started, stopped, restarted, reloaded]
  enabled:
    description: Whether the unit starts at boot.
    type: bool
  daemon_reload:
    description: Lets systemd read its unit files anew first. This alone is no change.
    type: bool
    default: false
extends_documentation_fragment: postern.host.request
"""

EXAMPLES = r"""
- name: The web server runs, also after a boot
  postern.host.service:
    name: nginx
    state: started
    enabled: true
"""

RETURN = r"""
requests:
  description: The requests that were sent, each with its id, verb, status, rule, and C(undo) where it can be taken back.
  returned: always
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.postern.host.plugins.module_utils.request import OPTIONS, Requests

SUFFIXES = (".service", ".socket", ".timer", ".path", ".mount", ".automount", ".swap", ".target", ".slice", ".scope", ".device")
VERBS = {"started": "start", "stopped": "stop", "restarted": "restart", "reloaded": "reload"}
# States of unit files that enabling does not change, and those that disabling does.
ENABLED = ("enabled", "static", "alias", "indirect", "generated", "transient")
DISABLES = ("enabled", "enabled-runtime", "linked", "linked-runtime")
RUNS = ("active", "activating", "reloading", "refreshing")


def properties(module, unit):
    """Returns what systemd knows of a unit; everybody may ask that."""
    show = ["systemctl", "show", "--property=LoadState,ActiveState,UnitFileState", "--", unit]
    _code, out, _err = module.run_command(show, check_rc=True, expand_user_and_vars=False)
    return dict(line.split("=", 1) for line in out.splitlines() if "=" in line)


def main():
    """Runs the module."""
    module = AnsibleModule(
        argument_spec=dict(
            OPTIONS,
            name={"type": "str", "required": True, "aliases": ["unit"]},
            state={"type": "str", "choices": list(VERBS)},
            enabled={"type": "bool"},
            daemon_reload={"type": "bool", "default": False},
        ),
        required_one_of=[["state", "enabled", "daemon_reload"]],
        supports_check_mode=True,
    )
    requests, unit = Requests(module), module.params["name"]
    unit = unit if unit.endswith(SUFFIXES) else unit + ".service"
    if module.params["daemon_reload"]:
        requests.ask("service", "daemon-reload")
    now = properties(module, unit)
    state, enabled = module.params["state"], module.params["enabled"]
    verbs = []
    if enabled is True and now.get("UnitFileState") not in ENABLED:
        verbs.append("enable")
    elif enabled is False and now.get("UnitFileState") in DISABLES:
        verbs.append("disable")
    runs = now.get("ActiveState") in RUNS
    if state in ("restarted", "reloaded") or (state == "started" and not runs) or (state == "stopped" and runs):
        verbs.append(VERBS[state])
    if now.get("LoadState") == "not-found" and (state or enabled is not None):
        if not module.check_mode:
            module.fail_json(msg="there is no unit %s" % unit)
        # A task before this one may be what would bring the unit.
        module.warn("%s does not exist yet: what the policy says of it was not asked" % unit)
        requests.changed = True
        verbs = []
    for verb in verbs:
        requests.changed |= requests.ask("service", verb, "--", unit)["status"] != "unchanged"
    after = dict(now)
    if state:
        after["ActiveState"] = "inactive" if state == "stopped" else "active"
    if enabled is not None:
        after["UnitFileState"] = "enabled" if enabled else "disabled"
    shown = {"before": now, "after": after if requests.changed else now}
    requests.end(diff=shown)


if __name__ == "__main__":
    main()
