"""Ways to a port of this host, and to others, for a call that may reach 7001 alone."""
import errno
import socket


def say(what, attempt):
    try:
        attempt()
        print(f"{what}: out", flush=True)
    except OSError as error:
        print(f"{what}: {errno.errorcode.get(error.errno, error)}", flush=True)


def connect(address, protocol=0):
    peer = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    peer.settimeout(3)
    peer.connect(address)


def fast_open():
    peer = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    peer.sendto(b"x", socket.MSG_FASTOPEN, ("127.0.0.1", 7002))


def listen():
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))


say("granted port", lambda: connect(("127.0.0.1", 7001)))
say("another port", lambda: connect(("127.0.0.1", 7002)))
say("another protocol", lambda: connect(("127.0.0.1", 7002), 262))
say("opened by sending", fast_open)
say("another host", lambda: connect(("192.0.2.1", 7001)))
say("datagrams", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
say("listening", listen)
