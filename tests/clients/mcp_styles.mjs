// Sessions over MCP with the protocol's official TypeScript SDK, in the style of two agents:
//
//     mcp_styles.mjs MODULES MACHINE-COMMAND USER OPERATOR STYLE
//
// claude: hears progress, and tools that change. codex: no progress tokens, a call ends after 60 s, so it polls.
// Both install, are refused, are approved and undo. `raw` sends what is no message; `many` makes 100 calls at once.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const [modules, machineCommand, user, operator, style] = process.argv.slice(2);
const sdk = (path) => import(`${modules}/@modelcontextprotocol/sdk/dist/esm/${path}`);
const { Client } = await sdk("client/index.js");
const { StdioClientTransport } = await sdk("client/stdio.js");
const { ElicitRequestSchema, ToolListChangedNotificationSchema } = await sdk("types.js");

const [program, ...machine] = machineCommand.split(" ");
const server = [...machine, "--user", user, "--", "postern", "mcp"];

async function run(who, ...command) {
    return (await promisify(execFile)(program, [...machine, "--user", who, "--", ...command])).stdout;
}

/** An operator looks at what waits and approves it, in a terminal of their own. */
async function approve() {
    const [{ approval_id: id }] = JSON.parse(await run(operator, "postern-admin", "pending", "--json")).pending;
    const { sha256 } = JSON.parse(await run(operator, "postern-admin", "show", id, "--json"));
    await run(operator, "postern-admin", "approve", id, "--digest", sha256);
}

async function connect(info, capabilities) {
    const client = new Client(info, { capabilities });
    await client.connect(new StdioClientTransport({ command: program, args: server, stderr: "inherit" }));
    return client;
}

const AGENTS = { claude, codex };

/** Progress tokens, `tools/list_changed`, and calls whose time starts anew with each progress. */
async function claude() {
    const client = await connect({ name: "claude-code", version: "2.1.330" }, { roots: {} });
    let changed;
    const isChanged = new Promise((resolve) => { changed = resolve; });
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed());
    const approving = new Map();
    const onprogress = ({ message }) => {
        if (message?.includes("postern-admin approve") && !approving.has(message)) approving.set(message, approve());
    };
    const call = (name, args) =>
        client.callTool({ name, arguments: args }, undefined, { onprogress, timeout: 20_000, resetTimeoutOnProgress: true });
    return {
        client,
        call,
        waits: async (name, args) => {
            const before = approving.size;
            const done = await call(name, args);
            assert.equal(approving.size, before + 1, "progress said what it waits for");
            await Promise.all(approving.values());
            return done;
        },
        ends: async () => {
            await run("root", "rm", "/etc/postern/policy.d/60-coder-files.toml");
            await run("root", "postern-admin", "policy", "apply", "--yes");
            await isChanged;
            const { tools } = await client.listTools();
            assert.ok(!tools.some((tool) => tool.name === "undo"), "what is granted no longer is not listed");
        },
    };
}

/** No progress: what waits for a person is asked for again. */
async function codex() {
    const info = { name: "codex-mcp-client", title: "Codex", version: "0.169.0" };
    const client = await connect(info, { elicitation: {} });
    let elicited = 0;
    client.setRequestHandler(ElicitRequestSchema, () => { elicited += 1; return { action: "accept" }; });
    const call = (name, args) => client.callTool({ name, arguments: args }, undefined, { timeout: 60_000 });
    return {
        client,
        call,
        waits: async (name, args) => {
            const asked = await call(name, { ...args, wait_s: 1 });
            const { status, request_id } = asked.structuredContent;
            assert.equal(status, "waiting", asked.content[0].text);
            await approve();
            for (let tries = 0; tries < 50; tries += 1) {
                const now = await call("request_result", { request_id });
                if (now.structuredContent.status !== "waiting") return now;
                await sleep(100);
            }
            throw new Error("no outcome came");
        },
        ends: async () => assert.equal(elicited, 0, "nobody is asked for an approval over the protocol"),
    };
}

/** Installs, is refused, is approved and undoes. */
async function session({ client, call, waits, ends }) {
    const names = (await client.listTools()).tools.map((tool) => tool.name).sort();
    assert.deepEqual(names, ["file", "package", "read_file", "request_result", "undo"]);
    const one = `mcp-${style}`;
    const preview = await call("package", { action: "install", names: [one], dry_run: true });
    assert.equal(preview.structuredContent.status, "previewed", preview.content[0].text);
    const done = await call("package", { action: "install", names: [one] });
    assert.ok(!done.isError && done.structuredContent.status === "done", done.content[0].text);
    assert.match(await run("root", "dpkg-query", "--show", one), new RegExp(one));

    const refused = await call("service", { action: "stop", name: "cron" });
    assert.ok(refused.isError && refused.structuredContent.code === "no_grant", refused.content[0].text);

    const path = `/srv/coder/${style}.conf`;
    const asked = await waits("file", { action: "write", path, content: "one\n" });
    assert.equal(asked.structuredContent.status, "done", asked.content[0].text);
    assert.equal(await run("root", "cat", path), "one\n");
    const undone = await waits("undo", { request_id: asked.structuredContent.undo });
    assert.equal(undone.structuredContent.status, "done", undone.content[0].text);
    await run("root", "test", "!", "-e", path);
    await ends();
    await client.close();
}

/** 100 calls at once: each is answered, with its own outcome. */
async function many() {
    const client = await connect({ name: "many", version: "1" }, {});
    const read = async (number) => {
        const path = `/srv/coder/many-${number}.conf`;
        const { structuredContent, content } = await client.callTool({ name: "read_file", arguments: { path } });
        assert.equal(structuredContent?.status, "done", content[0].text);
        assert.match(JSON.stringify(content), new RegExp(`number ${number}!`));
        return structuredContent.request_id;
    };
    const ids = await Promise.all(Array.from({ length: 100 }, (_, number) => read(number)));
    assert.equal(new Set(ids).size, 100);
    await client.close();
}

/** Lines that are no messages end neither the server nor the session. */
async function raw() {
    const child = spawn(program, server, { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
    const clientInfo = { name: "raw", version: "1" };
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    send({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    assert.equal(JSON.parse((await lines.next()).value).result.serverInfo.name, "postern");
    send({ jsonrpc: "2.0", method: "notifications/initialized" });
    const deep = "[".repeat(100_000);
    for (const line of ["{", "nonsense", "", "[]", "null", '{"jsonrpc":"1.0","id":2,"method":"tools/list"}', deep, "x".repeat(17 << 20)]) {
        child.stdin.write(`${line}\n`);
    }
    child.stdin.write(Buffer.from([0xff, 0xfe, 0x00, 0x0a]));
    send({ jsonrpc: "2.0", id: "last", method: "ping" });
    for (;;) {
        const answer = JSON.parse((await lines.next()).value);
        if (answer.id === "last") {
            assert.ok(answer.result, JSON.stringify(answer));
            break;
        }
        assert.ok(answer.error, `each is an error: ${JSON.stringify(answer)}`);
    }
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.stdin.end();
    assert.equal(await ended, 0);
}

if (style === "many") await many();
else if (style === "raw") await raw();
else await session(await AGENTS[style]());
console.log("ok");
