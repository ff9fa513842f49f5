#!/usr/bin/python3 -I
"""Rules about the messages of MCP in a request's body."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_http2 import NodeOrigin  # noqa: E402
from world import World, answer, become_ordinary, receive_head  # noqa: E402

CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s"}}'
LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

# Posts each body; the status, or what a refusal says.
POST = r'''
for body in json.loads(words[1]):
    status, text = fetch("http://api.test:%s/mcp" % words[0], body.encode(),
                         headers={"Content-Type": "application/json"})
    print(status, "" if status == 200 else text.strip())
'''


class Mcp(World):
    def setUp(self):
        super().setUp()
        self.bodies = []
        self.web = self.origin(tls=False, serve=self.keep)

    def keep(self, peer):
        while True:
            head, rest = receive_head(peer)
            if not head:
                return
            if b"chunked" in head:
                while not rest.endswith(b"0\r\n\r\n"):
                    rest += peer.recv(65536)
            else:
                length = int(head.lower().split(b"content-length:")[1]
                             .split(b"\r\n")[0])
                while len(rest) < length:
                    rest += peer.recv(65536)
            self.bodies.append(rest)
            answer(peer)

    def rules(self, *more, **mcp):
        return [self.rule("tools", "api.test", self.web, ca=False,
                          access="write", mcp=mcp), *more]

    def post(self, rules, *bodies):
        # Long ones by a file: a command line has an end.
        with open(os.path.join(self.workspace, "bodies"), "w") as out:
            json.dump(bodies, out)
        return self.box(rules, POST.replace(
            "json.loads(words[1])", "json.load(open('bodies'))"),
            self.web.port).splitlines()

    def test_tools_that_a_rule_names_can_be_called_and_no_others(self):
        said = self.post(self.rules(methods=["tools/*", "initialize"],
                                    tools=["read_*"]),
                         CALL % "read_file", CALL % "write_file", LIST,
                         LIST.replace("tools/list", "resources/list"))
        self.assertEqual([line[:3] for line in said],
                         ["200", "403", "200", "403"])
        self.assertIn("tools/call of write_file", said[1])
        self.assertEqual(len(self.bodies), 2)
        self.assertEqual(
            [(row["verb"], row["object"], row["verdict"], row["rule"])
             for row in self.rows("kind = 'mcp_call'")],
            [("tools/call", "read_file", "allow", "tools"),
             ("tools/list", None, "allow", "tools")])

    def test_denied_tool_is_denied_whatever_else_is_allowed(self):
        said = self.post(
            [self.rule("all", "api.test", self.web, ca=False, access="write"),
             {"id": "no", "host": ["api.test"], "action": "deny",
              "mcp": {"tools": ["delete_*"]}, "reason": "never"}],
            CALL % "read", CALL % "delete_all", "what is this",
            '{"method":"tools/call","params":{"name":"delete_all"}}',
            '{"method":"tools/call","method":"x","params":{"name":"a"}}',
            CALL.replace("tools/call", r"tools\u002fcall") % "delete_x")
        self.assertEqual([line[:3] for line in said],
                         ["200", "403", "403", "403", "403", "403"])
        self.assertIn("never", said[1])
        self.assertIn("does not read as JSON-RPC", said[2])

    def test_every_message_of_a_batch_must_be_allowed(self):
        def batch(*names):
            return "[%s]" % ",".join(CALL % name for name in names)
        said = self.post(self.rules(tools=["read"]), batch("read", "read"),
                         batch("read", "write"), "[%s,3]" % (CALL % "read"),
                         "[]", batch(*["read"] * 65))
        self.assertEqual([line[:3] for line in said],
                         ["200", "403", "403", "403", "403"])
        self.assertEqual(len(self.rows("kind = 'mcp_call'")), 2)

    def test_body_arrives_as_it_was_sent(self):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                           "params": {"name": "read",
                                      "arguments": {"x": "y" * 900000}}})
        said = self.post(self.rules(tools=["read"]), body)
        self.assertEqual(said, ["200"])
        self.assertEqual(self.bodies, [body.encode()])

    def test_body_past_the_limit_is_refused_where_a_rule_needs_it(self):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                           "params": {"name": "read",
                                      "arguments": {"x": "y" * 2000000}}})
        said = self.post(self.rules(tools=["read"]), body)
        # A client that goes on sending may see the end before the answer.
        self.assertRegex(said[0], "403.*too long|failed")
        self.assertEqual(self.bodies, [])
        self.refused_for("no_rule")

    def test_recording_alone_refuses_nothing(self):
        long = '{"method":"x","params":"%s"}' % ("y" * 3000000)
        said = self.post(
            [self.rule("log", "api.test", self.web, ca=False, access="write",
                       log=["mcp"])], CALL % "read", "what is this", long)
        self.assertEqual([line[:3] for line in said], ["200", "200", "200"])
        self.assertEqual(self.bodies[2], long.encode())
        (row,) = self.rows("kind = 'mcp_call'")
        self.assertEqual((row["verb"], row["object"]), ("tools/call", "read"))

    def test_chunks_and_a_client_that_waits_to_be_asked_are_read_too(self):
        said = self.box(self.rules(tools=["read"]), r'''
body = words[1].encode()
head = (b"POST /mcp HTTP/1.1\r\nHost: api.test:%s\r\nConnection: close\r\n"
        % words[0].encode())
print(talk("api.test", words[0], head + b"Transfer-Encoding: chunked\r\n\r\n"
    + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")[:15])
peer = socket.create_connection(("api.test", int(words[0])), timeout=30)
peer.sendall(head + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n"
             % len(body))
print(peer.recv(100).decode()[:12])
peer.sendall(body)
print(peer.recv(100).decode()[:12])''', self.web.port, CALL % "read")
        self.assertEqual(said.splitlines(), [
            "HTTP/1.1 200 OK", "HTTP/1.1 100", "HTTP/1.1 200"])
        self.assertEqual(self.bodies[1], (CALL % "read").encode())

    def test_body_over_http2_is_read_too(self):
        server = NodeOrigin(self, kind="clear")
        rule = self.rule("tools", "api.test", server, ca=False,
                         access="write", mcp={"tools": ["read"]})
        said = []
        for name in ("read", "wipe"):
            code, out, err = self.run_box(
                [rule], "curl", "-sS", "-m", "60", "--http2-prior-knowledge",
                "-H", "Content-Type: application/json", "-d", CALL % name,
                "-w", " %{http_version} %{http_code}",
                "http://api.test:%d/echo" % server.port)
            self.assertEqual(code, 0, err)
            said.append(out)
        self.assertEqual(said[0], CALL % "read" + " 2 200")
        self.assertIn("tools/call of wipe", said[1])
        self.assertTrue(said[1].endswith(" 2 403"), said[1])
        self.assertEqual(
            [(row["verb"], row["object"], row["verdict"])
             for row in self.rows("kind = 'mcp_call'")],
            [("tools/call", "read", "allow")])
        self.assertEqual(len(server.heard), 1)

    def test_packed_body_is_not_guessed_at(self):
        said = self.box(self.rules(tools=["read"]), r'''
import gzip
print(fetch("http://api.test:%s/mcp" % words[0],
            gzip.compress(words[1].encode()),
            headers={"Content-Encoding": "gzip"})[0])''',
                        self.web.port, CALL % "read")
        self.assertEqual(said, "403")

    def converse(self, scheme, *packages):
        """A client of npm to a server of npm; what the server has heard."""
        folder = tempfile.mkdtemp(dir=self.shared)
        done = subprocess.run(
            ["npm", "install", "--silent", "--no-audit", "--no-fund",
             "@modelcontextprotocol/sdk@1.12.0", *packages], cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": folder},
            capture_output=True, text=True, timeout=200)
        if done.returncode != 0:
            self.skipTest("no package registry: " + done.stderr[-300:])
        for name, text in (("server.mjs", SERVER), ("client.mjs", CLIENT)):
            with open(os.path.join(folder, name), "w") as out:
                out.write(text)
        server = subprocess.Popen(
            ["node", "--no-warnings", "server.mjs", scheme,
             os.path.join(self.shared, "origin.pem"),
             os.path.join(self.shared, "origin.key")], cwd=folder,
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.addCleanup(server.stdout.close)
        there = types.SimpleNamespace(port=int(server.stdout.readline()))
        shutil.copytree(folder, os.path.join(self.workspace, "mcp"))
        rules = [
            self.rule("tools", "api.test", there, ca=scheme == "https",
                      access="write", mcp={
                          "methods": ["initialize", "notifications/*",
                                      "tools/*"], "tools": ["add"]}),
            self.rule("stream", "api.test", there, ca=scheme == "https",
                      access="read")]
        code, out, err = self.run_box(
            rules, "node", "mcp/client.mjs",
            "%s://api.test:%d/mcp" % (scheme, there.port))
        self.assertEqual(code, 0, err + out)
        self.assertIn("tools add,wipe", out)
        self.assertIn("add 5", out)
        self.assertIn("wipe refused", out)
        self.assertIn("tools/call of wipe", out)
        calls = [(row["verb"], row["object"])
                 for row in self.rows("kind = 'mcp_call'")]
        self.assertIn(("initialize", None), calls)
        self.assertIn(("tools/call", "add"), calls)
        self.assertNotIn(("tools/call", "wipe"), calls)
        server.kill()
        return out, server.stdout.read().split()

    @unittest.skipUnless(os.environ.get("EXEAT_FULL") == "1",
                         "it installs packages: EXEAT_FULL=1 runs it")
    def test_real_client_and_server_of_the_protocol(self):
        _, heard = self.converse("http")
        self.assertEqual(set(heard), {"1.1"})

    @unittest.skipUnless(os.environ.get("EXEAT_FULL") == "1",
                         "it installs packages: EXEAT_FULL=1 runs it")
    def test_real_client_and_server_over_http2(self):
        out, heard = self.converse("https", "undici@6")
        self.assertEqual(set(heard), {"2.0"})
        self.assertIn("spoken h2", out)


SERVER = r'''
import http from "node:http";
import http2 from "node:http2";
import { readFileSync } from "node:fs";
import { json } from "node:stream/consumers";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from
  "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
const [scheme, cert, key] = process.argv.slice(2);
async function on_request(req, res) {
  console.log(req.httpVersion);
  if (req.method !== "POST") {
    res.writeHead(405);
    res.end();
    return;
  }
  const server = new McpServer({ name: "t", version: "1" });
  server.tool("add", { a: z.number(), b: z.number() }, async ({ a, b }) => (
    { content: [{ type: "text", text: String(a + b) }] }));
  server.tool("wipe", {}, async () => (
    { content: [{ type: "text", text: "wiped" }] }));
  const transport = new StreamableHTTPServerTransport(
    { sessionIdGenerator: undefined });
  await server.connect(transport);
  await transport.handleRequest(req, res, await json(req));
}
const listener = scheme === "http" ? http.createServer(on_request) :
  http2.createSecureServer({ cert: readFileSync(cert),
    key: readFileSync(key) }, on_request);
listener.listen(0, "127.0.0.1", () => console.log(listener.address().port));
'''

CLIENT = r'''
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from
  "@modelcontextprotocol/sdk/client/streamableHttp.js";
const url = new URL(process.argv[2]);
if (url.protocol === "https:") {
  const { Agent, buildConnector, setGlobalDispatcher } = await
    import("undici");
  const connect = buildConnector({ allowH2: true });
  setGlobalDispatcher(new Agent({ allowH2: true, connect: (to, done) =>
    connect(to, (error, socket) => {
      if (socket) console.log("spoken " + socket.alpnProtocol);
      done(error, socket);
    }) }));
}
const client = new Client({ name: "c", version: "1" });
await client.connect(new StreamableHTTPClientTransport(url));
const { tools } = await client.listTools();
console.log("tools " + tools.map((tool) => tool.name).join());
const sum = await client.callTool({ name: "add", arguments: { a: 2, b: 3 } });
console.log("add " + sum.content[0].text);
try {
  await client.callTool({ name: "wipe", arguments: {} });
  console.log("wipe done");
} catch (error) {
  console.log("wipe refused " + error.message);
}
process.exit(0);
'''

if __name__ == "__main__":
    become_ordinary()
    unittest.main()
