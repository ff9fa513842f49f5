#!/usr/bin/python3 -I
"""crowd - a thousand connections at once in one run, and two runs at once.

Whoever ends a connection, and in whatever order: afterwards the gateway has
no descriptor more than before, and the counts are exact.
"""
import base64
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import Refused, Run, Story, main, request, until

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
MANY = 1000
SOME = 200  # where each costs two handshakes


def text(data):
    return base64.b64encode(data).decode()


class Crowd(Story):
    def setUp(self):
        self.gateway = self.sandbox.sibling("exeat-gateway")
        # What is made once is made before anything is counted.
        host = "first-" + self.host()
        for origin in (self.clear, self.tls):
            client = self.open(host, origin.port)
            if origin is self.tls:
                client.do("tls", name=host)
            client.send(request("GET", host, origin.port))
            self.clear_away(origin.serve(1, OK))
            self.assertEqual(200, client.answer()[0])
            client.close()
        self.rows_of(host, 8)
        self.counts(2)
        self.before = self.descriptors()

    def clear_away(self, peers):
        for peer in peers:
            self.addCleanup(peer.close)

    def descriptors(self):
        """
        Of the gateway; its own sockets if it may not be looked into, which
        only root may: then all that are connected to the origins are counted.
        """
        try:
            return len(os.listdir("/proc/%d/fd" % self.gateway))
        except PermissionError:
            return self.sockets()

    def sockets(self):
        ports = {"%04X" % self.clear.port, "%04X" % self.tls.port}
        count = self.sandbox.client().do("sockets")["count"]
        with open("/proc/self/net/tcp") as table:
            for row in table.read().splitlines()[1:]:
                word = row.split()
                count += word[2].split(":")[1] in ports and word[3] != "06"
        return count

    def nothing_is_left(self):
        until("no descriptor left", lambda: self.descriptors() <= self.before)

    def gather(self, host, origin, count):
        crowd = self.sandbox.client()
        crowd.do("crowd", host=host, port=origin.port, count=count)
        return crowd

    def has_rows(self, host, **wanted):
        def read():
            return {row[0]: row[1] for row in self.audit.rows(
                "SELECT kind, count(*) FROM v_event WHERE host = ? AND "
                "kind <> 'dns' GROUP BY kind", host)}

        until("%r of %s" % (wanted, host),
              lambda: sum(read().values()) >= sum(wanted.values()))
        self.assertEqual(wanted, read())

    def test_connections_that_say_nothing_leave_nothing(self):
        host = self.host()
        crowd = self.gather(host, self.clear, MANY)
        until("all are accepted",
              lambda: self.descriptors() >= self.before + MANY)
        crowd.do("crowd_end", how="close", last=MANY // 2)
        crowd.do("crowd_end", how="abort", first=MANY // 2)
        self.nothing_is_left()
        self.has_rows(host, flow_open=MANY)
        self.counts(MANY)

    def test_clients_end_in_every_way(self):
        host = self.host()
        crowd = self.gather(host, self.clear, MANY)
        crowd.do("crowd_send", data=text(request("GET", host,
                                                 self.clear.port)))
        self.clear_away(self.clear.serve(MANY, OK))
        seen = crowd.do("crowd_read", count=len(OK))["seen"]
        self.assertEqual([MANY], list(seen.values()), seen)
        # All of them are there now, and a request more is served.
        crowd.do("crowd_send", data=text(request("GET", host,
                                                 self.clear.port)))
        crowd.do("crowd_read", count=len(OK))
        third = MANY // 3
        crowd.do("crowd_end", how="close", last=third)
        crowd.do("crowd_end", how="abort", first=third, last=2 * third)
        crowd.do("crowd_end", how="half", first=2 * third)
        seen = crowd.do("crowd_read", first=2 * third)["seen"]
        self.assertEqual({"": MANY - 2 * third}, seen)
        crowd.do("crowd_end", how="close", first=2 * third)
        self.nothing_is_left()
        self.has_rows(host, flow_open=MANY, http_intent=2 * MANY,
                      http=2 * MANY, flow_end=MANY)
        self.counts(2 * MANY)

    def test_origins_end_first(self):
        host = self.host()
        crowd = self.gather(host, self.clear, MANY)
        crowd.do("crowd_send", data=text(request("GET", host,
                                                 self.clear.port)))
        peers = [self.accept(self.clear) for _ in range(MANY)]
        for i, peer in enumerate(peers):
            peer.head()
            if i % 3 == 0:
                peer.send(OK)
                peer.close()
            elif i % 3 == 1:
                peer.abort()
            else:
                peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
                peer.abort()
        seen = crowd.do("crowd_read", count=12)["seen"]
        self.assertEqual({"HTTP/1.1 200", "HTTP/1.1 502", "reset"},
                         set(seen) | {"reset"})
        self.assertEqual(len(range(1, MANY, 3)), seen["HTTP/1.1 502"])
        crowd.do("crowd_end", how="close")
        self.nothing_is_left()
        self.has_rows(host, flow_open=MANY, http_intent=MANY, http=MANY,
                      flow_end=MANY)
        self.counts(MANY)

    def test_tls_leaves_nothing(self):
        host = self.host()
        crowd = self.gather(host, self.tls, SOME)
        crowd.do("crowd_tls", name=host)
        crowd.do("crowd_send", data=text(request("GET", host, self.tls.port)))
        self.clear_away(self.tls.serve(SOME, OK))
        seen = crowd.do("crowd_read", count=12)["seen"]
        self.assertEqual({"HTTP/1.1 200": SOME}, seen)
        crowd.do("crowd_end", how="close", last=SOME // 2)
        crowd.do("crowd_end", how="abort", first=SOME // 2)
        self.nothing_is_left()
        self.has_rows(host, flow_open=SOME, http_intent=SOME, http=SOME,
                      flow_end=SOME)
        self.counts(SOME)

    def test_tunnels_leave_nothing(self):
        host = self.host("tcp.test")
        crowd = self.gather(host, self.clear, MANY)
        crowd.do("crowd_send", data=text(b"\0"))
        peers = [self.accept(self.clear) for _ in range(MANY)]
        for i, peer in enumerate(peers):
            peer.read(1)
            if i % 4 == 0:
                peer.close()
            elif i % 4 == 1:
                peer.abort()
            elif i % 4 == 2:
                peer.shutdown()
        crowd.do("crowd_end", how="close", last=MANY // 2)
        crowd.do("crowd_end", how="half", first=MANY // 2)
        for peer in peers:
            peer.close()
        crowd.do("crowd_end", how="close", first=MANY // 2)
        self.nothing_is_left()
        self.has_rows(host, flow_open=MANY, flow_end=MANY)
        self.counts(MANY)

    def test_second_run_at_once_sees_nothing_of_the_first(self):
        host = self.host()
        first = self.audit.of("first-" + host)[0]["sandbox"]
        known = self.sandbox.client().do("lookup", host=host)["list"]
        with tempfile.TemporaryDirectory(prefix="exeat-raw-") as folder:
            second = Run(folder, {"version": 1, "name": "second", "rules": [
                {"id": "one", "host": ["second.raw.test"],
                 "port": [self.tls.port], "resolve": "127.0.0.1",
                 "private": True, "upstream_ca": self.authority.ca}]},
                state=self.folder)
            self.addCleanup(second.kill)
            # The first one's names, and its addresses, are none here.
            with self.assertRaises(Refused):
                second.client().do("connect", host=host, port=self.clear.port)
            before = self.clear.arrivals()
            for address in known:
                client = second.client()
                client.do("connect", host=address, port=self.clear.port)
                client.send(request("GET", host, self.clear.port))
                self.assertEqual(403, client.answer()[0])
            self.assertEqual(before, self.clear.arrivals())
            client = second.client()
            client.do("connect", host="second.raw.test", port=self.tls.port)
            client.do("tls", name="second.raw.test")
            client.send(request("GET", "second.raw.test", self.tls.port))
            self.clear_away(self.tls.serve(1, OK))
            self.assertEqual(200, client.answer()[0])
            code, result = second.end()
            # Two questions for a name without a rule; the two addresses.
            self.assertEqual((0, 5, 4),
                             (code, result["requests"], result["refused"]))
        for row in self.audit.rows("SELECT sandbox FROM v_event WHERE "
                                   "host = ? AND kind <> 'dns'", host):
            self.assertEqual(first, row["sandbox"])


if __name__ == "__main__":
    main()
