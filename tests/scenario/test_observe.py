#!/usr/bin/python3 -I
"""A run that is only observed: nothing is refused, all is written down."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import PRELUDE, World, become_ordinary  # noqa: E402


class Observing(World):
    files = "direct"

    def exeat(self, *words):
        return subprocess.run([os.path.join(self.bin, "exeat"), *words],
                              env=self.environment, capture_output=True,
                              text=True, timeout=60)

    def observe(self, rules, script, *words):
        code, out, err = self.run_box(
            rules, "python3", "-I", "-c", PRELUDE + script, *map(str, words),
            options=("--observe",))
        self.assertEqual(code, 0, err + out)
        return [json.loads(line) for line in out.splitlines()], err

    def rules(self, origin):
        return [self.rule("ro", "api.test", origin),
                self.rule("prod", "api.test", origin, access="write",
                          path=["/merge/**"], action="ask"),
                {"id": "no", "host": ["api.test"], "path": ["/secret/**"],
                 "action": "deny", "reason": "not for you"}]

    def test_what_rules_refuse_goes_on_and_is_marked(self):
        origin = self.origin()
        said, err = self.observe(self.rules(origin), r'''
url = "https://api.test:%s" % words[0]
for method, path in (("GET", "/a"), ("POST", "/a"), ("GET", "/secret/1"),
                     ("POST", "/merge/1")):
    print(json.dumps(fetch(url + path, b"" if method == "POST" else None,
                           method)[0]))''', origin.port)
        self.assertEqual(said, [200] * 4)
        self.assertEqual(len(origin.heard), 4)
        told = [(row["verb"], row["object"], row["verdict"], row["reason"],
                 row["rule"]) for row in self.rows("kind = 'http_intent'")]
        self.assertEqual(told, [
            ("GET", "/a", "allow", "none", "ro"),
            ("POST", "/a", "would_deny", "path", None),
            ("GET", "/secret/1", "would_deny", "denied", "no"),
            ("POST", "/merge/1", "would_deny", "approval_needed", "prod")])
        self.assertEqual(self.rows("kind = 'approval_ask'"), [])
        self.assertEqual(self.rows("verdict = 'deny'"), [])
        ends = [row["verdict"] for row in self.rows("kind = 'http'")]
        self.assertEqual(ends, ["allow"] + ["would_deny"] * 3)
        self.assertIn("only observed", err.splitlines()[0])
        self.assertIn("4 requests, 0 refused; only observed: 3 would have been "
                      "refused (1 ", err.splitlines()[-1])
        summary = self.exeat("audit", "summary", "--audit", self.database)
        self.assertIn("Would have been refused", summary.stdout)
        self.assertIn("/secret/1", summary.stdout)

    def test_unknown_names_are_looked_up_and_special_addresses_stay_shut(self):
        origin = self.origin()
        said, _ = self.observe([], r'''
print(json.dumps(fetch("https://nowhere.invalid/")))
for address, port in (("169.254.169.254", 80), ("127.0.0.1", words[0]),
                      ("10.0.0.1", 443)):
    print(json.dumps(talk(address, port, b"GET / HTTP/1.1\r\nHost: %b:%d"
                          b"\r\nConnection: close\r\n\r\n"
                          % (address.encode(), int(port)))))
''', origin.port)
        self.assertNotEqual(said[0][0], 403)
        self.assertEqual(origin.count, 0)
        lookup = self.rows("kind = 'dns'")[0]
        self.assertEqual((lookup["verdict"], lookup["reason"]),
                         ("would_deny", "no_rule"))
        self.assertEqual({(row["host"], row["reason"]) for row in
                          self.rows("kind = 'flow_open' AND verdict = 'deny'"
                                    " OR kind = 'http' AND verdict = 'deny'")},
                         {("169.254.169.254", "special_address"),
                          ("10.0.0.1", "special_address")})

    def test_what_it_tried_becomes_a_policy(self):
        origin = self.origin()
        self.observe(self.rules(origin), r'''
url = "https://api.test:%s" % words[0]
for path in ("/items/1", "/items/22", "/secret/1"):
    fetch(url + path, b"", "POST")
fetch(url + "/items/3")''', origin.port)
        done = self.exeat("policy", "suggest", "--audit", self.database)
        self.assertEqual(done.returncode, 0, done.stderr)
        paths = set()
        for rule in json.loads(done.stdout)["rules"]:
            self.assertEqual((rule["host"], rule["port"], rule["private"]),
                             (["api.test"], [origin.port], True))
            self.assertNotIn("tls", rule)
            self.assertIn("POST", rule["methods"])
            paths.update(rule["path"])
        self.assertEqual(paths, {"/items/*", "/secret/*"})

    def test_bytes_nobody_reads_go_on_too(self):
        def echo(peer):
            peer.sendall(peer.recv(100).upper())
        origin = self.origin(tls=False, serve=echo)
        said, err = self.observe([self.rule("web", "a.test", origin,
                                            ca=False)], r'''
print(json.dumps(talk("a.test", words[0], b"hello, is it me?\n")))
''', origin.port)
        self.assertEqual(said, ["HELLO, IS IT ME?\n"])
        flow, = self.rows("kind = 'flow_open'")
        self.assertEqual((flow["verdict"], flow["reason"]),
                         ("would_deny", "no_rule"))
        self.assertIn("1 would have been refused (1 no_rule)", err)
        done = self.exeat("policy", "suggest", "--audit", self.database)
        rule, = json.loads(done.stdout)["rules"]
        self.assertEqual((rule["protocol"], rule["port"], rule["private"]),
                         ("tcp", [origin.port], True))

    def test_messages_that_are_none_are_still_refused(self):
        origin = self.origin(tls=False)
        said, _ = self.observe([self.rule("ro", "a.test", origin, ca=False)],
                               r'''
print(json.dumps(talk("a.test", words[0], b"GET / HTTP/1.1\r\nHost : a\r\n\r\n")))
print(json.dumps(talk("a.test", words[0], b"GET / HTTP/1.1\r\nHost: b.test\r\n"
                      b"Connection: close\r\n\r\n")))
''', origin.port)
        self.assertIn(" 400 ", said[0].splitlines()[0])
        self.assertIn("host_mismatch", said[1])
        self.assertEqual(origin.heard, [])

    def test_policy_that_comes_later_is_observed_too(self):
        origin = self.origin()
        rules = self.rules(origin)
        path = os.path.join(self.folder, "later.json")
        with open(path, "w") as out:
            json.dump({"version": 1, "rules": [
                self.rule("more", "api.test", origin, methods=["PUT"])]}, out)
        os.mkfifo(os.path.join(self.workspace, "orders"))
        box = self.start(rules, "python3", "-I", "-c", PRELUDE + r'''
for line in open("orders"):
    method, url = line.split()
    print(fetch(url, b"", method)[0], flush=True)''', options=("--observe",))
        with open(os.path.join(self.workspace, "orders"), "w") as orders:
            url = "https://api.test:%d/" % origin.port
            print("PUT", url, file=orders, flush=True)
            self.assertEqual(box.stdout.readline(), "200\n")
            runs = os.path.join(self.environment["HOME"],
                                ".local/state/exeat/runs")
            done = self.exeat("policy", "set", os.listdir(runs)[0], path)
            self.assertEqual(done.returncode, 0, done.stderr)
            for method in ("PUT", "POST"):
                print(method, url, file=orders, flush=True)
                self.assertEqual(box.stdout.readline(), "200\n")
        self.assertEqual(box.communicate(timeout=120)[0], "")
        self.assertEqual([(row["verb"], row["verdict"]) for row in
                          self.rows("kind = 'http_intent'")],
                         [("PUT", "would_deny"), ("PUT", "allow"),
                          ("POST", "would_deny")])


if __name__ == "__main__":
    become_ordinary()
    unittest.main(argv=sys.argv[:1])
