#!/usr/bin/python3 -I
"""Through the house's own proxy: a real tinyproxy, and one of our own that
writes down every byte it sees.  Cases of user reports by id.
"""
import base64
import contextlib
import json
import os
import select
import socket
import sqlite3
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import Origin, World, become_ordinary, receive_head  # noqa: E402

SECRET = "s3cr3t-of-the-api"
LOGIN = "pass-of-the-proxy"


class Recorder(Origin):
    """Answers CONNECT, goes to that port of loopback, keeps what it saw."""

    def __init__(self, world, answer=None):
        self.seen, self.answer = b"", answer
        super().__init__(world, tls=False, serve=self.tunnel)

    def tunnel(self, peer):
        head, rest = receive_head(peer)
        self.heard.append(head)
        self.seen += head
        if self.answer is not None:
            peer.sendall(self.answer)
            return
        if not head:
            return
        port = int(head.split(b" ")[1].rpartition(b":")[2])
        ahead = socket.create_connection(("127.0.0.1", port))
        # A server that speaks first is sent on with the answer, in one piece.
        greeting = b""
        if select.select([ahead], [], [], 0.2)[0]:
            greeting = ahead.recv(65536)
        peer.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n" + greeting)
        with ahead:
            self.relay(peer, ahead, rest)

    def relay(self, peer, ahead, rest):
        ahead.sendall(rest)
        while True:
            for ready in select.select([peer, ahead], [], [])[0]:
                data = ready.recv(65536)
                self.seen += data
                if not data:
                    return
                (ahead if ready is peer else peer).sendall(data)


class Via(World):
    def setUp(self):
        super().setUp()
        self.web, self.clear = self.origin(), self.origin(tls=False)
        self.rules = [self.outside("web", "a.test", self.web, ca=True),
                      self.outside("clear", "api.test", self.clear)]

    def outside(self, name, host, *origins, ca=False, **more):
        """A rule that places its host nowhere: the proxy resolves it."""
        rule = {"id": name, "host": [host],
                "port": [origin.port for origin in origins], **more}
        if ca:
            rule["upstream_ca"] = os.path.join(self.shared, "ca.pem")
        return rule

    def recorder(self, **more):
        recorder = Recorder(self, **more)
        self.addCleanup(recorder.close)
        return recorder

    def tinyproxy(self, *lines):
        """The real one, which knows our names from a file."""
        hosts = os.path.join(self.folder, "hosts")
        with open(hosts, "w") as out:
            out.write("127.0.0.1 a.test api.test\n")
        with socket.create_server(("127.0.0.1", 0)) as door:
            port = door.getsockname()[1]
        config = os.path.join(self.folder, "tinyproxy.conf")
        with open(config, "w") as out:
            out.write("\n".join(("Port %d" % port, "Listen 127.0.0.1",
                                 "Timeout 60", "MaxClients 50", *lines, "")))
        self.log = open(os.path.join(self.folder, "tinyproxy.log"), "w+")
        self.addCleanup(self.log.close)
        process = subprocess.Popen(
            ["tinyproxy", "-d", "-c", config], stdout=self.log,
            stderr=self.log, stdin=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "LD_PRELOAD": "libnss_wrapper.so",
                 "NSS_WRAPPER_HOSTS": hosts})
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                return "http://127.0.0.1:%d" % port
            self.assertIsNone(process.poll(), "tinyproxy does not start")
            self.assertLess(time.monotonic(), deadline)
            select.select([], [], [], 0.02)

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def keys(self, **credentials):
        folder = os.path.join(self.folder, "keys")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for name, text in (("key", SECRET), ("login", LOGIN),
                           ("credentials.json", json.dumps(
                               {"version": 1, "credentials": credentials}))):
            path = os.path.join(folder, name)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
                              0o600), "w") as out:
                out.write(text)
        return ("--credentials", os.path.join(folder, "credentials.json"))

    def fetch(self, via, *urls, rules=None, options=(), code=0):
        words = sum((["-o", "/dev/null", "-w", "%{http_code} ", url]
                     for url in urls), [])
        got, out, err = self.run_box(
            self.rules if rules is None else rules, "curl", "--silent",
            "--show-error", "--max-time", "60", *words,
            options=("--via", via, *options))
        self.assertEqual(got, code, err + out)
        return out.strip()

    def urls(self):
        return ("https://a.test:%d/x" % self.web.port,
                "http://api.test:%d/y" % self.clear.port)

    # ---- the way ----

    def test_names_go_through_a_real_proxy_which_resolves_them(self):
        via = self.tinyproxy()
        self.assertEqual(self.fetch(via, *self.urls()), "200 200")
        said = self.said()
        self.assertIn("CONNECT a.test:%d" % self.web.port, said)
        self.assertIn("CONNECT api.test:%d" % self.clear.port, said)
        self.assertEqual((self.web.count, self.clear.count), (1, 1))
        for row in self.rows("kind = 'http'"):
            self.assertEqual((row["verdict"], row["status"]), ("allow", 200))
        # Nobody here knows where it led to.
        with contextlib.closing(sqlite3.connect(self.database)) as database:
            self.assertEqual(database.execute(
                "SELECT DISTINCT dst_ip FROM event").fetchall(), [(None,)])
        (row,) = self.rows("kind = 'sandbox_start'")
        self.assertEqual(json.loads(row["detail"])["via"], "127.0.0.1")

    def test_proxy_sees_host_and_port_only(self):
        # C12
        recorder = self.recorder()
        rules = [self.outside("web", "a.test", self.web, ca=True,
                              credential="api")]
        options = self.keys(api={
            "kind": "bearer", "source": {"file": "key"},
            "hosts": ["a.test:%d" % self.web.port]})
        self.assertEqual(
            self.fetch("http://127.0.0.1:%d" % recorder.port,
                       self.urls()[0] + "?token=of-the-client", rules=rules,
                       options=options), "200")
        target = b"a.test:%d" % self.web.port
        self.assertEqual(recorder.heard, [
            b"CONNECT " + target + b" HTTP/1.1\r\nHost: " + target])
        self.assertIn(SECRET.encode(), self.web.heard[0])
        self.assertGreater(len(recorder.seen), 1000)
        for word in (SECRET, "of-the-client", "curl", "200 OK"):
            self.assertNotIn(word.encode(), recorder.seen)

    def test_server_that_speaks_first_is_heard_through_it(self):
        def serve(peer):
            peer.sendall(b"220 hello\r\n")
            peer.sendall(peer.recv(100))
        server = self.origin(tls=False, serve=serve)
        out = self.box_via(
            self.recorder(),
            [self.outside("mail", "mail.test", server, protocol="tcp")],
            "print(talk('mail.test', words[0], b'EHLO x\\r\\n').split())",
            server.port)
        self.assertEqual(out, "['220', 'hello', 'EHLO', 'x']")

    def box_via(self, proxy, rules, script, *words):
        from world import PRELUDE
        code, out, err = self.run_box(
            rules, "python3", "-I", "-c", PRELUDE + script, *map(str, words),
            options=("--via", "http://127.0.0.1:%d" % proxy.port))
        self.assertEqual(code, 0, err + out)
        return out.strip()

    def test_public_literal_goes_through_it_and_a_private_one_does_not(self):
        # D17: what a connection looks like does not decide where it goes.
        recorder = self.recorder()
        rules = [{"id": "l", "address": ["9.9.9.9", "127.0.0.1"],
                  "port": [self.clear.port]}]
        out = self.box_via(recorder, rules, r'''
print(fetch("http://9.9.9.9:%s/" % words[0])[0],
      fetch("http://[2620:fe::fe]:%s/" % words[0])[0])
''', self.clear.port)
        self.assertEqual(out, "200 403")
        self.assertEqual(len(recorder.heard), 1)
        self.assertTrue(recorder.heard[0].startswith(
            b"CONNECT 9.9.9.9:%d " % self.clear.port))

    def test_what_a_rule_places_inside_is_dialled_from_here(self):
        recorder = self.recorder()
        for more in ({"resolve": "127.0.0.1"}, {"private": True}):
            with self.subTest(more):
                # localhost is the one name that needs no nameserver.
                rules = [self.outside("in", "x.localhost", self.clear, **more)]
                if "resolve" in more:
                    rules[0]["private"] = True
                out = self.box_via(
                    recorder, rules, "print(fetch('http://x.localhost:%s/' "
                    "% words[0])[0])", self.clear.port)
                self.assertEqual(out, "200")
        self.assertEqual(recorder.count, 0)

    # ---- its login ----

    def login(self, port, user="me"):
        return self.keys(proxy={
            "kind": "basic", "user": user, "source": {"file": "login"},
            "hosts": ["127.0.0.1:%d" % port]}) + (
                "--via-credential", "proxy")

    def test_login_is_the_broker_s_and_never_in_the_sandbox(self):
        via = self.tinyproxy("BasicAuth me " + LOGIN)
        port = int(via.rpartition(":")[2])
        self.assertEqual(
            self.fetch(via, *self.urls(), options=self.login(port)),
            "200 200")
        (row,) = self.rows("kind = 'cred_mint'")
        self.assertEqual((row["cred"], row["host"]), ("proxy", "127.0.0.1"))
        self.database += "2"
        self.assertEqual(
            self.fetch(via, self.urls()[1],
                       options=self.login(port, user="other")), "502")
        self.tells("upstream_refused", "--via-credential")

    def test_login_goes_to_its_proxy_and_nowhere_else(self):
        recorder = self.recorder()
        via = "http://127.0.0.1:%d" % recorder.port
        self.assertEqual(
            self.fetch(via, self.urls()[0],
                       options=self.login(recorder.port)), "200")
        self.assertIn(b"\r\nProxy-Authorization: Basic "
                      + base64.b64encode(b"me:" + LOGIN.encode()),
                      recorder.heard[0])
        self.assertNotIn(LOGIN.encode(), b"".join(self.web.heard))
        self.assertNotIn(b"Proxy", b"".join(self.web.heard))
        # A credential for another host is not lent, and no CONNECT is sent.
        self.database += "2"
        before = len(recorder.heard)
        self.fetch(via, self.urls()[1], options=self.login(9))
        self.tells("credential_unavailable", "")
        self.assertEqual([head for head in recorder.heard[before:] if head],
                         [])

    # ---- what goes wrong ----

    def tells(self, reason, words):
        row = [row for row in self.rows("kind IN ('http', 'flow_open')")
               if row["reason"] == reason]
        self.assertTrue(row, self.rows())
        self.assertIn(words, json.loads(row[0]["detail"])["cause"])

    def test_every_failure_of_the_proxy_is_told_with_its_cause(self):
        dead = socket.socket()
        self.addCleanup(dead.close)
        dead.bind(("127.0.0.1", 0))
        cases = (
            (b"HTTP/1.1 403 x\r\n\r\n", "502", "upstream_refused",
             "403 Forbidden"),
            (b"HTTP/1.1 504 x\r\n\r\n", "504", "upstream_timeout", "504"),
            (b"nonsense\r\n\r\n", "502", "upstream_malformed", "CONNECT"),
            (b"", "502", "upstream_reset", "ends the connection"),
            (None, "502", "upstream_refused", "Connection refused"),
        )
        for number, (answer, status, reason, words) in enumerate(cases):
            with self.subTest(reason):
                self.database = os.path.join(self.folder, "%d.db" % number)
                port = (dead.getsockname()[1] if answer is None
                        else self.recorder(answer=answer).port)
                out = self.fetch("http://127.0.0.1:%d" % port,
                                 self.urls()[1])
                self.assertEqual(out, status)
                self.tells(reason, words)

    def test_client_reads_in_the_page_what_is_wrong(self):
        recorder = self.recorder(answer=b"HTTP/1.1 403 x\r\n\r\n")
        out = self.box_via(recorder, self.rules, "print(fetch('https://a.test"
                           ":%s/' % words[0])[1])", self.web.port)
        page = json.loads(out)
        self.assertEqual(page["reason"], "upstream_refused")
        self.assertIn("the proxy between answers CONNECT with 403 Forbidden",
                      page["detail"])

    # ---- options ----

    def refused(self, words, *options, rules=None):
        code, _, err = self.run_box(rules or [], "true", options=options)
        self.assertEqual(code, 125, err)
        self.assertIn(words, err)
        self.assertNotIn(LOGIN, err)

    def test_options_that_make_no_sense_are_told(self):
        for text in ("proxy:3128", "http://proxy", "http://:1", "http://a:0",
                     "http://a:65536", "http://a:1/x", "http://a b:1",
                     "socks5://a:1", "http://[::1:1", "http://a:1:1"):
            with self.subTest(text):
                self.refused("write http://HOST:PORT", "--via", text)
        self.refused("--via-credential", "--via",
                     "http://me:%s@proxy.test:1" % LOGIN)
        self.refused("behind TLS", "--via", "https://proxy.test:1")
        self.refused("there is no --via", "--via-credential", "x")

    def test_rule_that_cannot_be_held_to_behind_it_stops_the_start(self):
        # P17: who resolves elsewhere cannot refuse by address.
        self.refused("denies addresses", "--via", "http://[::1]:3128",
                     rules=[{"id": "no", "action": "deny",
                             "address": ["192.88.99.0/24"]}])


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
