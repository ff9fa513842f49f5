#!/usr/bin/python3 -I
"""exeat.internal:3128: for programs that insist on a proxy.

What is asked for that way gets the verdict and the rows that it gets when it
is caught: B05 B20 C02 C18 C24.
"""
import os
import shutil
import subprocess
import sys
import unittest
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import World, become_ordinary  # noqa: E402

PROXY = "http://exeat.internal:3128"
SOCKS = "exeat.internal:3128"

# What the two ways must have in common; ports of the origin are the same.
SAME = ("kind", "verdict", "reason", "host", "port", "verb", "object",
        "status", "rule")


class Proxy(World):
    def setUp(self):
        super().setUp()
        self.clear = self.origin(tls=False)
        self.web = self.origin()
        self.rules = [
            self.rule("clear", "api.test", self.clear, ca=False,
                      path=["/ok/**"]),
            self.rule("web", "a.test", self.web, path=["/ok/**"])]
        self.http = "http://api.test:%d" % self.clear.port
        self.https = "https://a.test:%d" % self.web.port

    def curl(self, *words, rules=None, code=0):
        got, out, err = self.run_box(
            self.rules if rules is None else rules, "curl", "--silent",
            "--show-error", "--max-time", "20", *words)
        self.assertEqual(got, code, err + out)
        return out

    def compare(self, url, *way, status="%{http_code}"):
        """Asks for it caught, then by a proxy; the rows must be the same."""
        seen = []
        for words in ((), way):
            self.database = os.path.join(self.folder,
                                         "audit%d.db" % len(seen))
            out = self.curl("-o", "/dev/null", "-w", status, *words, url)
            rows = [tuple(row[key] for key in SAME) for row in self.rows(
                "host <> 'exeat.internal' OR host IS NULL")
                if row["kind"] not in ("sandbox_start", "sandbox_end",
                                       "policy_load", "audit", "exec")]
            # A question about AAAA is the resolver's own.
            seen.append((out, [row for row in rows if row[5] != "AAAA"]))
        self.assertEqual(*seen)
        return seen[0]

    def test_absolute_form_is_judged_and_recorded_like_a_caught_request(self):
        for path, status in (("/ok/1", "200"), ("/no/1", "403")):
            with self.subTest(path):
                out, rows = self.compare(self.http + path, "-x", PROXY)
                self.assertEqual(out, status)
                self.assertIn("http", [row[0] for row in rows])

    def test_tunnel_is_judged_and_recorded_like_a_caught_connection(self):
        for path, status in (("/ok/1", "200"), ("/no/1", "403")):
            with self.subTest(path):
                out, _ = self.compare(self.https + path, "-x", PROXY)
                self.assertEqual(out, status)

    def test_socks_is_judged_and_recorded_like_a_caught_connection(self):
        for url in (self.http, self.https):
            for path, status in (("/ok/1", "200"), ("/no/1", "403")):
                with self.subTest(url + path):
                    out, _ = self.compare(
                        url + path, "--socks5-hostname", SOCKS)
                    self.assertEqual(out, status)

    def test_clear_http_in_a_tunnel_is_read_like_a_caught_connection(self):
        out, _ = self.compare(self.http + "/no/1", "-x", PROXY, "-p")
        self.assertEqual(out, "403")

    def test_name_without_a_rule_is_refused_before_it_is_dialled(self):
        out = self.curl("-x", PROXY, "https://b.test/", code=56)
        self.assertEqual(out, "")
        self.curl("--socks5-hostname", SOCKS, "http://b.test/", code=97)
        page = self.curl("-x", PROXY, "http://b.test/")
        self.assertIn('"reason":"no_rule"', page)
        self.assertEqual(
            {(row["kind"], row["host"], row["reason"])
             for row in self.rows("verdict = 'deny'")},
            {("dns", "b.test", "no_rule")})

    def test_literal_addresses_are_judged_as_such(self):
        self.curl("-x", PROXY, "-o", "/dev/null",
                  "http://127.0.0.1:%d/" % self.clear.port)
        self.curl("--socks5", "exeat.internal:3128", "-o", "/dev/null",
                  "http://192.0.2.7/")
        self.assertEqual({row["reason"] for row in self.rows(
            "verdict = 'deny'")}, {"no_rule"})
        self.assertEqual(self.clear.count, 0)

    # B05
    def test_another_server_name_inside_a_tunnel_is_refused_undialled(self):
        dialled = self.web.count
        said = self.box(self.rules, r'''
peer = socket.create_connection(("exeat.internal", 3128))
peer.sendall(b"CONNECT a.test:%s HTTP/1.1\r\nHost: a.test:%s\r\n\r\n"
             % (words[0].encode(), words[0].encode()))
assert peer.recv(100).startswith(b"HTTP/1.1 200"), "no tunnel"
context = ssl.create_default_context()
try:
    with context.wrap_socket(peer, server_hostname="b.test") as tls:
        tls.sendall(b"GET / HTTP/1.1\r\nHost: b.test\r\n\r\n")
        print(tls.recv(65536).decode())
except OSError as error:
    print("failed", error)
''', self.web.port)
        self.assertIn("sni_mismatch", said)
        self.assertEqual(self.web.count, dialled)
        (row,) = self.rows("reason = 'sni_mismatch'")
        self.assertEqual(row["host"], "a.test")
        self.assertIn("b.test", row["detail"])

    # C02 C24: nothing is asked for, and nothing of the sort goes outside.
    def test_password_for_the_proxy_is_neither_asked_for_nor_passed_on(self):
        out = self.curl("-x", "http://me:secret@exeat.internal:3128",
                        "-o", "/dev/null", "-w", "%{http_code}",
                        self.http + "/ok/1")
        self.assertEqual(out, "200")
        self.assertNotIn(b"roxy-", b"".join(self.clear.heard))

    def test_one_connection_serves_requests_for_two_hosts(self):
        out = self.curl("-x", PROXY, "-o", "/dev/null", "-w", "%{http_code} ",
                        self.http + "/ok/1", "-o", "/dev/null",
                        "http://exeat.internal/v1/whoami", "-o", "/dev/null",
                        self.http + "/ok/2")
        self.assertEqual(out, "200 200 200 ")

    def test_what_is_no_word_to_a_proxy_is_refused_in_its_own_way(self):
        said = self.box(self.rules, r'''
for data in (b"GET / HTTP/1.1\r\nHost: exeat.internal:3128\r\n\r\n",
             b"CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n",
             b"CONNECT a.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n",
             b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n"
             b"Content-Length: 5\r\n\r\n",
             b"CONNECT exeat.internal:3128 HTTP/1.1\r\n"
             b"Host: exeat.internal:3128\r\n\r\nGET / HTTP/1.1\r\n"
             b"Host: exeat.internal:3128\r\n\r\n",
             b"GET http://user@a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
             b"\5\1\2", b"\5\1\0\5\2\0\1\1\2\3\4\0\120",
             b"\5\1\0\5\1\0\3\3a\0b\0\120", b"\4\1\0\120\1\2\3\4\0"):
    said = talk("exeat.internal", 3128, data)
    print(repr(said[:12]), "connection_" if "Connection est" in said else "")
''')
        self.assertEqual(said.splitlines(), [
            "'HTTP/1.1 400' ", "'HTTP/1.1 400' ", "'HTTP/1.1 400' ",
            "'HTTP/1.1 400' ", "'HTTP/1.1 200' connection_", "'HTTP/1.1 400' ",
            r"'\x05ÿ' ",
            r"'\x05\x00\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00' ",
            r"'\x05\x00\x05\x08\x00\x01\x00\x00\x00\x00\x00\x00' ",
            "'failed: [Err'"])

    def test_words_may_come_byte_by_byte_and_the_rest_right_behind(self):
        said = self.box(self.rules, r'''
port = int(words[0])
get = b"GET /ok/1 HTTP/1.1\r\nHost: api.test:%d\r\nConnection: close\r\n\r\n" % port
socks = b"\5\1\0\5\1\0\3\10api.test" + port.to_bytes(2, "big")
connect = b"CONNECT api.test:%d HTTP/1.0\r\n\r\n" % port
for first in (socks, connect):
    for step in (1, 1000):
        peer = socket.create_connection(("exeat.internal", 3128), timeout=30)
        data = first + get
        for at in range(0, len(data), step):
            peer.sendall(data[at:at + step])
        heard = b""
        while more := peer.recv(65536):
            heard += more
        print(heard.endswith(b"\r\n\r\nhello\n"))
''', self.clear.port)
        self.assertEqual(said, "True\nTrue\nTrue\nTrue")

    def test_variables_are_set_only_when_asked_for(self):
        script = "env | grep -i _proxy | sort; true"
        _, out, _ = self.run_box(self.rules, "sh", "-c", script)
        self.assertEqual(out, "")
        _, out, _ = self.run_box(self.rules, "sh", "-c", script,
                                 options=("--proxy-env",))
        self.assertIn("http_proxy=%s\n" % PROXY, out)
        self.assertEqual(len(out.splitlines()), 8)

    def test_tools_that_are_told_by_variables_go_that_way(self):
        code, out, err = self.run_box(
            self.rules, "sh", "-c",
            "curl -sf %s/ok/1 && curl -sf %s/ok/1 && python3 -c '"
            "import urllib.request\n"
            "print(urllib.request.urlopen(\"%s/ok/1\").read().decode())'"
            % (self.http, self.https, self.https),
            options=("--proxy-env",))
        self.assertEqual(code, 0, err)
        self.assertEqual(out.split(), ["hello"] * 3)
        ways = [row["detail"] for row in self.rows("kind = 'flow_open'")]
        self.assertEqual([way.count('"proxy":') for way in ways], [1, 1, 1])

    def test_libraries_of_python_go_that_way(self):
        script = ("import requests, httpx\n"
                  "for url in ('%s/ok/1', '%s/ok/1', '%s/no/1'):\n"
                  "    for ask in (requests.get, httpx.get):\n"
                  "        page = ask(url)\n"
                  "        print(page.status_code, page.text.strip()[:5])\n"
                  % (self.http, self.https, self.https))
        code, out, err = self.run_box(
            self.rules, "/usr/bin/python3", "-I", "-c", script,
            options=("--proxy-env",))
        self.assertEqual(code, 0, err)
        self.assertEqual(out.splitlines(),
                         ["200 hello"] * 4 + ['403 {"typ'] * 2)
        ways = [row["detail"] for row in self.rows("kind = 'flow_open'")]
        self.assertEqual([way.count('"proxy":') for way in ways], [1] * 6)

    def test_pip_goes_that_way(self):
        if shutil.which("pip3", path="/usr/bin") is None:
            self.skipTest("pip is not here")
        wheel = os.path.join(self.folder, "site")
        os.makedirs(os.path.join(wheel, "simple", "left-pad"))
        name = "left_pad-1.0-py3-none-any.whl"
        with zipfile.ZipFile(os.path.join(wheel, name), "w") as package:
            for path, text in (
                    ("METADATA", "Metadata-Version: 2.1\nName: left-pad\n"
                                 "Version: 1.0\n"),
                    ("WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n"
                              "Root-Is-Purelib: true\n"), ("RECORD", "")):
                package.writestr("left_pad-1.0.dist-info/" + path, text)
        with open(os.path.join(wheel, "simple", "left-pad", "index.html"),
                  "w") as out:
            out.write("<!DOCTYPE html><a href=\"/%s\">%s</a>" % (name, name))
        origin = self.origin(serve=lambda peer: serve_files(peer, wheel))
        code, out, err = self.run_box(
            [self.rule("pip", "a.test", origin)], "/usr/bin/pip3", "download",
            "--no-deps", "--no-cache-dir", "--disable-pip-version-check",
            "-d", "got", "-i", "https://a.test:%d/simple" % origin.port,
            "left-pad", options=("--proxy-env",))
        self.assertEqual(code, 0, err + out)
        self.assertIn("Successfully downloaded left-pad", out)
        for row in self.rows("kind = 'flow_open'"):
            self.assertIn('"proxy":"connect"', row["detail"])

    def test_git_clones_through_it(self):
        site = os.path.join(self.folder, "site")
        work = os.path.join(self.folder, "work")
        git = ("git", "-c", "user.name=a", "-c", "user.email=a@a.test")
        for words in (("init", "-q", work),
                      ("-C", work, "commit", "-q", "--allow-empty", "-m", "x"),
                      ("clone", "-q", "--bare", work, site),
                      ("-C", site, "update-server-info")):
            subprocess.run([*git, *words], check=True)
        origin = self.origin(serve=lambda peer: serve_files(peer, site))
        rules = [self.rule("git", "a.test", origin)]
        code, out, err = self.run_box(
            rules, "git", "clone", "-q", "https://a.test:%d/" % origin.port,
            "copy", options=("--proxy-env",))
        self.assertEqual(code, 0, err + out)
        self.assertIn('"proxy":"connect"',
                      self.rows("kind = 'flow_open'")[0]["detail"])

    def test_npm_is_refused_in_its_own_words(self):
        if shutil.which("npm") is None:
            self.skipTest("npm is not here")
        code, out, err = self.run_box(
            self.rules, "npm", "view", "x", "--registry",
            "http://api.test:%d/no/" % self.clear.port, "--fetch-retries=0",
            options=("--proxy-env",))
        self.assertNotEqual(code, 0)
        self.assertIn("403", err + out)


def serve_files(peer, folder):
    """A folder over HTTP, one request a connection."""
    from world import answer, receive_head
    head, _ = receive_head(peer)
    path = head.split(b" ")[1].split(b"?")[0].decode().lstrip("/")
    kind = b"text/html" if path.endswith("/") else b"application/octet-stream"
    if path.endswith("/"):
        path += "index.html"
    try:
        with open(os.path.join(folder, path), "rb") as source:
            answer(peer, source.read(), b"Connection: close\r\n"
                   b"Content-Type: %s\r\n" % kind)
    except OSError:
        peer.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"
                     b"Connection: close\r\n\r\n")


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
