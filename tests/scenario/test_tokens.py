#!/usr/bin/python3 -I
"""Tokens of a run's identity: asked for, handed on, shown, revoked."""
import base64
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_credentials import Lender  # noqa: E402
from world import PRELUDE, become_ordinary  # noqa: E402

IDENTITIES = {
    "coder": {"scope": ["egress:default", "cred:api"], "ttl_s": 600,
              "may_act": ["tester"]},
    "tester": {"scope": ["egress:default"]},
    "stranger": {"scope": ["cred:api"]},
}
CLIENT = {"grant_type": "client_credentials"}
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS = "urn:ietf:params:oauth:token-type:access_token"

# What the scripts in the sandbox have beside the prelude.
ASK = PRELUDE + r'''
import base64, urllib.parse
HERE = "http://exeat.internal/v1/"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS = "urn:ietf:params:oauth:token-type:access_token"

def ask(page, **fields):
    status, text = fetch(HERE + page, urllib.parse.urlencode(fields).encode())
    return status, json.loads(text)

def token(**fields):
    return ask("token", grant_type="client_credentials", **fields)

def exchange(subject, **fields):
    return ask("token", grant_type=EXCHANGE, subject_token=subject,
               subject_token_type=ACCESS, **fields)

def part(text):
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))

def encode(value):
    return base64.urlsafe_b64encode(
        json.dumps(value).encode()).rstrip(b"=").decode()
'''


class Tokens(Lender):
    def options(self, *more, identity="coder"):
        api = {"kind": "bearer", "source": {"file": "key"},
               "hosts": ["api.test:8"]}
        return (*self.credentials({"api": api}, identities=IDENTITIES),
                "--identity", identity, *more)

    def ask(self, script, *words, options=None, rules=()):
        code, out, err = self.run_box(
            list(rules), "python3", "-I", "-c", ASK + script, *words,
            options=self.options() if options is None else options)
        self.assertEqual(code, 0, err + out)
        return json.loads(out.strip().splitlines()[-1])

    def refusals(self):
        return [(row["reason"], json.loads(row["detail"])["error"])
                for row in self.rows("kind = 'token_refused'")]

    def test_curl_gets_a_token_and_it_stands_in_a_row(self):
        code, out, err = self.run_box(
            [], "curl", "-s", "-i", "-d", "grant_type=client_credentials",
            "-d", "scope=cred:api", "http://exeat.internal/v1/token",
            options=self.options())
        self.assertEqual(code, 0, err + out)
        head, _, body = out.partition("\n\n")
        if not body:
            head, _, body = out.partition("\r\n\r\n")
        self.assertIn("HTTP/1.1 200", head)
        self.assertIn("cache-control: no-store", head.lower())
        self.assertIn("content-type: application/json", head.lower())
        answer = json.loads(body)
        self.assertEqual((answer["token_type"], answer["expires_in"],
                          answer["scope"]), ("Bearer", 600, "cred:api"))
        header, claims = [json.loads(base64.urlsafe_b64decode(part + "=="))
                          for part in answer["access_token"].split(".")[:2]]
        self.assertEqual((header["typ"], header["alg"]), ("at+jwt", "ES256"))
        root, child = self.rows("kind = 'token_issue'")
        self.assertEqual(child["object"], claims["jti"])
        self.assertEqual(root["object"], claims["pjti"])
        self.assertEqual(claims["sbx"], root["sandbox"])
        self.assertEqual(json.loads(child["detail"])["parent"], claims["pjti"])
        self.assertEqual(
            (claims["sub"], claims["client_id"], claims["dep"]),
            ("agent:coder", "agent:coder", 1))
        for row in self.rows():
            self.assertNotIn(answer["access_token"][:60], str(row))

    def test_node_and_python_get_one_too(self):
        code, out, err = self.run_box(
            [], "node", "-e", """
fetch("http://exeat.internal/v1/token", {method: "POST", body:
  new URLSearchParams({grant_type: "client_credentials"})})
  .then(r => r.json()).then(j => console.log(JSON.stringify(j)))""",
            options=self.options())
        self.assertEqual(code, 0, err + out)
        self.assertEqual(json.loads(out)["scope"], "egress:default cred:api")
        status, page = self.ask("print(json.dumps(token()))")
        self.assertEqual((status, page["token_type"]), (200, "Bearer"))

    def test_exchange_narrows_and_names_who_acts(self):
        found = self.ask(r'''
whole = token()[1]["access_token"]
narrow = exchange(whole, scope="cred:api cred:other")
acting = token(client_id="tester")[1]["access_token"]
handed = exchange(whole, actor_token=acting, actor_token_type=ACCESS)
print(json.dumps([narrow, part(narrow[1]["access_token"].split(".")[1]),
                  handed, part(handed[1]["access_token"].split(".")[1]),
                  ask("introspect", token=handed[1]["access_token"])]))''')
        (status, page), claims, (status2, page2), claims2, shown = found
        self.assertEqual((status, status2), (200, 200))
        self.assertEqual((page["scope"], page["issued_token_type"]),
                         ("cred:api", ACCESS))
        self.assertEqual((claims["dep"], claims["scope"]), (2, "cred:api"))
        self.assertEqual(page2["scope"], "egress:default")
        self.assertEqual(claims2["sub"], "agent:coder")
        self.assertEqual(claims2["act"], {"sub": "agent:tester"})
        self.assertEqual(claims2["client_id"], "agent:tester")
        self.assertEqual(shown[1]["act"], {"sub": "agent:tester"})
        self.assertTrue(shown[1]["active"])
        rows = self.rows("kind = 'token_exchange'")
        self.assertEqual([row["object"] for row in rows],
                         [claims["jti"], claims2["jti"]])
        self.assertEqual(json.loads(rows[0]["detail"])["dropped"],
                         "cred:other")

    def test_what_oauth_calls_wrong_has_its_error(self):
        cases = [
            ({}, "invalid_request"),
            ({"grant_type": "password"}, "unsupported_grant_type"),
            ({**CLIENT, "client_id": "nobody"}, "invalid_client"),
            ({**CLIENT, "client_id": "stranger"}, "unauthorized_client"),
            ({**CLIENT, "scope": "cred:none"}, "invalid_scope"),
            ({**CLIENT, "scope": "two  blanks"}, "invalid_scope"),
            ({**CLIENT, "audience": "https://api.example"}, "invalid_target"),
            ({**CLIENT, "audience": "http://exeat.internal",
              "resource": "http://exeat.internal"}, "invalid_target"),
            ({**CLIENT, "lifetime": "soon"}, "invalid_request"),
            ({"grant_type": EXCHANGE}, "invalid_request"),
            ({"grant_type": EXCHANGE, "subject_token": "x"}, "invalid_request"),
            ({"grant_type": EXCHANGE, "subject_token": "a.b.c",
              "subject_token_type": ACCESS}, "invalid_request"),
        ]
        found = self.ask(r'''
print(json.dumps([ask("token", **fields) for fields in json.loads(words[0])]
  + [[0, json.loads(fetch(HERE + "token", b"{}", headers={
      "Content-Type": "application/json"})[1])]]))''',
                         json.dumps([fields for fields, _ in cases]))
        for (status, page), (fields, error) in zip(found, cases):
            self.assertEqual((status, page["error"]), (400, error), fields)
            self.assertTrue(page["error_description"])
        self.assertEqual(found[-1][1]["error"], "invalid_request")

    def test_every_altered_token_is_refused_with_a_row(self):
        found = self.ask(r'''
text = token()[1]["access_token"]
header, claims, signature = text.split(".")
made = []
for key, value in (("alg", "none"), ("alg", "HS256"), ("alg", "es256"),
                   ("typ", "JWT"), ("typ", ""), ("kid", "x"),
                   ("crit", ["b64"]), ("jku", "http://a.test/")):
    made.append(encode({**part(header), key: value}) + "." + claims + "."
                + signature)
for key in part(claims):
    value = part(claims)[key]
    value = value + 1 if isinstance(value, int) else value and str(value) + "x"
    made.append(header + "." + encode({**part(claims), key: value}) + "."
                + signature)
flip = "B" if signature[9] == "A" else "A"
made += [header + "." + claims + "." + signature[:9] + flip + signature[10:],
         header + "." + claims + ".", header + "." + claims, text + "=",
         text + "\n", text[:-1], "." + text, "x" * 9000]
print(json.dumps([text, [exchange(one) for one in made],
                  [ask("introspect", token=one) for one in made],
                  exchange(text)[0]]))''')
        _, exchanged, shown, good = found
        self.assertEqual(good, 200)
        for status, page in exchanged:
            self.assertEqual((status, page["error"]), (400, "invalid_request"))
        for status, page in shown:
            self.assertIn((status, page), [
                (200, {"active": False}),
                (400, page if page.get("error") == "invalid_request" else 0)])
        reasons = {reason for reason, _ in self.refusals()}
        self.assertEqual(reasons, {"bad_token"})
        self.assertGreater(len(self.refusals()), 2 * 20)

    def test_token_of_another_run_and_of_one_that_is_over(self):
        first = self.ask("print(json.dumps(token()))")[1]["access_token"]
        status, page = self.ask("print(json.dumps(exchange(words[0])))", first)
        self.assertEqual((status, page["error"]), (400, "invalid_request"))
        self.assertEqual(self.refusals(), [("wrong_run", "invalid_request")])
        detail = json.loads(
            self.rows("kind = 'token_refused'")[0]["detail"])
        self.assertEqual(detail["unverified"]["subject"], "agent:coder")

    def test_revoked_token_takes_its_children_along(self):
        found = self.ask(r'''
parent = token()[1]["access_token"]
child = exchange(parent)[1]["access_token"]
grandchild = exchange(child)[1]["access_token"]
other = token()[1]["access_token"]
gone = ask("revoke", token=child)
print(json.dumps([gone, ask("revoke", token="never.was.one"),
    exchange(parent)[0], exchange(child), exchange(grandchild),
    exchange(other)[0], ask("introspect", token=grandchild),
    ask("revoke", token=child)[0], part(child.split(".")[1])["jti"]]))''')
        gone, never, parent, child, grandchild, other, shown, again, name = found
        self.assertEqual((gone, never), ([200, {}], [200, {}]))
        self.assertEqual((parent, other, again), (200, 200, 200))
        self.assertEqual((child[0], grandchild[0]), (400, 400))
        self.assertEqual(shown, [200, {"active": False}])
        (row,) = self.rows("kind = 'token_revoke'")
        self.assertEqual(row["object"], name)
        self.assertEqual(json.loads(row["detail"])["revoked"], 2)
        self.assertIn(("revoked", "invalid_request"), self.refusals())

    def test_token_that_is_over_is_expired(self):
        found = self.ask(r'''
short = token(lifetime=1)[1]["access_token"]
left = part(short.split(".")[1])["exp"]
while time.time() < left:
    time.sleep(0.05)
print(json.dumps(exchange(short)))''')
        self.assertEqual(found[1]["error"], "invalid_request")
        self.assertEqual(self.refusals(), [("expired", "invalid_request")])

    def test_run_without_an_identity_gets_none(self):
        status, page = self.ask("print(json.dumps(token()))", options=())
        self.assertEqual((status, page["error"]), (400, "unauthorized_client"))
        self.assertIn("--identity", page["error_description"])

    def test_identity_that_is_not_in_the_file_starts_nothing(self):
        code, out, err = self.run_box(
            [], "true", options=self.options(identity="nobody"))
        self.assertEqual(code, 125)
        self.assertIn('no identity "nobody"', err)
        self.assertEqual(out, "")

    def test_identity_without_the_scope_gets_no_credential(self):
        web = self.origin(tls=False)
        api = {"kind": "bearer", "source": {"file": "key"},
               "hosts": ["api.test:%d" % web.port]}
        rule = self.rule("api", "api.test", web, ca=False, credential="api",
                         clear=True)
        for identity, status in (("coder", 200), ("tester", 502)):
            options = (*self.credentials({"api": api}, identities=IDENTITIES),
                       "--identity", identity)
            code, out, err = self.run_box(
                [rule], "python3", "-I", "-c", PRELUDE
                + "print(fetch('http://api.test:%s/' % words[0])[0])",
                str(web.port), options=options)
            self.assertEqual((code, out.strip()), (0, str(status)), err)
        self.assertEqual(web.count, 1)


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
