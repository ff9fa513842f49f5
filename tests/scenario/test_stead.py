#!/usr/bin/python3 -I
"""Keys in the stead of their placeholders: path, query and body, and what
happens to those that stand anywhere else."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_credentials import Lender, field  # noqa: E402
from test_http2 import NodeOrigin as Http2  # noqa: E402
from world import answer, become_ordinary, receive_head  # noqa: E402

# With what must be escaped in JSON, and what must be in a URL.
SECRET = 'a"b\\c/d+e&f=g%h'
IN_URL = "a%22b%5Cc%2Fd%2Be%26f%3Dg%25h"
IN_JSON = 'a\\"b\\\\c/d+e&f=g%h'


class Keeper:
    """An origin that keeps heads and bodies, with the framing of these."""

    def __init__(self):
        self.heard = []

    def __call__(self, peer):
        rest = b""
        while True:
            head, rest = self.receive(peer, rest)
            if head is None:
                return
            answer(peer)

    def receive(self, peer, data):
        while b"\r\n\r\n" not in data:
            more = peer.recv(65536)
            if not more:
                return None, b""
            data += more
        head, _, data = data.partition(b"\r\n\r\n")
        if field(head, "transfer-encoding"):
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
                    break
        else:
            size = int((field(head, "content-length") or [b"0"])[0])
            while len(data) < size:
                data += peer.recv(65536)
            body, data = data[:size], data[size:]
        self.heard.append((head, body))
        return head, data


class Stead(Lender):
    def placed(self, script, where=("path", "query", "body"), secret=SECRET,
               shape="sk-ant-", origin=None, **kind):
        self.secret("key", secret)
        self.keeper = Keeper()
        self.api = origin or self.origin(serve=self.keeper)
        credential = {
            **self.bearer(self.api), "kind": "placeholder", **kind,
            "placeholder": {"env": "KEY", "shape": shape, "in": list(where)}}
        other = {**self.bearer(self.api),
                 "hosts": ["a.test:%d" % self.api.port],
                 "placeholder": {"env": "OTHER", "shape": "ghp_"}}
        code, out, err = self.run_box(
            [self.rule("api", "api.test", self.api, credential="api",
                       access="write"),
             self.rule("other", "a.test", self.api, credential="other",
                       access="write")],
            "python3", "-I", "-c", self.prelude() +
            "import base64, os, subprocess\n"
            "key, other = os.environ['KEY'], os.environ['OTHER']\n"
            "url = 'https://api.test:%s' % words[0]\n" + script,
            str(self.api.port),
            options=self.credentials({"api": credential, "other": other}))
        self.assertEqual(code, 0, err + out)
        self.assertNotIn(SECRET, str(self.rows()))
        return out

    def test_each_place_has_it_as_it_must_be_written(self):
        out = self.placed(
            "print(fetch(url + '/bot' + key + '/send?a=1&k=' + key + '&b'))\n"
            "print(fetch(url, ('{\"k\":\"%s\",\"l\":\"%s\"}' % (key, key))"
            ".encode(), headers={'Content-Type': 'application/json'}))\n"
            "print(fetch(url, ('a=1&client_secret=%s' % key).encode()))\n"
            "print(fetch(url, ('-' + key + '-').encode(),"
            " headers={'Content-Type': 'text/plain'}))\n")
        self.assertEqual(out.count("(200,"), 4, out)
        first, *bodies = self.keeper.heard
        self.assertEqual(
            first[0].split(b"\r\n")[0].decode(),
            "GET /bot%s/send?a=1&k=%s&b HTTP/1.1" % (IN_URL, IN_URL))
        # C14: all of them.
        self.assertEqual([body.decode() for _, body in bodies], [
            '{"k":"%s","l":"%s"}' % (IN_JSON, IN_JSON),
            "a=1&client_secret=" + IN_URL, "-%s-" % SECRET])
        for head, _ in bodies:
            self.assertEqual(field(head, "content-length"), [])
            self.assertEqual(field(head, "transfer-encoding"), [b"chunked"])
            self.assertEqual(field(head, "authorization"), [])
        # C07: the rows name the credential, and not what it is.
        self.assertEqual({row["cred"] for row in self.rows("kind = 'http'")},
                         {"api"})

    def test_a_body_of_the_same_length_keeps_its_length(self):
        # C04
        out = self.placed(
            "print(fetch(url, b'x' * 100000 + key.encode() + b'y' * 100000,"
            " headers={'Content-Type': 'text/plain'}))\n",
            secret="S" * 40, shape="ghp_")
        self.assertIn("(200,", out)
        (head, body), = self.keeper.heard
        self.assertEqual(field(head, "content-length"), [b"200040"])
        self.assertEqual(body, b"x" * 100000 + b"S" * 40 + b"y" * 100000)

    def test_it_is_found_across_every_cut(self):
        self.placed(
            "context = ssl.create_default_context()\n"
            "peer = context.wrap_socket(socket.create_connection("
            "('api.test', int(words[0]))), server_hostname='api.test')\n"
            "body = ('<' + key + '>').encode()\n"
            "def chunk(data): return b'%x\\r\\n%s\\r\\n' % (len(data), data)\n"
            "for cut in range(1, len(body)):\n"
            "    peer.sendall(b'POST / HTTP/1.1\\r\\nHost: api.test:%s\\r\\n'\n"
            "                 b'Transfer-Encoding: chunked\\r\\n\\r\\n'\n"
            "                 % words[0].encode() + chunk(body[:cut]))\n"
            "    peer.sendall(chunk(body[cut:]) + b'0\\r\\n\\r\\n')\n"
            "    said = b''\n"
            "    while not said.endswith(b'hello\\n'): said += peer.recv(999)\n"
            "peer.sendall(b'POST / HTTP/1.1\\r\\nHost: api.test:%s\\r\\n'\n"
            "             b'Transfer-Encoding: chunked\\r\\n\\r\\n'\n"
            "             % words[0].encode())\n"
            "for i in range(len(body)): peer.sendall(chunk(body[i:i+1]))\n"
            "peer.sendall(b'0\\r\\n\\r\\n')\n"
            "said = b''\n"
            "while not said.endswith(b'hello\\n'): said += peer.recv(999)\n")
        self.assertGreater(len(self.keeper.heard), 100)
        self.assertEqual({body for _, body in self.keeper.heard},
                         {b"<%s>" % SECRET.encode()})

    def test_over_http2_it_is_the_same(self):
        origin = Http2(self)
        out = self.placed(
            "for data in ('k=' + key, 'k=' + 'x' * 70000 + key):\n"
            "    print(subprocess.run(['curl', '-sS', '--http2', '-w',"
            " ' %{http_version} %{http_code}', '--data-binary', '@-',"
            " url + '/echo?q=' + key], input=data.encode(),"
            " capture_output=True).stdout.decode())\n", origin=origin)
        self.assertEqual(out.splitlines(), [
            "k=%s 2 200" % IN_URL, "k=%s%s 2 200" % ("x" * 70000, IN_URL)])
        self.assertEqual({(heard["path"], heard["version"])
                          for heard in origin.heard},
                         {("/echo?q=" + IN_URL, "2.0")})

    def test_what_is_not_declared_or_spelled_otherwise_is_an_alarm(self):
        # C08
        out = self.placed(
            "pair = base64.b64encode(('x:' + key).encode())\n"
            "hexed = ''.join('%%%02x' % ord(c) for c in key)\n"
            "for path, data, headers in (('/p/' + key, None, {}),\n"
            "        ('/?k=' + key, None, {}), ('/', None, {'X-K': key}),\n"
            "        ('/', pair, {}), ('/', hexed.encode(), {}),\n"
            "        ('/', (key + other).encode(), {}),\n"
            "        ('/', b'x' * 70000 + other.encode(), {})):\n"
            "    print(fetch(url + path, data, headers=headers)[0])\n"
            "print(fetch('https://a.test:%s/' % words[0], key.encode())[0])\n"
            "print(fetch(url, key.encode())[0])\n", where=["body"])
        self.assertEqual(out.split(), ["403"] * 8 + ["200"], out)
        rows = self.rows("kind = 'http' AND verdict = 'deny'")
        self.assertEqual([row["reason"] for row in rows],
                         ["placeholder_leak"] * 8)
        self.assertEqual(self.keeper.heard[-1][1], IN_URL.encode())
        for head, body in self.keeper.heard:
            self.assertNotIn(b"ghp_", head + body)
            self.assertNotIn(b"sk-ant-", head + body)

    def test_a_kind_with_a_place_of_its_own_has_both(self):
        out = self.placed("print(fetch(url + '?k=' + key, key.encode()))\n",
                          kind="header", header="x-api-key")
        self.assertIn("(200,", out)
        (head, body), = self.keeper.heard
        self.assertEqual(field(head, "x-api-key"), [SECRET.encode()])
        self.assertIn(b"?k=%s " % IN_URL.encode(), head)
        self.assertEqual(body, IN_URL.encode())

    def test_a_server_name_that_carries_one_is_an_alarm(self):
        self.placed(
            "context = ssl.create_default_context()\n"
            "for name in (key, key.lower(), key[:20] + '.' + key[20:]):\n"
            "    try:\n"
            "        context.wrap_socket(socket.create_connection("
            "('api.test', int(words[0]))), server_hostname=name[:60] +"
            " name[60:].replace('.', '') + '.api.test')\n"
            "        print('well')\n"
            "    except (OSError, ValueError) as error: print(error)\n",
            shape="ghp_")
        self.assertEqual(self.keeper.heard, [])
        rows = self.rows("reason = 'placeholder_leak'")
        self.assertEqual(len(rows), 3, self.rows("verdict = 'deny'"))


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
