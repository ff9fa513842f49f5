#!/usr/bin/python3 -I
"""protocols - who a connection is for, and what is spoken on it.

One name is compared at every layer: what the address stands for, the TLS
server name, the Host field, the target.  What is not HTTP passes where a rule
says so, and nowhere else.
"""
import json
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import Origin, Refused, Story, main, request, until

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
PAIR = ("http_intent allow none None", "http allow none 200")
OPEN, END = "flow_open allow none None", "flow_end info none None"
SWITCH = (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
          b"Connection: Upgrade\r\n\r\n")
UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"


class Protocols(Story):
    def page(self, client, status, reason):
        """A refusal as every program can read it (A04, A05)."""
        got, head, body = client.answer()
        self.assertEqual(status, got)
        self.assertIn(b"\r\nContent-Type: application/problem+json\r\n", head)
        page = json.loads(body)
        self.assertEqual((reason, status), (page["reason"], page["status"]))
        return page

    def served(self, client, origin, host, path="/"):
        client.send(request("GET", host, origin.port, path))
        peer = self.accept(origin)
        head = peer.head()
        peer.send(OK)
        self.assertEqual(200, client.answer()[0])
        return head

    # Names that must agree.

    def test_host_field_of_another_name_is_refused(self):
        host = self.host()
        client = self.open_clear(host)
        before = self.clear.arrivals()
        client.send(request("GET", "other.raw.test", self.clear.port))
        page = self.page(client, 403, "host_mismatch")
        self.assertIn("was refused by the policy of this sandbox",
                      page["detail"])
        client.close()
        rows = self.expect_rows(host, OPEN, "http deny host_mismatch 403", END)
        self.assertEqual(page["event"], rows[1]["req"].lower())
        self.assertEqual(before, self.clear.arrivals())
        self.counts(1, 1)

    def test_host_field_of_another_port_is_refused(self):
        host = self.host()
        client = self.open_clear(host)
        client.send(request("GET", host, self.tls.port))
        self.page(client, 403, "host_mismatch")
        client.close()
        self.expect_rows(host, OPEN, "http deny host_mismatch 403", END)
        self.counts(1, 1)

    def test_host_field_without_a_port_is_that_of_the_connection(self):
        host = self.host()
        client = self.open_clear(host)
        for path, judged in ((b"/free", None), (b"/secret/x", "denied")):
            client.send(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" %
                        (path, host.encode()))
            if judged is not None:
                self.page(client, 403, judged)
                continue
            peer = self.accept(self.clear)
            # The server reads what was judged.
            self.assertIn(b"GET /free HTTP/1.1\r\nHost: %s:%d\r\n" %
                          (host.encode(), self.clear.port), peer.head())
            peer.send(OK)
            client.answer()
        # An absolute form says port 80 by saying none.
        client.send(b"GET http://%s/free HTTP/1.1\r\nHost: %s\r\n\r\n" %
                    (host.encode(), host.encode()))
        self.page(client, 403, "host_mismatch")
        client.close()
        self.expect_rows(host, OPEN, *PAIR, "http deny denied 403",
                         "http deny host_mismatch 403", END)
        self.counts(3, 2)

    def test_absolute_form_is_judged_as_any_other(self):
        # B20
        host = self.host()
        client = self.open_clear(host)
        authority = "%s:%d" % (host, self.clear.port)
        client.send(b"GET http://%s/secret/x HTTP/1.1\r\nHost: %s\r\n\r\n" %
                    (authority.encode(), authority.encode()))
        self.page(client, 403, "denied")
        client.send(b"GET http://%s/free HTTP/1.1\r\nHost: %s\r\n\r\n" %
                    (authority.encode(), authority.encode()))
        peer = self.accept(self.clear)
        self.assertIn(b"GET /free HTTP/1.1\r\nHost: %s\r\n" %
                      authority.encode(), peer.head())
        peer.send(OK)
        client.answer()
        client.send(b"GET http://other.raw.test:%d/ HTTP/1.1\r\n"
                    b"Host: other.raw.test:%d\r\n\r\n" %
                    (self.clear.port, self.clear.port))
        self.page(client, 403, "host_mismatch")
        client.send(b"GET https://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" %
                    (authority.encode(), authority.encode()))
        self.page(client, 403, "host_mismatch")
        client.close()
        self.expect_rows(
            host, OPEN, "http deny denied 403", *PAIR,
            "http deny host_mismatch 403", "http deny host_mismatch 403", END)
        self.counts(4, 3)

    def test_case_of_a_name_does_not_matter(self):
        # B18
        host = self.host()
        client = self.open(host.upper(), self.tls.port)
        client.do("tls", name=host.title())
        self.served(client, self.tls, host.upper())
        client.close()
        self.expect_rows(host, OPEN, *PAIR, END)
        self.counts(1)

    def test_server_name_of_another_host_is_refused(self):
        # B05: before anything is dialled, with both names in the row
        host = self.host()
        client = self.open(host, self.tls.port)
        before = self.tls.arrivals()
        client.do("tls", name="other.raw.test")
        client.send(request("GET", "other.raw.test", self.tls.port))
        self.page(client, 403, "sni_mismatch")
        client.close()
        rows = self.expect_rows(host, "http deny sni_mismatch 403")
        self.assertEqual("other.raw.test", json.loads(
            rows[0]["detail"])["sni"])
        self.assertEqual(before, self.tls.arrivals())
        self.counts(1, 1)

    def test_no_server_name_is_judged_by_the_name_meant(self):
        host = self.host()
        client = self.open(host, self.tls.port)
        reply = client.do("tls")
        self.assertEqual([host], reply["names"])
        self.served(client, self.tls, host)
        client.close()
        self.expect_rows(host, OPEN, *PAIR, END)
        self.counts(1)

    def test_address_with_an_allowed_server_name_is_refused(self):
        # B03, B07: v4, v6, and v4 in v6
        for i, address in enumerate(("203.0.113.7", "2001:db8::7",
                                     "::ffff:203.0.113.8")):
            for name in ("allowed.raw.test", None):
                with self.subTest((address, name)):
                    client = self.open(address, self.tls.port)
                    client.do("tls", name=name)
                    literal = address.replace("::ffff:", "")
                    host = "[%s]" % literal if ":" in literal else literal
                    client.send(request("GET", host, self.tls.port))
                    self.page(client, 403, "no_rule")
                    client.close()
                    self.counts(1, 1)
            self.assertEqual(
                ["http deny no_rule"] * 2,
                [" ".join((row["kind"], row["verdict"], row["reason"]))
                 for row in self.rows_of(literal, 2)])

    def test_clear_http_to_an_address_is_refused_on_any_port(self):
        # B19, B22
        for port in (80, 8080, self.clear.port):
            client = self.open("203.0.113.%d" % (port % 200 + 20), port)
            client.send(b"GET / HTTP/1.1\r\nHost: allowed.raw.test\r\n\r\n")
            self.page(client, 403, "no_rule")
            client.close()
            self.counts(1, 1)

    def test_allowed_host_on_another_port_is_refused(self):
        # B01
        host = self.host()
        client = self.open(host, 81)
        client.send(request("GET", host, 81))
        self.page(client, 403, "no_rule")
        client.close()
        self.expect_rows(host, "http deny no_rule 403")
        self.counts(1, 1)

    def test_v6_side_of_a_name_leads_to_the_same_host(self):
        # B07
        host = self.host()
        found = self.sandbox.client().do("lookup", host=host)["list"]
        self.assertEqual(2, len(found))
        # As long as one is open, the other has a connection of its own.
        clients = [self.open(address, self.clear.port) for address in found]
        for client in clients:
            self.served(client, self.clear, host)
        for client in clients:
            client.close()
        self.assertEqual(8, len(self.rows_of(host, 8)))
        self.counts(2)

    def test_name_without_a_rule_has_no_address(self):
        # A06: the same reason on DNS
        with self.assertRaises(Refused) as caught:
            self.open("denied.example.org", 443)
        self.assertEqual("no name", str(caught.exception))
        # One row for each type that was asked for, A and AAAA.
        rows = until("two rows", lambda: [
            tuple(row) for row in self.audit.rows(
                "SELECT kind, verdict, reason, verb FROM v_event "
                "WHERE object LIKE 'denied.example.org%' ORDER BY verb")][1:])
        self.assertEqual([("dns", "deny", "no_rule", "AAAA")], rows)
        self.counts(2, 2)

    # Methods and paths.

    def test_rule_for_reading_covers_head_and_refuses_the_rest(self):
        # S26
        host = self.host("read.test")
        client = self.open_clear(host)
        client.send(request("HEAD", host, self.clear.port))
        peer = self.accept(self.clear)
        peer.head()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
        client.head()
        client.send(request("DELETE", host, self.clear.port))
        self.page(client, 403, "method")
        client.close()
        self.expect_rows(host, OPEN, *PAIR, "http deny method 403", END)
        self.counts(2, 1)

    def test_refused_head_gets_no_body(self):
        host = self.host()
        client = self.open_clear(host)
        client.send(request("HEAD", host, self.clear.port, "/secret/x"))
        self.assertIn(b"HTTP/1.1 403 ", client.head())
        # What follows is the answer to the next request at once.
        self.served(client, self.clear, host)
        client.close()
        self.expect_rows(host, OPEN, "http deny denied 403", *PAIR, END)
        self.counts(2, 1)

    def test_refused_upload_is_answered_and_closed(self):
        host = self.host()
        client = self.open_clear(host)
        client.send(request("POST", host, self.clear.port, "/secret/x",
                            b"Content-Length: 100000\r\n", b"x" * 1000))
        self.page(client, 403, "denied")
        # The rest is let in and dropped, or the client would see a reset.
        self.assertEqual(99000, client.do("pour", count=99000)["sent"])
        self.assertEqual((b"", "eof"), client.rest())
        client.close()
        self.expect_rows(host, OPEN, "http deny denied 403", END)
        self.counts(1, 1)

    def test_tricks_with_a_path_meet_the_canonical_one(self):
        # B33
        for path, status, reason in (
                ("/a/../secret/x", 403, "denied"),
                ("/%73ecret/x", 403, "denied"),
                ("/a/%2e%2e/secret/x", 400, "malformed"),
                ("/./secret/x", 403, "denied"),
                ("/a/..;x=/secret/x", 400, "malformed"),
                ("/a\\..\\secret", 400, "malformed"),
                ("//secret/x", 400, "malformed"),
                ("/a/%00", 400, "malformed"),
                ("/%zz", 400, "malformed")):
            with self.subTest(path):
                client = self.open_clear(self.host())
                client.send(request("GET", self.host(), self.clear.port,
                                    path))
                got = client.answer()
                said = json.loads(got[2])["reason"]
                self.assertEqual((status, reason), (got[0], said))
                client.close()
                self.counts(1, 1 if status == 403 else 0)

    # TLS.

    def test_hello_may_be_cut_anywhere(self):
        # S21
        host = self.host()
        length = len(self.sandbox.client().do("hello", name=host).data)
        for cut in sorted({1, 2, 3, 4, 5, 6, 9, 10, 11, 43, 44, length - 1,
                           *range(60, length, 61)}):
            with self.subTest(cut):
                client = self.open(host, self.tls.port)
                client.do("tls", name=host, cut=cut)
                client.close()
        # All of them are given the same connection outside.
        self.assertEqual(b"", self.accept(self.tls).nothing())
        self.assertEqual(0, len([row for row in self.audit.of(host)
                                 if row["reason"] == "malformed"]))

    def test_records_of_one_byte_make_a_hello(self):
        # S21: cut over records, not only over segments
        host = self.host()
        client = self.open(host, self.tls.port)
        hello = client.do("hello", name=host).data
        body = hello[5:]
        client.send(b"".join(b"\x16\x03\x01\0\1" + body[i:i + 1]
                             for i in range(len(body))))
        # A server's first record is a handshake, not an alert.
        self.assertEqual(b"\x16", client.read(1))
        client.do("abort")
        self.accept(self.tls)

    def test_broken_hello_gets_an_alert(self):
        host = self.host()
        client = self.open(host, self.tls.port)
        client.send(b"\x16\x03\x01\0\5\1\0\0\1\0" + b"x" * 40)
        data, _ = client.rest()
        self.assertEqual(b"\x15\x03\x03\0\2\2\x32", data)
        client.close()
        self.expect_rows(host, "flow_open error malformed None")
        self.assertEqual(
            "\\x16\\x03\\x01\\x00\\x05\\x01\\x00\\x00[42 bytes]",
            json.loads(self.audit.of(host)[0]["detail"])["excerpt"])
        self.counts(1)

    def test_client_of_h2_alone_gets_it_whatever_the_server_speaks(self):
        # S08
        host = self.host()
        client = self.open(host, self.tls.port)
        self.assertEqual("h2", client.do("tls", name=host, alpn=["h2"])["alpn"])
        # Who closes with the server's SETTINGS unread resets the connection.
        client.do("shutdown")
        self.assertEqual("eof", client.rest()[1])
        client.close()
        self.assertEqual(b"", self.accept(self.tls).nothing())
        self.expect_rows(host, "flow_open allow none None",
                         "flow_end info none None")

    def test_client_of_both_gets_http1(self):
        host = self.host()
        client = self.open(host, self.tls.port)
        self.assertEqual("http/1.1", client.do(
            "tls", name=host, alpn=["h2", "http/1.1"])["alpn"])
        self.served(client, self.tls, host)
        client.close()
        self.expect_rows(host, OPEN, *PAIR, END)
        self.counts(1)

    def test_origin_of_another_authority_is_a_502(self):
        # The rule names no authority, so the machine's roots are asked.
        host = self.host("roots.test")
        client = self.open_tls(host)
        client.send(request("GET", host, self.tls.port))
        page = self.page(client, 502, "upstream_tls")
        self.assertIn("certificate", page["detail"])
        client.close()
        self.expect_rows(host, OPEN, "http error upstream_tls 502",
                         "flow_end error upstream_tls None")
        self.counts(1)

    def test_origin_that_speaks_no_tls_is_a_502(self):
        host = self.host("mixed.test")
        client = self.open(host, self.clear.port)
        step = client.start("tls", name=host)
        peer = self.accept(self.clear)
        peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        step()
        client.send(request("GET", host, self.clear.port))
        self.page(client, 502, "upstream_tls")
        client.close()
        self.expect_rows(host, OPEN, "http error upstream_tls 502",
                         "flow_end error upstream_tls None")
        self.counts(1)

    def test_port_where_nobody_listens_is_a_502(self):
        for word, client in (("clear", self.open_clear("clear.off.test")),
                             ("tls", self.open_tls("tls.off.test"))):
            host = "%s.off.test" % word
            port = self.clear.port if word == "clear" else self.tls.port
            client.send(request("GET", host, port))
            self.page(client, 502, "upstream_refused")
            client.close()
            self.counts(1)
        rows = self.expect_rows(
            "clear.off.test", OPEN, "http_intent allow none None",
            "http error upstream_refused 502", END)
        self.assertEqual(rows[1]["seq"], rows[2]["parent_seq"])
        self.expect_rows("tls.off.test", OPEN,
                         "http error upstream_refused 502",
                         "flow_end error upstream_refused None")

    # HTTP/2 and upgrades.

    def test_broken_h2_in_the_clear_reaches_nobody(self):
        # B35
        host = self.host()
        client = self.open_clear(host)
        before = self.clear.arrivals()
        # Data on no stream.
        client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0" * 9)
        self.assertIn(b"\x07\0\0\0\0\0", client.rest()[0])
        self.expect_rows(host, "flow_open allow none None",
                         "flow_end error malformed None")
        self.assertEqual(before, self.clear.arrivals())

    def test_upgrade_to_h2c_is_stripped(self):
        # B35
        host = self.host()
        client = self.open_clear(host)
        client.send(request(
            "GET", host, self.clear.port, "/",
            b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
            b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n"))
        peer = self.accept(self.clear)
        head = peer.head().lower()
        self.assertNotIn(b"\nupgrade:", head)
        self.assertNotIn(b"http2-settings", head)
        peer.send(OK)
        client.answer()
        client.close()
        self.expect_rows(host, OPEN, *PAIR, END)
        self.counts(1)

    def test_upgrade_without_a_rule_is_refused(self):
        host = self.host()
        client = self.open_clear(host)
        client.send(request("GET", host, self.clear.port, "/", UPGRADE))
        self.page(client, 403, "upgrade")
        client.close()
        self.expect_rows(host, OPEN, "http deny upgrade 403", END)
        self.counts(1, 1)

    def switch(self, host, client, origin):
        client.send(request("GET", host, origin.port, "/", UPGRADE))
        peer = self.accept(origin)
        head = peer.head()
        self.assertIn(b"Upgrade: websocket\r\n", head)
        self.assertIn(b"Connection: Upgrade\r\n", head)
        return peer

    def test_101_that_nobody_asked_for_is_no_tunnel(self):
        host = self.host()
        client = self.open_clear(host)
        client.send(request("GET", host, self.clear.port))
        peer = self.accept(self.clear)
        peer.head()
        peer.send(SWITCH + b"frame")
        self.page(client, 502, "upstream_malformed")
        client.close()
        self.expect_rows(host, OPEN, "http_intent allow none None",
                         "http error upstream_malformed 502", END)
        self.counts(1)

    def test_bytes_behind_a_101_are_not_lost(self):
        # S01
        for origin in (self.clear, self.tls):
            host = "%d-%s" % (origin.port, self.host("ws.test"))
            client = self.open(host, origin.port)
            if origin is self.tls:
                client.do("tls", name=host)
            peer = self.switch(host, client, origin)
            peer.send(SWITCH + b"frame from the origin")
            self.assertIn(b"Upgrade: websocket\r\n", client.head())
            self.assertEqual(b"frame from the origin", client.read(21))
            client.send(b"frame from the client")
            self.assertEqual(b"frame from the client", peer.read(21))
            peer.send(b"\0\r\n\r\nany bytes")
            self.assertEqual(b"\0\r\n\r\nany bytes", client.read(14))
            peer.bye()
            self.assertEqual((b"", "eof"), client.rest())
            client.close()
            rows = self.expect_rows(
                host, OPEN, "http_intent allow none None",
                "http allow none 101", END)
            self.assertEqual(len(SWITCH) + 21 + 14, rows[2]["bytes_in"])
            self.assertEqual([(4,)], [tuple(row) for row in self.audit.rows(
                "SELECT DISTINCT l7 FROM event WHERE req_id IS NOT NULL AND "
                "dst_id = (SELECT id FROM dst WHERE host = ?)", host)])
            self.counts(1)

    def test_client_that_leaves_a_socket_ends_it(self):
        host = self.host("ws.test")
        client = self.open_clear(host)
        peer = self.switch(host, client, self.clear)
        peer.send(SWITCH)
        client.head()
        client.send(b"bye")
        client.close()
        self.assertEqual(b"bye", peer.read(3))
        self.assertEqual((b"", "eof"), peer.rest())
        peer.close()
        self.expect_rows(host, OPEN, "http_intent allow none None",
                         "http allow none 101", END)
        self.counts(1)

    def test_upgrade_that_the_origin_declines_is_a_plain_answer(self):
        host = self.host("ws.test")
        client = self.open_clear(host)
        peer = self.switch(host, client, self.clear)
        peer.send(OK)
        self.assertEqual(200, client.answer()[0])
        client.send(request("GET", host, self.clear.port))
        peer.head()
        peer.send(OK)
        self.assertEqual(200, client.answer()[0])
        client.close()
        self.expect_rows(host, OPEN, *PAIR * 2, END)
        self.counts(2)

    def test_switch_that_nobody_asked_for_is_malformed(self):
        host = self.host("ws.test")
        client = self.open_clear(host)
        client.send(request("GET", host, self.clear.port))
        peer = self.accept(self.clear)
        peer.head()
        peer.send(SWITCH + b"smuggled")
        self.page(client, 502, "upstream_malformed")
        client.close()
        self.expect_rows(host, OPEN, "http_intent allow none None",
                         "http error upstream_malformed 502", END)
        self.counts(1)

    # What is not HTTP.

    def test_server_that_speaks_first_is_heard(self):
        # S20
        host = self.host("tcp.test")
        client = self.open_clear(host)
        peer = self.accept(self.clear)
        peer.send(b"220 ready\r\n")
        self.assertEqual(b"220 ready\r\n", client.read(11))
        client.send(b"QUIT\r\n")
        self.assertEqual(b"QUIT\r\n", peer.read(6))
        client.do("shutdown")
        self.assertEqual((b"", "eof"), peer.rest())
        # The other half goes on.
        peer.send(b"221 bye\r\n")
        peer.close()
        self.assertEqual((b"221 bye\r\n", "eof"), client.rest())
        client.close()
        rows = self.expect_rows(host, OPEN, "flow_end allow none None")
        self.assertEqual((6, 20), (rows[1]["bytes_out"], rows[1]["bytes_in"]))
        self.assertEqual(rows[0]["seq"], rows[1]["parent_seq"])
        self.counts(1)

    def test_passthrough_has_the_origins_own_certificate(self):
        host = self.host("pass.test")
        client = self.open(host, self.tls.port)
        with self.assertRaises(Refused) as caught:
            client.do("tls", name=host)
        self.assertEqual("untrusted", str(caught.exception))
        client.close()
        self.assertEqual(2, len(self.rows_of(host, 2)))
        self.counts(1)

    def test_passthrough_of_another_server_name_is_refused(self):
        host = self.host("pass.test")
        client = self.open(host, self.tls.port)
        before = self.tls.arrivals()
        client.do("tls", name="other.pass.test")
        client.send(request("GET", "other.pass.test", self.tls.port))
        self.page(client, 403, "sni_mismatch")
        client.close()
        self.expect_rows(host, "http deny sni_mismatch 403")
        self.assertEqual(before, self.tls.arrivals())
        self.counts(1, 1)

    def test_refused_tunnel_counts_once(self):
        host = self.host("offtcp.test")
        client = self.open_clear(host)
        self.assertEqual((b"", "reset"), client.rest())
        rows = self.expect_rows(host, OPEN,
                                "flow_end error upstream_refused None")
        self.assertEqual(rows[0]["seq"], rows[1]["parent_seq"])
        self.counts(1)

    def test_unknown_bytes_where_http_is_allowed_are_refused(self):
        host = self.host()
        client = self.open_clear(host)
        before = self.clear.arrivals()
        client.send(b"\0\1\2\3 not http at all\r\n\r\n")
        self.assertEqual((b"", "reset"), client.rest())
        self.expect_rows(host, "flow_open deny no_rule None")
        self.assertEqual(before, self.clear.arrivals())
        self.counts(1, 1)

    def test_ssh_to_a_host_without_a_rule_gets_a_line(self):
        host = self.host()
        client = self.open_clear(host)
        client.send(b"SSH-2.0-OpenSSH_9.2\r\n")
        data, _ = client.rest()
        self.assertIn(b"exeat: " + host.encode(), data)
        self.assertIn(b"(no_rule)", data)
        client.close()
        self.expect_rows(host, "flow_open deny no_rule None")
        self.counts(1, 1)

    def test_literal_that_a_rule_names_is_reached(self):
        # B03, P15: a rule about addresses, over TLS and in the clear
        if self.outer is None:
            self.skipTest("this machine has no address but loopback")
        client = self.open(self.outer.host, self.outer.port)
        client.send(request("GET", self.outer.host, self.outer.port))
        peer = self.accept(self.outer)
        peer.head()
        peer.send(OK)
        self.assertEqual(200, client.answer()[0])
        client.close()
        self.expect_rows(self.outer.host, OPEN, *PAIR, END)
        self.counts(1)

    @classmethod
    def rules(cls):
        ports = [cls.clear.port, cls.tls.port]
        free = Origin()
        free.close()
        here = {"resolve": "127.0.0.1", "private": True}
        # 127.0.0.2 is this machine too, and nobody listens there.
        gone = {"resolve": "127.0.0.2", "private": True}
        rules = super().rules() + [
            {"id": "roots", "host": ["*.roots.test", "*.mixed.test"],
             "port": ports, **here},
            {"id": "off", "host": ["*.off.test"], "port": ports, **gone},
            {"id": "off-tcp", "host": ["*.offtcp.test"], "port": ports,
             "protocol": "tcp", **gone},
        ]
        address = outer_address()
        cls.outer = None
        if address is not None:
            cls.outer = Origin(host=address)
            cls.outer.host = address
            cls.addClassCleanup(cls.outer.close)
            rules.append({"id": "literal", "address": [address + "/32"],
                          "port": [cls.outer.port], "private": True})
        return rules


def outer_address():
    """An address of this machine that is not loopback; no packet is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return None


if __name__ == "__main__":
    main()
