#!/usr/bin/python3 -I
"""Metadata services of clouds: look-alikes that tell placeholders.

Debian's SDKs run unmodified; their requests are made one by one besides, since
each version asks for something else.
"""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_credentials import SECRET, Lender, field  # noqa: E402
from test_lures import (  # noqa: E402
    AWS_ID, AWS_SECRET, AWS_TOKEN, CLIENT, Bucket)
from world import become_ordinary  # noqa: E402

# Debian's own interpreter: it has the SDKs.
PYTHON = "/usr/bin/python3"

AWS = r'''
INSTANCE = "http://169.254.169.254/latest/"
ROLES = INSTANCE + "meta-data/iam/security-credentials/"
session = fetch(INSTANCE + "api/token", b"", "PUT",
                {"X-aws-ec2-metadata-token-ttl-seconds": "60"})
assert session[0] == 200, session
asking = {"X-aws-ec2-metadata-token": session[1]}
role = fetch(ROLES, headers=asking)[1]
pair = json.loads(fetch(ROLES + role, headers=asking)[1])
assert pair["Code"] == "Success", pair
same = json.loads(fetch("http://169.254.170.2"
    + os.environ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"])[1])
assert same["SecretAccessKey"] == pair["SecretAccessKey"]
os.environ["AWS_ACCESS_KEY_ID"] = pair["AccessKeyId"]
os.environ["AWS_SECRET_ACCESS_KEY"] = pair["SecretAccessKey"]
s3("GET", "/bucket/key", extra={"x-amz-security-token": pair["Token"]})
print(fetch(INSTANCE + "user-data")[0], fetch(INSTANCE + "api/token")[0])
print(fetch("http://169.254.169.254/computeMetadata/v1/instance/",
            headers={"Metadata-Flavor": "Google"})[0])
'''

GOOGLE = r'''
flavor = {"Metadata-Flavor": "Google"}
for host in ("metadata.google.internal", "169.254.169.254"):
    base = "http://%s/computeMetadata/v1/instance/" % host
    page = urllib.request.urlopen(
        urllib.request.Request("http://%s/" % host, headers=flavor))
    print(page.headers["Metadata-Flavor"])
    print(fetch(base + "service-accounts/default/token")[0])
    account = json.loads(fetch(
        base + "service-accounts/default/?recursive=true", headers=flavor)[1])
    token = json.loads(fetch(
        base + "service-accounts/default/token", headers=flavor)[1])
    print(account["aliases"], token["token_type"], token["expires_in"] > 60)
print(token["access_token"])
print(fetch("https://api.test:%s/" % words[0],
            headers={"Authorization": "Bearer " + token["access_token"]})[0])
print(fetch("http://169.254.170.2/v1/aws")[0])
'''

BOTOCORE = r'''
import botocore.config, botocore.session
s3 = botocore.session.get_session().create_client(
    "s3", region_name="eu-central-1",
    endpoint_url="https://api.test:" + words[0],
    config=botocore.config.Config(read_timeout=20, retries={"max_attempts": 0}),
    verify=os.environ["SSL_CERT_FILE"])
print(s3._request_signer._credentials.method)
s3.head_object(Bucket="b", Key="a b+c/d")
# It sends no body before it is told to go on.
s3.put_object(Bucket="b", Key="k", Body=b"five!" * 20000)
print("done")
'''

GOOGLE_AUTH = r'''
import google.auth, google.auth.transport.requests
credentials, _ = google.auth.default()
print(type(credentials).__module__)
session = google.auth.transport.requests.AuthorizedSession(credentials)
print(session.get("https://api.test:%s/" % words[0]).status_code)
'''


class Metadata(Lender):
    def told(self, credential, origin, script, *others, **more):
        code, out, err = self.run_box(
            [self.rule("api", "api.test", origin, credential="api",
                       access="write"), *others],
            PYTHON, "-I", "-c", self.prelude() + script, str(origin.port),
            options=self.credentials({"api": credential, **more}))
        self.assertEqual(code, 0, err + out)
        return [line for line in out.splitlines() if "Deprecat" not in line]

    def aws(self, script):
        self.secret("aws", json.dumps({
            "access_key_id": AWS_ID, "secret_access_key": AWS_SECRET,
            "session_token": AWS_TOKEN}))
        served = Bucket()
        origin = self.origin(serve=served)
        out = self.told({
            "kind": "sigv4", "source": {"file": "aws"},
            "hosts": ["api.test:%d" % origin.port],
            "regions": ["eu-central-1"], "services": ["s3"],
            "placeholder": {"metadata": "aws"}}, origin, CLIENT + script)
        self.assertEqual(served.faults, [])
        return served, out

    def google(self, script):
        origin = self.origin()
        out = self.told({**self.bearer(origin),
                         "placeholder": {"metadata": "gcp"}}, origin, script)
        self.assertEqual(field(origin.heard[-1], "authorization"),
                         [b"Bearer " + SECRET.encode()])
        return out

    def test_what_an_sdk_of_aws_asks_leads_it_to_its_placeholder(self):
        served, out = self.aws("import json, os\n" + AWS)
        self.assertEqual([line.split() for line in out],
                         [["200"], ["404", "405"], ["404"]])
        _, _, fields, _ = served.heard[0]
        self.assertEqual(fields["x-amz-security-token"], [AWS_TOKEN])
        rows = self.rows("kind = 'http' AND host LIKE '169.254.%'")
        self.assertEqual(len(rows), 7)
        self.assertNotIn(AWS_SECRET, str(self.rows()))

    def test_what_an_sdk_of_google_asks_leads_it_to_its_placeholder(self):
        out = self.google(GOOGLE)
        said = ["Google", "403", "['default'] Bearer True"]
        self.assertEqual(out[:6], said * 2)
        self.assertRegex(out[6], r"^ya29\.[A-Za-z0-9]{40}$")
        self.assertEqual(out[7:], ["200", "403"])

    def test_a_run_without_such_a_credential_has_no_such_service(self):
        origin = self.origin()
        out = self.told(
            self.bearer(origin), origin,
            "for host in ('169.254.169.254', '169.254.170.2'):\n"
            "    print(fetch('http://%s/latest/api/token' % host, b'', 'PUT')"
            "[0])\n"
            "try: print(socket.getaddrinfo('metadata.google.internal', 80))\n"
            "except OSError: print('no name')\n")
        self.assertEqual(out, ["403", "403", "no name"])
        self.assertEqual(
            {row["verdict"] for row in self.rows(
                "kind IN ('http', 'dns')")}, {"deny"})

    def test_what_it_may_not_be_is_told_with_its_place(self):
        for placeholder, said in (
                ({"metadata": "azure"}, "has a look-alike"),
                ({"metadata": "aws"}, "not for the SDKs"),
                ({"shape": "x"}, "env")):
            options = self.credentials({"api": {
                "kind": "bearer", "source": {"file": "key"},
                "hosts": ["api.test"], "placeholder": placeholder}})
            told = subprocess.run(
                [os.path.join(self.bin, "exeat"), "credential", "check",
                 options[1]], env=self.environment, capture_output=True,
                text=True, timeout=60)
            self.assertEqual(told.returncode, 1, placeholder)
            self.assertIn(said, told.stderr)

    def test_two_for_one_service_do_not_start(self):
        origin = self.origin()
        one = {**self.bearer(origin), "placeholder": {"metadata": "gcp"}}
        code, out, err = self.run_box(
            [self.rule("a", "api.test", origin, credential="a", path=["/a"]),
             self.rule("b", "api.test", origin, credential="b", path=["/b"])],
            "true", options=self.credentials({"a": one, "b": one}))
        self.assertEqual(code, 125, out)
        self.assertIn("both be told by the metadata service of gcp", err)

    def test_botocore_finds_it_and_is_signed_anew(self):
        served, out = self.aws("import os\n" + BOTOCORE)
        self.assertEqual(out, ["container-role", "done"])
        self.assertEqual([heard[:2] for heard in served.heard],
                         [("HEAD", "/b/a%20b%2Bc/d"), ("PUT", "/b/k")])
        self.assertEqual(served.heard[1][3], b"five!" * 20000)

    def test_the_sdk_of_google_finds_it(self):
        self.assertEqual(self.google("import os\n" + GOOGLE_AUTH),
                         ["google.auth.compute_engine.credentials", "200"])


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
