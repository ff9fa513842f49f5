#!/usr/bin/python3 -I
"""exeat policy: what check and explain print, and how they exit."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

EXEAT = os.path.join(os.environ["EXEAT_BUILD"], "exeat")
CERTIFICATE = ("-----BEGIN CERTIFICATE-----\nMIIB\n"
               "-----END CERTIFICATE-----\n")


class Policy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="exeat-policy-")
        self.addCleanup(self.folder.cleanup)
        self.home = os.path.join(self.folder.name, "home")
        os.mkdir(self.home)

    def write(self, name, text, mode=0o600):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as out:
            out.write(text)
        os.chmod(path, mode)
        return path

    def rules(self, *rules, **keys):
        return self.write("p.json", json.dumps(
            {"version": 1, "rules": list(rules), **keys}))

    def exeat(self, *words):
        done = subprocess.run([EXEAT, "policy", *words], text=True,
                              capture_output=True, timeout=60,
                              env={"HOME": self.home, **{
                                  name: os.environ[name]
                                  for name in ("ASAN_OPTIONS",
                                               "UBSAN_OPTIONS")
                                  if name in os.environ}})
        return done.returncode, done.stdout, done.stderr

    def test_check_says_in_words_what_each_rule_covers(self):
        path = self.rules({"id": "a", "host": ["*.example.com"]},
                          {"id": "w", "host": ["*"], "wide": True,
                           "access": "any"})
        code, out, _ = self.exeat("check", path)
        self.assertEqual(code, 0)
        self.assertIn("all names below example.com (not itself)", out)
        self.assertIn("EVERY host", out)  # P10, P14
        self.assertIn("GET, HEAD, OPTIONS and git fetch", out)

    def test_check_lists_every_problem_with_its_place(self):
        path = self.write("p.json", '{ "version": 1, "rules": [\n'
                          '  { "id": "a", "host": ["a b"] },\n'
                          '  { "id": "b", "hots": ["a.test"] } ] }\n')
        code, out, _ = self.exeat("check", path)
        self.assertEqual(code, 1)
        self.assertIn(path + ":2:25: ", out)
        self.assertIn(path + ":3:3: ", out)
        self.assertIn(path + ':3:16: there is no key "hots"', out)
        code, out, _ = self.exeat("check", "--json", path)
        self.assertEqual(code, 1)
        [told] = json.loads(out)
        self.assertFalse(told["ok"])
        self.assertEqual([p["line"] for p in told["problems"]], [2, 3, 3])

    def test_problems_do_not_write_to_the_terminal_what_the_file_says(self):
        path = self.write("p.json", '{ "version": 1, "rules": [ { "id": "a",'
                          ' "host": ["\\u001b[2Ja\\u009b1m"] } ] }')
        code, out, _ = self.exeat("check", path)
        self.assertEqual(code, 1)
        self.assertNotIn("\x1b", out)
        self.assertNotIn("\x9b", out)

    def test_a_file_that_others_can_write_is_refused(self):  # B24
        for mode in (0o620, 0o602, 0o666):
            path = self.write("p.json", '{"version": 1, "rules": []}', mode)
            code, out, _ = self.exeat("check", path)
            self.assertEqual(code, 1)
            self.assertIn("can be written by others", out)

    def test_what_is_no_file_is_refused_at_once(self):
        fifo = os.path.join(self.folder.name, "fifo")
        os.mkfifo(fifo, 0o600)
        for path in (fifo, self.folder.name, "/dev/zero", "/nonexistent"):
            code, _, _ = self.exeat("check", path)
            self.assertEqual(code, 1)

    def test_a_set_is_what_the_users_configuration_names(self):
        with open(os.path.join(self.home, ".npmrc"), "w") as out:
            out.write("registry=https://npm.example.com/\n"
                      "@x:registry=https://x.example.com:4873/\n")
        path = self.rules({"id": "n", "host": ["@npm"],
                           "port": [443, 4873]})
        code, out, _ = self.exeat("check", path)
        self.assertEqual(code, 0, out)
        self.assertIn("npm.example.com and x.example.com", out)
        path = self.rules({"id": "n", "host": ["a.test", "@npm"]})
        code, out, _ = self.exeat("check", path)
        self.assertEqual(code, 1)
        self.assertIn("x.example.com, of this set, listens on port 4873",
                      out)

    def test_a_set_of_the_policy_comes_before_the_machines(self):
        path = self.rules({"id": "n", "host": ["@npm", "@own"]},
                          sets={"@npm": ["mine.test"], "@own": ["b.test"]})
        code, out, _ = self.exeat("check", path)
        self.assertEqual(code, 0, out)
        self.assertIn("mine.test and b.test", out)

    def test_a_set_that_is_empty_is_told_with_what_to_do(self):
        path = self.rules({"id": "c", "host": ["@cargo"]},
                          {"id": "b", "host": ["a b"]})
        code, out, _ = self.exeat("check", path)
        self.assertEqual(code, 1)
        self.assertIn('"@cargo" is empty', out)
        self.assertIn("config.toml", out)
        self.assertIn('"a b" is not a host name', out)

    def test_an_authority_is_read_from_beside_the_policy(self):
        self.write("ca.pem", "subject: x\n" + CERTIFICATE)
        path = self.rules({"id": "a", "host": ["a.test"],
                           "upstream_ca": "ca.pem"})
        code, out, _ = self.exeat("check", path)
        self.assertEqual(code, 0, out)
        self.assertIn("authority of its own", out)

    def test_an_authority_that_is_none_is_refused_at_its_place(self):
        self.write("key.pem", CERTIFICATE + "-----BEGIN PRIVATE KEY-----\n")
        self.write("open.pem", CERTIFICATE, 0o666)
        self.write("none.pem", "hello\n")
        for name, why in (("key.pem", "holds a private key"),
                          ("open.pem", "can be written by others"),
                          ("none.pem", "holds no certificate"),
                          ("missing.pem", "cannot open")):
            path = self.write("p.json", '{ "version": 1, "rules": [\n'
                              ' { "id": "a", "upstream_ca": "%s",'
                              ' "host": ["a b"], "x": 1 } ] }' % name)
            code, out, _ = self.exeat("check", path)
            self.assertEqual(code, 1)
            self.assertIn(":2:30: ", out)
            self.assertIn(why, out)
            # What stands behind it on the line keeps its own place.
            after = 42 + len(name) + 2
            self.assertIn(":2:%d: \"a b\"" % (after - 1), out)
            self.assertIn(":2:%d: there is no key" % (after + 7), out)

    def test_explain_names_the_rule_and_the_near_ones(self):
        path = self.rules({"id": "a", "host": ["a.test"]},
                          {"id": "b", "host": ["*.a.test"]})
        code, out, _ = self.exeat("explain", path, "--url",
                                  "https://a.test/x")
        self.assertEqual(code, 0)
        self.assertIn("allow", out)
        self.assertIn("b (allow): it covers only names below", out)
        code, out, _ = self.exeat("explain", path, "--url",
                                  "https://a.test/x", "--method", "PUT")
        self.assertEqual(code, 1)
        self.assertIn("(method)", out)
        self.assertIn("not PUT", out)
        code, out, _ = self.exeat("explain", "--json", path, "--url",
                                  "https://x.a.test/")
        told = json.loads(out)
        self.assertEqual(code, 0)
        self.assertEqual(told["verdict"], "allow")
        self.assertEqual(told["rule"], "b")

    def test_explain_takes_files_as_layers(self):
        first = self.rules({"id": "a", "host": ["a.test"]})
        second = self.write("q.json", '{"version": 1, "rules": []}')
        code, out, _ = self.exeat("explain", first, second, "--url",
                                  "https://a.test/")
        self.assertEqual(code, 1)
        self.assertIn("answer: allow, by a", out)
        self.assertIn("answer: deny", out)

    def test_explain_says_whether_an_address_would_be_dialled(self):
        path = self.rules({"id": "a", "host": ["a.test"]},
                          {"id": "p", "host": ["p.test"], "private": True})
        for url, address, code in (
                ("https://a.test/", "8.8.8.8", 0),
                ("https://a.test/", "10.0.0.1", 1),
                ("https://p.test/", "10.0.0.1", 0),
                ("https://p.test/", "169.254.169.254", 1)):
            got, out, _ = self.exeat("explain", path, "--url", url,
                                     "--address", address)
            self.assertEqual(got, code, out)

    def test_test_tells_each_line_that_is_not_answered_so(self):
        path = self.rules({"id": "a", "host": ["a.test"]},
                          {"id": "p", "host": ["p.test"], "access": "any",
                           "tls": "passthrough"})
        cases = self.write("good.ask", "# all is well\n\n"
                           "GET https://a.test/ => allow a\n"
                           "https://a.test/?x==> => allow\n"
                           "https://p.test/ => allow passthrough\r\n"
                           "PUT https://a.test/ => deny method\n"
                           "https://a.test//x  =>  error\n"
                           "https://b.test/ => deny no_rule")
        code, out, _ = self.exeat("test", path, cases)
        self.assertEqual(code, 0, out)
        self.assertIn("6 of 6 as expected", out)
        cases = self.write("bad.ask", "https://a.test/ => allow\n"
                           "https://a.test/ => deny\n# more\n"
                           "https://a.test/ => allow ab\n"
                           "https://a.test/ => allo\n"
                           "https://a.test/ allow\n"
                           "https://a.test/ =>\n")
        code, out, _ = self.exeat("test", path, cases)
        self.assertEqual(code, 1)
        for line in (2, 4, 5, 6, 7):
            self.assertIn("%s:%d: " % (cases, line), out)
        self.assertNotIn(cases + ":1: ", out)
        self.assertIn("1 of 6 as expected", out)

    def test_test_takes_files_as_layers(self):
        first = self.rules({"id": "a", "host": ["a.test"]})
        second = self.write("q.json", '{"version": 1, "rules": []}')
        cases = self.write("x.ask", "https://a.test/ => deny no_rule\n")
        code, out, _ = self.exeat("test", first, second, cases)
        self.assertEqual(code, 0, out)

    def test_a_case_file_without_a_question_is_no_success(self):
        path = self.rules({"id": "a", "host": ["a.test"]})
        code, out, _ = self.exeat("test", path, self.write("x.ask", "# no\n"))
        self.assertEqual(code, 1)
        self.assertIn("there is no question", out)
        code, _, err = self.exeat("test", path, "/nonexistent")
        self.assertEqual(code, 125)
        self.assertIn("cannot read /nonexistent", err)
        code, out, _ = self.exeat("test", self.write("b.json", "{"), path)
        self.assertEqual(code, 1)

    def both(self, before, after):
        return (self.write("a.json", json.dumps(
                    {"version": 1, "rules": before})),
                self.write("b.json", json.dumps(
                    {"version": 1, "rules": after})))

    def test_compare_tells_what_is_allowed_anew_with_a_request(self):
        wide = {"id": "w", "host": ["*.a.test"], "access": "write"}
        deny = {"id": "d", "host": ["x.a.test"], "path": ["/p/**"],
                "action": "deny"}
        before, after = self.both([wide, deny], [wide])
        code, out, _ = self.exeat("compare", before, after)
        self.assertEqual(code, 1)
        self.assertIn('+ "w" allows x.a.test', out)
        self.assertIn("as in: GET https://x.a.test/p", out)
        # The request is answered so by both, each asked by itself.
        url = ("--url", "https://x.a.test/p")
        self.assertEqual(self.exeat("explain", after, *url)[0], 0)
        self.assertEqual(self.exeat("explain", before, *url)[0], 1)
        code, out, _ = self.exeat("compare", after, before)
        self.assertEqual((code, out), (0, "nothing more is allowed\n"))
        code, out, _ = self.exeat("compare", "--json", before, after)
        self.assertEqual(code, 1)
        [told] = json.loads(out)
        self.assertEqual(told["rule"], "w")
        self.assertEqual(told["kind"], "allows")
        self.assertEqual(told["witness"], "GET https://x.a.test/p")
        self.assertTrue(told["confirmed"])
        code, out, _ = self.exeat("compare", "--json", after, before)
        self.assertEqual((code, json.loads(out)), (0, []))

    def test_compare_takes_layers_on_both_sides(self):
        read = {"id": "r", "host": ["*.a.test"]}
        write = {"id": "w", "host": ["b.a.test"], "access": "write"}
        first, second = self.both([read], [write])
        for left, right, code in (([first], [first, second], 0),
                                  ([first, second], [second], 1),
                                  ([first, second], [first, second], 0),
                                  ([second], [second, first], 0)):
            got, out, err = self.exeat("compare", *left, "--", *right)
            self.assertEqual(got, code, out + err)

    def test_check_within_holds_a_policy_against_a_ceiling(self):
        ceiling, own = self.both(
            [{"id": "c", "host": ["*.a.test"]}],
            [{"id": "o", "host": ["b.a.test"], "path": ["/x/**"]}])
        code, out, _ = self.exeat("check", "--within", ceiling, own)
        self.assertEqual(code, 0, out)
        code, out, _ = self.exeat("check", "--within", own, ceiling)
        self.assertEqual(code, 1)
        self.assertIn('+ "c" allows', out)
        code, out, _ = self.exeat("check", "--within",
                                  self.write("x.json", "{"), own)
        self.assertEqual(code, 1)

    def test_compare_sees_where_a_request_is_sent(self):
        before, after = self.both(
            [{"id": "a", "host": ["a.test"]}],
            [{"id": "a", "host": ["a.test"], "private": True}])
        code, out, _ = self.exeat("compare", before, after)
        self.assertEqual(code, 1)
        self.assertIn("not public", out)

    def test_a_wrong_call_teaches_and_exits_125(self):
        path = self.rules()
        for words in ((), ("check",), ("chek", path), ("explain", path),
                      ("test", path), ("compare", path),
                      ("compare", path, path, path),
                      ("compare", "--", path),
                      ("explain", path, "--url", "a.test"),
                      ("explain", path, "--url", "https://a@b.test/"),
                      ("check", "--nothing", path)):
            code, _, err = self.exeat(*words)
            self.assertEqual(code, 125)
            self.assertNotEqual(err, "")
        code, out, _ = self.exeat("--help")
        self.assertEqual(code, 0)
        self.assertIn("exeat policy explain", out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
