"""The agent's side of one call in the sandbox: a question as JSON in, the answer as JSON out."""
import base64
import json
import socket
import struct
import sys

ask = {"profile": "workspace_write", "task": "escape", "time_ms": 60000, "output": 65536, "ports": [],
       "read_roots": [], "unenforced": "refuse", **json.loads(sys.argv[1])}
peer = socket.socket(socket.AF_UNIX)
peer.connect("/run/postern/tool-ports.sock" if ask["ports"] else "/run/postern/tool.sock")
body = json.dumps(ask).encode()
peer.sendall(b"1" + struct.pack("<I", len(body)) + body)
answer = b""
while chunk := peer.recv(65536):
    answer += chunk
answer = json.loads(answer[4:])
for stream in ("stdout", "stderr"):
    if "record" in answer:
        answer["record"][stream] = base64.b64decode(answer["record"][stream]).decode("utf-8", "replace")
print(json.dumps(answer))
