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
extends_documentation_fragment: [postern.host.request, postern.host.request.file]
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
