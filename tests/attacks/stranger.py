"""An ordinary user who may connect and is no client: forged names, namespaces and passed sockets."""
import array
import os
import socket
import subprocess
import sys

HELPER = "/run/postern/helper.sock"


def ask(peer):
    """What comes back: `closed`, for nobody is served."""
    peer.settimeout(10)
    try:
        peer.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        return "served" if peer.recv(1) else "closed"
    except (ConnectionResetError, BrokenPipeError):
        return "closed"


def connect(path=HELPER, name=None):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if name is not None:
        peer.bind(name)
    peer.connect(path)
    return peer


def say(what, result):
    print(f"{what}: {result}", flush=True)


say("plain", ask(connect()))
directory = f"/var/tmp/stranger-{os.getpid()}"
os.mkdir(directory)
say("bound to a path", ask(connect(name=directory + "/;uid=0;pid=1;\n")))
say("bound to an abstract name", ask(connect(name=b"\0/run/postern/;uid=0;pid=1;")))
for name in ("operator", "person", "internal/gateway", "internal/recorder", "internal/files", "internal/units"):
    try:
        connect(f"/run/postern/{name}.sock")
        say(name, "connected")
    except PermissionError:
        say(name, "refused")
# A socket of root's, passed along: it would show uid 0 in SO_PEERCRED.
journal = connect("/run/systemd/journal/stdout")
peer = connect()
try:
    peer.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [journal.fileno()]))])
except (ConnectionResetError, BrokenPipeError):
    pass
say("with a socket of root's", ask(peer))
# Root in a user namespace of one's own.
if os.getuid() != 0:
    inside = ["unshare", "--user", "--map-root-user", "--mount", sys.executable, __file__]
    for line in subprocess.run(inside, capture_output=True, text=True).stdout.splitlines():
        print("as root of a namespace,", line, flush=True)
