#!/usr/bin/python3 -I
"""What a run was answered is what explain, replay and suggest say.  P03"""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import PRELUDE, World, become_ordinary  # noqa: E402

# Each line of words[1:] is METHOD and URL; prints the status, or "failed".
ASK = PRELUDE + r'''
for line in words:
    method, url = line.split()
    print(json.dumps(fetch(url, b"" if method in ("POST", "PUT") else None,
                           method)[0]), flush=True)
'''


class Agreeing(World):
    def exeat(self, *words):
        return subprocess.run([os.path.join(self.bin, "exeat"), *words],
                              env=self.environment, capture_output=True,
                              text=True, timeout=60)

    def setUp(self):
        super().setUp()
        web, clear = self.origin(), self.origin(tls=False)
        self.rules = [
            self.rule("read", "api.test", web),
            self.rule("issues", "api.test", web, access="write",
                      path=["/repos/*/issues/**"]),
            {"id": "gists", "host": ["api.test"], "path": ["/gists/**"],
             "action": "deny"},
            self.rule("query", "b.test", web, methods=["POST"],
                      query={"key": "ci-*"}),
            self.rule("clear", "a.test", clear, ca=False,
                      path=["/open/**"]),
        ]
        api, b = "https://api.test:%d" % web.port, "https://b.test:%d" % web.port
        a = "http://a.test:%d" % clear.port
        self.lines = [
            "GET %s/" % api, "HEAD %s/x" % api, "POST %s/x" % api,
            "POST %s/repos/acme/issues/7" % api,
            "DELETE %s/repos/acme/issues/7/labels" % api,
            "POST %s/repos/acme/pulls" % api, "GET %s/gists/1" % api,
            "POST %s/a/git-upload-pack" % api, "POST %s/?key=ci-1" % b,
            "POST %s/?key=x" % b, "GET %s/" % b, "GET %s/open/1" % a,
            "GET %s/shut" % a, "PUT %s/open/1" % a,
            "GET %s/repos/%%61cme/issues/8" % api,
        ]
        code, out, err = self.run_box(self.rules, "python3", "-I", "-c", ASK,
                                      *self.lines)
        self.assertEqual(code, 0, err)
        self.answers = [json.loads(line) for line in out.splitlines()]
        self.policy = os.path.join(self.folder, "policy.json")

    def test_live_and_explained_answers_agree(self):
        told = self.rows("kind = 'http_intent' OR"
                         " (kind = 'http' AND parent_seq IS NULL)")
        self.assertEqual(len(told), len(self.lines))
        for line, status, row in zip(self.lines, self.answers, told):
            method, url = line.split()
            done = self.exeat("policy", "explain", "--json", self.policy,
                              "--method", method, "--url", url)
            said = json.loads(done.stdout)
            self.assertEqual(said["verdict"], row["verdict"], line)
            self.assertEqual(said.get("rule"), row["rule"], line)
            self.assertEqual(said["reason"], row["reason"], line)
            self.assertEqual(status == 403, row["verdict"] == "deny", line)
        self.assertGreater(len({row["rule"] for row in told}), 4)

    def test_replay_of_the_same_policy_changes_nothing(self):
        done = self.exeat("policy", "replay", self.policy, "--audit",
                          self.database)
        # Of queries only the names are kept: what hangs on one is marked.
        changes = done.stdout.splitlines()[:-1]
        for number, line in enumerate(changes):
            if not line.startswith(" "):
                self.assertIn("b.test", line)
                self.assertIn("had a query", changes[number + 1])

    def test_suggestion_allows_what_was_allowed_and_its_replay_says_so(self):
        done = self.exeat("policy", "suggest", "--audit", self.database)
        self.assertEqual(done.returncode, 0, done.stderr)
        path = os.path.join(self.folder, "suggested.json")
        with open(path, "w") as out:
            out.write(done.stdout)
        done = self.exeat("policy", "replay", "--json", path, "--audit",
                          self.database)
        for change in json.loads(done.stdout):
            self.assertNotEqual(change["before"], "allow", change)
        with open(path) as text:
            rules = json.load(text)["rules"]
        shapes = {shape for rule in rules for shape in rule["path"]}
        self.assertIn("/repos/acme/issues/*", shapes)
        self.assertNotIn("/gists/*", shapes)


if __name__ == "__main__":
    become_ordinary()
    unittest.main(argv=sys.argv[:1])
