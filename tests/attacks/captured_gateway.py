"""In a gateway's place: what a captured one would try. Says one line a try on stderr (the journal)."""
import array
import os
import select
import socket
import struct
import sys


def say(what, result):
    print(f"captured: {what}: {result}", file=sys.stderr, flush=True)


def frame(stream, method, body):
    payload = bytes([len(method)]) + method + body
    return struct.pack("<IBI", stream, 1, len(payload)) + payload


def answer(channel):
    """Kinds of the frames up to the end of a stream, or `closed`."""
    kinds = []
    while True:
        head = b""
        while len(head) < 9:
            part = channel.recv(9 - len(head))
            if not part:
                return "closed"
            head += part
        _, kind, length = struct.unpack("<IBI", head)
        body = b""
        while len(body) < length:
            body += channel.recv(length - len(body))
        kinds.append(kind)
        if kind == 2:
            return f"ended with code {body[0]}"


def attempt(what, work):
    try:
        say(what, f"went through: {work()}")
    except OSError as error:
        say(what, f"refused: {os.strerror(error.errno)}")


def connect(path):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.connect(path)
    return path


given = socket.socket(fileno=0)
# The broker hands nothing to a process whose number it does not know.
given.send(b"1")
_, ancillary, _, _ = given.recvmsg(1, socket.CMSG_SPACE(2 * 4))
fds = array.array("i")
for _, _, data in ancillary:
    fds.frombytes(data)
client, channel = (socket.socket(fileno=fd) for fd in fds)
channel.setblocking(True)
bodies = [bytes.fromhex(text) for text in os.environ["ATTACK_BODIES"].split(",")]

say("uid", os.getuid())
for name in ("helper", "operator", "person", "internal/gateway", "internal/recorder", "internal/files", "internal/units"):
    attempt(f"connect to {name}.sock", lambda: connect(f"/run/postern/{name}.sock"))
attempt("signal the helper", lambda: os.kill(1, 0))
channel.sendall(frame(1, b"Helper/FileWrite", bodies[0]))
say("as the client", answer(channel))
# Descriptors, credentials and a second identity along with a request: root reads bytes and nothing else.
journal = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
attempt("connect to the journal", lambda: journal.connect("/run/systemd/journal/stdout"))
channel.sendmsg([frame(2, b"Helper/FileWrite", bodies[1])], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [journal.fileno(), 0]))])
say("with descriptors", answer(channel))
attempt(
    "with root's credentials",
    lambda: channel.sendmsg([b""], [(socket.SOL_SOCKET, 2, struct.pack("iII", 1, 0, 0))]),
)
# Wait for the client to leave, then go on asking in its name.
hangup = select.poll()
hangup.register(client, select.POLLRDHUP | select.POLLHUP)
hangup.poll(20000)
try:
    channel.sendall(frame(3, b"Helper/FileWrite", bodies[2]))
    say("after the client left", answer(channel))
except OSError as error:
    say("after the client left", f"refused: {os.strerror(error.errno)}")
