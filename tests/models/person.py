#!/usr/bin/env python3
"""A person at a terminal: runs a command on a pseudo-terminal of its own, waits for texts and types answers.

    person.py ANSWERS.json COMMAND...

ANSWERS.json is a list of [TEXT, ANSWER]. The person waits until TEXT stands on the terminal after what was answered last,
and types ANSWER and Enter. "^C" and "^D" are these keys. "key:8" types the last 8 characters of the line of 64 hexadecimal
digits, and "digest:4" the last 4 of the digest that a question shows. Prints what the terminal showed; exits as the command does, 99 if a
text does not come within two minutes.
"""

import json
import os
import pty
import re
import select
import sys
import time


def typed(answer, shown):
    kind, _, length = answer.partition(":")
    if kind == "key":
        return re.findall(r"\b[0-9a-f]{64}\b", shown)[-1][-int(length):]
    if kind == "digest":
        return re.findall(r"\b[0-9a-f]{64}\b", shown)[-1][-int(length):]
    return answer


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        answers = json.load(file)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[2], sys.argv[2:])
    shown, since, deadline = "", 0, time.monotonic() + 120
    while True:
        if answers and answers[0][0] in shown[since:]:
            answer = typed(answers.pop(0)[1], shown)
            since, deadline = len(shown), time.monotonic() + 120
            # A question discards what was typed before it stands there.
            time.sleep(0.3)
            os.write(terminal, {"^C": b"\x03", "^D": b"\x04"}.get(answer, answer.encode() + b"\n"))
        ready, _, _ = select.select([terminal], [], [], 0.5)
        if ready:
            try:
                data = os.read(terminal, 65536)
            except OSError:
                data = b""
            if not data:
                break
            shown += data.decode(errors="replace")
        elif time.monotonic() > deadline:
            print(shown)
            print(f"\nno {answers[0][0] if answers else 'end'!r} within two minutes")
            os.kill(pid, 9)
            sys.exit(99)
    _, status = os.waitpid(pid, 0)
    print(shown)
    if answers:
        print(f"\nnever asked: {answers!r}")
    sys.exit(os.waitstatus_to_exitcode(status) if not os.WIFSIGNALED(status) else 128 + os.WTERMSIG(status))


main()
