#!/usr/bin/python3 -I
"""exeat policy replay and suggest: what past rows say about policies."""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

EXEAT = os.path.join(os.environ["EXEAT_BUILD"], "exeat")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "..", "..", "..")
KINDS = {"http": 1, "flow_end": 2, "flow_open": 3, "http_intent": 4, "dns": 5}
VERDICTS = {"allow": 1, "deny": 2, "would_deny": 3, "error": 4}
REASONS = {None: 0, "no_rule": 1, "denied": 2, "method": 3, "path": 4,
           "special_address": 5, "dns_policy": 6}
AT_US = 1780315200000000


class Replay(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="exeat-replay-")
        self.addCleanup(self.folder.cleanup)
        self.audit = os.path.join(self.folder.name, "audit.db")
        self.make_audit()

    def make_audit(self):
        with open(os.path.join(ROOT, "gateway", "audit", "segment.h")) as text:
            number = re.search(r"SEGMENT_APPLICATION\s+\(?(0x[0-9a-f]+|\d+)",
                               text.read()).group(1)
        self.db = sqlite3.connect(self.audit)
        self.addCleanup(self.db.close)
        folder = os.path.join(ROOT, "schema", "audit")
        for name in sorted(os.listdir(folder)):
            if name.endswith(".sql"):
                with open(os.path.join(folder, name)) as text:
                    self.db.executescript(text.read())
        self.db.execute("PRAGMA application_id = %d" % int(number, 0))
        for table, names in (("kind", KINDS), ("verdict", VERDICTS)):
            self.db.executemany("INSERT INTO %s(id, name) VALUES(?, ?)"
                                % table, [(i, n) for n, i in names.items()])
        self.db.executemany(
            "INSERT INTO reason(id, name, fault) VALUES(?, ?, 'policy')",
            [(i, n or "none") for n, i in REASONS.items()])
        self.db.executemany("INSERT INTO sandbox(id, uid, started_us) "
                            "VALUES(?, ?, 1)", [(1, "run-a"), (2, "run-b")])
        self.db.commit()

    def row(self, kind, verdict, host, port, verb=None, path=None, run=1,
            reason=None, tls=0x304, l7=1, parent=None, ip=None, times=1):
        self.db.execute("INSERT OR IGNORE INTO dst(host, reg_domain, is_ip, "
                        "first_us) VALUES(?, '', 0, 1)", (host,))
        for _ in range(times):
            self.db.execute(
                "INSERT INTO event(ts_us, kind, verdict, reason, sandbox_id,"
                " dst_id, dst_ip, dst_port, l7, tls, verb, object,"
                " parent_seq) SELECT ?, ?, ?, ?, ?, id, ?, ?, ?, ?, ?, ?, ?"
                " FROM dst WHERE host = ?",
                (AT_US, KINDS[kind], VERDICTS[verdict], REASONS[reason], run,
                 ip, port, l7, tls, verb, path, parent, host))
        self.db.commit()

    def write(self, name, rules):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as out:
            out.write(rules if isinstance(rules, str) else json.dumps(
                {"version": 1, "rules": rules}))
        os.chmod(path, 0o600)
        return path

    def exeat(self, *words):
        done = subprocess.run([EXEAT, "policy", *words], text=True,
                              capture_output=True, timeout=60,
                              env={"HOME": self.folder.name, **{
                                  name: os.environ[name]
                                  for name in ("ASAN_OPTIONS",
                                               "UBSAN_OPTIONS")
                                  if name in os.environ}})
        return done.returncode, done.stdout, done.stderr

    def replay(self, policy, *words):
        return self.exeat("replay", policy, "--audit", self.audit, *words)

    def suggest(self, *words):
        code, out, err = self.exeat("suggest", "--audit", self.audit, *words)
        self.assertEqual((code, err), (0, ""))
        return out

    def test_replay_tells_what_would_be_answered_otherwise(self):
        self.row("http_intent", "allow", "a.test", 443, "GET", "/x", times=3)
        self.row("http_intent", "allow", "a.test", 443, "POST", "/x")
        self.row("http", "allow", "a.test", 443, "POST", "/x", parent=4)
        self.row("http", "deny", "b.test", 443, "GET", "/", reason="no_rule")
        policy = self.write("p.json", [
            {"id": "a", "host": ["a.test"]}, {"id": "b", "host": ["b.test"]}])
        code, out, err = self.replay(policy)
        self.assertEqual((code, err), (1, ""))
        self.assertIn("allow (none) -> deny (method): POST a.test:443/x, "
                      "1 time\n", out)
        self.assertIn("deny (no_rule) -> allow (b): GET b.test:443/", out)
        self.assertIn("2 of 3 different requests", out)
        code, out, _ = self.replay(policy, "--json")
        told = json.loads(out)
        self.assertEqual([row["host"] for row in told], ["a.test", "b.test"])
        policy = self.write("p.json", [
            {"id": "a", "host": ["a.test"], "access": "write"}])
        code, out, _ = self.replay(policy)
        self.assertEqual(code, 0, out)

    def test_replay_looks_at_one_run_when_it_is_named(self):
        self.row("http_intent", "allow", "a.test", 443, "GET", "/x", run=1)
        self.row("http_intent", "allow", "b.test", 443, "GET", "/x", run=2)
        policy = self.write("p.json", [{"id": "a", "host": ["a.test"]}])
        self.assertEqual(self.replay(policy, "--run", "run-a")[0], 0)
        self.assertEqual(self.replay(policy, "--run", "run-b")[0], 1)
        self.assertEqual(self.replay(policy)[0], 1)
        code, _, err = self.replay(policy, "--run", "run-c")
        self.assertEqual(code, 125)
        self.assertIn('no run "run-c"', err)
        code, _, err = self.exeat("replay", policy, "--audit", "/nonexistent")
        self.assertEqual(code, 125)

    def test_what_was_no_policys_doing_is_left_alone(self):
        self.row("http", "deny", "a.test", 443, "GET", "/",
                 reason="special_address")
        self.row("http", "error", "a.test", 443, "GET", "/")
        policy = self.write("p.json", [{"id": "a", "host": ["a.test"]}])
        code, out, _ = self.replay(policy)
        self.assertEqual(code, 0)
        self.assertIn("0 of 0", out)

    def test_an_address_that_it_led_to_is_judged_anew(self):
        self.row("http_intent", "allow", "a.test", 443, "GET", "/",
                 ip=bytes([10, 0, 0, 1]))
        policy = self.write("p.json", [{"id": "a", "host": ["a.test"]}])
        code, out, _ = self.replay(policy)
        self.assertEqual(code, 1)
        self.assertIn("special_address", out)

    def test_replay_takes_flows_and_lookups(self):
        self.row("flow_open", "allow", "p.test", 443, tls=-0x304, l7=0)
        self.row("flow_open", "allow", "d.test", 5432, tls=0, l7=0)
        self.row("flow_open", "allow", "s.test", 22, tls=0, l7=0)
        self.row("dns", "deny", "n.test", None, "A", reason="dns_policy",
                 l7=5, tls=None)
        rules = [{"id": "p", "host": ["p.test"], "access": "any",
                  "tls": "passthrough"},
                 {"id": "d", "host": ["d.test"], "protocol": "tcp",
                  "port": [5432]},
                 {"id": "s", "host": ["s.test"], "protocol": "ssh"}]
        code, out, _ = self.replay(self.write("p.json", rules))
        self.assertEqual(code, 0, out)
        rules.append({"id": "n", "host": ["n.test"]})
        code, out, _ = self.replay(self.write("p.json", rules))
        self.assertEqual(code, 1)
        self.assertIn("deny (dns_policy) -> look closer", out)
        code, out, _ = self.replay(self.write("p.json", []))
        self.assertIn("3 of 4", out)

    def everything(self):
        for number in range(30):
            self.row("http_intent", "allow", "api.test", 443, "GET",
                     "/repos/acme/issues/%d" % (1000 + number))
        self.row("http_intent", "allow", "api.test", 443, "POST",
                 "/repos/acme/issues")
        self.row("http_intent", "allow", "api.test", 443, "GET",
                 "/repos/acme/issues?state")
        self.row("http_intent", "would_deny", "up.test", 8443, "PUT",
                 "/f/0f8fad5b-d9cb-469f-a165-70867728950e", reason="no_rule")
        self.row("http_intent", "allow", "git.test", 443, "POST",
                 "/a.git/git-upload-pack")
        self.row("http_intent", "allow", "in.test", 80, "HEAD", "/",
                 ip=bytes([10, 0, 0, 1]), tls=0)
        self.row("http_intent", "allow", "odd.test", 443, "purge", "/x*y")
        for number in range(40):
            self.row("http_intent", "allow", "many.test", 443, "GET",
                     "/p%s/x/y" % chr(97 + number % 26) + chr(
                         97 + number // 26))
        self.row("http_intent", "allow", "c1.test", 443, "GET", "/same")
        self.row("http_intent", "allow", "c2.test", 443, "GET", "/same")
        self.row("flow_open", "allow", "p.test", 443, tls=-0x304, l7=0)
        self.row("http_intent", "allow", "p.test", 443, "GET", "/read")
        self.row("flow_open", "allow", "d.test", 5432, tls=0, l7=0)
        self.row("flow_open", "allow", "s.test", 22, tls=0, l7=0)
        self.row("http_intent", "allow", "192.0.2.7", 8080, "GET", "/",
                 tls=0)
        self.row("http", "deny", "no.test", 443, "GET", "/",
                 reason="no_rule")

    def test_a_suggestion_allows_what_was_allowed_and_is_read(self):
        self.everything()
        text = self.suggest()
        rules = {rule["id"]: rule for rule in json.loads(text)["rules"]}
        self.assertEqual(
            rules["api.test"], {"id": "api.test", "host": ["api.test"],
                                "path": ["/repos/acme/issues/*"]})
        self.assertEqual(rules["up.test"]["path"], ["/f/*"])
        self.assertEqual(rules["up.test"]["port"], [8443])
        self.assertEqual(rules["c1.test"]["host"], ["c1.test", "c2.test"])
        self.assertTrue(rules["in.test"]["private"])
        self.assertNotIn("no.test", text)
        self.assertEqual(len([line for line in text.splitlines()
                              if '"id"' in line]), len(rules))
        policy = self.write("s.json", text)
        self.assertEqual(self.exeat("check", policy)[0], 0)
        # In the order of the rows or in any other, it is the same.
        self.assertEqual(self.suggest(), text)
        code, out, _ = self.replay(policy, "--json")
        for change in json.loads(out):
            # Only what was observed may change, from no to yes.
            self.assertEqual((change["before"], change["after"]),
                             ("would_deny", "allow"), change)
            self.assertEqual(change["host"], "up.test")

    def test_what_went_with_a_credential_has_a_rule_of_its_own(self):
        self.row("http_intent", "allow", "a.test", 443, "GET", "/public")
        self.row("http_intent", "allow", "a.test", 443, "POST", "/mine")
        self.db.execute("INSERT INTO cred(id, name, provider, type,"
                        " bound_hosts) VALUES(1, 'acme', 'x', 'bearer', '')")
        self.db.execute("UPDATE event SET cred_id = 1 WHERE verb = 'POST'")
        self.db.commit()
        text = self.suggest()
        rules = {rule["path"][0]: rule for rule in json.loads(text)["rules"]}
        self.assertNotIn("credential", rules["/public"])
        self.assertEqual(rules["/mine"]["credential"], "acme")
        policy = self.write("s.json", text)
        self.assertEqual(self.exeat("check", policy)[0], 0)

    def test_nothing_asked_suggests_nothing(self):
        policy = self.write("s.json", self.suggest("--run", "run-b"))
        with open(policy) as text:
            self.assertEqual(json.load(text), {"version": 1, "rules": []})
        self.assertEqual(self.exeat("check", policy)[0], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
