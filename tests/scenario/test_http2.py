#!/usr/bin/python3 -I
"""HTTP/2 through the gateway: curl, nghttp, h2load and node inside, node's
http2 outside, in every combination of versions.
"""
import contextlib
import json
import os
import queue
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import world

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "raw"))
import frames
BIG = (1 << 30) if os.environ.get("EXEAT_FULL") else (48 << 20)


class NodeOrigin:
    """http2_origin.js, and what it has seen."""

    def __init__(self, test, kind="tls", versions="h2"):
        self.process = subprocess.Popen(
            ["node", os.path.join(HERE, "http2_origin.js"), kind, versions,
             os.path.join(test.shared, "origin.pem"),
             os.path.join(test.shared, "origin.key")],
            stdout=subprocess.PIPE, text=True)
        test.addCleanup(self.close)
        self.port = int(self.process.stdout.readline())
        self.heard = []
        self.coming = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            self.heard.append(json.loads(line))
            self.coming.put(None)

    def wait(self):
        self.coming.get(timeout=30)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Most:
    """The most memory that a run's gateway has held so far, in KiB."""

    def __init__(self, process):
        self.process = process
        self.most = 0
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def gateway(self):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % pid) as stat:
                    word = stat.read().split()
            except OSError:
                continue
            if (word[1] == "(exeat-gateway)" and
                    int(word[3]) == self.process.pid):
                return pid
        return None

    def watch(self):
        gateway = None
        while self.process.poll() is None:
            gateway = gateway or self.gateway()
            try:
                with open("/proc/%s/status" % gateway) as status:
                    for line in status:
                        if line.startswith("VmHWM:"):
                            self.most = int(line.split()[1])
            except OSError:
                pass
            # Between two looks; nothing is waited for by it.
            time.sleep(0.02)

    def end(self):
        self.thread.join()
        return self.most


def summed(rows):
    return [(row["kind"], row["verdict"], row["reason"], row["status"])
            for row in rows]


class Http2(world.World):
    def api(self, *origins, **more):
        return [self.rule("api", "api.test", *origins, access="any",
                          ca=more.pop("ca", True), **more)]

    def deny(self, origin, path, **more):
        return {"id": "no", "host": ["api.test"], "port": [origin.port],
                "path": [path], "action": "deny", **more}

    def curl(self, rules, *words, status=0):
        code, out, err = self.run_box(rules, "curl", "-sS", "-m", "60", *words)
        self.assertEqual(code, status, err + out)
        return out

    def test_both_sides_speak_http2(self):
        origin = NodeOrigin(self)
        out = self.curl(self.api(origin), "--http2", "-w", "%{http_version}",
                        "https://api.test:%d/hello" % origin.port)
        self.assertEqual(out, "hello 2.02")
        rows = self.rows("kind LIKE 'http%'")
        self.assertEqual(summed(rows), [
            ("http_intent", "allow", "none", None),
            ("http", "allow", "none", 200)])
        with sqlite3.connect(self.database) as database:
            self.assertEqual([(2,)], database.execute(
                "SELECT DISTINCT l7 FROM event WHERE req_id IS NOT NULL").fetchall())
        self.assertEqual("api.test:%d" % origin.port,
                         origin.heard[0]["authority"])

    def test_http2_inside_and_http1_outside(self):
        origin = NodeOrigin(self, versions="http1")
        out = self.curl(self.api(origin), "--http2", "-w", "%{http_version}",
                        "-d", "abc", "https://api.test:%d/echo" % origin.port)
        self.assertTrue(out.startswith("abc"), out)
        # What the server speaks is offered first; this client takes it.
        self.assertEqual(out, "abc1.1")
        out = self.node_client(self.api(origin), """
            const s = http2.connect(url);
            const r = s.request({':path': '/echo', ':method': 'POST'});
            let got = '';
            r.on('response', h => { got += h[':status'] + ' '; });
            r.on('data', d => { got += d; });
            r.on('end', () => { console.log(got); s.close(); });
            r.write('one '); r.end('two');""", origin.port)
        self.assertEqual(out, "200 one two")
        self.assertEqual(origin.heard[-1]["version"], "1.1")

    def test_http1_inside_and_http2_outside(self):
        # The connection of a client of HTTP/2 serves one of HTTP/1.1.
        origin = NodeOrigin(self)
        url = "https://api.test:%d" % origin.port
        out = self.node_client(self.api(origin), """
            const s = http2.connect(url);
            const r = s.request({':path': '/hello'});
            r.resume();
            r.on('end', () => {
              for (const path of ['/hello', '/trailers', '/empty'])
                console.log(child.execFileSync('curl', ['-sS', '--http1.1',
                  '-w', ' %{http_version} %{http_code}', url + path])
                  .toString());
              s.close();
            });""", origin.port)
        self.assertEqual(out.split("\n"), [
            "hello 2.0 1.1 200", "body 1.1 200", " 1.1 204"])
        self.assertEqual(len({seen["port"] for seen in origin.heard}), 1)

    def node_client(self, rules, script, port, scheme="https"):
        whole = ("const http2 = require('http2');"
                 "const child = require('child_process');"
                 "const url = '%s://api.test:%d';" % (scheme, port)) + script
        code, out, err = self.run_box(rules, "node", "-e", whole)
        self.assertEqual(code, 0, err + out)
        return out.strip()

    def test_prior_knowledge_is_judged(self):
        # B35
        origin = NodeOrigin(self, kind="clear")
        rules = self.api(origin, ca=False) + [self.deny(
            origin, "/secret/**", reason="Nobody's business.")]
        url = "http://api.test:%d" % origin.port
        # One by one: this curl cannot use such a connection twice.
        script = ("for path in hello secret/x; do curl -sS -m 60 "
                  "--http2-prior-knowledge -w ' %{http_version} "
                  "%{http_code}\\n' " + url + "/$path; done")
        code, out, err = self.run_box(rules, "sh", "-c", script)
        self.assertEqual(code, 0, err)
        self.assertTrue(out.startswith("hello 2.0 2 200\n"), out)
        self.assertTrue(out.endswith(" 2 403\n"), out)
        self.assertIn("Nobody's business.", out)
        self.assertEqual([seen["path"] for seen in origin.heard], ["/hello"])
        self.assertIn("http", [row["kind"] for row in
                               self.rows("verdict = 'deny'")])

    def test_streams_are_judged_one_by_one(self):
        origin = NodeOrigin(self)
        rules = self.api(origin) + [self.deny(origin, "/no/**")]
        out = self.node_client(rules, """
            const s = http2.connect(url);
            let left = 20;
            const seen = {};
            for (let i = 0; i < 20; i++) {
              const r = s.request({':path': (i % 2 ? '/no/' : '/yes/') + i});
              r.on('response', h => {
                seen[h[':status']] = (seen[h[':status']] || 0) + 1; });
              r.resume();
              r.on('end', () => { if (--left === 0) {
                console.log(JSON.stringify(seen)); s.close(); } });
            }""", origin.port)
        self.assertEqual(json.loads(out), {"200": 10, "403": 10})
        self.assertEqual(len(origin.heard), 10)
        self.assertEqual(len(self.rows("kind = 'http'")), 20)
        self.assertEqual(len(self.rows("kind = 'http_intent'")), 10)
        self.assertEqual(len(self.rows("kind = 'flow_open'")), 1)

    def test_trailers_hints_heads_and_cookies_pass(self):
        origin = NodeOrigin(self)
        out = self.node_client(self.api(origin), """
            const s = http2.connect(url);
            const one = (headers, next) => {
              const r = s.request(headers);
              const seen = [];
              r.on('headers', h => seen.push('interim ' + h[':status']));
              r.on('response', h => seen.push('status ' + h[':status']));
              r.on('trailers', h => seen.push('sum ' + h['x-sum']));
              let body = '';
              r.on('data', d => body += d);
              r.on('end', () => {
                console.log(seen.join(', ') + ': ' + body); next(); });
              r.end();
            };
            one({':path': '/trailers', te: 'trailers'}, () =>
            one({':path': '/hints'}, () =>
            one({':path': '/hello', ':method': 'HEAD'}, () =>
            one({':path': '/empty'}, () =>
            one({':path': '/cookies', cookie: ['a=1', 'b=2']}, () =>
              s.close())))));""", origin.port)
        self.assertEqual(out.split("\n"), [
            "status 200, sum all: body",
            "interim 103, status 200: hinted",
            "status 200: ", "status 204: ", "status 200: a=1; b=2"])
        self.assertEqual(origin.heard[0]["te"], "trailers")

    def test_early_answer_ends_an_upload(self):
        origin = NodeOrigin(self)
        out = self.node_client(self.api(origin), """
            const s = http2.connect(url);
            const r = s.request({':path': '/early', ':method': 'POST'});
            r.on('error', () => {});
            r.on('response', h => {
              console.log(h[':status']); s.destroy(); });
            r.write(Buffer.alloc(1 << 20));""", origin.port)
        self.assertEqual(out, "413")

    def test_event_comes_when_it_is_sent(self):
        # S05, S06: nothing else follows it, so it is not waited for.
        for versions in ("h2", "http1"):
            origin = NodeOrigin(self, versions=versions)
            out = self.node_client(self.api(origin), """
                const s = http2.connect(url);
                const r = s.request({':path': '/sse'});
                r.on('data', d => { console.log(String(d).trim());
                  r.close(); s.destroy(); });""", origin.port)
            self.assertEqual(out, "data: first")

    def test_body_that_breaks_off_is_no_end(self):
        # S13
        for versions in ("h2", "http1"):
            origin = NodeOrigin(self, versions=versions)
            out = self.node_client(self.api(origin), """
                const s = http2.connect(url);
                const r = s.request({':path': '/cut'});
                r.on('data', () => {});
                r.on('error', e => console.log(e.code));
                r.on('close', () => { console.log('rst ' + r.rstCode);
                  s.close(); });""", origin.port)
            self.assertIn("ERR_HTTP2_STREAM_ERROR", out)
            self.assertIn("rst 2", out)

    def test_large_download_is_streamed_in_bounded_memory(self):
        # S06, S19
        for versions in ("h2", "http1"):
            origin = NodeOrigin(self, versions=versions)
            process = self.start(self.api(origin), "node", "-e", """
                const s = require('http2').connect('https://api.test:%d');
                const r = s.request({':path': '/big?n=%d'});
                let got = 0;
                r.on('data', d => got += d.length);
                r.on('end', () => { console.log(got); s.close(); });""" % (
                    origin.port, BIG))
            most = Most(process)
            out, err = process.communicate(timeout=240)
            self.assertEqual(int(out), BIG, err)
            self.assertGreater(most.end(), 0)
            # A sanitizer keeps what was freed.
            if not self.is_sanitized():
                self.assertLess(most.end(), 64 << 10)

    def test_slow_reader_holds_up_no_other_stream(self):
        origin = NodeOrigin(self)
        out = self.node_client(self.api(origin), """
            const s = http2.connect(url);
            const slow = s.request({':path': '/big?n=50000000'});
            slow.on('response', () => {
              slow.pause();
              const r = s.request({':path': '/big?n=3000000'});
              let got = 0;
              r.on('data', d => got += d.length);
              r.on('end', () => { console.log(got);
                slow.close(8); s.destroy(); });
            });
            slow.on('error', () => {});""", origin.port)
        self.assertEqual(out, "3000000")

    def test_goaway_takes_no_stream_away(self):
        origin = NodeOrigin(self)
        out = self.node_client(self.api(origin), """
            const s = http2.connect(url);
            const one = (path, next) => {
              const r = s.request({':path': path});
              let body = '';
              r.on('data', d => body += d);
              r.on('end', () => { console.log(body); next(); });
            };
            one('/goaway', () => one('/hello', () => s.close()));""",
            origin.port)
        self.assertEqual(out, "after goaway\nhello 2.0")

    def test_refusal_of_grpc_is_one_of_grpc(self):
        origin = NodeOrigin(self)
        rules = self.api(origin)
        rules[0]["path"] = ["/only/**"]
        out = self.node_client(rules, """
            const s = http2.connect(url);
            const r = s.request({':path': '/a.B/C', ':method': 'POST',
              'content-type': 'application/grpc', te: 'trailers'});
            r.on('response', h => console.log(h[':status'],
              h['grpc-status'], decodeURIComponent(h['grpc-message'])));
            r.resume();
            r.on('close', () => s.close());
            r.end();""", origin.port)
        self.assertTrue(out.startswith("200 7 POST https://api.test"), out)
        self.assertEqual(origin.heard, [])
        with sqlite3.connect(self.database) as database:
            self.assertEqual([(6,)], database.execute(
                "SELECT DISTINCT l7 FROM event WHERE req_id IS NOT NULL"
            ).fetchall())

    def test_limit_tells_when_to_come_back(self):
        origin = NodeOrigin(self, kind="clear")
        rules = self.api(origin, ca=False, limits={"requests_per_minute": 1})
        code, out, err = self.run_box(
            rules, "sh", "-c", "for i in 1 2; do curl -sS -m 60 "
            "--http2-prior-knowledge -D - http://api.test:%d/hello; done"
            % origin.port)
        self.assertEqual(code, 0, err)
        ok, _, refused = out.replace("\r", "").partition("HTTP/2 429")
        self.assertTrue(ok.startswith("HTTP/2 200"), out)
        head, _, page = refused.partition("\n\n")
        page = json.loads(page)
        self.assertEqual(page["reason"], "rate")
        self.assertTrue(1 <= page["retry_after"] <= 61, page)
        self.assertIn("retry-after: %d\n" % page["retry_after"], head)
        self.assertEqual(len(origin.heard), 1)

    SWITCH = """
        const s = http2.connect(url);
        s.on('remoteSettings', settings => {
          if (!settings.enableConnectProtocol) {
            console.log('not offered'); s.destroy(); return; }
          const r = s.request({':method': 'CONNECT', ':path': '%s',
            ':protocol': 'websocket', 'sec-websocket-version': '13'});
          let got = '';
          r.on('error', () => {});
          r.on('response', h => {
            got = h[':status'] + ' ';
            if (h[':status'] === 200) r.write('ping'); });
          r.on('data', d => { got += d.toString('latin1');
            if (got.endsWith('ping')) r.end(); });
          r.on('close', () => { console.log(got); s.destroy(); });
        });"""

    def test_websocket_over_http2_reaches_either_version(self):
        # S01, S03, S04
        for versions in ("switch", "http1", "both"):
            origin = NodeOrigin(self, versions=versions)
            out = self.node_client(self.api(origin), self.SWITCH % "/chat",
                                   origin.port)
            self.assertEqual(out, "200 \x81\x02hiping", versions)
            self.assertEqual("websocket", origin.heard[-1]["upgrade"])
            self.assertEqual("2.0" if versions == "switch" else "1.1",
                             origin.heard[-1]["version"])
            rows = self.rows("kind = 'http' AND status = 101")
            self.assertEqual(rows[-1]["verb"], "GET")

    def late_settings(self):
        """
        An origin of HTTP/2 alone that says late what its streams can do: once
        a second connection has come, which it closes when that is understood.
        """
        def first(peer):
            peer = context.wrap_socket(peer, server_side=True)
            peers.append(peer)
            settings = struct.pack(">HI", 8, 1)
            second.wait(60)
            peer.sendall(frames.frame(frames.SETTINGS, 0, 0, settings))
            data = b""
            while not data.startswith(frames.PREFACE) or \
                    (frames.SETTINGS, frames.ACK) not in [
                        found[:2] for found in frames.parse(data[24:])]:
                data += peer.recv(65536)
            understood.set()
            while frames.HEADERS not in [
                    found[0] for found in frames.parse(data[24:])]:
                data += peer.recv(65536)
            # The status 200 is one byte of the static table.
            peer.sendall(frames.frame(frames.HEADERS, frames.END_HEADERS, 1,
                                      b"\x88") +
                         frames.frame(frames.DATA, frames.END_STREAM, 1,
                                      b"ping"))
            while peer.recv(65536):
                pass

        def serve():
            with contextlib.suppress(OSError):
                threading.Thread(target=quietly, args=(door.accept()[0],),
                                 daemon=True).start()
                peers.append(door.accept()[0])
                second.set()
                understood.wait(60)
                peers[-1].close()

        def quietly(peer):
            with contextlib.suppress(OSError):
                first(peer)
        context = self.server_tls()
        context.set_alpn_protocols(["h2"])
        second, understood = threading.Event(), threading.Event()
        peers = []
        door = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(lambda: [one.close() for one in [door, *peers]])
        threading.Thread(target=serve, daemon=True).start()
        return door, peers

    def test_switch_that_is_offered_late_is_taken(self):
        door, peers = self.late_settings()
        origin = types.SimpleNamespace(port=door.getsockname()[1])
        out = self.node_client(self.api(origin), self.SWITCH % "/chat",
                               origin.port)
        self.assertEqual(out, "200 ping")
        self.assertEqual(len(peers), 2)

    def test_what_does_not_switch_is_no_websocket(self):
        origin = NodeOrigin(self, versions="http1")
        for path in ("/unproven", "/plain"):
            out = self.node_client(self.api(origin), self.SWITCH % path,
                                   origin.port)
            self.assertTrue(out.startswith("502 "), out)

    def test_websocket_that_no_rule_allows_is_refused(self):
        origin = NodeOrigin(self, versions="switch")
        rules = self.api(origin)
        rules[0]["access"] = "write"
        out = self.node_client(rules, self.SWITCH % "/chat", origin.port)
        self.assertTrue(out.startswith("403 "), out)
        self.assertEqual(origin.heard, [])

    def test_ws_of_npm_speaks_through_the_gateway(self):
        # S01, S03
        if shutil.which("npm") is None:
            self.skipTest("npm is not here")
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--cache",
             os.path.join(self.folder, "npm"), "ws"], cwd=self.workspace,
            capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        server = subprocess.Popen(
            ["node", "-e", """
                const fs = require('fs');
                const server = require('https').createServer({
                  cert: fs.readFileSync(process.argv[1]),
                  key: fs.readFileSync(process.argv[2])});
                const ws = new (require('ws').WebSocketServer)({ server });
                ws.on('connection', c => {
                  c.send('welcome');
                  c.on('message', (m, binary) => c.send(m, { binary })); });
                server.listen(0, '127.0.0.1', () =>
                  console.log(server.address().port));
             """, os.path.join(self.shared, "origin.pem"),
             os.path.join(self.shared, "origin.key")], cwd=self.workspace,
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.kill)
        port = int(server.stdout.readline())

        class Here:
            pass
        Here.port = port
        out = self.node_client(self.api(Here), """
            const WebSocket = require('ws');
            const c = new WebSocket(url.replace('https', 'wss'));
            const seen = [];
            c.on('message', (m, binary) => {
              seen.push(binary ? m.length : String(m));
              if (seen.length === 1) {
                c.send('hello'); c.send(Buffer.alloc(300000)); }
              if (seen.length === 3) c.close(1000); });
            c.on('close', code => console.log(seen.join(' '), code));""", port)
        self.assertEqual(out, "welcome hello 300000 1000")
        self.assertEqual([101], [row["status"] for row in
                                 self.rows("kind = 'http'")])

    def test_grpc_both_ways_with_trailers(self):
        server = subprocess.Popen(
            ["/usr/bin/python3", "-I", os.path.join(HERE, "grpc_origin.py"),
             os.path.join(self.shared, "origin.pem"),
             os.path.join(self.shared, "origin.key")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.stdin.close)
        said = server.stdout.readline()
        if not said:
            self.skipTest("python3-grpcio is not here")
        port = int(said)
        rules = [{"id": "api", "host": ["api.test"], "port": [port],
                  "resolve": "127.0.0.1", "private": True, "access": "any",
                  "upstream_ca": os.path.join(self.shared, "ca.pem")},
                 {"id": "no", "host": ["api.test"], "port": [port],
                  "path": ["/test.Echo/Secret"], "action": "deny"}]
        out = self.box(rules, """
import grpc
with open("/etc/ssl/certs/ca-certificates.crt", "rb") as roots:
    creds = grpc.ssl_channel_credentials(roots.read())
same = lambda data: data
with grpc.secure_channel("api.test:" + words[0], creds) as channel:
    call = channel.unary_unary("/test.Echo/One", same, same)
    answer, info = call.with_call(b"x" * 100000, timeout=30)
    print(len(answer), dict(info.trailing_metadata()).get("x-sum"))
    many = channel.stream_stream("/test.Echo/Many", same, same)
    print([len(piece) for piece in
           many((b"y" * n for n in range(5)), timeout=30)])
    for name in ("Fail", "Secret"):
        try:
            channel.unary_unary("/test.Echo/" + name, same, same)(
                b"", timeout=30)
        except grpc.RpcError as error:
            print(error.code().name, error.details()[:40])
""", port)
        self.assertEqual(out.split("\n"), [
            "100000 100000", "[0, 1, 2, 3, 4]", "NOT_FOUND nothing here",
            "PERMISSION_DENIED " +
            ("POST https://api.test:%d/test.Echo/Secret" % port)[:40]])

    def test_h2load_and_nghttp_are_served(self):
        origin = NodeOrigin(self)
        url = "https://api.test:%d/hello" % origin.port
        code, out, err = self.run_box(
            self.api(origin), "h2load", "-n", "400", "-c", "4", "-m", "25", url)
        self.assertEqual(code, 0, err)
        self.assertIn("400 succeeded, 0 failed", out)
        self.assertEqual(len(self.rows("kind = 'http'")), 400)
        code, out, err = self.run_box(
            self.api(origin), "nghttp", "-v", url)
        self.assertIn("hello 2.0", out)

    def test_a_thousand_event_streams_at_once(self):
        # S17
        origin = NodeOrigin(self)
        out = self.node_client(self.api(origin), """
            let got = 0;
            const sessions = [];
            for (let i = 0; i < 8; i++) {
              const s = http2.connect(url);
              sessions.push(s);
              for (let k = 0; k < 125; k++) {
                const r = s.request({':path': '/sse'});
                r.on('error', () => {});
                r.once('data', () => { if (++got === 1000) {
                  console.log(got);
                  for (const one of sessions) one.destroy(); } });
              }
            }""", origin.port)
        self.assertEqual(out, "1000")

    def test_client_that_offers_only_http2_gets_it(self):
        # S08, both where the server speaks it and where it does not
        for versions in ("h2", "http1"):
            origin = NodeOrigin(self, versions=versions)
            out = self.box(self.api(origin), """
c = ssl.create_default_context()
c.set_alpn_protocols(["h2"])
s = c.wrap_socket(socket.create_connection(("api.test", int(words[0]))),
                  server_hostname="api.test")
print(s.selected_alpn_protocol())
""", origin.port)
            self.assertEqual(out, "h2")


if __name__ == "__main__":
    os.environ["EXEAT_BUILD"] = world.become_ordinary()
    unittest.main(verbosity=2)
