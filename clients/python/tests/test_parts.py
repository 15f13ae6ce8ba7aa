"""Parts of the client that need no agent."""

import base64
import hashlib
import hmac
import os
import socketserver
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler

from postern import Agent, Event, InvalidWebhook, PosternError, StillRunning, verify_webhook
from postern._connection import failure
from postern._events import read_events

# The example of the specification of Standard Webhooks.
KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
HEADERS = {
    "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
BODY = b'{"test": 2432232314}'
THEN = 1614265330


def signed(key, body):
    """Headers of a message that is signed by this key."""
    secret = base64.b64decode(key.removeprefix("whsec_"))
    mac = base64.b64encode(hmac.digest(secret, b"msg_1.%d." % THEN + body, hashlib.sha256)).decode()
    return {"webhook-id": "msg_1", "webhook-timestamp": str(THEN), "webhook-signature": f"v2,x v1,{mac}"}


class Scripted(BaseHTTPRequestHandler):
    """Answers each path with the next of its answers, the last one for ever."""

    def address_string(self):
        return "a client"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        answers = self.server.answers[self.path]
        body = (answers.pop(0) if len(answers) > 1 else answers[0]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET


def task(status):
    return (
        '{"id":"x","session":"","task":"t","status":"%s","summary":"","results":[],"changes":[],"warnings":[],"usage":{}}'
        % status
    )


class Broken(unittest.TestCase):
    """An agent whose streams end early, and whose tasks take long."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = os.path.join(directory.name, "sock")
        self.server = socketserver.UnixStreamServer(path, Scripted)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.agent = Agent(path)

    def test_asks_again_for_a_stream_that_ended_before_the_task(self):
        self.server.answers = {
            "/tasks/x/events?after=0": ["id: 1\nevent: step\ndata: {}\n\n"],
            "/tasks/x/events?after=1": ["", 'id: 2\nevent: completed\ndata: {}\n\n'],
            "/tasks/x/events?after=2": [""],
            "/tasks/x": [task("running"), task("running"), task("completed")],
        }
        self.assertEqual([event.number for event in self.agent.events("x")], [1, 2])

    def test_names_the_task_that_did_not_end_in_time(self):
        self.server.answers = {"/execute": ['{"id":"x"}'], "/tasks/x": [task("running")]}
        with self.assertRaises(StillRunning) as raised:
            self.agent.run("t", timeout=0.2)
        self.assertEqual(raised.exception.task, "x")

    def test_refuses_to_send_a_token_to_another_host(self):
        for tcp, token in ((("192.0.2.1", 9000), "t"), (("127.0.0.1", 9000), "a\nb")):
            with self.subTest(tcp=tcp), self.assertRaises(ValueError):
                Agent(tcp=tcp, token=token)


class Events(unittest.TestCase):
    def test_reads_numbered_events_and_skips_comments(self):
        lines = [b": alive\n", b"id: 7\n", b"event: step\n", b'data: {"step":1,\r\n', b'data: "what":"x"}\n', b"\n", b"\n"]
        lines += [b"event: says\n", b'data:"word"\n', b"\n", b"event: step\n", b"data: {}\n"]
        # The last one is not whole.
        self.assertEqual(list(read_events(lines)), [Event(7, "step", {"step": 1, "what": "x"}), Event(None, "says", "word")])


class Webhooks(unittest.TestCase):
    def test_accepts_a_signed_message(self):
        body = b'{"type": "completed", "data": {"task": "x"}}'
        message = verify_webhook(KEY + "\n", signed(KEY, body), body, now=THEN)
        self.assertEqual((message.id, message.type, message.data), ("msg_1", "completed", {"task": "x"}))

    def test_holds_the_signature_of_the_specifications_example(self):
        # The example has no type.
        with self.assertRaisesRegex(InvalidWebhook, "no type"):
            verify_webhook(KEY, HEADERS, BODY, now=THEN)

    def test_refuses_keys_that_anybody_could_guess(self):
        body = b'{"type": "completed", "data": {}}'
        for key in ("", "whsec_", "whsec_AAAA", "whsec_" + "A" * 28):
            with self.subTest(key=key), self.assertRaisesRegex(InvalidWebhook, "key"):
                verify_webhook(key, signed(key, body), body, now=THEN)

    def test_refuses_what_is_changed_old_or_malformed(self):
        vectors = [
            (KEY, HEADERS, BODY + b" ", THEN),
            (KEY, HEADERS, BODY, THEN + 301),
            (KEY, HEADERS, BODY, THEN - 301),
            (KEY, HEADERS | {"Webhook-Id": "msg_other"}, BODY, THEN),
            (KEY, HEADERS | {"webhook-timestamp": "1614265331"}, BODY, THEN),
            (KEY, HEADERS | {"webhook-timestamp": "now"}, BODY, THEN),
            (KEY, HEADERS | {"webhook-signature": "v1,"}, BODY, THEN),
            (KEY, {}, BODY, THEN),
            (KEY, HEADERS | {"webhook-signature": "v1,\udcff"}, BODY, THEN),
            (KEY, signed(KEY, b"no json"), b"no json", THEN),
            (KEY, signed(KEY, b"[]"), b"[]", THEN),
            ("whsec_?", HEADERS, BODY, THEN),
        ]
        for key, headers, body, now in vectors:
            with self.subTest(headers=headers, now=now), self.assertRaises(InvalidWebhook):
                verify_webhook(key, headers, body, now=now)


class Errors(unittest.TestCase):
    def test_reads_the_agents_errors_and_others(self):
        error = failure(404, b'{"error":{"code":"not_found","message":"no task of yours has this id"}}')
        self.assertEqual((error.status, error.code), (404, "not_found"))
        self.assertEqual(failure(502, b"<html>").code, "internal")
        self.assertIsInstance(error, PosternError)


if __name__ == "__main__":
    unittest.main()
