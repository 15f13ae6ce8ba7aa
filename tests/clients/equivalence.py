"""Runs command lines one after the other in a machine, and tells what each printed and changed.

    equivalence.py ROWS COMMAND...

ROWS is a file of JSON: a list of {"run", "before"}. Each `run` is passed to COMMAND as the last argument, as the user
`coder`; `before` is a script that root runs first. Prints one JSON list: exit, stdout, stderr and the changed facts.
"""

import grp
import hashlib
import json
import os
import pathlib
import pwd
import stat
import subprocess
import sys

HOME = "/home/coder"
ENVIRONMENT = {
    "HOME": HOME,
    "USER": "coder",
    "LANG": "C.UTF-8",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}
DIRECTORIES = ["/etc/eq", "/srv/eq", "/tmp/eq", HOME + "/work", "/etc/systemd/system"]
UNIT = ["Id", "LoadState", "ActiveState", "SubState", "UnitFileState", "NeedDaemonReload", "InvocationID"]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def entry(path):
    """One file: kind, mode, owner, group and content."""
    found = path.lstat()
    owner = pwd.getpwuid(found.st_uid).pw_name + ":" + grp.getgrgid(found.st_gid).gr_name
    if path.is_symlink():
        return f"link {os.readlink(path)}"
    mode = oct(stat.S_IMODE(found.st_mode))
    if path.is_dir():
        return f"directory {mode} {owner}"
    return f"file {mode} {owner} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def facts():
    """Packages, holds, units and files, each under a name of its own."""
    all_facts = {}
    for line in output("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Abbrev}\n", "eq-*").splitlines():
        name, _, rest = line.partition(" ")
        # A package that dpkg has only heard of is not there.
        if not rest.strip().startswith("un"):
            all_facts["package " + name] = rest.strip()
    for name in output("apt-mark", "showhold").split():
        all_facts["hold " + name] = "held"
    units = [f"eq-{name}.service" for name in ("web", "job", "broken", "off", "missing")]
    for block in output("systemctl", "show", "-p", ",".join(UNIT), *units).split("\n\n"):
        unit = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        all_facts["unit " + unit.get("Id", "?")] = unit
    for directory in DIRECTORIES:
        for path in sorted(pathlib.Path(directory).rglob("*")):
            if not directory.startswith("/etc/systemd") or "eq-" in path.name:
                all_facts["path " + str(path)] = entry(path)
    for name in ("/run/eq-reloads", "/run/eq-starts"):
        path = pathlib.Path(name)
        all_facts["count " + name] = path.read_text() if path.exists() else ""
    return all_facts


def changes(before, after):
    """What is another now; of a unit's invocation only that it is another one."""
    changed = {}
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            new = {**new, "InvocationID": "new" if old["InvocationID"] != new["InvocationID"] else "same"}
        changed[name] = new
    return changed


def main():
    rows = json.loads(pathlib.Path(sys.argv[1]).read_text())
    answers = []
    for row in rows:
        if row["before"]:
            subprocess.run(["sh", "-ec", row["before"]], check=True, stdout=sys.stderr)
        known = facts()
        command = ["runuser", "-u", "coder", "--", *sys.argv[2:], row["run"]]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env=ENVIRONMENT, cwd=HOME + "/work", timeout=120, check=False
        )
        answers.append(
            {
                "exit": done.returncode,
                "stdout": done.stdout.decode(errors="replace"),
                "stderr": done.stderr.decode(errors="replace"),
                "changes": changes(known, facts()),
            }
        )
    print(json.dumps(answers))


main()
