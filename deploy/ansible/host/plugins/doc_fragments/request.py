"""Options that every module has, and those of modules that write a file."""


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  reason:
    description: Why, for the operator and the audit log.
    type: str
  wait:
    description:
      - How long to wait for locks, jobs and an operator's approval, such as V(90s) or V(10m).
      - Without it the rule's own limit counts.
    type: str
  through_agent:
    description:
      - Ask Postern's agent, as a member of C(postern-users), and not the helper.
      - Without it the connecting user is a client of the policy itself.
    type: bool
    default: false
attributes:
  check_mode:
    description: Asks for a preview. What the policy would refuse fails here too.
    support: full
  diff_mode:
    description: Shows what changes.
    support: full
requirements:
  - the Debian package C(postern) on the host
  - a rule of the policy for the connecting user
author:
  - Postern maintainers
"""

    FILE = r"""
options:
  dest:
    description: The absolute path of the file.
    type: path
    required: true
  mode:
    description: Octal, in quotes, such as V("0644"). Without it the old file's mode stays; a new file gets 0644.
    type: str
  owner:
    description: A user. Without it the old file's owner stays; a new file belongs to root.
    type: str
  group:
    description: A group. Without it the old file's group stays; a new file belongs to root.
    type: str
"""
