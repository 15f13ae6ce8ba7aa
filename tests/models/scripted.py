#!/usr/bin/env python3
"""A model that says what it was told to: an endpoint on loopback of OpenAI's chat completions and Anthropic's messages.

    scripted.py PORT REPLIES SEEN

REPLIES holds a JSON list, answered one after the other. A reply is one of
  {"tool", "args"}          a call; "arguments" in place of "args" is text that is sent as it is
  {"calls": [...]}          several of them
  {"text"}                  words
  {"status", "error"}       an answer that is none of the model's; with "retry_after" it has that header
and with "hold": PATH it waits until there is such a file. Each request is appended to SEEN as a line of JSON.

It also answers as what else is asked: GET names one model, "scripted", as of any path; POST /v1/embeddings has one direction for texts with "beaver" and for
questions (with "?"), and another one for all others; POST /v1/traces takes spans as an OTLP collector does, and appends
them to SEEN.traces.
"""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, REPLIES, SEEN = int(sys.argv[1]), json.load(open(sys.argv[2])), sys.argv[3]


def calls(reply):
    for number, call in enumerate(reply.get("calls", [reply] if "tool" in reply else [])):
        yield f"c{number}", call["tool"], call.get("arguments", json.dumps(call.get("args")))


def chat(reply):
    tools = [{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}} for id, name, arguments in calls(reply)]
    message = {"content": reply.get("text")} | ({"tool_calls": tools} if tools else {})
    choice = {"message": message, "finish_reason": "tool_calls" if tools else "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}


def messages(reply):
    content = [{"type": "text", "text": reply["text"]}] if "text" in reply else []
    content += [{"type": "tool_use", "id": id, "name": name, "input": json.loads(arguments)} for id, name, arguments in calls(reply)]
    reason = "tool_use" if len(content) > ("text" in reply) else "end_turn"
    return {"id": "m", "type": "message", "role": "assistant", "content": content, "stop_reason": reason, "usage": {"input_tokens": 100, "output_tokens": 10}}


def embeddings(texts):
    vectors = [[2.0, 0.1] if "beaver" in text.lower() or "?" in text else [0.1, 2.0] for text in texts]
    return {"object": "list", "data": [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]}


class Endpoint(BaseHTTPRequestHandler):
    def answer(self, status, value, headers=(), kind="application/json"):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers:
            self.send_header(name, text)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/traces":
            with open(SEEN + ".traces", "ab") as traces:
                traces.write(body)
            return self.answer(200, b"", kind="application/x-protobuf")
        body = json.loads(body)
        if self.path == "/v1/embeddings":
            with open(SEEN + ".embeddings", "a") as seen:
                seen.write(json.dumps(body) + "\n")
            return self.answer(200, embeddings(body["input"]))
        # Taken and told in one go: another request may come while this one is held.
        reply = REPLIES.pop(0) if REPLIES else None
        with open(SEEN, "a") as seen:
            head = {name.lower(): value for name, value in self.headers.items()}
            seen.write(json.dumps({"path": self.path, "head": head, "body": body, "messages": body["messages"]}) + "\n")
        if reply is None:
            return self.answer(400, {"error": {"message": "the script is over"}})
        while "hold" in reply and not os.path.exists(reply["hold"]):
            time.sleep(0.05)
        if "status" in reply:
            after = [("Retry-After", str(reply["retry_after"]))] if "retry_after" in reply else []
            return self.answer(reply["status"], {"error": {"message": reply["error"]}}, after)
        self.answer(200, (messages if self.path.endswith("/messages") else chat)(reply))

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", PORT), Endpoint).serve_forever()
