#!/usr/bin/python3
"""Documents the action `template`, which renders on the controller."""

DOCUMENTATION = r"""
module: template
short_description: Writes a rendered template through Postern
description:
  - Renders a Jinja2 template on the controller and writes the text as M(postern.host.copy) does.
options:
  src:
    description: The template, on the controller.
    type: path
    required: true
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
extends_documentation_fragment: postern.host.request
"""

EXAMPLES = r"""
- name: The site's configuration
  postern.host.template:
    src: site.conf.j2
    dest: /etc/nginx/conf.d/site.conf
"""

RETURN = r"""
requests:
  description: The requests that were sent, each with its id, verb, status, rule, and C(undo) where it can be taken back.
  returned: always
  type: list
  elements: dict
"""
