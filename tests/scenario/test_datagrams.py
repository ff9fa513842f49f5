#!/usr/bin/python3 -I
"""Datagrams: by rule to a name and a port, and refused at once elsewhere."""
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import PRELUDE, World, become_ordinary  # noqa: E402


class Server:
    """Answers each datagram with answer(bytes), which may be None or many."""

    def __init__(self, answer, family=socket.AF_INET):
        self.answer, self.heard, self.peers = answer, [], set()
        self.door = socket.socket(family, socket.SOCK_DGRAM)
        self.door.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1",
                        0))
        self.port = self.door.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                data, peer = self.door.recvfrom(65536)
            except OSError:
                return
            # Who is woken by the end has heard of nobody.
            if peer is None:
                return
            self.heard.append(data)
            self.peers.add(peer)
            answers = self.answer(data)
            for one in answers if isinstance(answers, list) else [answers]:
                if one is not None:
                    self.door.sendto(one, peer)

    def close(self):
        with contextlib.suppress(OSError):
            self.door.shutdown(socket.SHUT_RDWR)
        self.door.close()


# A datagram and its answer; or the name of what went wrong.
SEND = r'''
def udp(host, port, family=socket.AF_UNSPEC):
    family, kind, proto, _, at = socket.getaddrinfo(
        host, int(port), family, socket.SOCK_DGRAM)[0]
    peer = socket.socket(family, kind, proto)
    peer.settimeout(60)
    peer.connect(at)
    return peer

def send(host, port, data, **more):
    try:
        with udp(host, port, **more) as peer:
            peer.send(data)
            return peer.recv(65536)
    except OSError as error:
        return type(error).__name__
'''


class Datagrams(World):
    def server(self, answer, **more):
        server = Server(answer, **more)
        self.addCleanup(server.close)
        return server

    def udp_rule(self, name, host, *servers, **more):
        return self.rule(name, host, *servers, ca=False, protocol="udp",
                         **more)

    def send(self, rules, script, *words, **more):
        return self.box(rules, SEND + script, *words, **more)

    def test_server_of_time_is_asked_by_rule(self):
        # An NTP client's packet and what a server answers (RFC 5905).
        def tell(data):
            return b"\x24\x02" + data[2:40] + b"\xe0" * 8
        server = self.server(tell)
        out = self.send([self.udp_rule("time", "ntp.test", server)], r'''
packet = b"\x23" + b"\0" * 39 + b"\x11" * 8
answer = send("ntp.test", words[0], packet)
print(len(answer), answer[0], answer[40:] == b"\xe0" * 8)
''', server.port)
        self.assertEqual(out, "48 36 True")
        self.assertEqual(len(server.heard), 1)
        opened, ended = self.rows("kind IN ('flow_open', 'flow_end')")
        self.assertEqual(
            (opened["host"], opened["port"], opened["rule"],
             opened["verdict"], opened["bytes_out"]),
            ("ntp.test", server.port, "time", "allow", None))
        self.assertEqual(
            (ended["parent_seq"], ended["bytes_out"], ended["bytes_in"],
             ended["verdict"], ended["rule"]),
            (opened["seq"], 48, 48, "allow", "time"))
        # Who asked is known of datagrams, too.
        self.assertIn("python3", json.loads(opened["detail"])["exe"])

    def test_questions_to_a_server_on_a_port_of_its_own(self):
        # As a resolver with a port of its own; one answer in two pieces.
        server = self.server(lambda data: [data[:2] + b"one",
                                           data[:2] + b"two"])
        out = self.send([self.udp_rule("ns", "ns.test", server)], r"""
with udp("ns.test", words[0]) as peer:
    for number in (b"\0\1", b"\0\2"):
        peer.send(number + b"question")
        print(sorted([peer.recv(100), peer.recv(100)]))
""", server.port)
        self.assertEqual(out, "[b'\\x00\\x01one', b'\\x00\\x01two']\n"
                              "[b'\\x00\\x02one', b'\\x00\\x02two']")
        self.assertEqual(len(server.peers), 1)

    def test_every_size_is_passed_on_whole_in_both_families(self):
        # Outside it is IPv4, whatever the program speaks.
        server = self.server(lambda data: data)
        out = self.send([self.udp_rule("echo", "echo.test", server)], r"""
import os
for family in (socket.AF_INET, socket.AF_INET6):
    for size in (0, 1, 2, 1200, 1472, 1473, 9000, 65000):
        data = os.urandom(size)
        assert send("echo.test", words[0], data, family=family) == data, size
print("same")
""", server.port)
        self.assertEqual(out, "same")
        self.assertEqual(len(self.rows("kind = 'flow_open'")), 16)

    def test_addresses_are_reached_by_rules_that_name_them(self):
        four = self.server(lambda data: b"4" + data)
        six = self.server(lambda data: b"6" + data, family=socket.AF_INET6)
        rules = [{"id": "lo", "address": ["127.0.0.1/32", "::1/128"],
                  "port": [four.port, six.port], "protocol": "udp"},
                 self.udp_rule("six", "six.test", six, resolve="::1")]
        out = self.send(rules, r"""
print(send("::ffff:127.0.0.1", words[0], b"a"))
print(send("six.test", words[1], b"c", family=socket.AF_INET))
""", four.port, six.port)
        # Loopback is the sandbox's own, in any spelling.
        self.assertEqual(out, "ConnectionRefusedError\nb'6c'")

    def test_each_end_is_a_flow_of_its_own(self):
        server = self.server(lambda data: data)
        other = self.server(lambda data: b"other")
        rules = [self.udp_rule("a", "a.test", server, other)]
        out = self.send(rules, r"""
at = socket.gethostbyname("a.test")
one, two = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            for _ in range(2))
for peer in (one, two):
    peer.settimeout(60)
    for port in map(int, words):
        peer.sendto(b"x", (at, port))
        data, sender = peer.recvfrom(100)
        print(data, sender == (at, port))
""", server.port, other.port)
        self.assertEqual(out, "b'x' True\nb'other' True\n" * 1 +
                              "b'x' True\nb'other' True")
        self.assertEqual(len(server.peers), 2)
        self.assertEqual(len(self.rows("kind = 'flow_end'")), 4)

    def test_many_are_passed_on_and_counted(self):
        server = self.server(lambda data: data)
        out = self.send([self.udp_rule("echo", "echo.test", server)], r"""
with udp("echo.test", words[0]) as peer:
    for i in range(3000):
        peer.send(b"%4d" % i)
        assert peer.recv(10) == b"%4d" % i
print("all")
""", server.port)
        self.assertEqual(out, "all")
        ended, = self.rows("kind = 'flow_end'")
        self.assertEqual((ended["bytes_out"], ended["bytes_in"]),
                         (12000, 12000))

    def test_what_no_rule_allows_is_refused_at_once(self):
        # B27: also what another protocol may reach, and another port.
        server = self.server(lambda data: data)
        web = self.origin(tls=False)
        rules = [self.udp_rule("a", "a.test", server),
                 self.rule("w", "web.test", web, ca=False),
                 {"id": "t", "host": ["db.test"], "port": [5432],
                  "protocol": "tcp"}]
        out = self.send(rules, r"""
start = time.monotonic()
for host, port in (("a.test", 1), ("web.test", words[1]), ("db.test", 5432),
                   ("exeat.internal", 80), ("203.0.113.7", 443),
                   ("2001:db8::7", 443), ("10.0.0.1", 65535),
                   ("169.254.169.254", 80)):
    print(send(host, port, b"x"))
print(time.monotonic() - start < 30)
# Of an allowed name the connection is not.
print(talk("a.test", words[0], b"GET / HTTP/1.0\r\n\r\n")[:4])
""", server.port, web.port)
        self.assertEqual(out.split("\n")[:9],
                         ["ConnectionRefusedError"] * 8 + ["True"])
        self.assertIn(out.split("\n")[9][:4], ("", "fail", "HTTP"))
        self.assertEqual(server.heard, [])
        self.assertEqual(web.count, 0)
        rows = self.rows("kind = 'flow_open' AND verdict = 'deny' AND "
                         "seq IN (SELECT seq FROM event WHERE l7 = 10)")
        self.assertEqual(
            [(row["host"], row["port"], row["reason"]) for row in rows],
            [("a.test", 1, "no_rule"), ("web.test", web.port, "no_rule"),
             ("db.test", 5432, "no_rule"), ("exeat.internal", 80, "no_rule"),
             ("203.0.113.7", 443, "no_rule"), ("2001:db8::7", 443, "no_rule"),
             ("10.0.0.1", 65535, "no_rule"),
             ("169.254.169.254", 80, "no_rule")])

    def test_refusals_in_great_number_are_counted_and_fill_no_audit(self):
        # A10, B27
        out = self.send([], r"""
refused = 0
for i in range(2000):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.settimeout(60)
        peer.connect(("203.0.113.7", 1000 + i))
        peer.send(b"x")
        try:
            peer.recv(1)
        except ConnectionRefusedError:
            refused += 1
print(refused)
""")
        self.assertEqual(out, "2000")
        rows = self.rows("kind = 'flow_open'")
        self.assertLess(len(rows), 200)
        counts = [json.loads(row["detail"]).get("count", 1) for row in rows]
        self.assertEqual(sum(counts), 2000)
        self.assertEqual({row["host"] for row in rows}, {"203.0.113.7"})
        said = subprocess.run(
            [os.path.join(self.bin, "exeat"), "audit", "query", "--audit",
             self.database, "--json", "q02"], env=self.environment,
            capture_output=True, text=True, check=True).stdout
        self.assertIn("2000", said)

    def test_flows_beyond_their_number_are_refused_and_the_others_go_on(self):
        server = self.server(lambda data: data)
        out = self.send([self.udp_rule("a", "a.test", server)], r"""
import resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
peers, said = [], {}
for _ in range(1034):
    peers.append(udp("a.test", words[0]))
    peers[-1].send(b"x")
    try:
        word = peers[-1].recv(1).decode()
    except ConnectionRefusedError:
        word = "refused"
    said[word] = said.get(word, 0) + 1
print(said)
peers[0].send(b"y")
print(peers[0].recv(1))
""", server.port)
        self.assertEqual(out, "{'x': 1024, 'refused': 10}\nb'y'")
        self.assertEqual(len(self.rows("reason = 'overload'")), 10)

    def test_who_does_not_listen_outside_is_told_inside(self):
        server = self.server(lambda data: None)
        rules = [self.udp_rule("gone", "gone.test", server)]
        server.close()
        out = self.send(rules, "print(send('gone.test', words[0], b'x'))",
                        server.port)
        self.assertEqual(out, "ConnectionRefusedError")
        opened, ended = self.rows("kind IN ('flow_open', 'flow_end')")
        self.assertEqual(opened["verdict"], "allow")
        self.assertEqual((ended["verdict"], ended["reason"]),
                         ("error", "upstream_refused"))

    def test_name_that_does_not_resolve_is_told_inside(self):
        out = self.send([{"id": "a", "host": ["localhost"], "port": [9],
                          "protocol": "udp"}], r"""
import struct
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.settimeout(60)
peer.sendto(struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + b"\11localhost\0" +
            struct.pack(">HH", 1, 1), ("203.0.113.53", 53))
print(send(socket.inet_ntoa(peer.recv(4096)[-4:]), 9, b"x"))
""")
        self.assertEqual(out, "ConnectionRefusedError")
        self.refused_for("special_address")

    def test_proxy_of_the_house_is_not_gone_round_by_datagrams(self):
        code, out, err = self.run_box(
            [{"id": "a", "host": ["time.example.com"], "port": [123],
              "protocol": "udp"}], "python3", "-I", "-c", PRELUDE + SEND +
            "print(send('time.example.com', 123, b'x'))",
            options=("--via", "http://127.0.0.1:9"))
        self.assertEqual((code, out), (0, "ConnectionRefusedError\n"), err)
        ended, = self.rows("kind = 'flow_end'")
        self.assertEqual(ended["reason"], "unsupported")
        self.assertIn("carries no datagrams", ended["detail"])

    def test_bytes_past_the_limit_end_the_flow(self):
        server = self.server(lambda data: data)
        out = self.send([self.udp_rule("a", "a.test", server,
                                       limits={"bytes_out": 100})], r"""
with udp("a.test", words[0]) as peer:
    for _ in range(2):
        peer.send(b"x" * 40)
        print(len(peer.recv(100)))
    peer.send(b"x" * 40)
    try:
        peer.recv(100)
    except OSError as error:
        print(type(error).__name__)
print(send("a.test", words[0], b"x"))
""", server.port)
        self.assertEqual(out, "40\n40\nConnectionRefusedError\n"
                              "ConnectionRefusedError")
        self.assertEqual(len(server.heard), 2)
        self.assertEqual(
            [row["reason"] for row in self.rows("verdict = 'deny'")],
            ["budget", "budget"])

    def test_program_that_the_rule_does_not_name_is_refused(self):
        server = self.server(lambda data: data)
        rules = [self.udp_rule("a", "a.test", server, exe=["/usr/bin/perl"])]
        perl = ("use IO::Socket::INET; my $s = IO::Socket::INET->new("
                "PeerAddr => 'a.test', PeerPort => $ARGV[0], Proto => 'udp')"
                "; $s->send('hello'); $s->recv(my $got, 100); print $got;")
        out = self.send(rules, r"""
import subprocess
print(send("a.test", words[0], b"x"))
print(subprocess.run(["/usr/bin/perl", "-e", words[1], words[0]],
                     capture_output=True, text=True).stdout)
""", server.port, perl)
        self.assertEqual(out, "ConnectionRefusedError\nhello")
        self.assertEqual(server.heard, [b"hello"])

    def test_observed_datagrams_pass_and_say_what_they_would_have_been(self):
        server = self.server(lambda data: data)
        rules = [self.udp_rule("a", "a.test", server)]
        code, out, err = self.run_box(
            rules, "python3", "-I", "-c", PRELUDE + SEND +
            "print(send('a.test', words[0], b'x'))\n"
            "print(send('203.0.113.7', 9, b'x'))\n", str(server.port),
            options=("--observe",))
        self.assertEqual(code, 0, err)
        self.assertEqual(out.split("\n")[0], "b'x'")
        seen = {row["host"]: row["verdict"]
                for row in self.rows("kind = 'flow_open'")}
        self.assertEqual(seen["a.test"], "allow")
        self.assertEqual(seen["203.0.113.7"], "would_deny")

    def test_suggested_policy_has_a_rule_for_what_was_tried(self):
        self.run_box([], "python3", "-I", "-c", PRELUDE + SEND +
                     "send('192.0.2.123', 123, b'x')", options=("--observe",))
        said = subprocess.run(
            [os.path.join(self.bin, "exeat"), "policy", "suggest", "--audit",
             self.database], env=self.environment, capture_output=True,
            text=True).stdout
        rule, = json.loads(said)["rules"]
        self.assertEqual((rule["protocol"], rule["port"]), ("udp", [123]))

    def test_everything_else_is_refused_at_once_and_counted(self):
        # B27, A10: by a socket that says so, or by one that cannot be had.
        out = self.send([], r"""
def attempt(kind, proto, host, data=b"x"):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, kind, proto) as peer:
            peer.settimeout(60)
            peer.connect((host, 9))
            peer.send(data)
            return peer.recv(100)
    except OSError as error:
        return type(error).__name__

start = time.monotonic()
for host, icmp, ping in (
        ("203.0.113.7", 1, b"\x08\0\0\0\0\0\0\x01"),
        ("2001:db8::7", 58, b"\x80\0\0\0\0\0\0\x01")):
    print(attempt(socket.SOCK_DGRAM, icmp, host, ping))
    for kind, proto in ((socket.SOCK_STREAM, 132), (6, 33),
                        (socket.SOCK_SEQPACKET, 132), (socket.SOCK_RAW, 47),
                        (socket.SOCK_DGRAM, 136), (socket.SOCK_STREAM, 0),
                        (socket.SOCK_STREAM, 262)):
        assert attempt(kind, proto, host) != b"x", (kind, proto)
for host in ("224.0.0.251", "239.255.255.250", "ff0e::fb"):
    print(attempt(socket.SOCK_DGRAM, 0, host))
print(time.monotonic() - start < 50)
""")
        said = out.split("\n")
        self.assertEqual(said[0], "PermissionError")
        self.assertEqual(said[1], "PermissionError")
        self.assertEqual(said[2:4], ["PermissionError"] * 2)
        # The kernel may not yet have an address to send from in IPv6.
        self.assertIn(said[4], ("PermissionError", "OSError"))
        self.assertEqual(said[5], "True")
        ended, = self.rows("kind = 'sandbox_end'")
        refused = json.loads(ended["detail"])["packets_refused"]
        self.assertEqual(refused["multicast"],
                         said[2:5].count("PermissionError"))
        self.assertGreaterEqual(refused["pings"], 2)
        # How many a protocol sends, and whether there is one, is the kernel's.
        self.assertIn("others", refused)
        tcp = self.rows("kind = 'flow_open' AND port = 9")
        self.assertEqual({(row["verdict"], row["reason"]) for row in tcp},
                         {("deny", "no_rule")})

    def test_run_that_sent_nothing_of_it_says_nothing_of_it(self):
        self.send([], "print()")
        ended, = self.rows("kind = 'sandbox_end'")
        self.assertIsNone(ended["detail"])


# Sends what it is told on a pipe in the workspace, a line at a time.
OBEY = r"""
peer = udp("a.test", words[0])
for line in open("orders"):
    try:
        peer.send(line.encode())
        print(peer.recv(100).decode().strip(), flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
"""


class Swapped(World):
    files = "direct"

    def exeat(self, *words):
        return subprocess.run([os.path.join(self.bin, "exeat"), *words],
                              env=self.environment, capture_output=True,
                              text=True, timeout=60)

    def write(self, name, rules):
        path = os.path.join(self.folder, name)
        with open(path, "w") as out:
            json.dump({"version": 1, "rules": rules}, out)
        return path

    def test_policy_that_takes_the_rule_away_ends_the_flow(self):
        server = Server(lambda data: data)
        self.addCleanup(server.close)
        rules = [self.rule("a", "a.test", server, ca=False, protocol="udp")]
        orders = os.path.join(self.workspace, "orders")
        os.mkfifo(orders)
        box = self.start(rules, "python3", "-I", "-c", PRELUDE + SEND + OBEY,
                         str(server.port))
        with open(orders, "w") as told:
            def order(text):
                print(text, file=told, flush=True)
                return box.stdout.readline().strip()
            self.assertEqual(order("one"), "one")
            run = os.listdir(os.path.join(
                self.environment["HOME"], ".local/state/exeat/runs"))[0]
            # One that allows it still leaves it alone.
            more = [*rules, {"id": "b", "host": ["b.test"]}]
            done = self.exeat("policy", "set", run, self.write("more", more))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(order("two"), "two")
            self.assertEqual(len(server.peers), 1)
            done = self.exeat("policy", "set", run, self.write("less", more[1:]))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(order("three"), "ConnectionRefusedError")
        _, err = box.communicate(timeout=120)
        self.assertEqual(box.returncode, 0, err)
        self.assertEqual(server.heard, [b"one\n", b"two\n"])
        ended, = self.rows("kind = 'flow_end'")
        self.assertEqual((ended["verdict"], ended["reason"],
                          ended["bytes_out"]), ("deny", "no_rule", 8))


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
