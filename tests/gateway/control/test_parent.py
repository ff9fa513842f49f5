#!/usr/bin/python3 -I
"""exeat-gateway between a parent, a launcher and a writer that are this test.

Every frame is packed by hand from schema/PROTOCOL.md.  What is wrong ends
the channel that it came on, and what is wrong on the parent's ends the run.
"""
import array
import fcntl
import hashlib
import os
import select
import signal
import socket
import struct
import tempfile
import unittest

BUILD = os.environ["EXEAT_BUILD"]
WAIT = 30

LAYER, BEGIN, STOP, SWAP, VIA = 0x0101, 0x0102, 0x0103, 0x0104, 0x0106
READY, FAILED, TALLY = 0x0181, 0x0182, 0x0183
OFFER, TRUST = 0x0201, 0x0281
ACCEPTED, STATE = 0x0381, 0x0382

POLICY = b'{"version": 1, "rules": [{"id": "a", "host": ["a.test"]}]}'


def block(raw):
    return struct.pack(">H", len(raw)) + raw


def layer(name=b"a", text=POLICY):
    return block(name) + hashlib.sha256(text).digest()


def begin(run=b"run-x"):
    return block(run) + bytes(range(16)) + b"\0"


def via(host=b"proxy.test", port=3128):
    return block(host) + struct.pack(">H", port) + block(b"")


def offer(mode=0):
    return (bytes([mode, 4, 10, 0, 0, 1, 16]) +
            socket.inet_pton(socket.AF_INET6, "fd00::1"))


def memory(data):
    fd = os.memfd_create("text", os.MFD_CLOEXEC)
    os.write(fd, data)
    return fd


class Gateway:
    def __init__(self):
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                 for _ in range(3)]
        self.parent, self.launcher, self.writer = [pair[0] for pair in pairs]
        self.said = tempfile.TemporaryFile()
        # Away from the numbers they are to have, so that none is overwritten.
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in (
            *(pair[1].fileno() for pair in pairs), self.said.fileno())]
        self.pid = os.posix_spawn(
            os.path.join(BUILD, "exeat-gateway"), ["exeat-gateway"], {},
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, number)
                          for fd, number in zip(theirs, (3, 4, 5, 2))])
        self.pidfd = os.pidfd_open(self.pid)
        for ours, other in pairs:
            ours.settimeout(WAIT)
            other.close()
        for fd in theirs:
            os.close(fd)

    def send(self, kind, body=b"", fds=(), on=None):
        data = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                 array.array("i", fds))] if fds else []
        try:
            (on or self.parent).sendmsg([struct.pack(">H", kind) + body], data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # what came before was wrong already
        for fd in fds:
            os.close(fd)

    def receive(self, on=None):
        """(type, body, descriptors), or None at the end."""
        try:
            packet, fds, _, _ = socket.recv_fds(on or self.parent, 65536, 8)
        except ConnectionResetError:
            return None
        if not packet:
            return None
        return struct.unpack_from(">H", packet)[0], packet[2:], fds

    def load(self, text=POLICY):
        self.send(LAYER, layer(text=text), [memory(text)])

    def begin(self):
        self.load()
        self.send(BEGIN, begin())
        return self.receive()

    def wait(self, ms):
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        return bool(poll.poll(ms))

    def end(self):
        """(exit code, what it said)"""
        if not self.wait(WAIT * 1000):
            raise AssertionError("it does not end")
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.pid = 0
        self.said.seek(0)
        return code, self.said.read().decode()

    def done(self):
        for sock in (self.parent, self.launcher, self.writer):
            sock.close()
        if self.pid != 0:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.pidfd)
        self.said.close()


class Parent(unittest.TestCase):
    def setUp(self):
        self.gateway = self.new()

    def new(self):
        gateway = Gateway()
        self.addCleanup(gateway.done)
        return gateway

    def assertClean(self, said):
        for word in ("Sanitizer", "runtime error", "Assertion"):
            self.assertNotIn(word, said)

    def listeners(self, tcp=None):
        made = []
        for family, kind in ((socket.AF_INET, socket.SOCK_STREAM),
                             (socket.AF_INET6, socket.SOCK_STREAM),
                             (socket.AF_INET, socket.SOCK_DGRAM),
                             (socket.AF_INET6, socket.SOCK_DGRAM)):
            sock = socket.socket(family, kind)
            sock.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
            if kind == socket.SOCK_STREAM:
                sock.listen()
            made.append(sock.detach())
        made.append(socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM,
                                  4).detach())
        # For datagrams, and in the place of those that need a privilege.
        for family, host in ((socket.AF_INET, "127.0.0.1"),
                             (socket.AF_INET6, "::1")) * 2:
            sock = socket.socket(family, socket.SOCK_DGRAM)
            sock.bind((host, 0))
            made.append(sock.detach())
        return made

    def test_run_in_order_ends_with_a_tally_and_0(self):
        self.assertEqual((READY, b"", []), self.gateway.begin())
        self.gateway.send(STOP)
        kind, body, _ = self.gateway.receive()
        self.assertEqual((TALLY, bytes(48)), (kind, body))
        self.assertIsNone(self.gateway.receive())
        code, said = self.gateway.end()
        self.assertEqual((0, ""), (code, said))

    def test_parent_that_leaves_ends_the_gateway(self):
        self.gateway.begin()
        self.gateway.parent.close()
        code, said = self.gateway.end()
        self.assertEqual(1, code)
        self.assertClean(said)

    def test_policy_that_does_not_load_fails_the_order(self):
        for text in (b"", b"{", b"[]", b'{"version": 2, "rules": []}',
                     b'{"version": 1, "rules": [{"id": "a", "hots": []}]}',
                     b"\xff\xfe", b" " * 4194305):
            with self.subTest(text[:60]):
                gateway = self.new()
                gateway.load(text)
                kind, body, _ = gateway.receive()
                self.assertEqual(FAILED, kind)
                length = struct.unpack_from(">H", body)[0]
                self.assertGreater(length, 0)
                code, said = gateway.end()
                self.assertEqual(1, code)
                self.assertClean(said)

    def test_wrong_frame_ends_it(self):
        text = POLICY
        one = memory(text)
        self.addCleanup(os.close, one)

        def fds(count):
            return [os.dup(one) for _ in range(count)]

        wrong = {
            "unknown type": [(0x7777, b"", 0)],
            "a type of ours": [(READY, b"", 0)],
            "another channel's type": [(OFFER, offer(), 9)],
            "layer without a descriptor": [(LAYER, layer(), 0)],
            "layer with two": [(LAYER, layer(), 2)],
            "layer cut": [(LAYER, layer()[:-1], 1)],
            "layer with more": [(LAYER, layer() + b"x", 1)],
            "layer of too long a name": [(LAYER, layer(b"n" * 501), 1)],
            "layer of a name with a NUL": [(LAYER, layer(b"a\0b"), 1)],
            "seventeen layers": [(LAYER, layer(), 1)] * 17,
            "begin cut": [(LAYER, layer(), 1), (BEGIN, begin()[:-1], 0)],
            "begin of too long a run": [(LAYER, layer(), 1),
                                        (BEGIN, begin(b"r" * 65), 0)],
            "begin with a descriptor": [(LAYER, layer(), 1),
                                        (BEGIN, begin(), 1)],
            "begin without a layer": [(BEGIN, begin(), 0)],
            "begin twice": [(LAYER, layer(), 1), (BEGIN, begin(), 0),
                            (BEGIN, begin(), 0)],
            "via cut": [(VIA, via()[:-1], 0)],
            "via without a host": [(VIA, via(b""), 0)],
            "via without a port": [(VIA, via(port=0), 0)],
            "via of what is no host": [(VIA, via(b"a b"), 0)],
            "via twice": [(VIA, via(), 0), (VIA, via(), 0)],
            "via behind a layer": [(LAYER, layer(), 1), (VIA, via(), 0)],
            "via behind begin": [(LAYER, layer(), 1), (BEGIN, begin(), 0),
                                 (VIA, via(), 0)],
            "swap before begin": [(SWAP, block(b"a"), 0)],
            "stop with a body": [(STOP, b"x", 0)],
            "an empty packet's like": [(0, b"", 0)],
        }
        for word, frames in wrong.items():
            with self.subTest(word):
                gateway = self.new()
                for kind, body, count in frames:
                    gateway.send(kind, body, fds(count))
                got = gateway.receive()
                while got is not None and got[0] == READY:
                    got = gateway.receive()
                self.assertIsNone(got)
                code, said = gateway.end()
                self.assertEqual(1, code)
                self.assertClean(said)

    def test_packet_longer_than_a_frame_ends_it(self):
        self.gateway.send(LAYER, b"x" * 65536)
        self.assertIsNone(self.gateway.receive())
        self.assertEqual(1, self.gateway.end()[0])

    def test_packet_of_one_byte_ends_it(self):
        self.gateway.parent.send(b"x")
        self.assertIsNone(self.gateway.receive())
        self.assertEqual(1, self.gateway.end()[0])

    def test_launcher_gets_the_trust_once(self):
        self.gateway.begin()
        self.gateway.send(OFFER, offer(), self.listeners(),
                          on=self.gateway.launcher)
        kind, body, fds = self.gateway.receive(self.gateway.launcher)
        self.assertEqual((TRUST, b"", 2), (kind, body, len(fds)))
        text = os.pread(fds[0], 1 << 22, 0)
        self.assertIn(b"-----BEGIN CERTIFICATE-----", text)
        self.assertNotIn(b"PRIVATE", text)
        with self.assertRaises(OSError):
            os.write(fds[0], b"x")  # sealed
        os.close(fds[0])
        # A second offer ends the channel, and not the run.
        self.gateway.send(OFFER, offer(), self.listeners(),
                          on=self.gateway.launcher)
        self.assertIsNone(self.gateway.receive(self.gateway.launcher))
        self.gateway.send(STOP)
        self.assertEqual(TALLY, self.gateway.receive()[0])
        code, said = self.gateway.end()
        self.assertEqual(0, code)
        self.assertClean(said)

    def test_wrong_frame_of_a_launcher_gets_no_trust(self):
        files = [memory(b"x") for _ in range(9)]
        for fd in files:
            self.addCleanup(os.close, fd)
        wrong = {
            "unknown type": (0x7777, b"", 0),
            "the parent's type": (STOP, b"", 0),
            "no descriptors": (OFFER, offer(), 0),
            "eight of them": (OFFER, offer(), 8),
            "ten of them": (OFFER, offer(), 10),
            "a mode that is none": (OFFER, offer(9), 9),
            "cut": (OFFER, offer()[:-1], 9),
            "more": (OFFER, offer() + b"x", 9),
            "files for sockets": (OFFER, offer(), 9),
        }
        for word, (kind, body, count) in wrong.items():
            with self.subTest(word):
                gateway = self.new()
                gateway.begin()
                gateway.send(kind, body, [os.dup(files[i % 9])
                                          for i in range(count)],
                             on=gateway.launcher)
                self.assertIsNone(gateway.receive(gateway.launcher))
                gateway.send(STOP)
                self.assertEqual(TALLY, gateway.receive()[0])
                code, said = gateway.end()
                self.assertEqual(0, code)
                self.assertClean(said)

    def test_launcher_is_not_read_before_the_run_begins(self):
        self.gateway.send(OFFER, offer(), self.listeners(),
                          on=self.gateway.launcher)
        self.gateway.load(b"{")
        self.assertEqual(FAILED, self.gateway.receive()[0])
        self.assertIsNone(self.gateway.receive(self.gateway.launcher))
        self.assertEqual(1, self.gateway.end()[0])

    def test_writer_that_says_nonsense_is_a_writer_that_is_gone(self):
        for kind, body in ((0x7777, b""), (ACCEPTED, b"short"),
                           (ACCEPTED, struct.pack(">Q", 99)), (STATE, b"\7"),
                           (STATE, b"")):
            with self.subTest((kind, body)):
                gateway = self.new()
                gateway.begin()
                gateway.send(kind, body, on=gateway.writer)
                self.assertIsNone(gateway.receive(gateway.writer))
                gateway.send(STOP)
                self.assertEqual(TALLY, gateway.receive()[0])
                code, said = gateway.end()
                self.assertEqual(0, code)
                self.assertIn("the audit takes no rows", said)
                self.assertClean(said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
