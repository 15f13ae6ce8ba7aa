"""The client against an agent, whose helper is the test's that starts this: see agent/tests/python_client.rs."""

import os
import unittest

from postern import Agent, PosternError, Unreachable

SOCKET = os.environ.get("POSTERN_TEST_SOCKET")


@unittest.skipUnless(SOCKET, "POSTERN_TEST_SOCKET names no agent")
class Session(unittest.TestCase):
    def test_gives_follows_and_lists_tasks(self):
        with Agent(SOCKET) as agent:
            done = agent.run("restart nginx", reason="from Python", session="s")
            self.assertEqual((done.status, done.session, done.ended), ("completed", "s", True), done)
            self.assertEqual([(change.verb, change.target) for change in done.changes], [("unit.restart", "nginx.service")])
            self.assertEqual([(result.step, result.tool, result.status) for result in done.results], [(1, "service", "ok")])

            id = agent.submit("restart nginx")
            events = list(agent.events(id))
            (waits,) = [event.data for event in events if event.name == "waiting"]
            self.assertEqual(waits["approval_id"], os.environ["POSTERN_TEST_APPROVAL"])
            numbers = [event.number for event in events]
            self.assertEqual(numbers, sorted(set(numbers)))
            self.assertEqual(list(agent.events(id, after=numbers[-2]))[-1], events[-1])
            self.assertEqual(agent.task(id[:30]).status, "completed")

            # The helper's script has one answer for both.
            refused = agent.run("restart nginx", idempotency_key="b7e9-1")
            self.assertEqual(agent.run("restart nginx", idempotency_key="b7e9-1"), refused)
            with self.assertRaises(PosternError) as raised:
                agent.run("stop nginx", idempotency_key="b7e9-1")
            self.assertEqual(raised.exception.status, 422)
            self.assertEqual((refused.status, refused.changes), ("refused", ()))
            self.assertTrue(refused.results[0].error.startswith("no_grant: "), refused)

            self.assertEqual([task.id for task in agent.tasks(limit=2)], [refused.id, id])
            self.assertEqual([task.id for task in agent.tasks(before=id)], [done.id])
            self.assertEqual(agent.plan("restart nginx")[0]["tool"], "service")
            self.assertEqual(agent.health().agent, "ok")
            self.assertEqual(agent.cancel(done.id).status, "completed")

    def test_raises_the_agents_codes(self):
        agent = Agent(SOCKET)
        calls = [
            (404, "not_found", lambda: agent.task("ffff")),
            (404, "not_found", lambda: list(agent.events("ffff"))),
            (422, "invalid_argument", lambda: agent.run("frobnicate the widget")),
            (409, "precondition_failed", lambda: agent.resume(agent.tasks()[0].id)),
            (409, "not_found", lambda: agent.answer(agent.tasks()[0].id, 1, "yes")),
        ]
        for status, code, call in calls:
            with self.subTest(code=code), self.assertRaises(PosternError) as raised:
                call()
            self.assertEqual((raised.exception.status, raised.exception.code), (status, code))
        with self.assertRaises(Unreachable):
            Agent("/nonexistent/agent.sock").health()


if __name__ == "__main__":
    unittest.main()
