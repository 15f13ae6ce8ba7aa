"""A model that says what it was told to: an endpoint of OpenAI's chat completions on loopback.

    scripted.py PORT REPLIES SEEN

REPLIES holds a JSON list of calls, {"tool", "args"} each, answered one after the other; {"hold": PATH} lets the
answer wait until there is such a file. Each request is appended to SEEN as a line of JSON.
"""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, REPLIES, SEEN = int(sys.argv[1]), json.load(open(sys.argv[2])), sys.argv[3]


class Endpoint(BaseHTTPRequestHandler):
    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, {"data": []})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        # Taken and told in one go: another request may come while this one is held.
        reply = REPLIES.pop(0) if REPLIES else None
        with open(SEEN, "a") as seen:
            head = {name.lower(): value for name, value in self.headers.items()}
            seen.write(json.dumps({"head": head, "messages": body["messages"]}) + "\n")
        if reply is None:
            self.answer(400, {"error": {"message": "the script is over"}})
            return
        while "hold" in reply and not os.path.exists(reply["hold"]):
            time.sleep(0.05)
        function = {"name": reply["tool"], "arguments": json.dumps(reply["args"])}
        message = {"content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}
        choice = {"message": message, "finish_reason": "tool_calls"}
        self.answer(200, {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}})

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", PORT), Endpoint).serve_forever()
