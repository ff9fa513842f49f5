#!/usr/bin/python3 -I
"""Questions for names: what is answered, over what, and what stays of it."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import World, become_ordinary  # noqa: E402

# A resolver of its own: any server, either transport, EDNS.
ASK = r'''
import struct
SERVER = "203.0.113.53"

def question(name, kind=1, klass=1):
    labels = b"".join(bytes([len(l)]) + l for l in name.encode().split(b"."))
    return (struct.pack(">6H", 7, 0x100, 1, 0, 0, 1) + labels + b"\0" +
            struct.pack(">HH", kind, klass) +
            b"\0" + struct.pack(">HHIH", 41, 4096, 0, 0))

def read(answer):
    """The code, the addresses' number, and the extended error."""
    code, count, at = answer[3] & 15, answer[7], len(answer)
    mark = answer.find(b"\0\0\x29", 12)
    options = answer[mark + 11:]
    error = None
    while len(options) >= 4:
        kind, length = struct.unpack(">HH", options[:4])
        if kind == 15:
            error = (struct.unpack(">H", options[4:6])[0],
                     options[6:4 + length].decode())
        options = options[4 + length:]
    return code, count, error

def stream(server=SERVER):
    return socket.create_connection((server, 53), timeout=60)

def receive(peer):
    def exactly(count):
        got = b""
        while len(got) < count:
            more = peer.recv(count - len(got))
            if not more:
                raise EOFError
            got += more
        return got
    return exactly(struct.unpack(">H", exactly(2))[0])

def framed(message):
    return struct.pack(">H", len(message)) + message

def ask(name, kind=1, family=socket.AF_INET, server=SERVER):
    peer = socket.socket(family, socket.SOCK_DGRAM)
    peer.settimeout(60)
    peer.connect((server, 53))
    peer.send(question(name, kind))
    return read(peer.recv(4096))
'''


class Names(World):
    def ask(self, script, rules=None, **more):
        if rules is None:
            rules = [{"id": "good", "host": ["*.good.test"]},
                     {"id": "bad", "host": ["bad.good.test"],
                      "action": "deny"}]
        return self.box(rules, ASK + script, **more)

    def test_each_refusal_has_the_code_and_the_extended_error_of_its_reason(
            self):
        # A06, D02: one reason, told to whoever asks for it.
        out = self.ask(r'''
for name, kind in (("a.good.test", 1), ("a.good.test", 28),
                   ("bad.good.test", 1), ("x.evil.test", 1),
                   ("x.evil.test", 255), ("a.good.test", 255),
                   ("a.good.test", 65), ("a.good.test", 64)):
    print(*ask(name, kind))
''')
        lines = out.split("\n")
        self.assertEqual(lines[0:2], ["0 1 None"] * 2)
        for line, code, error, reason in (
                (lines[2], 3, 15, "denied"), (lines[3], 3, 18, "no_rule"),
                (lines[4], 3, 18, "no_rule"), (lines[5], 5, 18, "dns_policy")):
            self.assertTrue(line.startswith("%d 0 (%d, 'exeat: %s:"
                                            % (code, error, reason)), line)
        # So that nobody is told of HTTP/3 or of a hidden name.
        self.assertEqual(lines[6:8], ["0 0 None"] * 2)

    def test_streams_are_answered_however_they_are_cut(self):
        # B28: over TCP, from any server, of both families.
        out = self.ask(r'''
for server in (SERVER, "2001:db8::53"):
    peer = stream(server)
    # Byte by byte, then three in one piece.
    for byte in framed(question("a.good.test")):
        peer.sendall(bytes([byte]))
    print(*read(receive(peer)))
    peer.sendall(framed(question("x.evil.test")) +
                 framed(question("a.good.test", 28)) +
                 framed(question("bad.good.test")))
    for _ in range(3):
        print(read(receive(peer))[:2])
''')
        self.assertEqual(out.split("\n"), ["0 1 None", "(3, 0)", "(0, 1)",
                                           "(3, 0)"] * 2)

    def test_stream_that_is_no_dns_is_closed(self):
        out = self.ask(r'''
for bytes_sent in (framed(b"x"), framed(b"y" * 5000), b"\xff\xff",
                   framed(bytes([0, 1, 0x81]) + b"\0" * 9)):
    peer = stream()
    peer.sendall(bytes_sent)
    try:
        print(len(peer.recv(100)))
    except ConnectionResetError:
        print(0)
''')
        self.assertEqual(out.split(), ["0"] * 4)

    def test_streams_beyond_their_number_are_closed_and_the_others_go_on(self):
        # What nobody asks anything over is let go of, too.
        out = self.ask(r'''
peers = [stream() for _ in range(70)]
closed = 0
for peer in peers:
    try:
        peer.sendall(framed(question("a.good.test")))
        receive(peer)
    except (OSError, EOFError):
        closed += 1
print(closed)
''')
        self.assertEqual(out, "6")

    def test_made_up_names_are_counted_and_fill_no_audit(self):
        # B26: five thousand names, a row for the first and for their sum.
        out = self.ask(r'''
peer = stream()
for i in range(50):
    names = ["d%d-%d.evil.test" % (i, k) for k in range(100)]
    peer.sendall(b"".join(framed(question(name)) for name in names))
    for _ in names:
        assert read(receive(peer))[0] == 3
print("asked")
''')
        self.assertEqual(out, "asked")
        rows = self.rows("kind = 'dns'")
        self.assertLess(len(rows), 100)
        own = [row for row in rows if row["detail"] is None]
        counted = [row for row in rows if row["detail"] is not None]
        self.assertTrue(all(row["verdict"] == "deny" and
                            row["reason"] == "no_rule" for row in rows))
        total = self.rows("kind = 'dns' AND detail ->> '$.zone' = 'evil.test'")
        self.assertEqual(total, counted)
        self.assertEqual(len(own) + self.sum_of(counted), 5000)
        # One line of a summary tells it.
        summary = subprocess.run(
            [os.path.join(self.bin, "exeat"), "audit", "summary", "--audit",
             self.database], capture_output=True, text=True, timeout=60)
        self.assertRegex(summary.stdout,
                         r"\n\*\.\S+ +no_rule +dns +%d "
                         % self.sum_of(counted), summary)
        self.assertIn("5000", self.audit("query", "q14", "--json"))
        self.assertIn("evil.test", self.audit("query", "q14"))

    def sum_of(self, rows):
        return sum(json.loads(row["detail"])["count"] for row in rows)

    def audit(self, *words):
        return subprocess.run(
            [os.path.join(self.bin, "exeat"), "audit", *words, "--audit",
             self.database], env=self.environment, capture_output=True,
            text=True, check=True).stdout


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
