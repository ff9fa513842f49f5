#!/usr/bin/python3 -I
"""endurance - much, many and bad for long: memory and descriptors come back.

Everything is done in waves that are alike.  What the first wave needs may
stay, since pools and caches keep it; what a later wave adds to that is a leak.
EXEAT_FULL=1 makes the waves as large as the gateway must bear: 8 GiB each
way, 5,000 idle and 1,000 busy connections at once.
"""
import hashlib
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_crowd
from test_streams import MIB, Gateway, digest, pattern
from world import Story, main, request, until

FULL = os.environ.get("EXEAT_FULL") == "1"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
# One body, and how many follow each other on one connection.
BODY, BODIES = 256 * MIB, 32 if FULL else 1
IDLE, BUSY = (5000, 1000) if FULL else (500, 100)
REQUESTS = 20 if FULL else 5
WAVES = 4
BAD = 200 if FULL else 20
# Pages that come and go with the allocator's moods: 440 bytes for each
# connection of the two waves that are compared, 44 in full.
SLACK = MIB // 2
# A few buffers for one connection, far below its bodies.
GROWTH = 16 * MIB


class Enduring:
    """Of test_crowd's tests none is taken over, only what they stand on."""

    descriptors = test_crowd.Crowd.descriptors
    sockets = test_crowd.Crowd.sockets
    nothing_is_left = test_crowd.Crowd.nothing_is_left
    gather = test_crowd.Crowd.gather
    clear_away = test_crowd.Crowd.clear_away

    @classmethod
    def tearDownClass(cls):
        """Exact counts are other tests' business."""
        code, _ = cls.sandbox.end()
        errors = cls.sandbox.stderr()
        for word in ("Sanitizer", "runtime error", "Assertion"):
            if word in errors:
                raise AssertionError(errors)
        if code != 0:
            raise AssertionError("the run ended with %d\n%s" % (code, errors))

    def setUp(self):
        test_crowd.Crowd.setUp(self)
        self.process = Gateway(self.gateway)

    def resident(self):
        said = self.process.of("status").split("VmRSS:")[1]
        return int(said.split()[0]) * 1024

    def waves(self, wave):
        """Does it again and again; the last may need no more than before."""
        sizes = []
        for number in range(WAVES):
            wave(self.host())
            self.nothing_is_left()
            sizes.append(self.resident())
        # AddressSanitizer keeps what is freed, up to 256 MiB.
        if not self.process.is_sanitized():
            self.assertLess(sizes[-1] - max(sizes[:2]), SLACK, sizes)


class Bulk(Enduring, Story):
    def measure(self, move):
        host = self.host()
        client = self.open_tls(host)
        peer = None
        for _ in range(BODIES):
            peer = move(client, peer, host)
        if not self.process.is_sanitized():
            self.assertLess(self.process.peak() - self.first, GROWTH)
        client.close()

    def setUp(self):
        super().setUp()
        self.first = self.process.peak()

    def test_downloads(self):
        def move(client, peer, host):
            client.send(request("GET", host, self.tls.port))
            peer = peer or self.accept(self.tls)
            peer.head()
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % BODY)
            client.head()
            soaking = client.start("soak", count=BODY)
            for piece in pattern(BODY):
                peer.send(piece)
            got = soaking()
            self.assertEqual((BODY, digest(BODY)),
                             (got["got"], got["digest"]))
            return peer

        self.measure(move)

    def test_uploads(self):
        def move(client, peer, host):
            client.send(request("PUT", host, self.tls.port, "/",
                                b"Content-Length: %d\r\n" % BODY))
            peer = peer or self.accept(self.tls)
            peer.head()
            pouring = client.start("pour", count=BODY)
            whole, left = hashlib.sha256(), BODY
            while left > 0:
                piece = peer.read(min(left, MIB))
                whole.update(piece)
                left -= len(piece)
            self.assertEqual(digest(BODY), whole.hexdigest())
            self.assertEqual(BODY, pouring()["sent"])
            peer.send(OK)
            self.assertEqual(200, client.answer()[0])
            return peer

        self.measure(move)


class Many(Enduring, Story):
    options = ("--limit", "open-files=8192")

    def test_idle_and_busy_connections_at_once(self):
        def wave(host):
            idle = self.gather(host, self.clear, IDLE)
            busy = self.gather(host, self.tls, BUSY)
            busy.do("crowd_tls", name=host)
            ask = test_crowd.text(request("GET", host, self.tls.port))
            peers = None
            for _ in range(REQUESTS):
                busy.do("crowd_send", data=ask)
                peers = peers or self.tls.serve(BUSY, OK)
                seen = busy.do("crowd_read", count=len(OK))["seen"]
                self.assertEqual([BUSY], list(seen.values()), seen)
            # The idle ones are still there, and serve.
            idle.do("crowd_send", last=1, data=test_crowd.text(
                request("GET", host, self.clear.port)))
            peers += self.clear.serve(1, OK)
            self.assertEqual(1, idle.do("crowd_read", last=1,
                                        count=len(OK))["seen"].popitem()[1])
            busy.do("crowd_end", how="close")
            idle.do("crowd_end", how="abort", last=IDLE // 2)
            idle.do("crowd_end", how="close", first=IDLE // 2)
            # A thread of ours still reads from each: closing would wait.
            for peer in peers:
                peer.shutdown()
            self.clear_away(peers)

        self.waves(wave)


    @unittest.skipUnless(FULL, "connections outside rest for half a minute")
    def test_what_idle_connections_took_is_given_back(self):
        if self.process.is_sanitized():
            self.skipTest("AddressSanitizer keeps what is freed")
        before = self.resident()
        host = self.host()
        crowd = self.gather(host, self.tls, BUSY)
        crowd.do("crowd_tls", name=host)
        crowd.do("crowd_send", data=test_crowd.text(
            request("GET", host, self.tls.port)))
        peers = self.tls.serve(BUSY, OK)
        crowd.do("crowd_read", count=len(OK))
        grown = self.resident() - before
        crowd.do("crowd_end", how="close")
        self.clear_away(peers)
        until("half of it is given back",
              lambda: self.resident() < before + grown // 2)


class Bad(Enduring, Story):
    """Origins and clients that do not do what they should, each for long."""

    def many(self, end):
        """A wave is one connection after the other, each ended this way."""
        def wave(host):
            client = self.sandbox.client()
            for _ in range(BAD):
                client.do("connect", host=host, port=self.clear.port)
                end(client, host)
                client.do("close")

        self.waves(wave)

    def asked(self, client, host, fields=b""):
        client.send(request("PUT" if fields else "GET", host, self.clear.port,
                            "/", fields))
        peer = self.accept(self.clear)
        peer.head()
        return peer

    def test_origin_resets(self):
        def end(client, host):
            self.asked(client, host).abort()
            self.assertEqual(502, client.answer()[0])

        self.many(end)

    def test_origin_says_garbage(self):
        def end(client, host):
            peer = self.asked(client, host)
            peer.send(b"SSH-2.0-none\r\n\r\n")
            self.assertEqual(502, client.answer()[0])
            peer.close()

        self.many(end)

    def test_origin_trickles_and_leaves(self):
        def end(client, host):
            peer = self.asked(client, host)
            for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab":
                peer.send(bytes([byte]))
            client.head()
            self.assertEqual(b"ab", client.read(2))
            peer.close()
            # A body that is not whole does not look so.
            self.assertEqual("reset", client.rest()[1])

        self.many(end)

    def test_origin_stalls_until_the_client_leaves(self):
        def end(client, host):
            peer = self.asked(client, host)
            client.do("abort")
            self.assertEqual(b"", peer.rest()[0])
            peer.close()

        self.many(end)

    def test_client_says_garbage(self):
        def end(client, host):
            client.send(b"GET / HTTP/1.1\r\nHost : a\r\n\r\n")
            self.assertEqual(400, client.answer()[0])

        self.many(end)

    def test_client_trickles_and_leaves(self):
        def end(client, host):
            for byte in b"GET /secr":
                client.send(bytes([byte]))
            client.do("abort")

        self.many(end)

    def test_client_stalls_in_its_body_and_resets(self):
        def end(client, host):
            peer = self.asked(client, host, b"Content-Length: 100\r\n")
            client.send(b"ab")
            self.assertEqual(b"ab", peer.read(2))
            client.do("abort")
            self.assertEqual("reset", peer.rest()[1])
            peer.close()

        self.many(end)


if __name__ == "__main__":
    main()
