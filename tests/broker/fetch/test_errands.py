#!/usr/bin/python3 -I
"""exeat-fetch between a broker and servers, both of which are this test.

Frames are packed by hand from schema/PROTOCOL.md.  The servers stand on
loopback under an authority of the test's own.
"""
import http.server
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

BUILD = os.environ["EXEAT_BUILD"]
ENDPOINT, SEAL, ASK, READY, ANSWER = 0x0801, 0x0802, 0x0803, 0x0881, 0x0882
GET, POST, PUT, DELETE = range(4)
(ANSWERED, REDIRECTED, UNRESOLVED, UNREACHABLE, UNVERIFIED, TIMED_OUT,
 BROKEN_OFF, TOO_LONG, NOT_JSON, OVERLOADED) = range(10)


def block(data):
    raw = data.encode() if isinstance(data, str) else data
    return struct.pack(">H", len(raw)) + raw


def fields(pairs):
    return bytes([len(pairs)]) + b"".join(block(a) + block(b) for a, b in pairs)


def take_block(data):
    (length,) = struct.unpack_from(">H", data)
    return data[2:2 + length].decode(), data[2 + length:]


def openssl(*words, **more):
    subprocess.run(["openssl", *words], check=True, capture_output=True, **more)


class Authority:
    """Signs for whatever name a test wants."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, os.path.join(folder, name)
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj",
                "/CN=" + name, "-keyout", self.name + ".key", "-out",
                self.name + ".pem")

    def pem(self):
        with open(self.name + ".pem") as text:
            return text.read()

    def server(self, names, days="30"):
        """An SSL context that presents a certificate for these names."""
        base = os.path.join(self.folder, "server%d" % len(os.listdir(self.folder)))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-subj", "/CN=server", "-keyout", base + ".key",
                "-out", base + ".csr")
        with open(base + ".ext", "w") as out:
            out.write("subjectAltName=" + names)
        openssl("x509", "-req", "-in", base + ".csr", "-CA", self.name + ".pem",
                "-CAkey", self.name + ".key", "-CAcreateserial", "-days", days,
                "-extfile", base + ".ext", "-out", base + ".pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(base + ".pem", base + ".key")
        return context


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def say(self, status, body, *more):
        self.send_response(status)
        for name, value in more:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.server.heard.append(
            (self.command, self.path, dict(self.headers), self.rfile.read(length)))
        if self.path == "/redirect":
            self.say(302, b"{}", ("Location", "https://localhost/elsewhere"))
        elif self.path == "/failure":
            self.say(400, b'{"error":"invalid_grant"}')
        elif self.path == "/page":
            self.say(200, b"<html></html>")
        elif self.path == "/long":
            self.say(200, b'{"token":"' + b"a" * 1048576 + b'"}')
        elif self.path == "/head":
            self.say(200, b"{}", *[("X-%d" % i, "a" * 4000) for i in range(20)])
        elif self.path == "/short":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b'{"token":')
            self.close_connection = True
        elif self.path == "/silent":
            self.server.release.wait(30)
            self.close_connection = True
        elif self.path == "/nothing":
            self.send_response(204)
            self.end_headers()
        else:
            self.say(200, b'{"token":"abc","life":3600,"other":"kept back"}')

    do_GET = do_POST = do_PUT = do_DELETE = serve

    def log_message(self, *words):
        pass


class Server:
    def __init__(self, context):
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        self.http.heard, self.http.release = [], threading.Event()
        self.http.socket = context.wrap_socket(
            self.http.socket, server_side=True, do_handshake_on_connect=False)
        self.http.handle_error = lambda *words: None
        self.heard, self.port = self.http.heard, self.http.server_address[1]
        self.thread = threading.Thread(target=self.http.serve_forever)
        self.thread.start()

    def close(self):
        self.http.release.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


class Fetch:
    """exeat-fetch, with this test as its broker."""

    def __init__(self, urls, roots="", seal=True, environment=None):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket, self.number = ours, 0
        ours.settimeout(30)

        def place():
            os.dup2(theirs.fileno(), 3)

        self.child = subprocess.Popen(
            [os.path.join(BUILD, "exeat-fetch")], preexec_fn=place, pass_fds=(3,),
            env=environment or {}, stderr=subprocess.PIPE)
        theirs.close()
        for url in urls:
            self.send(ENDPOINT, block(url) + block(roots))
        if seal:
            self.send(SEAL)
            assert self.receive() == (READY, b"")

    def send(self, kind, body=b""):
        self.socket.send(struct.pack(">H", kind) + body)

    def receive(self):
        try:
            packet = self.socket.recv(65536)
        except ConnectionResetError:
            return None  # it left with something of ours unread
        return (struct.unpack_from(">H", packet)[0], packet[2:]) if packet else None

    def start(self, endpoint, method=GET, head=(), wants=(), body=b""):
        self.number += 1
        self.send(ASK, struct.pack(">IHB", self.number, endpoint, method)
                  + fields(head) + fields(wants) + block(body))
        return self.number

    def answer(self):
        kind, body = self.receive()
        assert kind == ANSWER
        number, end, status = struct.unpack_from(">IBH", body)
        _, body = take_block(body[7:])
        count, body, values = body[0], body[1:], {}
        for _ in range(count):
            name, body = take_block(body)
            values[name], body = take_block(body)
        assert body == b""
        return number, end, status, values

    def ask(self, *words, **more):
        number = self.start(*words, **more)
        answered, end, status, values = self.answer()
        assert answered == number
        return end, status, values

    def close(self):
        if self.child.stderr.closed:
            return self.child.returncode
        self.socket.close()
        self.words = self.child.stderr.read().decode()
        self.child.stderr.close()
        return self.child.wait(30)


class Errands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="exeat-fetch-")
        cls.authority = Authority(cls.folder.name, "ours")
        cls.other = Authority(cls.folder.name, "other")
        cls.server = Server(cls.authority.server("DNS:localhost,IP:127.0.0.1"))

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.folder.cleanup()

    def fetch(self, *paths, host="localhost", port=None, **more):
        port = port or self.server.port
        urls = ["https://%s:%d%s" % (host, port, path) for path in paths]
        fetch = Fetch(urls, more.pop("roots", self.authority.pem()), **more)
        self.addCleanup(fetch.close)
        return fetch

    def test_only_what_is_wanted_comes_back(self):
        fetch = self.fetch("/token?v=2")
        end = fetch.ask(0, POST, [("content-type", "application/x-www-form-urlencoded"),
                                  ("authorization", "Basic abc")],
                        [("token", "token"), ("expires", "life"), ("none", "x/y")],
                        b"grant_type=client_credentials")
        self.assertEqual(end, (ANSWERED, 200, {"token": "abc", "expires": "3600"}))
        method, path, head, body = self.server.heard[-1]
        head = {name.lower(): value for name, value in head.items()}
        self.assertEqual((method, path), ("POST", "/token?v=2"))
        self.assertEqual(head["authorization"], "Basic abc")
        self.assertEqual(head["content-type"], "application/x-www-form-urlencoded")
        self.assertEqual(body, b"grant_type=client_credentials")
        self.assertEqual(sorted(head),
                         ["accept", "authorization", "content-length",
                          "content-type", "host", "user-agent"])

    def test_every_method_is_sent_as_it_is_named(self):
        fetch = self.fetch("/token", "/nothing")
        for method, name, body in ((GET, "GET", b""), (POST, "POST", b""),
                                   (PUT, "PUT", b"{}"), (DELETE, "DELETE", b"")):
            end = fetch.ask(0, method, [("content-type", "application/json")], body=body)
            self.assertEqual(end, (ANSWERED, 200, {}))
            self.assertEqual(self.server.heard[-1][0], name)
            self.assertEqual(self.server.heard[-1][3], body)
        self.assertEqual(fetch.ask(1, DELETE), (ANSWERED, 204, {}))

    def test_an_address_without_a_name_is_verified_too(self):
        fetch = self.fetch("/token", host="127.0.0.1")
        self.assertEqual(fetch.ask(0)[:2], (ANSWERED, 200))

    def test_with_its_list_sealed_it_is_confined(self):
        with open(os.path.join(BUILD, "exeat-fetch"), "rb") as program:
            if b"__asan_init" in program.read():
                self.skipTest("a sanitizer calls what it likes")
        fetch = Fetch(["https://localhost:1/"])
        with open("/proc/%d/status" % fetch.child.pid) as source:
            said = dict(line.rstrip("\n").split(":\t", 1)
                        for line in source if ":\t" in line)
        self.assertEqual((said["NoNewPrivs"], said["Seccomp"]), ("1", "2"))
        fetch.close()

    def test_a_redirect_is_not_followed(self):
        fetch = self.fetch("/redirect")
        before = len(self.server.heard)
        self.assertEqual(fetch.ask(0, wants=[("token", "token")]), (REDIRECTED, 302, {}))
        self.assertEqual(len(self.server.heard), before + 1)

    def test_a_failure_comes_with_its_words(self):
        fetch = self.fetch("/failure")
        self.assertEqual(fetch.ask(0, wants=[("error", "error")]),
                         (ANSWERED, 400, {"error": "invalid_grant"}))

    def test_an_answer_that_is_too_long_or_none_is_told(self):
        fetch = self.fetch("/page", "/long", "/head", "/short")
        wants = [("token", "token")]
        self.assertEqual(fetch.ask(0, wants=wants), (NOT_JSON, 200, {}))
        self.assertEqual(fetch.ask(1, wants=wants)[0], TOO_LONG)
        self.assertEqual(fetch.ask(2, wants=wants)[0], TOO_LONG)
        self.assertEqual(fetch.ask(3, wants=wants)[0], BROKEN_OFF)

    def test_a_server_of_another_authority_hears_nothing(self):
        before = len(self.server.heard)
        fetch = self.fetch("/token", roots=self.other.pem())
        self.assertEqual(fetch.ask(0, POST, body=b"secret")[0], UNVERIFIED)
        fetch = self.fetch("/token", roots="")
        self.assertEqual(fetch.ask(0, POST, body=b"secret")[0], UNVERIFIED)
        self.assertEqual(len(self.server.heard), before)

    def test_a_server_of_another_name_hears_nothing(self):
        server = Server(self.authority.server("DNS:example.com"))
        self.addCleanup(server.close)
        fetch = self.fetch("/token", port=server.port)
        self.assertEqual(fetch.ask(0, POST, body=b"secret")[0], UNVERIFIED)
        self.assertEqual(server.heard, [])

    def test_nobody_there_is_told(self):
        door = socket.socket()
        door.bind(("127.0.0.1", 0))
        fetch = self.fetch("/token", port=door.getsockname()[1])
        self.assertEqual(fetch.ask(0)[0], UNREACHABLE)
        door.close()

    def test_a_proxy_of_the_environment_is_not_used(self):
        fetch = self.fetch("/token", environment={
            "https_proxy": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1",
            "SSL_CERT_FILE": "/dev/null", "HOME": self.folder.name})
        self.assertEqual(fetch.ask(0)[:2], (ANSWERED, 200))

    def test_several_errands_go_at_once_and_more_are_told_to_wait(self):
        fetch = self.fetch("/silent", "/token")
        silent = [fetch.start(0) for _ in range(16)]
        number = fetch.start(1)
        self.assertEqual(fetch.answer()[:2], (number, OVERLOADED))
        self.server.http.release.set()
        ended = {fetch.answer()[0] for _ in silent}
        self.server.http.release.clear()
        self.assertEqual(ended, set(silent))
        self.assertEqual(fetch.ask(1)[:2], (ANSWERED, 200))

    def test_a_broker_that_says_what_it_may_not_say_ends_it(self):
        good = struct.pack(">IHB", 1, 0, GET) + fields([]) + fields([]) + block("")
        url = "https://localhost/"
        for urls, seal, kind, body in (
                ([], True, ASK, good), ([url], False, ASK, good),
                ([url], True, ENDPOINT, block(url) + block("")),
                ([url], True, SEAL, b""), ([url], True, READY, b""),
                ([url], True, ASK, good + b"x"), ([url], False, SEAL, b"x"),
                (["http://localhost/"], False, SEAL, b""),
                ([url], True, ASK, struct.pack(">IHB", 1, 0, GET)
                 + fields([("a\r\nb", "c")]) + fields([]) + block("")),
                ([url], True, ASK, struct.pack(">IHB", 1, 0, GET)
                 + fields([("a", "b\r\nc: d")]) + fields([]) + block(""))):
            fetch = Fetch(urls, seal=seal)
            try:
                fetch.send(kind, body)
            except BrokenPipeError:
                pass  # the list before it was wrong already
            self.assertIsNone(fetch.receive())
            self.assertEqual(fetch.close(), 1)

    def test_it_ends_when_its_broker_does(self):
        fetch = self.fetch("/silent")
        fetch.start(0)
        self.assertEqual(fetch.close(), 0)
        self.assertEqual(fetch.words, "")

    @unittest.skipUnless(os.environ.get("EXEAT_FULL"), "takes ten seconds")
    def test_a_server_that_says_nothing_is_given_up(self):
        fetch = self.fetch("/silent")
        self.assertEqual(fetch.ask(0)[0], TIMED_OUT)


if __name__ == "__main__":
    unittest.main()
