#!/usr/bin/python3 -I
"""messages - HTTP/1.1 as origins and clients really speak it.

Both ends are raw bytes: what the origin saw, what the client saw, and the
rows, which must be there before the origin sees the first byte.
"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import Story, main, request

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
PAIR = ("http_intent allow none None", "http allow none 200")


class Messages:
    """The same over clear TCP and inside TLS."""

    def dial(self):
        host = self.host()
        client = self.open_it(host)
        return host, client

    def ask(self, method="GET", path="/", fields=b"", body=b""):
        """A request on its way: (host, client, peer, what the peer saw)."""
        host, client = self.dial()
        client.send(request(method, host, self.origin.port, path, fields,
                            body))
        peer = self.accept(self.origin)
        return host, client, peer, peer.head()

    def ends(self, host, *rows):
        """The rows of a connection that has ended, behind its opening."""
        return self.expect_rows(
            host, "flow_open allow none None", *rows,
            "flow_end info none None")

    def test_intent_is_a_row_before_the_origin_sees_a_byte(self):
        host, client, peer, head = self.ask("GET", "/a/b?key=value&c")
        rows = self.audit.of(host)
        self.assertEqual(["flow_open", "http_intent"],
                         [row["kind"] for row in rows])
        self.assertEqual(("GET", "/a/b?key&c"),
                         (rows[1]["verb"], rows[1]["object"]))
        self.assertIn(b"GET /a/b?key=value&c HTTP/1.1\r\n", head)
        peer.send(OK)
        self.assertEqual(200, client.answer()[0])
        client.close()
        rows = self.ends(host, *PAIR)
        self.assertEqual(rows[1]["seq"], rows[2]["parent_seq"])
        self.assertEqual(rows[1]["req"], rows[2]["req"])
        self.assertEqual(rows[0]["seq"], rows[3]["parent_seq"])
        self.assertEqual((len(head), len(OK)),
                         (rows[2]["bytes_out"], rows[2]["bytes_in"]))
        self.counts(1)

    def test_connection_is_kept_for_the_next_request(self):
        host, client, peer, _ = self.ask()
        for _ in range(3):
            peer.send(OK)
            self.assertEqual(200, client.answer()[0])
            client.send(request("GET", host, self.origin.port))
            peer.head()
        peer.send(OK)
        client.answer()
        client.close()
        self.ends(host, *PAIR * 4)
        # It outlives its client, and serves the next one.
        before = self.origin.arrivals()
        client = self.open_it(host)
        client.send(request("GET", host, self.origin.port, "/next"))
        self.assertIn(b"GET /next ", peer.head())
        peer.send(OK)
        self.assertEqual(200, client.answer()[0])
        self.assertEqual(before, self.origin.arrivals())
        client.close()
        ended = ("flow_open allow none None", "flow_end info none None")
        self.expect_rows(host, ended[0], *PAIR * 4, ended[1], ended[0],
                         *PAIR, ended[1])
        self.counts(5)

    def test_early_answer_to_an_upload_reaches_the_client(self):
        # S10: 413 before the body
        host, client, peer, head = self.ask(
            "POST", "/up", b"Content-Length: 1000000\r\n", b"x" * 1000)
        self.assertIn(b"Content-Length: 1000000\r\n", head)
        peer.read(1000)
        peer.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
        status, head, body = client.answer()
        self.assertEqual((413, b"big"), (status, body))
        self.assertIn(b"Connection: close\r\n", head)
        self.assertEqual((b"", "eof"), client.rest())
        client.close()
        self.ends(host, "http_intent allow none None", "http allow none 413")
        self.counts(1)

    def test_continue_is_forwarded_and_not_invented(self):
        # S10
        host, client, peer, head = self.ask(
            "POST", "/up", b"Expect: 100-continue\r\nContent-Length: 4\r\n")
        self.assertIn(b"Expect: 100-continue\r\n", head)
        peer.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.assertEqual(b"HTTP/1.1 100 Continue\r\n\r\n", client.head())
        client.send(b"body")
        self.assertEqual(b"body", peer.read(4))
        peer.send(OK)
        self.assertEqual(200, client.answer()[0])
        client.close()
        self.ends(host, *PAIR)
        self.counts(1)

    def test_expectation_that_failed_is_told_before_the_body(self):
        # S10
        host, client, peer, _ = self.ask(
            "POST", "/up", b"Expect: 100-continue\r\nContent-Length: 4\r\n")
        peer.send(b"HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n")
        self.assertEqual(417, client.answer()[0])
        client.close()
        self.ends(host, "http_intent allow none None", "http allow none 417")
        self.counts(1)

    def test_early_hints_come_before_the_answer(self):
        host, client, peer, _ = self.ask()
        peer.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        self.assertIn(b"103 Early Hints\r\nLink: </a>\r\n", client.head())
        peer.send(OK)
        self.assertEqual(200, client.answer()[0])
        client.close()
        self.ends(host, *PAIR)
        self.counts(1)

    def test_answer_to_head_has_a_length_and_no_body(self):
        # S26 too: a rule for reading covers HEAD
        host, client, peer, _ = self.ask("HEAD")
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
        self.assertIn(b"Content-Length: 5000\r\n", client.head())
        client.send(request("GET", host, self.origin.port))
        peer.head()
        peer.send(OK)
        self.assertEqual(b"ok", client.answer()[2])
        client.close()
        self.ends(host, *PAIR * 2)
        self.counts(2)

    def test_answers_without_a_body_do_not_wait_for_one(self):
        host, client, peer, _ = self.ask()
        peer.send(b"HTTP/1.1 204 No Content\r\n\r\n")
        self.assertIn(b" 204 ", client.head())
        client.send(request("GET", host, self.origin.port))
        peer.head()
        peer.send(b"HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n"
                  b"Content-Length: 77\r\n\r\n")
        self.assertIn(b" 304 ", client.head())
        client.send(request("GET", host, self.origin.port))
        peer.head()
        peer.send(OK)
        client.answer()
        client.close()
        self.ends(host, "http_intent allow none None", "http allow none 204",
                  "http_intent allow none None", "http allow none 304", *PAIR)
        self.counts(3)

    def test_chunks_and_trailers_pass_and_extensions_are_dropped(self):
        host, client, peer, _ = self.ask()
        peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                  b"Trailer: X-Sum\r\n\r\n5;ext=1\r\nhello\r\n"
                  b"0\r\nX-Sum: 1\r\n\r\n")
        client.head()
        reply = client.until(b"\r\n\r\n").data
        self.assertIn(b"\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n", reply)
        self.assertNotIn(b"ext", reply)
        # Trailers must not spoil the connection for the client.
        client.send(request("GET", host, self.origin.port))
        peer = self.accept(self.origin)
        peer.head()
        peer.send(OK)
        client.answer()
        client.close()
        self.ends(host, *PAIR * 2)
        self.counts(2)

    def test_chunked_upload_with_trailers_arrives(self):
        host, client, peer, head = self.ask(
            "PUT", "/x", b"Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n",
            b"3;a=b\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n")
        self.assertIn(b"Transfer-Encoding: chunked\r\n", head)
        body = peer.until(b"\r\n\r\n")
        self.assertTrue(body.endswith(b"\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n"),
                        body)
        self.assertNotIn(b"a=b", body)
        peer.send(OK)
        client.answer()
        client.close()
        self.ends(host, *PAIR)
        self.counts(1)

    def test_answer_that_trickles_arrives_byte_by_byte(self):
        host, client, peer, _ = self.ask()
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
        for i in range(len(head)):
            peer.send(head[i:i + 1])
        client.head()
        for byte in b"abcdef":
            peer.send(bytes([byte]))
            # It is here before the next one is sent.
            self.assertEqual(bytes([byte]), client.read(1))
        client.close()
        self.ends(host, *PAIR)
        self.counts(1)

    def test_chunks_cut_anywhere_arrive(self):
        # Each byte is read before the next is sent, so every cut happens.
        text = (b"3;e=1\r\nabc\r\n10\r\n0123456789abcdef\r\n"
                b"0\r\nT: x\r\n\r\n")
        host, client, peer, _ = self.ask(
            "POST", "/x", b"Transfer-Encoding: chunked\r\n")
        for i in range(len(text)):
            client.send(text[i:i + 1])
            client.do("settle")
        whole = peer.until(b"\r\n\r\n")
        self.assertTrue(whole.endswith(b"0\r\nT: x\r\n\r\n"), whole)
        peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        client.head()
        for i in range(len(text)):
            peer.send(text[i:i + 1])
            peer.settle()
        data = client.until(b"\r\n\r\n").data
        self.assertTrue(data.endswith(b"0\r\nT: x\r\n\r\n"), data)
        client.close()
        self.ends(host, *PAIR)
        self.counts(1)

    def test_request_that_trickles_is_read(self):
        host, client = self.dial()
        text = request("POST", host, self.origin.port, "/",
                       b"Content-Length: 3\r\n", b"abc")
        for i in range(len(text)):
            client.send(text[i:i + 1])
        peer = self.accept(self.origin)
        peer.head()
        self.assertEqual(b"abc", peer.read(3))
        peer.send(OK)
        client.answer()
        client.close()
        self.ends(host, *PAIR)
        self.counts(1)

    def test_close_delimited_body_gets_chunks_for_an_end(self):
        host, client, peer, _ = self.ask()
        peer.send(b"HTTP/1.1 200 OK\r\n\r\nall of it")
        self.assertIn(b"Transfer-Encoding: chunked\r\n", client.head())
        self.assertEqual(b"9\r\nall of it\r\n",
                         b"%X" % len("all of it") + b"\r\n" +
                         client.until(b"it\r\n").data.split(b"\r\n", 1)[1])
        peer.bye()
        self.assertEqual(b"0\r\n\r\n", client.until(b"\r\n\r\n").data)
        client.close()
        self.ends(host, *PAIR)
        self.counts(1)

    def test_old_client_gets_an_end_by_closing(self):
        host, client = self.dial()
        client.send(b"GET / HTTP/1.0\r\nHost: %s:%d\r\n\r\n" %
                    (host.encode(), self.origin.port))
        peer = self.accept(self.origin)
        self.assertIn(b" HTTP/1.1\r\n", peer.head())
        peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                  b"5\r\nhello\r\n0\r\n\r\n")
        data, end = client.rest()
        self.assertNotIn(b"chunked", data)
        self.assertTrue(data.endswith(b"\r\n\r\nhello"), data)
        self.assertEqual("eof", end)
        client.close()
        self.ends(host, *PAIR)
        self.counts(1)

    def test_body_broken_off_is_a_reset_and_never_an_end(self):
        # S13, and S30: the bytes that came are counted
        host, client, peer, _ = self.ask()
        text = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf"
        peer.send(text)
        client.head()
        client.read(4)
        peer.abort()
        self.assertEqual(self.broken, client.rest()[1])
        client.close()
        rows = self.expect_rows(
            host, "flow_open allow none None", "http_intent allow none None",
            "http error upstream_reset 200", "flow_end info none None")
        self.assertEqual(len(text), rows[2]["bytes_in"])
        self.counts(1)

    def test_chunks_without_an_end_are_a_reset(self):
        # S13
        host, client, peer, _ = self.ask()
        peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                  b"4\r\nhalf\r\n")
        client.head()
        client.until(b"half\r\n")
        peer.bye()
        data, end = client.rest()
        self.assertEqual((b"", self.broken), (data, end))
        client.close()
        self.expect_rows(
            host, "flow_open allow none None", "http_intent allow none None",
            "http error upstream_reset 200", "flow_end info none None")
        self.counts(1)

    def test_origin_that_leaves_without_a_word_is_a_502(self):
        host, client, peer, _ = self.ask("POST", "/x")
        peer.bye()
        status, head, body = client.answer()
        self.assertEqual(502, status)
        self.assertIn(b'"reason":"upstream_reset"', body.replace(b" ", b""))
        client.close()
        self.expect_rows(
            host, "flow_open allow none None", "http_intent allow none None",
            "http error upstream_reset 502", "flow_end info none None")
        self.counts(1)

    def test_garbage_for_an_answer_is_a_502(self):
        for garbage, excerpt in (
                (b"SSH-2.0-x\r\n\r\n", "SSH-2.0-[5 bytes]"),
                (b"\0\1\2\3\r\n\r\n", "\\x00\\x01\\x02\\x03\\x0d\\x0a\\x0d\\x0a"),
                (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
                 b"Transfer-Encoding: chunked\r\nSet-Cookie: a=b\r\n\r\n",
                 "HTTP/1.1 200 OK\\x0d\\x0aContent-Length: 1\\x0d\\x0a"
                 "Transfer-Encoding: chunked\\x0d\\x0a"
                 "Set-Cookie:[4 bytes]\\x0d\\x0a\\x0d\\x0a")):
            with self.subTest(garbage):
                host = "g%d-%s" % (len(garbage), self.host())
                client = self.open_it(host)
                client.send(request("GET", host, self.origin.port))
                peer = self.accept(self.origin)
                peer.head()
                peer.send(garbage)
                self.assertEqual(502, client.answer()[0])
                client.close()
                self.expect_rows(
                    host, "flow_open allow none None",
                    "http_intent allow none None",
                    "http error upstream_malformed 502",
                    "flow_end info none None")
                self.assertEqual(excerpt, json.loads(
                    self.audit.of(host)[2]["detail"])["excerpt"])
                self.counts(1)

    def test_head_of_an_answer_has_a_bound(self):
        # S28
        host, client, peer, _ = self.ask()
        peer.send(b"HTTP/1.1 200 OK\r\n")
        try:
            for _ in range(2000):
                peer.send(b"X: " + b"y" * 100 + b"\r\n")
        except OSError:
            pass
        self.assertEqual(502, client.answer()[0])
        client.close()
        self.expect_rows(
            host, "flow_open allow none None", "http_intent allow none None",
            "http error upstream_malformed 502", "flow_end info none None")
        self.counts(1)

    def test_large_head_passes_whole(self):
        host, client, peer, head = self.ask(
            fields=b"X-Big: " + b"b" * 60000 + b"\r\n")
        self.assertIn(b"b" * 60000, head)
        peer.send(b"HTTP/1.1 200 OK\r\nX-Big: " + b"c" * 60000 +
                  b"\r\nContent-Length: 0\r\n\r\n")
        self.assertIn(b"c" * 60000, client.head())
        client.close()
        self.ends(host, *PAIR)
        self.counts(1)

    def test_reused_connection_that_died_is_replaced_for_a_get(self):
        # S15: an idempotent request is tried again, a POST is not
        host, client, peer, _ = self.ask()
        peer.send(OK)
        client.answer()
        client.send(request("GET", host, self.origin.port))
        peer.head()
        peer.close()
        peer = self.accept(self.origin)
        self.assertIn(b"GET / ", peer.head())
        peer.send(OK)
        self.assertEqual(200, client.answer()[0])
        client.send(request("POST", host, self.origin.port, "/",
                            b"Content-Length: 1\r\n", b"x"))
        peer.head()
        peer.close()
        self.assertEqual(502, client.answer()[0])
        client.close()
        self.ends(host, *PAIR * 2, "http_intent allow none None",
                  "http error upstream_reset 502")
        self.counts(3)

    def test_pipelined_requests_are_answered_in_order(self):
        host, client = self.dial()
        client.send(b"".join(request("GET", host, self.origin.port, "/%d" % i)
                             for i in range(5)))
        peer = self.accept(self.origin)
        for i in range(5):
            self.assertIn(b"GET /%d " % i, peer.head())
            # The next is not sent before this one is answered.
            self.assertEqual(b"", peer.bytes)
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d" % i)
        for i in range(5):
            self.assertEqual(b"%d" % i, client.answer()[2])
        client.close()
        self.ends(host, *PAIR * 5)
        self.counts(5)

    def test_denied_request_among_allowed_ones_never_arrives(self):
        host, client = self.dial()
        client.send(b"".join(request("GET", host, self.origin.port, path)
                             for path in ("/1", "/secret/2", "/3")))
        peer = self.accept(self.origin)
        self.assertIn(b"GET /1 ", peer.head())
        peer.send(OK)
        self.assertIn(b"GET /3 ", peer.head())
        peer.send(OK)
        self.assertEqual(200, client.answer()[0])
        status, head, body = client.answer()
        self.assertEqual(403, status)
        self.assertIn(b"application/problem+json", head)
        self.assertIn(b"nobody's business", body)
        self.assertEqual(200, client.answer()[0])
        client.close()
        self.ends(host, *PAIR, "http deny denied 403", *PAIR)
        self.counts(3, 1)

    def test_redirects_are_the_clients_business(self):
        # S33
        host, client, peer, _ = self.ask()
        before = self.origin.arrivals()
        peer.send(b"HTTP/1.1 302 Found\r\nLocation: http://%s:%d/x\r\n"
                  b"Content-Length: 0\r\n\r\n" %
                  (host.encode(), self.origin.port))
        self.assertIn(b"Location: http://", client.head())
        client.close()
        self.assertEqual(before, self.origin.arrivals())
        self.ends(host, "http_intent allow none None", "http allow none 302")
        self.counts(1)

    def test_encoded_slash_and_compressed_bytes_pass_unchanged(self):
        # S25, S24
        body = bytes(range(256)) * 8
        host, client, peer, head = self.ask("GET", "/@scope%2fname")
        self.assertIn(b"GET /@scope%2", head.replace(b"%2F", b"%2f"))
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                  b"Content-Length: 2048\r\n\r\n" + body)
        status, head, got = client.answer()
        self.assertIn(b"Content-Encoding: gzip\r\n", head)
        self.assertEqual(body, got)
        client.close()
        self.ends(host, *PAIR)
        self.counts(1)

    def test_forwarding_fields_change_nothing(self):
        # C25
        host, client, peer, head = self.ask(
            fields=b"X-Forwarded-Host: denied.test\r\n"
                   b"Forwarded: host=denied.test\r\n")
        self.assertIn(b"Host: %s:%d\r\n" % (host.encode(), self.origin.port),
                      head)
        peer.send(OK)
        client.answer()
        client.close()
        self.ends(host, *PAIR)
        self.counts(1)


class Clear(Messages, Story):
    broken = "reset"

    def setUp(self):
        self.origin = self.clear

    def open_it(self, host):
        return self.open_clear(host)

    def test_half_closed_client_still_gets_its_answer(self):
        host, client, peer, _ = self.ask()
        client.do("shutdown")
        peer.send(OK)
        self.assertEqual(b"ok", client.answer()[2])
        self.assertEqual((b"", "eof"), client.rest())
        client.close()
        self.ends(host, *PAIR)
        self.counts(1)


class Tls(Messages, Story):
    # Python's ssl does not tell a reset from an end without a close_notify.
    broken = "cut"

    def setUp(self):
        self.origin = self.tls

    def open_it(self, host):
        return self.open_tls(host)

    def test_tls_cut_without_a_goodbye_is_no_end(self):
        # S13: a body that only the end of the connection delimits
        host, client, peer, _ = self.ask()
        peer.send(b"HTTP/1.1 200 OK\r\n\r\npart")
        client.head()
        client.until(b"part\r\n")
        peer.close()
        self.assertEqual((b"", self.broken), client.rest())
        client.close()
        self.expect_rows(
            host, "flow_open allow none None", "http_intent allow none None",
            "http error upstream_reset 200", "flow_end info none None")
        self.counts(1)


if __name__ == "__main__":
    main()
