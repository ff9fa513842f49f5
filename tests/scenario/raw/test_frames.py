#!/usr/bin/python3 -I
"""frames - each rule of RFC 9113 that a hostile peer may break, from both
sides.  What a client breaks never reaches an origin; what an origin breaks is
told to the client as such, or breaks off.
"""
import json
import base64
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from frames import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY,
                    HEADERS, PADDED, PING, PREFACE, PRIORITY, PUSH_PROMISE,
                    RST_STREAM, SETTINGS, WINDOW_UPDATE, block, frame, head,
                    parse, verdict)
from world import Story, main, until

NO, PROTOCOL, FLOW, CLOSED, SIZE, COMPRESSION, CALM = 0, 1, 3, 5, 6, 9, 11
BOTH = END_STREAM | END_HEADERS


def setting(name, value):
    return struct.pack(">HI", name, value)


def broken(a):
    """(name, bytes behind the preface and SETTINGS, error codes)"""
    good = head(a)
    u32 = struct.Struct(">I").pack
    return [
        ("headers_on_an_even_stream", frame(HEADERS, BOTH, 2, good),
         {PROTOCOL}),
        ("headers_on_stream_0", frame(HEADERS, BOTH, 0, good), {PROTOCOL}),
        ("data_on_stream_0", frame(DATA, 0, 0, b"x"), {PROTOCOL}),
        ("data_on_an_idle_stream", frame(DATA, 0, 1, b"x"), {PROTOCOL}),
        ("frame_that_is_too_long", frame(DATA, 0, 1, b"", 16385), {SIZE}),
        ("settings_of_odd_length", frame(SETTINGS, 0, 0, b"12345"), {SIZE}),
        ("settings_ack_with_payload",
         frame(SETTINGS, ACK, 0, setting(3, 1)), {SIZE}),
        ("settings_on_a_stream", frame(SETTINGS, 0, 1), {PROTOCOL}),
        ("window_of_two_gigabytes",
         frame(SETTINGS, 0, 0, setting(4, 1 << 31)), {FLOW}),
        ("frames_smaller_than_allowed",
         frame(SETTINGS, 0, 0, setting(5, 100)), {PROTOCOL}),
        ("push_neither_on_nor_off",
         frame(SETTINGS, 0, 0, setting(2, 2)), {PROTOCOL}),
        ("ping_of_seven_bytes", frame(PING, 0, 0, b"1234567"), {SIZE}),
        ("ping_on_a_stream", frame(PING, 0, 1, b"12345678"), {PROTOCOL}),
        ("window_update_of_nothing",
         frame(WINDOW_UPDATE, 0, 0, u32(0)), {PROTOCOL}),
        ("window_that_overflows",
         frame(WINDOW_UPDATE, 0, 0, u32((1 << 31) - 1)), {FLOW}),
        ("window_of_an_idle_stream",
         frame(WINDOW_UPDATE, 0, 1, u32(1)), {PROTOCOL}),
        ("window_update_of_odd_length",
         frame(WINDOW_UPDATE, 0, 0, b"123"), {SIZE}),
        ("reset_of_an_idle_stream",
         frame(RST_STREAM, 0, 1, u32(8)), {PROTOCOL}),
        ("reset_of_odd_length",
         frame(RST_STREAM, 0, 1, b"123"), {SIZE}),
        ("reset_on_stream_0", frame(RST_STREAM, 0, 0, u32(8)), {PROTOCOL}),
        ("goaway_on_a_stream", frame(GOAWAY, 0, 1, bytes(8)), {PROTOCOL}),
        ("continuation_of_nothing",
         frame(CONTINUATION, END_HEADERS, 1, good), {PROTOCOL}),
        ("head_that_data_interrupts",
         frame(HEADERS, 0, 1, good) + frame(DATA, 0, 1, b"x"), {PROTOCOL}),
        ("head_that_another_interrupts",
         frame(HEADERS, 0, 1, good) + frame(HEADERS, BOTH, 3, good),
         {PROTOCOL}),
        ("push_from_a_client",
         frame(PUSH_PROMISE, END_HEADERS, 1, u32(2) + good), {PROTOCOL}),
        ("padding_longer_than_its_frame",
         frame(HEADERS, BOTH | PADDED, 1, b"\xff" + good[:9]), {PROTOCOL}),
        ("hpack_of_index_0", frame(HEADERS, BOTH, 1, b"\x80"),
         {COMPRESSION}),
        ("hpack_past_its_table", frame(HEADERS, BOTH, 1, b"\xff\x7f"),
         {COMPRESSION}),
        ("hpack_cut_short", frame(HEADERS, BOTH, 1, good[:-3]),
         {COMPRESSION}),
        ("flood_of_settings", frame(SETTINGS, 0, 0) * 300, {CALM}),
        ("flood_of_pings", frame(PING, 0, 0, b"12345678") * 4000, {CALM}),
        ("flood_of_priorities",
         frame(PRIORITY, 0, 1, u32(0) + b"\1") * 12000, {CALM}),
        ("flood_of_continuations",
         frame(HEADERS, 0, 1) + frame(CONTINUATION, 0, 1) * 50,
         {CALM, PROTOCOL, 2}),
    ]


def malformed(a):
    """(name, block, flags, status)"""
    return [
        ("name_in_upper_case", head(a, (b"Accept", b"x")), BOTH),
        ("pseudo_behind_a_field",
         block((b"x", b"y")) + head(a), BOTH),
        ("pseudo_twice", head(a, (b":path", b"/")), BOTH),
        ("pseudo_unknown", head(a, (b":odd", b"/")), BOTH),
        ("status_in_a_request", head(a, (b":status", b"200")), BOTH),
        ("method_missing", block((b":scheme", b"http"), (b":path", b"/"),
                                 (b":authority", a)), BOTH),
        ("path_empty", head(a, path=b""), BOTH),
        ("path_that_climbs", head(a, path=b"/a/..%2f..\\x"), BOTH),
        ("connection_field", head(a, (b"connection", b"close")), BOTH),
        ("transfer_encoding",
         head(a, (b"transfer-encoding", b"chunked")), END_HEADERS),
        ("te_of_more_than_trailers", head(a, (b"te", b"gzip")), BOTH),
        ("line_in_a_value", head(a, (b"x", b"a\r\nb: c")), BOTH),
        ("nul_in_a_value", head(a, (b"x", b"a\0b")), BOTH),
        ("blank_around_a_value", head(a, (b"x", b" y")), BOTH),
        ("host_that_disagrees", head(a, (b"host", b"other.test")), BOTH),
        ("connect", block((b":method", b"CONNECT"), (b":authority", a)),
         END_HEADERS),
        ("length_without_data", head(a, (b"content-length", b"3")), BOTH),
        ("two_lengths", head(a, (b"content-length", b"3"),
                             (b"content-length", b"3")), END_HEADERS),
        ("method_in_lower_case", head(a, method=b"get"), BOTH),
        # Each would be a second request where it is written as HTTP/1.1.
        ("line_in_the_path",
         head(a, path=b"/x HTTP/1.1\r\nHost: y\r\n\r\n"), BOTH),
        ("blank_in_the_path", head(a, path=b"/x y"), BOTH),
        ("tab_in_the_path", head(a, path=b"/x\ty"), BOTH),
        ("fragment_in_the_path", head(a, path=b"/x#y"), BOTH),
        ("path_of_another_form", head(a, path=b"http://other.test/"), BOTH),
        ("line_in_the_authority", head(a + b"\r\nx: y"), BOTH),
        ("user_in_the_authority", head(b"me@" + a), BOTH),
        ("line_in_the_method", head(a, method=b"GET / HTTP/1.1\r\nX:"), BOTH),
        ("blank_in_the_method", head(a, method=b"GET x"), BOTH),
        ("line_in_a_name", head(a, (b"x\r\ny", b"z")), BOTH),
        ("colon_in_a_name", head(a, (b"x:y", b"z")), BOTH),
        ("blank_in_a_name", head(a, (b"x ", b"z")), BOTH),
        ("name_of_nothing", head(a, (b"", b"z")), BOTH),
        ("lone_line_feed_in_a_value", head(a, (b"x", b"a\nb")), BOTH),
        ("length_with_a_sign", head(a, (b"content-length", b"+0")), BOTH),
        ("upgrade_field", head(a, (b"upgrade", b"h2c")), BOTH),
        ("keep_alive_field", head(a, (b"keep-alive", b"x")), BOTH),
        ("proxy_connection_field",
         head(a, (b"proxy-connection", b"close")), BOTH),
    ]


class Frames(Story):
    def begin(self, name):
        host = name.replace("_", "-")[:50].strip("-") + ".raw.test"
        client = self.open_clear(host)
        client.send(PREFACE + frame(SETTINGS, 0, 0))
        return host, client, b"%s:%d" % (host.encode(), self.clear.port)

    def test_broken_frames_end_the_connection(self):
        before = self.clear.arrivals()
        for name, _, codes in broken(b"x"):
            with self.subTest(name):
                _, client, authority = self.begin(name)
                data = {row[0]: row[1] for row in broken(authority)}[name]
                try:
                    client.send(data)
                    client.start("shutdown")
                except AssertionError:
                    pass  # it was gone before it had sent all
                answer, _ = client.rest()
                client.close()
                met = verdict(answer)
                self.assertIsNotNone(met, answer)
                self.assertIn(met[1], codes)
        self.assertEqual(before, self.clear.arrivals())

    def test_malformed_heads_are_refused_with_a_row(self):
        before = self.clear.arrivals()
        names = [row[0] for row in malformed(b"x")]
        for name in names:
            with self.subTest(name):
                host, client, authority = self.begin(name)
                data, flags = {row[0]: row[1:] for row in
                               malformed(authority)}[name]
                client.send(frame(HEADERS, flags, 1, data))
                answer = client.until(b"}\n").data
                client.close()
                self.assertIn(b'"status":400', answer)
                rows = self.rows_of(host, 2)
                self.assertEqual(
                    ("http", "error", 400),
                    (rows[1]["kind"], rows[1]["verdict"], rows[1]["status"]))
                self.assertIn(rows[1]["reason"], ("malformed", "ambiguous"))
                detail = json.loads(rows[1]["detail"])
                self.assertTrue(detail["cause"])
                self.assertTrue(detail["excerpt"])
        self.assertEqual(before, self.clear.arrivals())
        self.counts(len(names))

    def test_head_that_is_too_long_is_told_so(self):
        host, client, authority = self.begin("too_long")
        whole = head(authority, *[(b"x-%d" % i, b"y" * 900)
                                  for i in range(80)])
        client.send(frame(HEADERS, END_STREAM, 1, whole[:16384]))
        pieces = [whole[i:i + 16384] for i in range(16384, len(whole), 16384)]
        for piece in pieces[:-1]:
            client.send(frame(CONTINUATION, 0, 1, piece))
        client.send(frame(CONTINUATION, END_HEADERS, 1, pieces[-1]))
        self.assertIn(b'"status":431', client.until(b"}\n").data)
        client.close()
        self.rows_of(host, 2)
        self.counts(1)

    def test_rapid_resets_end_the_connection(self):
        host, client, authority = self.begin("rapid")
        u32 = struct.pack(">I", 8)
        flood = b"".join(
            frame(HEADERS, END_HEADERS, i, head(authority, method=b"get")) +
            frame(RST_STREAM, 0, i, u32) for i in range(1, 2401, 2))
        client.start("send", data=base64.b64encode(flood).decode())
        answer, _ = client.rest()
        client.close()
        # nghttp2 counts too, and calls it an internal error.
        self.assertIn(verdict(answer), [("goaway", CALM), ("goaway", 2)])
        until("the end", lambda: any(
            row["kind"] == "flow_end" for row in self.audit.of(host)))
        asked = len([row for row in self.audit.of(host)
                     if row["kind"] == "http"])
        self.assertLessEqual(asked, 1002)
        self.counts(asked)

    # What an origin may break.

    def ask(self, name):
        """A request on its way; (host, client, origin's end, stream)."""
        host, client, authority = self.begin(name)
        client.send(frame(HEADERS, BOTH, 1, head(authority)))
        peer = self.accept(self.clear)
        self.assertEqual(PREFACE, peer.read(len(PREFACE)))
        stream = None
        while stream is None:
            start = peer.read(9)
            peer.read(int.from_bytes(start[:3], "big"))
            if start[3] == HEADERS:
                stream = int.from_bytes(start[5:9], "big")
        peer.send(frame(SETTINGS, 0, 0) + frame(SETTINGS, ACK, 0))
        return host, client, peer, stream

    def test_answers_that_are_none_are_told_as_such(self):
        u32 = struct.Struct(">I").pack
        ok = block((b":status", b"200"))
        answers = [
            ("no_status", lambda s: frame(HEADERS, BOTH, s, block(
                (b"x", b"y")))),
            ("status_101", lambda s: frame(HEADERS, END_HEADERS, s, block(
                (b":status", b"101")))),
            ("status_of_words", lambda s: frame(HEADERS, BOTH, s, block(
                (b":status", b"ok")))),
            ("hop_field_answered", lambda s: frame(HEADERS, BOTH, s, block(
                (b":status", b"200"), (b"connection", b"close")))),
            ("interim_that_ends", lambda s: frame(HEADERS, BOTH, s, block(
                (b":status", b"103")))),
            ("data_before_a_head", lambda s: frame(DATA, 0, s, b"x")),
            ("push_that_nobody_wants", lambda s: frame(
                PUSH_PROMISE, END_HEADERS, s, u32(2) + ok)),
            ("reset_at_once", lambda s: frame(RST_STREAM, 0, s, u32(2))),
            ("goaway_at_once", lambda s: frame(GOAWAY, 0, 0, bytes(8))),
            ("headers_on_a_stream_of_ours_to_come",
             lambda s: frame(HEADERS, BOTH, s + 2, ok)),
            ("settings_on_this_stream", lambda s: frame(SETTINGS, 0, s)),
        ]
        for name, make in answers:
            with self.subTest(name):
                host, client, peer, stream = self.ask(name)
                peer.send(make(stream))
                if name == "goaway_at_once":
                    # It was not looked at: another connection may do it.
                    peer = self.accept(self.clear)
                    peer.read(len(PREFACE))
                    peer.close()
                self.assertIn(b'"status":502', client.until(b"}\n").data)
                client.close()
                rows = self.rows_of(host, 3)
                self.assertEqual(502, rows[2]["status"])
                self.counts(1)

    def test_bodies_that_are_not_whole_are_broken_off(self):
        # S13
        ends = [
            ("more_than_promised", b"xxxx", 0),
            ("less_than_promised", b"xx", END_STREAM),
        ]
        for name, data, flags in ends:
            with self.subTest(name):
                host, client, peer, stream = self.ask(name)
                peer.send(frame(HEADERS, END_HEADERS, stream, block(
                    (b":status", b"200"), (b"content-length", b"3"))))
                peer.send(frame(DATA, flags, stream, data))
                heard = b""
                while not any(kind == RST_STREAM
                              for kind, _, _, _ in parse(heard)):
                    heard += client.read(1)
                self.assertFalse(any(
                    kind == DATA and flag & END_STREAM
                    for kind, flag, _, _ in parse(heard)))
                client.close()
                rows = self.rows_of(host, 3)
                self.assertEqual("upstream_malformed", rows[2]["reason"])
                self.counts(1)


if __name__ == "__main__":
    main()
