"""Somebody to talk to: a user's bus, an abstract name, and TCP on every address."""
import os
import socket
import time

os.makedirs("/run/user/4242", exist_ok=True)
os.chmod("/run/user/4242", 0o755)
kept = []
for family, name in ((socket.AF_UNIX, "/run/user/4242/bus"), (socket.AF_UNIX, "\0escape"),
                     (socket.AF_INET, ("0.0.0.0", 7001)), (socket.AF_INET, ("0.0.0.0", 7002))):
    listener = socket.socket(family)
    listener.bind(name)
    listener.listen(1000)
    kept.append(listener)
os.chmod("/run/user/4242/bus", 0o666)
open("/run/listening", "w").close()
while True:
    time.sleep(1000)
