#!/usr/bin/python3 -I
"""The policy of a run under way changes; cases of user reports by id."""
import json
import os
import select
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import PRELUDE, World, answer, become_ordinary  # noqa: E402
from world import receive_head  # noqa: E402

# Does what it is told on a pipe in the workspace, a line at a time.
OBEY = PRELUDE + r'''
for line in open("orders"):
    method, url = line.split()
    status, body = fetch(url, b"" if method == "POST" else None, method)
    reason = json.loads(body)["reason"] if body.startswith("{") else None
    print(json.dumps([status, reason]), flush=True)
'''


class Swapping(World):
    files = "direct"

    changes = 1000 if os.environ.get("EXEAT_FULL") == "1" else 300

    def exeat(self, *words):
        return subprocess.run([os.path.join(self.bin, "exeat"), *words],
                              env=self.environment, capture_output=True,
                              text=True, timeout=60)

    def run_name(self):
        runs = os.path.join(self.environment["HOME"],
                            ".local/state/exeat/runs")
        deadline = time.monotonic() + 60
        while not os.path.isdir(runs) or not os.listdir(runs):
            self.assertLess(time.monotonic(), deadline)
            select.select([], [], [], 0.02)
        return os.listdir(runs)[0]

    def write(self, name, rules):
        path = os.path.join(self.folder, name)
        with open(path, "w") as out:
            json.dump({"version": 1, "rules": rules}, out)
        return path

    def set(self, *paths):
        return self.exeat("policy", "set", self.run_name(), *paths)

    def obedient(self, rules, options=()):
        os.mkfifo(os.path.join(self.workspace, "orders"))
        box = self.start(rules, "python3", "-I", "-c", OBEY, options=options)
        self.orders = open(os.path.join(self.workspace, "orders"), "w")
        self.addCleanup(self.orders.close)
        return box

    def order(self, box, line):
        print(line, file=self.orders, flush=True)
        text = box.stdout.readline()
        self.assertTrue(text, box.poll())
        return json.loads(text)

    def flows(self, box):
        line = box.stdout.readline()
        self.assertEqual(line, "flowing\n",
                         "" if line else box.communicate(timeout=60)[1])

    def end(self, box):
        self.orders.close()
        _, err = box.communicate(timeout=120)
        self.assertEqual(box.returncode, 0, err)

    def test_next_request_is_judged_by_the_new_policy(self):
        # P07
        origin = self.origin()
        get = "GET https://api.test:%d/" % origin.port
        box = self.obedient([self.rule("a", "api.test", origin)])
        self.assertEqual(self.order(box, get)[0], 200)
        closed = self.write("closed.json", [self.rule(
            "b", "api.test", origin, path=["/other"])])
        done = self.set(closed)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.order(box, get), [403, "path"])
        self.assertEqual(self.set(os.path.join(
            self.folder, "policy.json")).returncode, 0)
        self.assertEqual(self.order(box, get)[0], 200)
        self.end(box)
        self.assertEqual(len(origin.heard), 2)
        rows = self.rows("kind = 'admin'")
        first, second = (json.loads(row["detail"]) for row in rows)
        self.assertEqual(len(self.rows("kind = 'policy_load'")), 3)
        self.assertEqual(first["new"], second["old"])
        self.assertEqual(first["old"], second["new"])
        self.assertNotEqual(first["old"], first["new"])
        self.assertIn("exeat policy set", first["by"])

    def test_policy_with_an_error_changes_nothing(self):
        origin = self.origin()
        get = "GET https://api.test:%d/" % origin.port
        box = self.obedient([self.rule("a", "api.test", origin)])
        self.assertEqual(self.order(box, get)[0], 200)
        good = self.write("good.json", [])
        bad = self.write("bad.json", [{"id": "x", "hosts": ["a.test"]}])
        done = self.set(good, bad)
        self.assertEqual(done.returncode, 1)
        self.assertIn("bad.json:1:", done.stderr)
        inside = os.path.join(self.workspace, "p.json")
        with open(inside, "w") as out:
            out.write('{"version": 1, "rules": []}')
        done = self.set(inside)
        self.assertEqual(done.returncode, 1)
        self.assertIn("sandbox", done.stderr)
        done = self.exeat("policy", "set", "run-nobody", good)
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no run", done.stderr)
        self.assertEqual(self.order(box, get)[0], 200)
        self.end(box)
        self.assertEqual(self.rows("kind = 'admin'"), [])

    def test_ceiling_stays_over_what_is_set(self):
        origin = self.origin()
        get = "GET https://api.test:%d/" % origin.port
        self.environment["EXEAT_CEILING"] = self.write(
            "ceiling.json", [self.rule("c", "api.test", origin,
                                       path=["/open"])])
        box = self.obedient([self.rule("a", "api.test", origin)])
        self.assertEqual(self.order(box, get)[0], 403)
        del self.environment["EXEAT_CEILING"]
        wide = self.write("wide.json", [self.rule(
            "w", "api.test", origin, access="any")])
        self.assertEqual(self.set(wide).returncode, 0)
        self.assertEqual(self.order(box, get)[0], 403)
        self.assertEqual(self.order(box, get + "open")[0], 200)
        self.end(box)

    def streams(self, script, *rules, tls):
        """A stream that is under way when the policy closes."""
        def drip(peer):
            if tls:
                receive_head(peer)
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
            peer.sendall(b"x")
            peer.recv(1)
        origin = self.origin(tls=tls, serve=drip)
        box = self.start([rule(origin) for rule in rules], "python3", "-I",
                         "-c", PRELUDE + script, str(origin.port))
        self.flows(box)
        done = self.set(self.write("none.json", []))
        self.assertEqual(done.returncode, 0, done.stderr)
        began = time.monotonic()
        self.assertEqual(box.stdout.readline(), "cut\n")
        self.assertLess(time.monotonic() - began, 10)
        box.communicate(timeout=60)
        # By the gateway's own clock, however slow the test is.
        changed = self.rows("kind = 'admin'")[-1]
        ended = self.rows("kind IN ('http', 'flow_end')"
                          " AND verdict = 'deny'")[0]
        self.assertLess(ended["ts_us"] - changed["ts_us"], 1000000)

    def test_stream_no_longer_allowed_is_closed(self):
        self.streams(r'''
peer = urllib.request.urlopen("https://api.test:%s/?a=b" % words[0])
peer.read(1)
print("flowing", flush=True)
try:
    peer.read()
except Exception:
    pass
print("cut", flush=True)''', lambda origin: self.rule(
            "a", "api.test", origin, query={"a": "*"}), tls=True)
        self.assertEqual(self.rows("kind = 'http'")[-1]["reason"], "no_rule")

    def test_tunnel_no_longer_allowed_is_closed(self):
        self.streams(r'''
peer = socket.create_connection(("api.test", int(words[0])))
peer.recv(1)
print("flowing", flush=True)
try:
    peer.recv(1)
except OSError:
    pass
print("cut", flush=True)''', lambda origin: self.rule(
            "t", "api.test", origin, ca=False, protocol="tcp"), tls=False)
        self.assertEqual(self.rows("kind = 'flow_end'")[-1]["reason"],
                         "no_rule")

    def test_stream_that_stays_allowed_goes_on(self):
        go = threading.Event()

        def wait(peer):
            receive_head(peer)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx")
            go.wait(60)
            peer.sendall(b"y")
        origin = self.origin(serve=wait)
        box = self.start([self.rule("a", "api.test", origin)], "python3",
                         "-I", "-c", PRELUDE + r'''
peer = urllib.request.urlopen("https://api.test:%s/?a=b" % words[0])
peer.read(1)
print("flowing", flush=True)
print(peer.read())''', str(origin.port))
        self.flows(box)
        self.assertEqual(self.set(self.write("other.json", [self.rule(
            "other", "api.test", origin, query={"a": "b"},
            access="write")])).returncode, 0)
        go.set()
        self.assertEqual(box.stdout.readline(), "b'y'\n")
        box.communicate(timeout=60)
        rows = self.rows("kind IN ('http_intent', 'http')")
        self.assertEqual([row["rule"] for row in rows], ["a", "a"])

    def test_yes_dies_with_the_policy_and_questions_are_asked_anew(self):
        origin = self.origin()

        def asking(name):
            return [self.rule(name, "api.test", origin, access="write",
                              action="ask", ask={"grant_uses": 9})]

        def question():
            deadline = time.monotonic() + 60
            while True:
                done = self.exeat("pending", "--json")
                if done.stdout:
                    return json.loads(done.stdout.splitlines()[0])
                self.assertLess(time.monotonic(), deadline)
                select.select([], [], [], 0.02)
        post = "POST https://api.test:%d/x" % origin.port
        box = self.obedient(asking("one"))
        print(post, file=self.orders, flush=True)
        first = question()
        self.exeat("approve", first["id"])
        self.assertEqual(json.loads(box.stdout.readline())[0], 200)
        self.assertEqual(self.order(box, post)[0], 200)
        self.assertEqual(self.set(self.write(
            "two.json", asking("two"))).returncode, 0)
        print(post, file=self.orders, flush=True)
        second = question()
        self.assertEqual(second["rule"], "two")
        # Held across another change: asked anew, and the old id is void.
        self.assertEqual(self.set(self.write(
            "three.json", asking("three"))).returncode, 0)
        third = question()
        self.assertEqual(third["rule"], "three")
        self.assertEqual(self.exeat("approve", second["id"]).returncode, 1)
        self.assertEqual(self.exeat("approve", third["id"]).returncode, 0)
        self.assertEqual(json.loads(box.stdout.readline())[0], 200)
        self.end(box)
        self.assertEqual(len(origin.heard), 3)

    def test_no_request_passes_that_both_policies_refuse(self):
        origin = self.origin()
        box = self.start([self.rule("a", "api.test", origin, path=["/a"])],
                         "python3", "-I", "-c", PRELUDE + r'''
import os, threading
def load(path):
    c = http.client.HTTPSConnection("api.test", int(words[0]))
    while not os.path.exists("stop"):
        try:
            c.request("GET", path)
            c.getresponse().read()
        except OSError:
            c.close()
        except http.client.HTTPException:
            c.close()
threads = [threading.Thread(target=load, args=(path,))
           for path in ("/a", "/b", "/never")]
for one in threads: one.start()
print("flowing", flush=True)
for one in threads: one.join()''', str(origin.port))
        self.flows(box)
        paths = [self.write(name + ".json", [self.rule(
            name, "api.test", origin, path=["/" + name])])
            for name in ("b", "a")]
        deadline = time.monotonic() + self.changes
        for i in range(self.changes):
            heard = len(origin.heard)
            done = self.set(paths[i % 2])
            self.assertEqual(done.returncode, 0, done.stderr if not done.returncode
                             else [done.stderr, box.communicate(timeout=60)])
            while len(origin.heard) == heard:
                self.assertLess(time.monotonic(), deadline)
                select.select([], [], [], 0.002)
        open(os.path.join(self.workspace, "stop"), "w").close()
        box.communicate(timeout=120)
        asked = {head.split()[1] for head in origin.heard}
        self.assertEqual(asked, {b"/a", b"/b"})
        # And each was let through by the rule that was in force for it.
        rows = self.rows("kind = 'http_intent'")
        self.assertEqual({(row["object"], row["rule"]) for row in rows},
                         {("/a", "a"), ("/b", "b")})
        self.assertEqual(len(self.rows("kind = 'admin'")), self.changes)


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
