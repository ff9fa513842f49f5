#!/usr/bin/python3 -I
"""Budgets: what a rule or a policy may spend, and what happens past the end."""
import json
import os
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import World, become_ordinary, receive_head  # noqa: E402

# Several requests over one connection; status, Retry-After and reason of each.
ASK = r'''
peer = http.client.HTTPConnection("api.test", int(words[0]), timeout=60)
for _ in range(int(words[1])):
    peer.request("GET", "/x")
    page = peer.getresponse()
    text = page.read().decode()
    reason = json.loads(text).get("reason") if page.status != 200 else ""
    print(page.status, page.getheader("Retry-After"), reason)
'''


class Limits(World):
    def setUp(self):
        super().setUp()
        self.web = self.origin(tls=False)

    def policy(self, whole=None, **limits):
        rule = self.rule("web", "api.test", self.web, ca=False,
                         access="write", **({"limits": limits} if limits
                                            else {}))
        policy = {"version": 1, "name": "team", "rules": [rule]}
        if whole:
            policy["limits"] = whole
        return policy

    def test_requests_past_the_limit_of_a_rule_are_told_when_to_come_back(self):
        said = self.box(self.policy(requests_per_minute=3), ASK,
                        self.web.port, 5).splitlines()
        self.assertEqual(said[:3], ["200 None "] * 3)
        for line in said[3:]:
            status, wait, reason = line.split()
            self.assertEqual((status, reason), ("429", "rate"))
            self.assertTrue(1 <= int(wait) <= 61, line)
        rows = self.rows("reason = 'rate'")
        self.assertEqual(len(rows), 2)
        self.assertEqual({row["rule"] for row in rows}, {"web"})
        self.assertIn("rule web has used up its requests_per_minute of 3",
                      rows[0]["detail"])
        self.assertEqual(len(self.web.heard), 3)

    def test_limit_of_a_policy_holds_for_all_its_rules(self):
        policy = self.policy({"requests_per_minute": 3})
        other = dict(policy["rules"][0], id="other", host=["b.test"])
        policy["rules"].append(other)
        said = self.box(policy, r'''
for host in ("api.test", "b.test", "api.test", "b.test"):
    print(fetch("http://%s:%s/" % (host, words[0]))[0])''', self.web.port)
        self.assertEqual(said.split(), ["200", "200", "200", "429"])
        self.assertIn("policy team", self.rows("reason = 'rate'")[0]["detail"])

    def test_what_is_left_can_be_read(self):
        said = json.loads(self.box(
            self.policy({"bytes_out": 100000}, requests_per_minute=3,
                        connections=5), r'''
fetch("http://api.test:%s/" % words[0])
print(fetch("http://exeat.internal/v1/limits")[1])''', self.web.port))
        whole, rule = said["limits"]
        self.assertEqual((whole["policy"], rule["rule"]), ("team", "web"))
        self.assertEqual(rule["requests_per_minute"], {"limit": 3, "left": 2})
        self.assertLess(whole["bytes_out"]["left"], 100000)
        self.assertGreater(whole["bytes_out"]["left"], 99000)

    def test_upload_past_the_limit_is_cut_and_no_byte_more_leaves(self):
        got = []

        def swallow(peer):
            head, rest = receive_head(peer)
            count = len(head) + 4 + len(rest)
            try:
                while more := peer.recv(65536):
                    count += len(more)
                got.append(("end", count))
            except OSError:
                got.append(("reset", count))
        self.web = self.origin(tls=False, serve=swallow)
        said = self.box(self.policy(bytes_out=300000), r'''
print(fetch("http://api.test:%s/" % words[0], b"x" * 3000000))
print(fetch("http://api.test:%s/" % words[0], b"x"))''', self.web.port)
        self.assertIn("failed", said.splitlines()[0])
        self.assertIn("429", said.splitlines()[1])
        ((how, count),) = got
        self.assertEqual(how, "reset")
        self.assertLessEqual(count, 300000 + 1000)
        ends = self.rows("kind = 'http' and reason = 'budget'")
        self.assertEqual(len(ends), 2)
        self.assertIn("bytes_out of 300000", ends[0]["detail"])

    def test_download_past_the_limit_is_broken_off_and_looks_like_it(self):
        def pour(peer):
            receive_head(peer)
            peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                         b"\r\n")
            for _ in range(100):
                peer.sendall(b"10000\r\n" + b"y" * 65536 + b"\r\n")
            peer.sendall(b"0\r\n\r\n")
        self.web = self.origin(tls=False, serve=pour)
        said = self.box(self.policy(bytes_in=500000), r'''
try:
    page = urllib.request.urlopen("http://api.test:%s/" % words[0])
    got = 0
    while more := page.read(10000):
        got += len(more)
    print("whole", got)
except (OSError, http.client.HTTPException) as error:
    print("broken", got)''', self.web.port)
        how, count = said.split()
        self.assertEqual(how, "broken")
        self.assertLessEqual(int(count), 500000)
        (end,) = self.rows("kind = 'http'")
        self.assertTrue(500000 <= end["bytes_in"] <= 600000, end)
        self.assertEqual((end["reason"], end["verdict"]), ("budget", "deny"))

    def test_bytes_of_a_connection_that_is_not_read_are_limited_too(self):
        got = []

        def swallow(peer):
            count = 0
            try:
                while more := peer.recv(65536):
                    count += len(more)
            except OSError:
                pass
            got.append(count)
        self.web = self.origin(tls=False, serve=swallow)
        policy = self.policy()
        policy["rules"][0] = {
            "id": "raw", "host": ["api.test"], "port": [self.web.port],
            "protocol": "tcp", "resolve": "127.0.0.1", "private": True,
            "limits": {"bytes_out": 200000}}
        said = self.box(policy, r'''
peer = socket.create_connection(("api.test", int(words[0])))
try:
    for _ in range(100):
        peer.sendall(b"\1" * 10000)
    peer.recv(1)
    print("fine")
except OSError as error:
    print("cut")
print(talk("api.test", words[0], b"\1")[:6])''', self.web.port)
        self.assertEqual(said.split(), ["cut", "failed"])
        self.assertLessEqual(max(got), 200000)
        (end,) = self.rows("kind = 'flow_end'")
        self.assertEqual((end["reason"], end["bytes_out"]),
                         ("budget", 200000))
        (refused,) = self.rows("kind = 'flow_open' and verdict = 'deny'")
        self.assertIn("rule raw has used up its bytes_out of 200000",
                      refused["detail"])

    def test_connections_at_once_are_limited_and_given_back(self):
        said = self.box(self.policy(connections=2), r'''
def ask(peer):
    peer.request("GET", "/")
    page = peer.getresponse()
    page.read()
    return page.status, page.getheader("Retry-After")
peers = [http.client.HTTPConnection("api.test", int(words[0]))
         for _ in range(3)]
print(*[ask(peer) for peer in peers])
peers[0].close()
# The gateway sees the end in a tick of its own.
for _ in range(1000):
    last = http.client.HTTPConnection("api.test", int(words[0]))
    status, _ = ask(last)
    if status == 200:
        break
    time.sleep(0.01)
print(status)''', self.web.port).splitlines()
        self.assertEqual(said, ["(200, None) (200, None) (429, '1')", "200"])
        self.assertIn("connections of 2",
                      self.rows("reason = 'budget'")[0]["detail"])

    def test_same_policy_put_in_force_again_gives_nothing_back(self):
        # An overlay need not show what appears below it.
        self.files = "direct"
        policy = self.policy(requests_per_minute=2)
        script = r'''
import os
print(fetch("http://api.test:%s/" % words[0])[0],
      fetch("http://api.test:%s/" % words[0])[0], flush=True)
for _ in range(6000):
    if os.path.exists("swapped"):
        break
    time.sleep(0.01)
else:
    sys.exit("waited in vain")
print(fetch("http://api.test:%s/" % words[0])[0])'''
        from world import PRELUDE
        import subprocess
        process = self.start(policy, "python3", "-I", "-c", PRELUDE + script,
                             str(self.web.port))
        self.assertEqual(process.stdout.readline(), "200 200\n")
        (start,) = self.rows("kind = 'sandbox_start'")
        done = subprocess.run(
            [os.path.join(self.bin, "exeat"), "policy", "set",
             start["sandbox"], os.path.join(self.folder, "policy.json")],
            env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.workspace, "swapped"), "w"):
            pass
        out, err = process.communicate(timeout=120)
        self.assertEqual(out.strip(), "429", err)

    def test_hundred_at_once_get_no_more_than_the_limit(self):
        said = self.box(self.policy(requests_per_minute=40), r'''
import threading
found = []
def one():
    found.append(fetch("http://api.test:%s/" % words[0])[0])
threads = [threading.Thread(target=one) for _ in range(100)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(found.count(200), found.count(429))''', self.web.port)
        self.assertEqual(said, "40 60")


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
