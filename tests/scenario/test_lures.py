#!/usr/bin/python3 -I
"""Placeholders, secrets that come back, and requests signed anew for AWS.

The verifier of signatures here is written from the AWS manual and shares
nothing with ours.  Cases of user reports by id.
"""
import base64
import gzip
import hashlib
import hmac
import json
import os
import re
import sys
import unittest
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_credentials import Lender, field  # noqa: E402
from world import answer, become_ordinary, receive_head  # noqa: E402

SECRET = "s3cr3t-of-the-api"


class Lures(Lender):
    def lured(self, script, *origins, kind=None, rules=(), **placeholder):
        """Runs a script that has a placeholder of the credential in KEY."""
        api = origins[0]
        credential = {**self.bearer(api), **(kind or {}),
                      "placeholder": {"env": "KEY", "shape": "ghp_",
                                      **placeholder}}
        code, out, err = self.run_box(
            [self.rule("api", "api.test", api, credential="api",
                       access="write"),
             *(self.rule("other%d" % i, "a.test", origin, access="write",
                         upgrade=["websocket"])
               for i, origin in enumerate(origins[1:])), *rules],
            "python3", "-I", "-c", self.prelude() +
            "import base64, os, urllib.parse\nkey = os.environ['KEY']\n" + script,
            *(str(origin.port) for origin in origins),
            options=self.credentials({"api": credential}))
        self.assertEqual(code, 0, err + out)
        return out.strip()

    def test_a_program_finds_one_of_the_shape_it_expects(self):
        origin = self.origin()
        key = self.lured(
            "print(key)\n"
            "assert fetch('https://api.test:%s/' % words[0],"
            " headers={'Authorization': 'Bearer ' + key})[0] == 200\n", origin)
        self.assertRegex(key, r"^ghp_[A-Za-z0-9]{36}$")
        # C07: what was sent is what the row says.
        self.assertEqual(field(origin.heard[0], "authorization"),
                         [b"Bearer " + SECRET.encode()])
        self.assertNotIn(key.encode(), origin.heard[0])
        self.assertEqual(
            [row["cred"] for row in self.rows("kind = 'http'")], ["api"])
        self.assertNotIn(SECRET, str(self.rows()))
        # Another run has another one.
        self.assertNotEqual(self.lured("print(key)", origin), key)

    def test_it_is_an_alarm_anywhere_else_in_any_spelling(self):
        # C08, C14
        api, other = self.origin(), self.origin()
        out = self.lured(
            "url = 'https://a.test:%s' % words[1]\n"
            "pair = base64.b64encode(('x:' + key).encode()).decode()\n"
            "hexed = ''.join('%%%02x' % ord(c) for c in key)\n"
            "escaped = ''.join('\\\\u%04x' % ord(c) for c in key)\n"
            "for path, data, headers in (\n"
            "        ('/', None, {'X-Note': key}),\n"
            "        ('/', None, {'Authorization': 'Bearer ' + key}),\n"
            "        ('/', None, {'Authorization': 'Basic ' + pair}),\n"
            "        ('/' + key, None, {}), ('/?q=' + key, None, {}),\n"
            "        ('/?q=' + hexed, None, {}),\n"
            "        ('/', key.encode(), {}),\n"
            "        ('/', b'x' * 70000 + key.encode(), {}),\n"
            "        ('/', ('{\"a\":\"' + escaped + '\"}').encode(), {}),\n"
            "        ('/', pair.encode(), {}), ('/', hexed.encode(), {}),\n"
            "        ('/', (key + key).encode(), {})):\n"
            "    status, page = fetch(url + path, data, headers=headers)\n"
            "    print(status, json.loads(page)['reason'] if status == 403"
            " else page[:60])\n"
            # The host it belongs to, in a place it does not.
            "print(fetch('https://api.test:%s/' % words[0], key.encode())[0])\n"
            "print(fetch('https://api.test:%s/?k=%s' % (words[0], key))[0])\n"
            "print(fetch('https://a.test:%s/' % words[1])[0])\n", api, other)
        lines = out.splitlines()
        self.assertEqual(lines[:12], ["403 placeholder_leak"] * 12, out)
        self.assertEqual(lines[12:], ["403", "403", "200"])
        rows = self.rows("kind = 'http' AND reason = 'placeholder_leak'")
        self.assertEqual(len(rows), 14)
        self.assertIn("api: a placeholder was sent", rows[0]["detail"])
        # Heads only: nothing of the body that has it whole.
        self.assertTrue(all(b"ghp_" not in head
                            for head in other.heard + api.heard))

    def test_a_refused_request_with_one_is_an_alarm_too(self):
        origin = self.origin()
        out = self.lured(
            "print(fetch('http://b.test:%s/' % words[0],"
            " headers={'X-Key': key}))\n", origin,
            rules=[self.rule("b", "b.test", origin, path=["/none"], ca=False)])
        self.assertIn("placeholder_leak", out)

    def test_a_name_that_would_carry_one_out_is_an_alarm(self):
        origin = self.origin()
        self.lured(
            "for name in (key, key.lower(), key[:20] + '.' + key[20:]):\n"
            "    try: print(socket.getaddrinfo(name + '.b.test', 80))\n"
            "    except OSError: pass\n", origin,
            rules=[self.rule("b", "**.b.test", origin, ca=False)])
        rows = self.rows("kind = 'dns' AND reason = 'placeholder_leak'")
        self.assertGreaterEqual(len(rows), 2)
        self.assertEqual(self.rows("kind = 'dns' AND verdict = 'allow'"), [])

    def test_messages_of_a_websocket_are_read(self):
        def serve(peer):
            head, _ = receive_head(peer)
            heads.append(head)
            peer.sendall(b"HTTP/1.1 101 Switching Protocols\r\n"
                         b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
            while True:
                more = peer.recv(65536)
                if not more:
                    return
                heard.append(more)
                peer.sendall(b"\x81\x02ok")
        heads, heard = [], []
        api, other = self.origin(), self.origin(serve=serve)
        out = self.lured(
            "peer = socket.create_connection(('a.test', int(words[1])))\n"
            "peer = ssl.create_default_context().wrap_socket(peer,"
            " server_hostname='a.test')\n"
            "peer.sendall(b'GET / HTTP/1.1\\r\\nHost: a.test:%s\\r\\n"
            "Upgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
            "Sec-WebSocket-Extensions: permessage-deflate\\r\\n\\r\\n'"
            " % words[1].encode())\n"
            "head = b''\n"
            "while b'\\r\\n\\r\\n' not in head: head += peer.recv(1)\n"
            "def send(text):\n"
            "    mask = os.urandom(4)\n"
            "    peer.sendall(bytes([0x81, 0x80 | len(text)]) + mask +"
            " bytes(b ^ mask[i % 4] for i, b in enumerate(text)))\n"
            "send(b'hello'); print(peer.recv(4))\n"
            "try:\n"
            "    send(key.encode()); print(peer.recv(4))\n"
            "except OSError as error: print('reset')\n", api, other,
            rules=())
        self.assertIn("ok", out.splitlines()[0])
        self.assertNotIn("ok", out.splitlines()[1])
        self.assertNotIn(b"permessage-deflate", heads[0])
        self.assertEqual(len(heard), 1)
        self.assertEqual(
            len(self.rows("reason = 'placeholder_leak' AND kind = 'http'")), 1)


class Echo(Lender):
    def echoed(self, serve, rule, script):
        origin = self.origin(serve=serve)
        return self.lent(self.bearer(origin), origin,
                         self.rule("api", "api.test", origin, credential="api",
                                   **rule), script)

    def test_in_a_head_it_is_masked_always(self):
        # C26
        def serve(peer):
            receive_head(peer)
            answer(peer, head=b"X-Seen: Bearer %s\r\nX-Packed: %s\r\n" % (
                SECRET.encode(), base64.b64encode(SECRET.encode())))
        out = self.echoed(serve, {}, (
            "page = urllib.request.urlopen('https://api.test:%s/' % words[0])\n"
            "print(page.headers['x-seen'], page.headers['x-packed'],"
            " page.read())\n"))
        self.assertEqual(out, "Bearer %s %s b'hello\\n'" % (
            "*" * 17, base64.b64encode(SECRET.encode()).decode()[:0] + "*" * 22
            + out.split()[2][22:]))
        self.assertIn("came back", self.rows("kind = 'http'")[0]["detail"])

    def body(self, make, rule, coding=b""):
        def serve(peer):
            head, _ = receive_head(peer)
            heads.append(head)
            answer(peer, make(), coding)
        heads = []
        out = self.echoed(serve, rule, (
            "page = urllib.request.urlopen(urllib.request.Request("
            "'https://api.test:%s/' % words[0], headers={'Accept-Encoding':"
            " 'br, gzip'}))\n"
            "import hashlib\n"
            "body = page.read()\n"
            "print(page.headers['content-encoding'], len(body),"
            " body.count(b'*' * 17), hashlib.sha256(body).hexdigest())\n"))
        return heads[0], out.split()

    def test_in_a_body_it_is_masked_across_every_cut(self):
        text = b"".join(b"x" * i + SECRET.encode() for i in range(400))
        masked = text.replace(SECRET.encode(), b"*" * 17)
        want = ["None", str(len(text)), "400",
                hashlib.sha256(masked).hexdigest()]
        head, out = self.body(lambda: text, {"echo": "mask"})
        self.assertEqual(out, want)
        self.assertEqual(field(head, "accept-encoding"), [b"gzip, identity"])
        # In gzip it goes on without its coding.
        _, out = self.body(lambda: gzip.compress(text), {"echo": "mask"},
                           b"Content-Encoding: gzip\r\n")
        self.assertEqual(out, want)
        self.assertEqual(
            sum("came back" in row["detail"]
                for row in self.rows("kind = 'http'")), 2)

    def test_zeros_packed_a_thousandfold_stay_bounded(self):
        text = bytes(16 << 20)
        _, out = self.body(lambda: gzip.compress(text), {"echo": "mask"},
                           b"Content-Encoding: gzip\r\n")
        self.assertEqual(out[3], hashlib.sha256(text).hexdigest())

    def test_flagged_it_goes_on_as_it_is(self):
        text = b"a" + SECRET.encode() + b"b"
        for make, coding in ((lambda: text, b""),
                             (lambda: gzip.compress(text, mtime=0),
                              b"Content-Encoding: gzip\r\n")):
            _, out = self.body(make, {"echo": "flag"}, coding)
            self.assertEqual(out[3], hashlib.sha256(make()).hexdigest())
        rows = self.rows("kind = 'http'")
        self.assertEqual(
            ["came back" in row["detail"] for row in rows], [True, True])

    def test_a_coding_that_cannot_be_read_is_refused_where_it_is_masked(self):
        def serve(peer):
            receive_head(peer)
            answer(peer, b"abc", b"Content-Encoding: br\r\n")
        out = self.echoed(serve, {"echo": "mask"},
                          "print(fetch('https://api.test:%s/' % words[0])[0])")
        self.assertEqual(out, "502")


def sign_key(secret, scope):
    key = b"AWS4" + secret.encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


AWS_ID, AWS_SECRET, AWS_TOKEN = "AKIAREALREALREALREAL", "real/secret+key", "tok=="


class Bucket:
    """An origin that stands for S3: it verifies every signature."""

    def __init__(self, keys=(AWS_ID, AWS_SECRET, AWS_TOKEN)):
        self.heard, self.faults = [], []
        self.id, self.secret, self.token = keys

    def __call__(self, peer):
        while True:
            head, rest = receive_head(peer)
            if not head:
                return
            lines = head.decode().split("\r\n")
            method, target, _ = lines[0].split(" ")
            fields = {}
            for line in lines[1:]:
                name, _, value = line.partition(":")
                fields.setdefault(name.lower(), []).append(value.strip())
            body = rest
            # botocore takes a TLS ticket for an answer and waits for one.
            if "expect" in fields:
                peer.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            if "chunked" in fields.get("transfer-encoding", [""])[0]:
                body = self.unchunk(peer, rest)
            else:
                length = int(fields.get("content-length", ["0"])[0])
                while len(body) < length:
                    body += peer.recv(65536)
            try:
                said = self.verify(method, target, fields, body)
                self.heard.append((method, target, fields, said))
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n"
                             b"ETag: \"%s\"\r\n\r\n" % (
                                 0, hashlib.md5(said).hexdigest().encode()))
            except (AssertionError, KeyError, ValueError) as error:
                self.faults.append((lines[0], repr(error)))
                peer.sendall(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")

    @staticmethod
    def unchunk(peer, data):
        body = b""
        while True:
            while b"\r\n" not in data:
                data += peer.recv(65536)
            line, _, data = data.partition(b"\r\n")
            size = int(line, 16)
            while len(data) < size + 2:
                data += peer.recv(65536)
            body, data = body + data[:size], data[size + 2:]
            if size == 0:
                return body

    def verify(self, method, target, fields, body):
        parts = dict(re.findall(r"(\w+)=([^, ]+)", fields["authorization"][0]))
        key_id, _, scope = parts["Credential"].partition("/")
        assert key_id == self.id, key_id
        assert fields["x-amz-security-token"] == [self.token]
        names = parts["SignedHeaders"].split(";")
        # C16
        for name in fields:
            if name.startswith("x-amz-") or name in ("host", "content-type"):
                assert name in names, name
        path, _, query = target.partition("?")
        pairs = sorted(
            (urllib.parse.quote(urllib.parse.unquote(a), safe="-_.~"),
             urllib.parse.quote(urllib.parse.unquote(b), safe="-_.~"))
            for a, _, b in (pair.partition("=") for pair in query.split("&")
                            if pair))
        payload = fields["x-amz-content-sha256"][0]
        canonical = "\n".join([
            method,
            urllib.parse.quote(urllib.parse.unquote(path), safe="/-_.~"),
            "&".join("%s=%s" % pair for pair in pairs),
            "".join("%s:%s\n" % (name, ",".join(" ".join(value.split())
                                                for value in fields[name]))
                    for name in names),
            ";".join(names), payload])
        time = fields["x-amz-date"][0]
        key = sign_key(self.secret, scope)
        signature = sign(key, "\n".join([
            "AWS4-HMAC-SHA256", time, scope,
            hashlib.sha256(canonical.encode()).hexdigest()]))
        assert signature == parts["Signature"], "signature of " + canonical
        if re.fullmatch("[0-9a-f]{64}", payload):
            assert hashlib.sha256(body).hexdigest() == payload
        if payload.startswith("STREAMING-AWS4"):
            return self.verify_chunks(key, time, scope, signature, body)
        if payload == "STREAMING-UNSIGNED-PAYLOAD-TRAILER":
            return self.read_unsigned(body)
        return body

    @staticmethod
    def read_unsigned(body):
        data = b""
        while True:
            line, _, body = body.partition(b"\r\n")
            size = int(line, 16)
            if size == 0:
                return data
            data, body = data + body[:size], body[size + 2:]

    @staticmethod
    def verify_chunks(key, time, scope, previous, body):
        data, nothing = b"", hashlib.sha256(b"").hexdigest()
        while True:
            line, _, body = body.partition(b"\r\n")
            size, _, claimed = line.decode().partition(";chunk-signature=")
            size = int(size, 16)
            piece, body = body[:size], body[size:]
            previous = sign(key, "\n".join([
                "AWS4-HMAC-SHA256-PAYLOAD", time, scope, previous, nothing,
                hashlib.sha256(piece).hexdigest()]))
            assert previous == claimed, "chunk"
            data += piece
            if size == 0:
                break
            assert body[:2] == b"\r\n"
            body = body[2:]
        trailers = b""
        while body not in (b"\r\n", b""):
            line, _, body = body.partition(b"\r\n")
            if line.startswith(b"x-amz-trailer-signature:"):
                assert sign(key, "\n".join([
                    "AWS4-HMAC-SHA256-TRAILER", time, scope, previous,
                    hashlib.sha256(trailers).hexdigest()])) == \
                    line.partition(b":")[2].decode(), "trailer"
            else:
                trailers += line + b"\n"
        return data


# A client that signs, for the sandbox; it may be told to do it wrong.
CLIENT = r'''
import datetime, hashlib, hmac, os, urllib.parse

def sign_key(secret, scope):
    key = b"AWS4" + secret.encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key

def sign(key, *lines):
    return hmac.new(key, "\n".join(lines).encode(), hashlib.sha256).hexdigest()

def s3(method, path, query="", body=b"", payload=None, region="eu-central-1",
       service="s3", secret=None, late=0, extra=None, chunk=None,
       trailers=None, spoil=False):
    now = datetime.datetime.utcnow() + datetime.timedelta(seconds=late)
    time = now.strftime("%Y%m%dT%H%M%SZ")
    scope = "%s/%s/%s/aws4_request" % (time[:8], region, service)
    digest = hashlib.sha256(body).hexdigest()
    host = "api.test:" + words[0]
    fields = {"host": host, "x-amz-date": time,
              "x-amz-content-sha256": payload or digest, **(extra or {})}
    canonical = "\n".join([method, path, "&".join(sorted(
        p if "=" in p else p + "=" for p in query.split("&") if p)),
        "".join("%s:%s\n" % (n, fields[n]) for n in sorted(fields)),
        ";".join(sorted(fields)), fields["x-amz-content-sha256"]])
    key = sign_key(secret or os.environ["AWS_SECRET_ACCESS_KEY"], scope)
    signature = sign(key, "AWS4-HMAC-SHA256", time, scope,
                     hashlib.sha256(canonical.encode()).hexdigest())
    if chunk:
        previous, nothing, framed = signature, hashlib.sha256(b"").hexdigest(), b""
        pieces = [body[i:i + chunk] for i in range(0, len(body), chunk)] + [b""]
        for piece in pieces:
            previous = sign(key, "AWS4-HMAC-SHA256-PAYLOAD", time, scope,
                            previous, nothing, hashlib.sha256(piece).hexdigest())
            if spoil and not piece:
                previous = "0" * 64
            framed += b"%x;chunk-signature=%s\r\n%s" % (
                len(piece), previous.encode(), piece)
            framed += b"\r\n" if piece else b""
        for name, value in (trailers or {}).items():
            framed += ("%s:%s\r\n" % (name, value)).encode()
        if trailers:
            text = "".join("%s:%s\n" % pair for pair in trailers.items())
            framed += ("x-amz-trailer-signature:%s\r\n" % sign(
                key, "AWS4-HMAC-SHA256-TRAILER", time, scope, previous,
                hashlib.sha256(text.encode()).hexdigest())).encode()
        body = framed + b"\r\n"
    fields.pop("host")
    fields["Authorization"] = (
        "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (
            os.environ["AWS_ACCESS_KEY_ID"], scope,
            ";".join(sorted(["host", *[n for n in fields]])), signature))
    status, page = fetch("https://" + host + path + ("?" + query if query else ""),
                 body if method != "GET" else None, method, fields)
    print(status, json.loads(page).get("detail", "")[-150:] if page else "")
'''


class Aws(Lender):
    def bucket(self, script, kind=None, options=(), **more):
        self.secret("aws", json.dumps({
            "access_key_id": AWS_ID, "secret_access_key": AWS_SECRET,
            "session_token": AWS_TOKEN}))
        served = Bucket()
        origin = self.origin(serve=served)
        credential = {
            "kind": "sigv4", "source": {"file": "aws"},
            "hosts": ["api.test:%d" % origin.port],
            "regions": ["eu-central-1"], "services": ["s3"],
            "placeholder": {"env": "AWS_ACCESS_KEY_ID", "shape": "AKIA",
                            "secret_env": "AWS_SECRET_ACCESS_KEY"}}
        code, out, err = self.run_box(
            [self.rule("api", "api.test", origin, credential="api",
                       access="write", **more)],
            "python3", "-I", "-c", self.prelude() + CLIENT + script,
            str(origin.port),
            options=self.credentials({"api": credential}) + tuple(options))
        self.assertEqual(code, 0, err + out)
        return served, [line for line in out.splitlines()
                        if "Deprecat" not in line]

    def test_what_a_client_signs_with_a_placeholder_is_signed_anew(self):
        # C15
        served, out = self.bucket(
            "s3('GET', '/bucket/key')\n"
            "s3('GET', '/bucket/a%20b%2Bc', 'list-type=2&prefix=a%2Fb&x')\n"
            "s3('PUT', '/bucket/key', body=b'hello',"
            " extra={'content-type': 'text/plain', 'x-amz-meta-a': 'b c'})\n"
            "s3('PUT', '/bucket/key', body=b'x' * 300000,"
            " payload='UNSIGNED-PAYLOAD')\n"
            "s3('PUT', '/bucket/key', body=b'5\\r\\nhello\\r\\n0\\r\\n"
            "x-amz-checksum-crc32:NhCmhg==\\r\\n\\r\\n',"
            " payload='STREAMING-UNSIGNED-PAYLOAD-TRAILER')\n"
            "s3('PUT', '/bucket/key', body=bytes(range(256)) * 1000,"
            " payload='STREAMING-AWS4-HMAC-SHA256-PAYLOAD', chunk=65536)\n"
            "s3('PUT', '/bucket/key', body=b'y' * 100001,"
            " payload='STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER',"
            " chunk=8192, trailers={'x-amz-checksum-crc32': 'AAAAAA=='})\n")
        self.assertEqual(served.faults, [])
        self.assertEqual([line.split()[0] for line in out], ["200"] * 7, out)
        bodies = [said for _, _, _, said in served.heard]
        self.assertEqual(bodies[2], b"hello")
        self.assertEqual(bodies[4], b"hello")
        self.assertEqual(bodies[5], bytes(range(256)) * 1000)
        self.assertEqual(bodies[6], b"y" * 100001)
        rows = self.rows("kind = 'http'")
        self.assertEqual({row["cred"] for row in rows}, {"api"})

    def test_what_it_may_not_sign_is_refused_with_its_reason(self):
        served, out = self.bucket(
            "s3('GET', '/b/k', secret='guessed')\n"
            "s3('GET', '/b/k', region='us-east-1')\n"
            "s3('GET', '/b/k', service='iam')\n"
            "s3('GET', '/b/k', late=-3600)\n"
            "s3('GET', '/b/k', 'X-Amz-Signature=abc')\n"
            "s3('PUT', '/b/k', body=b'z' * 200000, spoil=True,"
            " payload='STREAMING-AWS4-HMAC-SHA256-PAYLOAD', chunk=65536)\n"
            "s3('PUT', '/b/k', body=b'z', payload='STREAMING-AWS4-ECDSA-P256-"
            "SHA256-PAYLOAD')\n"
            "print(fetch('https://api.test:%s/b/k' % words[0])[0])\n")
        self.assertEqual(served.heard, [])
        self.assertEqual([line.split()[0] for line in out],
                         ["502"] * 5 + ["400", "502", "502"], out)
        causes = " ".join(row["detail"] for row in self.rows("kind = 'http'"))
        for words in ("not one of this run's placeholder",
                      'not for \\"us-east-1/s3\\"',
                      "presigned URL", "not signed as it must be",
                      "not supported"):
            self.assertIn(words.replace('\\"', '\\"'), causes)
        # An hour ago may have been yesterday, for which there is no key.
        self.assertRegex(causes, "not now|signs for today alone")
        self.assertNotIn(AWS_SECRET, causes)

    @unittest.skipUnless(os.environ.get("EXEAT_FULL"),
                         "installs the AWS SDK from the registry")
    def test_the_sdk_of_aws_puts_and_gets(self):
        import subprocess
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--cache",
                        os.path.join(self.folder, "npm"), "@aws-sdk/client-s3"],
                       cwd=self.workspace, check=True, capture_output=True,
                       timeout=200)
        with open(os.path.join(self.workspace, "put.mjs"), "w") as out:
            out.write(
                "import { S3Client, PutObjectCommand, ListObjectsV2Command }"
                " from '@aws-sdk/client-s3';\n"
                "import { Readable } from 'node:stream';\n"
                "const s3 = new S3Client({ region: 'eu-central-1',"
                " endpoint: process.argv[2], forcePathStyle: true });\n"
                "await s3.send(new PutObjectCommand({ Bucket: 'b',"
                " Key: 'a b+c/d', Body: 'hello' }));\n"
                "await s3.send(new PutObjectCommand({ Bucket: 'b', Key: 'big',"
                " Body: Readable.from([Buffer.alloc(300000, 120)]),"
                " ContentLength: 300000 }));\n"
                "console.log('done');\n")
        served, out = self.bucket(
            "import subprocess\n"
            "print(subprocess.run(['node', 'put.mjs', 'https://api.test:'"
            " + words[0]], capture_output=True, text=True))\n")
        self.assertEqual(served.faults, [])
        self.assertIn("done", out[0])
        self.assertEqual([said for _, _, _, said in served.heard],
                         [b"hello", b"x" * 300000])


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
