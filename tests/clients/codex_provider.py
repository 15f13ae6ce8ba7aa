"""A model for Codex that says what it is told to: the Responses API on loopback.

    codex_provider.py PORT

Each request is answered with the next call, whose arguments may hold what an earlier result said. The answers of the
tools are printed, one JSON line each, and a last line `done` when all calls were made.
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

CONF = "/srv/coder/codex.conf"
# The tool of Postern's server, or `shell` for Codex's own; `<undo>` stands for the id that the write's result named.
CALLS = [
    ("package", {"action": "install", "names": ["codex-tool"]}),
    ("service", {"action": "stop", "name": "probe"}),
    ("file", {"action": "write", "path": CONF, "content": "one\n"}),
    ("undo", {"request_id": "<undo>"}),
    ("shell", {"cmd": "sudo apt-get install -y codex-shell; echo code $?; sudo systemctl stop probe; echo code $?"}),
]


def name_of(tool, tools):
    """The name and the namespace under which Codex offers a tool."""
    if tool == "shell":
        return {"name": "exec_command"}
    for offered in tools:
        inner = [one["name"] for one in offered.get("tools", [])]
        if offered["type"] == "namespace" and "postern" in offered["name"] and tool in inner:
            return {"name": tool, "namespace": offered["name"]}
        if re.fullmatch(f"mcp_*postern_*{tool}", offered.get("name", "")):
            return {"name": offered["name"]}
    # Not listed is not granted, and a model can call it all the same.
    return {"name": tool, "namespace": "mcp__postern"}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer("application/json", json.dumps({"object": "list", "data": [], "models": []}))

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        results = [item["output"] for item in asked["input"] if item["type"] == "function_call_output"]
        if results:
            print(json.dumps(results[-1]), flush=True)
        if len(results) < len(CALLS):
            tool, arguments = CALLS[len(results)]
            if "<undo>" in json.dumps(arguments):
                found = re.search(r'"undo":\s*"([0-9a-f-]{36})"', json.dumps(results[-1]).replace('\\"', '"'))
                arguments = {"request_id": found.group(1) if found else "none"}
            item = {
                "type": "function_call",
                "id": f"item-{len(results)}",
                "call_id": f"call-{len(results)}",
                "arguments": json.dumps(arguments),
                **name_of(tool, asked["tools"]),
            }
        else:
            print("done", flush=True)
            text = {"type": "output_text", "text": "all is done"}
            item = {"type": "message", "role": "assistant", "id": "last", "content": [text]}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        events = [
            {"type": "response.created", "response": {"id": "one"}},
            {"type": "response.output_item.done", "item": item},
            {"type": "response.completed", "response": {"id": "one", "usage": usage}},
        ]
        lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self.answer("text/event-stream", "".join(lines))

    def answer(self, kind, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


HTTPServer(("127.0.0.1", int(sys.argv[1])), Model).serve_forever()
