#!/usr/bin/python3 -I
"""streams - bytes that keep coming: events, uploads, downloads, stalls.

No clock decides: what has arrived is asked before the next is sent, what the
gateway holds is read from /proc, and a gateway that waits must not run.
"""
import hashlib
import os
import select
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import BUILD, Story, main, request

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
OPEN, END = "flow_open allow none None", "flow_end info none None"
INTENT = "http_intent allow none None"
MIB = 1 << 20
LARGE = 64 * MIB
# A few buffers for each of the few connections here, far below the bodies.
GROWTH = 16 * MIB


def pattern(length):
    """The same as hand.py's."""
    block = bytes(range(251)) * 262
    while length > 0:
        piece = block[:min(length, 1 << 16)]
        yield piece
        length -= len(piece)


def digest(length):
    whole = hashlib.sha256()
    for piece in pattern(length):
        whole.update(piece)
    return whole.hexdigest()


class Gateway:
    """What the kernel says of a gateway."""

    def __init__(self, pid):
        self.pid = pid

    def of(self, name):
        with open("/proc/%d/%s" % (self.pid, name)) as source:
            return source.read()

    def is_sanitized(self):
        with open(os.path.join(BUILD, "exeat-gateway"), "rb") as program:
            return b"__asan_init" in program.read()

    def peak(self):
        return int(self.of("status").split("VmHWM:")[1].split()[0]) * 1024

    def ran_ns(self):
        return int(self.of("schedstat").split()[0])


class Measured:
    def setUp(self):
        self.gateway = Gateway(self.sandbox.sibling("exeat-gateway"))

    def holds_little(self, before):
        # AddressSanitizer keeps what is freed, up to 256 MiB.
        if not self.gateway.is_sanitized():
            self.assertLess(self.gateway.peak() - before, GROWTH)


class Streams(Measured):

    def ask(self, method="GET", fields=b"", **more):
        host = self.host()
        client = self.open_it(host, **more)
        client.send(request(method, host, self.origin.port, "/", fields))
        peer = self.accept(self.origin)
        self.sent = peer.head()
        return host, client, peer

    def rests(self):
        """Half a second in which it must all but stand still."""
        before = self.gateway.ran_ns()
        select.select([], [], [], 0.5)
        self.assertLess(self.gateway.ran_ns() - before, 50 * 1000 * 1000)

    def test_event_arrives_before_the_next_is_sent(self):
        # S05, S14: chunked, close-delimited, and as an answer to a POST
        for i, (method, fields) in enumerate((
                ("GET", b"Transfer-Encoding: chunked\r\n"), ("GET", b""),
                ("POST", b"Transfer-Encoding: chunked\r\n"))):
            with self.subTest((method, fields)):
                host = "e%d-%s" % (i, self.host())
                client = self.open_it(host)
                client.send(request(
                    method, host, self.origin.port, "/events",
                    b"Content-Length: 0\r\n" if method == "POST" else b""))
                peer = self.accept(self.origin)
                peer.head()
                peer.send(b"HTTP/1.1 200 OK\r\n"
                          b"Content-Type: text/event-stream\r\n" + fields +
                          b"\r\n")
                client.head()
                for number in range(20):
                    event = b"data: %02d\n\n" % number
                    if fields:
                        event = b"%x\r\n%s\r\n" % (len(event), event)
                    peer.send(event)
                    self.assertIn(b"data: %02d\n\n" % number,
                                  client.until(b"\n\n").data)
                    client.read(2)
                peer.send(b"0\r\n\r\n" if fields else b"")
                peer.bye()
                self.assertEqual(b"0\r\n\r\n", client.read(5))
                client.close()
                self.expect_rows(host, OPEN, INTENT, "http allow none 200",
                                 END)
                self.counts(1)

    def test_large_download_keeps_its_bytes_and_takes_no_memory(self):
        # S11, S24
        host, client, peer = self.ask()
        before = self.gateway.peak()
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % LARGE
        peer.send(head)
        client.head()
        soaking = client.start("soak", count=LARGE)
        for piece in pattern(LARGE):
            peer.send(piece)
        got = soaking()
        self.assertEqual((LARGE, digest(LARGE)), (got["got"], got["digest"]))
        client.close()
        rows = self.expect_rows(host, OPEN, INTENT, "http allow none 200", END)
        self.assertEqual(len(head) + LARGE, rows[2]["bytes_in"])
        self.holds_little(before)
        self.counts(1)

    def test_large_upload_keeps_its_bytes_and_takes_no_memory(self):
        # S11
        host, client, peer = self.ask("PUT", b"Content-Length: %d\r\n" % LARGE)
        before = self.gateway.peak()
        pouring = client.start("pour", count=LARGE)
        whole, left = hashlib.sha256(), LARGE
        while left > 0:
            piece = peer.read(min(left, MIB))
            whole.update(piece)
            left -= len(piece)
        self.assertEqual(digest(LARGE), whole.hexdigest())
        self.assertEqual(LARGE, pouring()["sent"])
        peer.send(OK)
        self.assertEqual(200, client.answer()[0])
        client.close()
        self.expect_rows(host, OPEN, INTENT, "http allow none 200", END)
        self.holds_little(before)
        self.counts(1)

    def stall(self, write):
        """Sends until nothing goes any more; how much went."""
        done = []

        def run():
            try:
                write()
            except OSError:
                pass
            done.append(True)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        ran = -1
        while ran != self.gateway.ran_ns():
            ran = self.gateway.ran_ns()
            select.select([], [], [], 0.3)
        self.assertFalse(done)
        return thread

    def test_reader_that_stalls_holds_up_its_origin_and_nobody_else(self):
        host, client, peer = self.ask()
        before = self.gateway.peak()
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % LARGE
        peer.send(head)
        thread = self.stall(
            lambda: [peer.send(piece) for piece in pattern(LARGE)])
        self.rests()
        self.holds_little(before)
        # Another connection is served meanwhile.
        other = self.open_it("other-" + host)
        other.send(request("GET", "other-" + host, self.origin.port))
        there = self.accept(self.origin)
        there.head()
        there.send(OK)
        self.assertEqual(200, other.answer()[0])
        other.close()
        # Once it reads again all of it comes.
        client.head()
        got = client.do("soak", count=LARGE)
        self.assertEqual((LARGE, digest(LARGE)), (got["got"], got["digest"]))
        thread.join(60)
        client.close()
        self.expect_rows(host, OPEN, INTENT, "http allow none 200", END)
        self.counts(2)

    def test_origin_that_stalls_holds_up_its_client(self):
        host, client, peer = self.ask("PUT", b"Content-Length: %d\r\n" % LARGE)
        before = self.gateway.peak()
        pouring = client.start("pour", count=LARGE)
        ran = -1
        while ran != self.gateway.ran_ns():
            ran = self.gateway.ran_ns()
            select.select([], [], [], 0.3)
        self.rests()
        self.holds_little(before)
        left = LARGE
        while left > 0:
            left -= len(peer.read(min(left, MIB)))
        self.assertEqual(LARGE, pouring()["sent"])
        peer.send(OK)
        self.assertEqual(200, client.answer()[0])
        client.close()
        self.expect_rows(host, OPEN, INTENT, "http allow none 200", END)
        self.counts(1)

    def test_idle_connections_cost_nothing(self):
        host, client, peer = self.ask()
        peer.send(OK)
        client.answer()
        waiting = self.open_it("waiting-" + host)
        waiting.send(request("GET", "waiting-" + host, self.origin.port))
        there = self.accept(self.origin)
        there.head()
        half = self.open_it("half-" + host)
        half.send(b"GET / HTTP/1.1\r\nHo")
        if self.origin is self.tls:
            # Inside TLS the origin is there before the request is.
            self.accept(self.origin)
        self.rests()
        there.send(OK)
        self.assertEqual(200, waiting.answer()[0])
        for one in (client, waiting, half):
            one.close()
        self.expect_rows("half-" + host, OPEN,
                         "flow_end error client_abort None")
        self.counts(2)

    def test_client_that_aborts_its_upload_is_a_client_abort(self):
        # S30: the bytes that went are counted
        host, client, peer = self.ask("PUT", b"Content-Length: 1000000\r\n")
        client.send(b"x" * 5000)
        self.assertEqual(b"x" * 5000, peer.read(5000))
        client.do("abort")
        self.assertEqual((b"", self.broken), peer.rest())
        rows = self.expect_rows(
            host, OPEN, INTENT, "http error client_abort None", END)
        self.assertEqual(len(self.sent) + 5000, rows[2]["bytes_out"])
        self.assertEqual(0, rows[2]["bytes_in"])
        self.counts(1)

    def test_client_that_ends_within_its_upload_is_a_client_abort(self):
        # An end in the middle of a body is none.
        host, client, peer = self.ask("PUT", b"Content-Length: 1000000\r\n")
        client.send(b"x" * 5000)
        peer.read(5000)
        client.do("bye" if self.broken == "cut" else "close")
        self.assertEqual((b"", self.broken), peer.rest())
        self.expect_rows(host, OPEN, INTENT, "http error client_abort None",
                         END)
        self.counts(1)

    def test_client_that_aborts_its_download_is_a_client_abort(self):
        # S30
        host, client, peer = self.ask()
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
        peer.send(head + b"y" * 5000)
        client.head()
        client.read(5000)
        client.do("abort")
        self.assertEqual((b"", self.broken), peer.rest())
        rows = self.expect_rows(
            host, OPEN, INTENT, "http error client_abort 200", END)
        self.assertEqual(len(head) + 5000, rows[2]["bytes_in"])
        self.counts(1)

    def test_client_that_aborts_while_it_waits_is_a_client_abort(self):
        host, client, peer = self.ask()
        client.do("abort")
        self.assertEqual((b"", self.broken), peer.rest())
        self.expect_rows(host, OPEN, INTENT, "http error client_abort None",
                         END)
        self.counts(1)

    def test_origin_that_resets_within_an_upload_is_a_502(self):
        host, client, peer = self.ask("PUT", b"Content-Length: 1000000\r\n")
        client.send(b"x" * 5000)
        peer.read(5000)
        peer.abort()
        self.assertEqual(502, client.answer()[0])
        client.close()
        self.expect_rows(host, OPEN, INTENT, "http error upstream_reset 502",
                         END)
        self.counts(1)

    def test_small_reads_and_small_buffers_lose_nothing(self):
        host, client, peer = self.ask(buffer=4096)
        size = 3 * MIB + 17
        peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        client.head()

        def write():
            left, step = size, 1
            for piece in pattern(size):
                while piece:
                    part, piece = piece[:step], piece[step:]
                    peer.send(b"%x\r\n%s\r\n" % (len(part), part))
                    step = step * 7 % 65521 + 1
                    left -= len(part)
            peer.send(b"0\r\n\r\n")

        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        whole, got = hashlib.sha256(), 0
        while True:
            line = client.until(b"\r\n").data
            length = int(line, 16)
            data = client.read(length + 2)
            if length == 0:
                break
            whole.update(data[:-2])
            got += length
        self.assertEqual((size, digest(size)), (got, whole.hexdigest()))
        thread.join(60)
        client.close()
        self.expect_rows(host, OPEN, INTENT, "http allow none 200", END)
        self.counts(1)


class Clear(Streams, Story):
    broken = "reset"

    def setUp(self):
        super().setUp()
        self.origin = self.clear

    def open_it(self, host, **more):
        return self.open(host, self.clear.port, **more)


class Tls(Streams, Story):
    broken = "cut"

    def setUp(self):
        super().setUp()
        self.origin = self.tls

    def open_it(self, host, **more):
        client = self.open(host, self.tls.port, **more)
        client.do("tls", name=host)
        return client


class Tunnel(Measured, Story):
    """The same for bytes that are passed on unread."""

    def pair(self):
        host = self.host("tcp.test")
        client = self.open_clear(host)
        client.send(b"\0")
        peer = self.accept(self.clear)
        self.assertEqual(b"\0", peer.read(1))
        return host, client, peer

    def test_both_ways_at_once(self):
        host, client, peer = self.pair()
        before = self.gateway.peak()
        pouring = client.start("pour", count=LARGE)
        thread = threading.Thread(
            target=lambda: [peer.send(p) for p in pattern(LARGE)],
            daemon=True)
        thread.start()
        left = LARGE
        while left > 0:
            left -= len(peer.read(min(left, MIB)))
        pouring()
        got = client.do("soak", count=LARGE)
        self.assertEqual((LARGE, digest(LARGE)), (got["got"], got["digest"]))
        thread.join(60)
        client.close()
        peer.close()
        rows = self.expect_rows(host, OPEN, "flow_end allow none None")
        self.assertEqual((LARGE + 1, LARGE),
                         (rows[1]["bytes_out"], rows[1]["bytes_in"]))
        self.holds_little(before)
        self.counts(1)

    def test_reset_goes_on_as_a_reset(self):
        # S13
        host, client, peer = self.pair()
        peer.abort()
        self.assertEqual((b"", "reset"), client.rest())
        client.close()
        self.expect_rows(host, OPEN, "flow_end error upstream_reset None")
        self.counts(1)

    def test_clients_reset_goes_on_as_a_reset(self):
        host, client, peer = self.pair()
        client.do("abort")
        self.assertEqual((b"", "reset"), peer.rest())
        self.expect_rows(host, OPEN, "flow_end error client_abort None")
        self.counts(1)


if __name__ == "__main__":
    main()
