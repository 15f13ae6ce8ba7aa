"""An agent's session over MCP, with the protocol's official Python SDK: install, be refused, be approved, undo.

    mcp_session.py MACHINE-COMMAND USER OPERATOR

MACHINE-COMMAND runs a command in the machine: `deploy/machine run NAME`, in one word.
"""

import asyncio
import json
import subprocess
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

machine, user, operator = sys.argv[1].split(), sys.argv[2], sys.argv[3]


def run(who, *command):
    whole = [*machine, "--user", who, "--", *command]
    done = subprocess.run(whole, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def approve_what_waits():
    """An operator looks at what waits and approves it, in a terminal of their own."""
    waiting = json.loads(run(operator, "postern-admin", "pending", "--json"))["pending"][0]["approval_id"]
    digest = json.loads(run(operator, "postern-admin", "show", waiting, "--json"))["sha256"]
    run(operator, "postern-admin", "approve", waiting, "--digest", digest)


async def main():
    heard, changed, approving = [], asyncio.Event(), {}

    async def progress(_count, _total, words):
        heard.append(words or "")
        if "postern-admin approve" in heard[-1] and heard[-1] not in approving:
            approving[heard[-1]] = asyncio.create_task(asyncio.to_thread(approve_what_waits))

    async def notified(message):
        if "ToolListChanged" in type(getattr(message, "root", message)).__name__:
            changed.set()

    server = StdioServerParameters(command=machine[0], args=[*machine[1:], "--user", user, "--", "postern", "mcp"])
    async with stdio_client(server) as streams, ClientSession(*streams, message_handler=notified) as session:
        await session.initialize()
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert sorted(tools) == ["file", "package", "read_file", "request_result", "undo"], sorted(tools)

        async def call(tool, **arguments):
            # The SDK checks each answer against the tool's output schema.
            result = await session.call_tool(tool, arguments, progress_callback=progress)
            return result.is_error, result.structured_content, result.content[0].text

        failed, plan, _ = await call("package", action="install", names=["mcp-one"], dry_run=True)
        assert not failed and plan["status"] == "previewed" and plan["plan"]["packages"], plan
        failed, done, text = await call("package", action="install", names=["mcp-one"])
        assert not failed and done["status"] == "done" and done["rule"] == "coder-packages", text
        assert "mcp-one" in run("root", "dpkg-query", "--show", "mcp-one")

        failed, refused, text = await call("package", action="install", names=["mcp-two"])
        assert failed and refused["code"] == "no_grant", text
        failed, refused, text = await call("service", action="stop", name="cron")
        assert failed and refused["code"] == "no_grant", text

        failed, asked, text = await call("file", action="write", path="/srv/coder/a.conf", content="one\n")
        assert not failed and asked["status"] == "done" and asked["decision"] == "ask", text
        assert run("root", "cat", "/srv/coder/a.conf") == "one\n"
        assert any("waiting for an operator" in words for words in heard), heard
        await asyncio.gather(*approving.values())

        failed, undone, text = await call("undo", request_id=asked["undo"])
        assert not failed and undone["status"] == "done", text
        gone = subprocess.run([*machine, "--", "test", "!", "-e", "/srv/coder/a.conf"], check=False)
        assert gone.returncode == 0, "the change is taken back"

        policy = json.loads((await session.read_resource("postern://policy")).contents[0].text)
        assert policy["through"] == "helper" and policy["client"] == "coder", policy

        run("root", "rm", "/etc/postern/policy.d/60-coder-files.toml")
        run("root", "postern-admin", "policy", "apply", "--yes")
        await asyncio.wait_for(changed.wait(), 15)
        tools = [tool.name for tool in (await session.list_tools()).tools]
        assert sorted(tools) == ["package", "read_file", "request_result"], tools
    print("ok")


asyncio.run(main())
