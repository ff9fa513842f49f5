#!/usr/bin/python3 -I
"""Every kind of credential that is asked for somewhere: from the policy and
the credential file to the request that leaves, between real programs.

The issuers are one server of the test's own that looks at each field of what
it is asked as the real one would; nothing but what it gave may arrive.
"""
import base64
import json
import os
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from issuer import Issuer  # noqa: E402
from test_credentials import Lender, field  # noqa: E402
from test_lures import CLIENT, Bucket  # noqa: E402
from world import become_ordinary  # noqa: E402

GRANT = "urn:ietf:params:oauth:grant-type:"
TYPE = "urn:ietf:params:oauth:token-type:"
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


def unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Minted(Lender):
    def setUp(self):
        super().setUp()
        self.issuer = Issuer(self)
        with open(os.path.join(self.shared, "ca.pem")) as ca:
            self.ca = ca.read()
        self.kinds, self.expected = {}, {}

    def tearDown(self):
        self.assertEqual(self.issuer.faults, [])

    # ---- what issuers look at ----

    def make_key(self, name, *options):
        path = self.secret(name, "")
        subprocess.run(["openssl", "genpkey", *options, "-out", path],
                       check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", path, "-pubout", "-out",
                        path + ".pub"], check=True)
        with open(path) as text:
            return text.read()

    def verify(self, name, token):
        """Header and claims of a JWT, once its signature is right."""
        head, claims, signature = token.split(".")
        signature = unpadded(signature)
        if json.loads(unpadded(head))["alg"] == "ES256":
            assert len(signature) == 64
            numbers = [number.lstrip(b"\0") for number in (
                signature[:32], signature[32:])]
            numbers = [b"\0" + number if number[0] > 127 else number
                       for number in numbers]
            both = b"".join(b"\2%c%s" % (len(number), number)
                            for number in numbers)
            signature = b"0%c%s" % (len(both), both)
        path = os.path.join(self.folder, "signature")
        with open(path, "wb") as out:
            out.write(signature)
        done = subprocess.run(
            ["openssl", "dgst", "-sha256", "-verify",
             os.path.join(self.keys, name + ".pub"), "-signature", path],
            input=("%s.%s" % tuple(token.split(".")[:2])).encode(),
            capture_output=True)
        assert done.returncode == 0, done.stdout
        return json.loads(unpadded(head)), json.loads(unpadded(claims))

    def credential(self, name, expected, **more):
        """One that the API must be shown as expected, at its own path."""
        self.kinds[name] = {"source": {"file": name}, "ca": self.ca,
                            "hosts": [], **more}
        self.expected[name] = expected

    # ---- the kinds ----

    def client(self, name, check):
        def token(asked):
            form = asked.form()
            assert asked.head["content-type"] == \
                "application/x-www-form-urlencoded"
            assert form.pop("grant_type") == "client_credentials"
            assert form.pop("scope") == "orders.read"
            check(asked, form)
            assert form == {}, form
            return 200, {"access_token": name + "-token",
                         "token_type": "Bearer", "expires_in": 600}
        self.issuer.page("POST", "/" + name, token)
        return {"kind": "oauth2_client", "client_id": "exeat", "scope":
                "orders.read", "token_url": self.issuer.url + "/" + name}

    def add_clients(self):
        def basic(asked, form):
            assert asked.head["authorization"] == "Basic " + \
                base64.b64encode(b"exeat:client%20secret").decode()

        def post(asked, form):
            assert "authorization" not in asked.head
            assert form.pop("client_id") == "exeat"
            assert form.pop("client_secret") == "client secret"

        def key(asked, form):
            assert form.pop("client_id") == "exeat"
            assert form.pop("client_assertion_type") == ASSERTION
            head, claims = self.verify("by_key", form.pop("client_assertion"))
            assert head == {"alg": "ES256", "typ": "JWT", "kid": "k1"}, head
            assert claims["iss"] == claims["sub"] == "exeat"
            assert claims["aud"] == self.issuer.url + "/by_key"
            assert claims["exp"] - claims["iat"] <= 120
            assert claims["iat"] <= time.time() < claims["exp"]
            assert len(claims["jti"]) >= 16
        self.secret("basic", "client secret")
        self.secret("post", "client secret")
        self.make_key("by_key", "-algorithm", "EC", "-pkeyopt",
                      "ec_paramgen_curve:P-256")
        for name, check, more in (
                ("basic", basic, {}), ("post", post, {"client_auth": "post"}),
                ("by_key", key, {"client_auth": "private_key_jwt",
                                 "alg": "ES256", "key_id": "k1"})):
            self.credential(name, b"Bearer %s-token" % name.encode(),
                            **self.client(name, check), **more)

    def add_exchange(self):
        def token(asked):
            assert asked.form() == {
                "grant_type": GRANT + "token-exchange",
                "client_id": "exeat", "audience": "orders",
                "subject_token": "subject", "subject_token_type": TYPE + "jwt",
                "requested_token_type": TYPE + "access_token"}, asked.form()
            return 200, {"access_token": "exchanged", "token_type": "bearer",
                         "issued_token_type": TYPE + "access_token",
                         "expires_in": 600}
        self.secret("exchange", "subject")
        self.issuer.page("POST", "/exchange", token)
        self.credential(
            "exchange", b"Bearer exchanged", kind="token_exchange",
            client_id="exeat", audience="orders",
            subject_token_type=TYPE + "jwt",
            token_url=self.issuer.url + "/exchange")

    def add_github(self):
        def token(asked):
            assert asked.head["accept"] == "application/vnd.github+json"
            assert asked.head["x-github-api-version"] == "2022-11-28"
            head, claims = self.verify(
                "github", asked.head["authorization"].partition(" ")[2])
            assert head["alg"] == "RS256" and claims["iss"] == "12345"
            assert claims["iat"] <= time.time() - 50
            assert claims["exp"] <= time.time() + 600
            assert asked.json() == {
                "repositories": ["widgets"],
                "permissions": {"contents": "read", "issues": "write"}}
            self.given += 1
            return 201, {"token": "ghs_%d" % self.given, "expires_at":
                         time.strftime("%Y-%m-%dT%H:%M:%SZ",
                                       time.gmtime(time.time() + 3600))}

        def revoke(asked):
            self.taken_back.append(asked.head["authorization"])
            return 204, None
        self.given, self.taken_back = 0, []
        self.make_key("github", "-algorithm", "RSA")
        self.issuer.page(
            "POST", "/app/installations/678/access_tokens", token)
        self.issuer.page("DELETE", "/installation/token", revoke)
        self.credential(
            "github", b"Bearer ghs_1", kind="github_app", app_id=12345,
            installation=678, repositories=["widgets"],
            permissions={"contents": "read", "issues": "write"},
            api_url=self.issuer.url)

    def add_google(self):
        def account(asked):
            form = asked.form()
            assert form["grant_type"] == GRANT + "jwt-bearer"
            head, claims = self.verify("sa", form["assertion"])
            assert head == {"alg": "RS256", "typ": "JWT", "kid": "k9"}, head
            assert set(claims) == {"iss", "scope", "aud", "iat", "exp"}
            assert claims["iss"] == "sa@p.test" and claims["scope"] == "s1"
            assert claims["aud"] == self.issuer.url + "/google"
            assert claims["exp"] <= claims["iat"] + 3600
            return 200, {"access_token": "ya29.sa", "token_type": "Bearer",
                         "expires_in": 3599}

        def federate(asked):
            assert "authorization" not in asked.head
            assert asked.form() == {
                "grant_type": GRANT + "token-exchange",
                "audience": "//iam.googleapis.com/p",
                "scope": "https://www.googleapis.com/auth/cloud-platform",
                "requested_token_type": TYPE + "access_token",
                "subject_token_type": TYPE + "jwt",
                "subject_token": "id-token"}, asked.form()
            return 200, {"access_token": "federated", "expires_in": 3600,
                         "token_type": "Bearer"}

        def impersonate(asked):
            assert asked.head["authorization"] == "Bearer federated"
            assert asked.json() == {"scope": ["s1"], "lifetime": "3600s"}
            return 200, {"accessToken": "ya29.wi", "expireTime":
                         time.strftime("%Y-%m-%dT%H:%M:%SZ",
                                       time.gmtime(time.time() + 900))}
        key = self.make_key("sa", "-algorithm", "RSA")
        self.secret("account", json.dumps({
            "type": "service_account", "client_email": "sa@p.test",
            "private_key_id": "k9", "private_key": key}))
        self.secret("workload", "id-token")
        self.issuer.page("POST", "/google", account)
        self.issuer.page("POST", "/sts", federate)
        self.issuer.page(
            "POST", "/iam/projects/-/serviceAccounts/sa@p.test:"
            "generateAccessToken", impersonate)
        self.credential(
            "account", b"Bearer ya29.sa", kind="gcp_service_account",
            scope="s1", token_url=self.issuer.url + "/google")
        self.credential(
            "workload", b"Bearer ya29.wi", kind="gcp_workload_identity",
            scope="s1", audience="//iam.googleapis.com/p",
            service_account="sa@p.test", token_url=self.issuer.url + "/sts",
            iam_url=self.issuer.url + "/iam")

    def add_azure(self):
        def token(asked):
            assert asked.form() == {
                "grant_type": "client_credentials", "client_id": "app",
                "scope": "https://vault.azure.net/.default",
                "client_assertion_type": ASSERTION,
                "client_assertion": "id-token"}, asked.form()
            return 200, {"access_token": "entra", "token_type": "Bearer",
                         "expires_in": 3599}
        self.secret("azure", "id-token")
        self.issuer.page("POST", "/t1/oauth2/v2.0/token", token)
        self.credential(
            "azure", b"Bearer entra", kind="azure_federated", tenant="t1",
            client_id="app", scope="https://vault.azure.net/.default",
            login_url=self.issuer.url)

    def add_vault(self):
        def login(asked):
            assert asked.json() == {"role": "agent", "jwt": "id-token"}
            self.logins += 1
            return 200, {"auth": {"client_token": "hvs.%d" % self.logins}}

        def read(asked):
            assert re.fullmatch("hvs.[0-9]", asked.head["x-vault-token"])
            return 200, {"data": {"data": {"key": "swordfish"}}}

        def leave(asked):
            self.left.append(asked.head["x-vault-token"])
            return 204, None
        self.logins, self.left = 0, []
        self.secret("vault", "id-token")
        self.issuer.page("POST", "/v1/auth/jwt/login", login)
        self.issuer.page("GET", "/v1/secret/data/db", read)
        self.issuer.page("POST", "/v1/auth/token/revoke-self", leave)
        self.credential(
            "vault", b"Bearer swordfish", kind="vault", role="agent",
            path="secret/data/db", field="key", address=self.issuer.url)

    # ---- and what becomes of them ----

    def run_kinds(self, script="", hosts=("api.test",), more={}):
        api = self.origin()
        for credential in self.kinds.values():
            credential["hosts"] = ["%s:%d" % (host, api.port)
                                   for host in hosts]
        rules = [{**self.rule(name, "api.test", api, path=["/" + name],
                              credential=name), "host": list(hosts)}
                 for name in self.kinds]
        code, out, err = self.run_box(
            rules, "python3", "-I", "-c", self.prelude() +
            "for name in words[1:]:\n"
            "    print(fetch('https://api.test:%s/%s' % (words[0], name),"
            " headers={'Authorization': 'Bearer mine'}))\n" + script,
            str(api.port), *self.kinds, options=self.credentials({**self.kinds, **more}))
        self.assertEqual(code, 0, err)
        return api, out

    def test_each_kind_is_asked_for_and_put_in(self):
        self.add_clients()
        self.add_exchange()
        self.add_github()
        self.add_google()
        self.add_azure()
        self.add_vault()
        api, out = self.run_kinds()
        self.assertEqual(self.issuer.faults, [])
        self.assertEqual(out.count("(200, 'hello\\n')"), len(self.kinds), out)
        self.assertEqual(
            {head.split()[1][1:].decode(): field(head, "authorization")
             for head in api.heard},
            {name: [value] for name, value in self.expected.items()})
        # What can be given back was, when the run was over.
        self.assertEqual(self.taken_back, ["Bearer ghs_1"])
        self.assertEqual(self.left, ["hvs.1"])
        rows = self.rows("kind = 'cred_mint'")
        self.assertEqual([row["cred"] for row in rows], list(self.kinds))
        self.assertEqual({row["verdict"] for row in rows}, {"allow"})
        everything = str(self.rows())
        for value in self.expected.values():
            self.assertNotIn(value.decode().split()[1], everything)

    def test_a_token_for_git_is_given_back_like_the_one_for_the_api(self):
        self.add_github()
        api, out = self.run_kinds(
            "print(fetch('https://a.test:%s/github' % words[0]))\n"
            "print(fetch('https://a.test:%s/github' % words[0]))\n",
            hosts=("api.test", "a.test"))
        self.assertEqual(out.count("(200, 'hello\\n')"), 3, out)
        basic = b"Basic " + base64.b64encode(b"x-access-token:ghs_2")
        self.assertEqual(
            [field(head, "authorization") for head in api.heard],
            [[b"Bearer ghs_1"], [basic], [basic]])
        self.assertEqual(sorted(self.taken_back),
                         ["Bearer ghs_1", "Bearer ghs_2"])

    def test_a_role_of_aws_signs_with_what_sts_gave(self):
        def assume(asked):
            form = asked.form()
            assert "authorization" not in asked.head
            assert asked.head["accept"] == "application/json"
            self.assertRegex(form.pop("RoleSessionName"), r"^[\w+=,.@-]{2,64}$")
            assert form == {
                "Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15",
                "RoleArn": "arn:aws:iam::123456789012:role/agent",
                "DurationSeconds": "900", "WebIdentityToken": "id-token",
                "Policy": '{"Version":"2012-10-17","Statement":[]}'}, form
            return 200, {"AssumeRoleWithWebIdentityResponse": {
                "AssumeRoleWithWebIdentityResult": {"Credentials": {
                    "AccessKeyId": "ASIA1", "SecretAccessKey": "minted+key",
                    "SessionToken": "session==",
                    "Expiration": int(time.time()) + 900}}}}
        self.issuer.page("POST", "/", assume)
        self.secret("id", "id-token")
        served = Bucket(("ASIA1", "minted+key", "session=="))
        bucket = self.origin(serve=served)
        code, out, err = self.run_box(
            [self.rule("api", "api.test", bucket, credential="role",
                       access="write")],
            "python3", "-I", "-c", self.prelude() + CLIENT +
            "s3('GET', '/bucket/key')\n"
            "s3('PUT', '/bucket/key', body=b'hello')\n", str(bucket.port),
            options=self.credentials({"role": {
                "kind": "aws_web_identity", "source": {"file": "id"},
                "ca": self.ca, "sts_url": self.issuer.url + "/",
                "role": "arn:aws:iam::123456789012:role/agent",
                "session_policy": {"Version": "2012-10-17", "Statement": []},
                "hosts": ["api.test:%d" % bucket.port],
                "regions": ["eu-central-1"], "services": ["s3"],
                "placeholder": {"env": "AWS_ACCESS_KEY_ID", "shape": "ASIA",
                                "secret_env": "AWS_SECRET_ACCESS_KEY"}}}))
        self.assertEqual(code, 0, err)
        self.assertEqual(served.faults, [])
        self.assertEqual([said for _, _, _, said in served.heard],
                         [b"", b"hello"], out)
        self.assertEqual(len(self.issuer.asked), 1)

    def test_what_a_vault_holds_is_the_secret_of_another_kind(self):
        def token(asked):
            assert asked.head["authorization"] == "Basic " + \
                base64.b64encode(b"exeat:swordfish").decode()
            return 200, {"access_token": "of-the-vault", "expires_in": 600,
                         "token_type": "Bearer"}
        self.add_vault()
        vault = self.kinds.pop("vault")
        self.issuer.page("POST", "/from", token)
        basic = b"Basic " + base64.b64encode(b"me:swordfish")
        for name, expected, more in (
                ("plain", basic, {"kind": "basic", "user": "me"}),
                ("minted", b"Bearer of-the-vault", {
                    "kind": "oauth2_client", "client_id": "exeat",
                    "ca": self.ca, "token_url": self.issuer.url + "/from"})):
            self.credential(name, expected, **more)
            self.kinds[name]["source"] = {"vault": "vault"}
        del self.kinds["plain"]["ca"], vault["hosts"]
        api, out = self.run_kinds(
            "print(fetch('https://api.test:%s/plain' % words[0]))\n",
            more={"vault": vault})
        self.assertEqual(out.count("(200, 'hello\\n')"), 3, out)
        self.assertEqual([field(head, "authorization") for head in api.heard],
                         [[basic], [b"Bearer of-the-vault"], [basic]])
        # One question a lease; and what was let in was let out again.
        self.assertEqual((self.logins, self.left), (2, ["hvs.1", "hvs.2"]))
        self.assertNotIn("swordfish", str(self.rows()))

    def test_what_an_issuer_refuses_goes_nowhere(self):
        # A22
        self.issuer.page("POST", "/no", lambda asked: (
            400, {"error": "invalid_client"}))
        self.secret("no", "client secret")
        self.credential("no", b"", kind="oauth2_client", client_id="exeat",
                        token_url=self.issuer.url + "/no")
        api, out = self.run_kinds()
        self.assertIn("(502", out)
        self.assertIn('"reason":"credential_unavailable"', out)
        self.assertNotIn("invalid_client", out)
        self.assertEqual(api.heard, [])
        row, = self.rows("kind = 'cred_mint'")
        self.assertEqual((row["verdict"], row["reason"]),
                         ("error", "credential_unavailable"))
        self.assertIn("says no (400: invalid_client)", row["detail"])


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
