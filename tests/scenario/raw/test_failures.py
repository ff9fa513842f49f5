#!/usr/bin/python3 -I
"""failures - a program of ours that dies or stands still, and what then.

Nothing leaves unrecorded and nothing is left open: without the audit every
new request is refused, without the gateway there is no way out at all.
"""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import Refused, Story, main, request, until

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
OPEN, END = "flow_open allow none None", "flow_end info none None"
INTENT = "http_intent allow none None"


class Failures:
    def kept(self):
        """A connection that has served one request and is kept."""
        host = self.host()
        client = self.open_it(host)
        client.send(request("GET", host, self.origin.port))
        peer = self.accept(self.origin)
        peer.head()
        peer.send(OK)
        self.assertEqual(200, client.answer()[0])
        return host, client, peer

    def is_unavailable(self, client, host):
        client.send(request("GET", host, self.origin.port))
        status, _, body = client.answer()
        self.assertEqual((503, "audit_unavailable"),
                         (status, json.loads(body)["reason"]))

    def is_gone(self, pid):
        until("the end of %d" % pid,
              lambda: not os.path.exists("/proc/%d" % pid))


class Stopped(Failures, Story):
    """The writer stands still for a while, and goes on."""

    def setUp(self):
        self.origin = self.clear
        self.open_it = self.open_clear

    def test_writer_that_stands_still_stops_new_requests(self):
        # A15
        writer = self.sandbox.sibling("exeat-audit")
        host, client, peer = self.kept()
        waiting = self.open_clear(host)
        os.kill(writer, signal.SIGSTOP)
        self.addCleanup(os.kill, writer, signal.SIGCONT)
        self.is_unavailable(client, host)
        # The request was never sent: its connection has seen no byte of it.
        self.assertEqual(b"", peer.bytes)
        waiting.send(request("GET", host, self.clear.port))
        self.assertEqual(503, waiting.answer()[0])
        os.kill(writer, signal.SIGCONT)
        self.rows_of(host, 7)
        client.send(request("GET", host, self.clear.port, "/again"))
        self.assertIn(b"GET /again ", peer.head())
        peer.send(OK)
        self.assertEqual(200, client.answer()[0])
        client.close()
        waiting.close()
        rows = self.rows_of(host, 11)
        self.assertEqual(
            ["http error audit_unavailable 503"] * 2,
            [" ".join(str(row[key]) for key in
                      ("kind", "verdict", "reason", "status"))
             for row in rows if row["status"] == 503])
        self.counts(4)

    def test_client_that_left_while_its_row_waited_counts_once(self):
        writer = self.sandbox.sibling("exeat-audit")
        host, client, peer = self.kept()
        before = self.clear.arrivals()
        os.kill(writer, signal.SIGSTOP)
        self.addCleanup(os.kill, writer, signal.SIGCONT)
        client.send(request("GET", host, self.clear.port))
        client.do("settle")
        client.do("abort")
        self.assertEqual(b"", peer.rest()[0])
        os.kill(writer, signal.SIGCONT)
        rows = self.expect_rows(
            host, OPEN, INTENT, "http allow none 200", INTENT,
            "http error client_abort None", END)
        self.assertEqual(rows[3]["seq"], rows[4]["parent_seq"])
        self.assertEqual(before, self.clear.arrivals())
        self.counts(2)


class Killed(Failures, Story):
    """The writer is gone for good."""

    @classmethod
    def tearDownClass(cls):
        """Its test has looked at the end."""

    def setUp(self):
        self.origin = self.clear
        self.open_it = self.open_clear

    def test_writer_that_died_ends_the_run_and_lets_nothing_out(self):
        writer = self.sandbox.sibling("exeat-audit")
        gateway = self.sandbox.sibling("exeat-gateway")
        host, client, peer = self.kept()
        before = self.clear.arrivals()
        os.kill(writer, signal.SIGKILL)
        self.is_gone(writer)
        # Refused, or the run is over already: nothing else.
        try:
            self.is_unavailable(client, host)
        except (AssertionError, Refused, OSError):
            pass
        self.assertEqual(b"", peer.rest()[0])
        code, result = self.sandbox.end()
        self.assertEqual(125, code)
        self.assertIn("audit", self.sandbox.stderr())
        self.is_gone(gateway)
        self.assertEqual(before, self.clear.arrivals())


class NoGateway(Failures, Story):
    @classmethod
    def tearDownClass(cls):
        """Its test has looked at the end."""

    def setUp(self):
        self.origin = self.tls
        self.open_it = self.open_tls

    def test_gateway_that_died_leaves_no_way_out(self):
        gateway = self.sandbox.sibling("exeat-gateway")
        host, client, peer = self.kept()
        until("the rows of what is over",
              lambda: len(self.audit.of(host)) == 3)
        os.kill(gateway, signal.SIGKILL)
        self.is_gone(gateway)
        # What was open is over, on both sides.
        self.assertEqual(b"", peer.rest()[0])
        try:
            self.assertEqual(b"", client.rest()[0])
            with self.assertRaises(Refused):
                self.open(host, self.tls.port)
        except AssertionError as error:
            # The command is ended soon, and hand.py with it.
            self.assertIn("the run is over", str(error))
        code, _ = self.sandbox.end()
        self.assertEqual(125, code)
        self.assertIn("gateway", self.sandbox.stderr())
        rows = self.audit.of(host)
        self.assertEqual(["flow_open", "http_intent", "http"],
                         [row["kind"] for row in rows])


class NoParent(Failures, Story):
    @classmethod
    def tearDownClass(cls):
        """Its test has looked at the end."""

    def setUp(self):
        self.origin = self.clear
        self.open_it = self.open_clear

    def test_parent_that_died_takes_everything_with_it(self):
        gateway = self.sandbox.sibling("exeat-gateway")
        writer = self.sandbox.sibling("exeat-audit")
        host, client, peer = self.kept()
        self.sandbox.kill()
        self.is_gone(gateway)
        self.assertEqual(b"", peer.rest()[0])
        self.is_gone(writer)
        # The writer wrote down that the run was lost.
        ends = self.audit.rows("SELECT object FROM v_event "
                               "WHERE kind = 'sandbox_end'")
        self.assertEqual(["lost"], [row["object"] for row in ends])


if __name__ == "__main__":
    main()
