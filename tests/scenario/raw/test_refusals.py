#!/usr/bin/python3 -I
"""refusals - what must not pass, in raw bytes, and how it is told.

Of a request that is refused the origin sees nothing; the client sees a page
that says why; the audit has one row with the same reason.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import HERE, Story, main, request, until

VECTORS = os.path.join(HERE, "../../gateway/proto/vectors/bad")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: api.example.test\r\n\r\n"


def vectors(kind):
    for name in sorted(os.listdir(VECTORS)):
        if name.startswith(kind + "."):
            with open(os.path.join(VECTORS, name), "rb") as source:
                yield name[len(kind) + 1:], source.read()


def page(answer):
    status, head, body = answer
    assert b"\r\nContent-Type: application/problem+json\r\n" in head, head
    return status, json.loads(body)


class Vectors:
    """Every head that must be refused (B34 and its kind)."""

    def meet(self, word, data):
        """How one vector is met: (host, status or the end, reason)."""
        host = "%s.raw.test" % word.lower().replace(".", "-").replace("_", "-")
        authority = b"%s:%d" % (host.encode(), self.origin.port)
        client = self.open_it(host)
        client.send(data.replace(b"api.example.test", authority) +
                    HIDDEN.replace(b"api.example.test", authority))
        # It may be refused, and gone, before its last byte.
        client.start(self.end)
        answer, end = client.rest()
        client.close()
        self.assertIn(end, ("eof", "reset", "cut"), word)
        if not answer:
            return host, None, None
        if not answer.startswith(b"HTTP/1.1 "):
            # It began HTTP/2, and what followed is none: GOAWAY.
            self.assertIn(b"\x07\0\0\0\0\0", answer)
            self.assertNotIn(b"HTTP/1.1", answer)
            return host, None, None
        head, _, body = answer.partition(b"\r\n\r\n")
        self.assertIn(b"\r\nConnection: close\r\n", head + b"\r\n", word)
        # One answer: what came behind was not taken for a request.
        self.assertNotIn(b"}\nHTTP/1.1 ", body)
        return host, int(head.split()[1]), json.loads(body)["reason"]

    def test_every_bad_head_is_refused_and_the_origin_sees_nothing(self):
        before = self.origin.arrivals()
        met = {}
        for word, data in vectors("request"):
            with self.subTest(word):
                host, status, reason = self.meet(word, data)
                met[host] = (status, reason)
                if status is None:
                    # What does not begin as HTTP is none.
                    self.assertIs(self.origin, self.clear)
                    continue
                self.assertIn(status, (400, 414, 431))
                self.assertIn(reason, ("malformed", "ambiguous"))
        self.nothing_arrived(before, len(met))
        for host, (status, reason) in met.items():
            rows = until("a refusal of " + host, lambda: [
                row for row in self.audit.of(host)
                if row["reason"] not in (None, "none")])
            with self.subTest(host):
                wanted = ("http", "error", reason, status)
                if status is None and host.startswith("target-preface"):
                    # It ends a flow, and is no request.
                    wanted = ("flow_end", "error", "malformed", None)
                    self.counts(-1)
                elif status is None:
                    wanted = ("flow_open", "deny", "no_rule", None)
                    self.counts(0, 1)
                self.assertEqual([wanted], [
                    (row["kind"], row["verdict"], row["reason"],
                     row["status"]) for row in rows])
                if status is not None:
                    self.shows(rows[0]["detail"])
        self.counts(len(met))

    def shows(self, detail):
        """What could not be read is quoted, and which rule it broke."""
        detail = json.loads(detail)
        self.assertTrue(detail["cause"])
        self.assertTrue(detail["excerpt"])

    def test_bad_chunks_never_make_a_whole_body(self):
        for word, data in vectors("chunked"):
            with self.subTest(word):
                host = ("chunked-" + word.replace("_", "-").replace(".", "-")
                        + ".raw.test")
                client = self.open_it(host)
                client.send(request(
                    "POST", host, self.origin.port, "/",
                    b"Transfer-Encoding: chunked\r\n"))
                peer = self.accept(self.origin)
                peer.head()
                # What is only short is not wrong: it may come yet.
                client.send(data + b"0\r\n\r\n" + b"x" * 32)
                client.send(HIDDEN)
                data, end = peer.rest()
                self.assertNotIn(b"\r\n0\r\n\r\n", data)
                self.assertNotIn(b"hidden", data)
                self.assertNotEqual("eof", end)
                self.assertEqual(400, client.answer()[0])
                client.close()
                self.expect_rows(
                    host, "flow_open allow none None",
                    "http_intent allow none None",
                    "http error malformed 400", "flow_end info none None")
                self.counts(1)


class Clear(Vectors, Story):
    end = "shutdown"

    def setUp(self):
        self.origin = self.clear

    def open_it(self, host):
        return self.open_clear(host)

    def nothing_arrived(self, before, count):
        self.assertEqual(before, self.origin.arrivals())


class Tls(Vectors, Story):
    end = "settle"

    def setUp(self):
        self.origin = self.tls

    def open_it(self, host):
        return self.open_tls(host)

    def nothing_arrived(self, before, count):
        """A connection was made before the request was read; no byte came."""
        self.assertEqual(before + count, self.origin.arrivals())
        for _ in range(count):
            self.assertEqual(b"", self.accept(self.origin).nothing())


if __name__ == "__main__":
    main()
