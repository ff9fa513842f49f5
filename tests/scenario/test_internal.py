#!/usr/bin/python3 -I
"""exeat.internal: what a run may ask its own gateway."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import World, become_ordinary  # noqa: E402

HERE = "http://exeat.internal"


class Internal(World):
    def ask(self, script, rules=(), *words):
        return json.loads(self.box(list(rules), script, *words))

    def get(self, path, rules=(), **more):
        return self.ask(
            "print(json.dumps(fetch(words[0], method=words[1] or None,"
            " data=words[2].encode() or None)))", rules, HERE + path,
            more.get("method", ""), more.get("data", ""))

    def test_run_is_told_its_name_and_which_program_asks(self):
        status, text = self.get("/v1/whoami")
        self.assertEqual(status, 200)
        page = json.loads(text)
        self.assertRegex(page["run"], r"^run-[a-z0-9]+$")
        self.assertRegex(page["program"]["exe"], r"^/usr/bin/python3")
        self.assertEqual(self.rows("kind = 'sandbox_start'")[0]["sandbox"],
                         page["run"])

    def test_policy_is_told_in_words(self):
        web = self.origin(tls=False)
        status, text = self.get(
            "/v1/policy", [self.rule("web", "api.test", web, ca=False,
                                     path=["/read/**"]),
                           {"id": "no", "host": ["b.test"], "action": "deny",
                            "reason": "ask Ada"}])
        self.assertEqual(status, 200)
        rules = json.loads(text)["layers"][-1]["rules"]
        self.assertEqual([rule["id"] for rule in rules], ["web", "no"])
        self.assertIn("api.test", rules[0]["covers"])
        self.assertIn("/read/**", rules[0]["covers"])
        self.assertEqual(rules[1]["action"], "deny")
        self.assertEqual(rules[1]["reason"], "ask Ada")

    def test_policy_of_a_thousand_rules_is_cut_and_counted(self):
        rules = [{"id": "r%d" % i, "host": ["h%d.test" % i],
                  "path": ["/%s/**" % ("x" * 200)]} for i in range(1000)]
        status, text = self.get("/v1/policy", rules)
        self.assertEqual(status, 200)
        layer = json.loads(text)["layers"][-1]
        self.assertGreater(layer["not_shown"], 0)
        self.assertEqual(len(layer["rules"]) + layer["not_shown"], 1000)

    def test_what_is_no_endpoint_is_a_problem_document(self):
        for path in ("/", "/v1", "/v1/whoami/", "/v2/whoami"):
            status, text = self.get(path)
            self.assertEqual(status, 404, path)
            self.assertEqual(json.loads(text)["status"], 404)
        status, text = self.get("/v1/whoami", method="DELETE")
        self.assertEqual(status, 405)
        self.assertEqual(json.loads(text)["title"], "Method Not Allowed")

    def test_long_body_is_refused_and_a_short_one_is_not(self):
        status, _ = self.get("/v1/whoami", data="x" * 2000)
        self.assertEqual(status, 405)
        status, text = self.ask(
            "print(json.dumps(fetch(words[0], data=b'x' * 3000000)))", (),
            HERE + "/v1/whoami")
        # A client that goes on sending may see the end before the answer.
        self.assertIn(status, (413, "failed"), text)

    def test_connection_serves_one_request_after_another(self):
        answers = self.ask(r'''
peer = http.client.HTTPConnection("exeat.internal")
found = []
for path in ("/v1/whoami", "/nowhere", "/v1/policy", "/v1/whoami"):
    peer.request("GET", path)
    page = peer.getresponse()
    page.read()
    found.append((page.status, page.getheader("Cache-Control"), page.will_close))
peer.request("HEAD", "/v1/whoami")
page = peer.getresponse()
found.append((page.status, page.getheader("Content-Length") > "0", page.read() != b""))
print(json.dumps(found))''')
        self.assertEqual(answers, [
            [200, "no-store", False], [404, "no-store", False],
            [200, "no-store", False], [200, "no-store", False],
            [200, True, False]])

    def test_http2_is_answered_too(self):
        # Prior knowledge: in the clear there is no other way to it.
        code, out, err = self.run_box(
            [], "sh", "-c", "for path in v1/whoami nowhere; do curl -sS -m 60 "
            "--http2-prior-knowledge -w ' %{http_version} %{http_code}\\n' "
            "http://exeat.internal/$path; done; curl -sS -m 60 "
            "--http2-prior-knowledge -d '{}' -o /dev/null -w '%{http_code}' "
            "http://exeat.internal/v1/ask")
        self.assertEqual(code, 0, err)
        whoami, _, rest = out.partition("\n 2 200\n")
        self.assertTrue(json.loads(whoami)["run"].startswith("run-"), out)
        page, _, asked = rest.partition("\n 2 404\n")
        self.assertEqual(json.loads(page)["status"], 404)
        self.assertEqual(asked, "400")
        self.assertEqual({row["status"] for row in self.rows(
            "kind = 'http' AND host = 'exeat.internal'")}, {200, 404, 400})

    def test_each_request_has_its_rows(self):
        self.get("/v1/whoami")
        (intent,) = self.rows("kind = 'http_intent'")
        (end,) = self.rows("kind = 'http'")
        for row in (intent, end):
            self.assertEqual((row["verdict"], row["host"], row["verb"],
                              row["object"]),
                             ("allow", "exeat.internal", "GET", "/v1/whoami"))
        self.assertEqual(end["status"], 200)
        self.assertEqual(end["parent_seq"], intent["seq"])
        self.assertGreater(end["bytes_in"], 0)

    def test_only_clear_http_at_port_80_is_answered(self):
        self.assertEqual(self.ask(
            "print(json.dumps([fetch('https://exeat.internal/v1/whoami')[0],"
            " talk('exeat.internal', 8080, b'GET / HTTP/1.0\\r\\nHost: "
            "exeat.internal:8080\\r\\n\\r\\n')[:12]]))"),
            [403, "HTTP/1.1 403"])
        self.refused_for("no_rule")

    def test_another_host_there_is_a_mismatch(self):
        said = self.ask(
            "print(json.dumps(talk('exeat.internal', 80, b'GET / HTTP/1.1\\r\\n"
            "Host: a.test\\r\\nConnection: close\\r\\n\\r\\n')))")
        self.assertIn("host_mismatch", said)

    def test_no_rule_can_send_it_elsewhere(self):
        web = self.origin(tls=False)
        status, _ = self.get("/v1/whoami", [
            {"id": "all", "host": ["*"], "port": [80, web.port], "wide": True,
             "private": True, "resolve": "127.0.0.1"},
            {"id": "no", "host": ["exeat.internal"], "action": "deny"}])
        self.assertEqual(status, 200)
        self.assertEqual(web.count, 0)


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
