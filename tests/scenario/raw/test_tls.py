#!/usr/bin/python3 -I
"""tls - the edges of TLS, on both sides of the gateway.

Hellos that are long, slow or strange are read as what they are; a session is
resumed on either side; a server whose certificate does not hold is a 502 that
names the cause, on the page and in the row.  With EXEAT_FULL=1 a hello is cut
at each of its bytes, else at some.
"""
import json
import os
import socket
import ssl
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import Origin, Story, main, request, until

FULL = bool(os.environ.get("EXEAT_FULL"))

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LAST = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
PAIR = ("http_intent allow none None", "http allow none 200")
OPEN, END = "flow_open allow none None", "flow_end info none None"
ECH = b"\xfe\x0d"

CA_SETTINGS = """
[ca]
default_ca = here
[here]
database = index
new_certs_dir = .
serial = serial
default_md = sha256
policy = any
copy_extensions = none
unique_subject = no
[any]
commonName = supplied
"""


def outer_address():
    """An address of this machine that is not loopback; no packet is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return None


def with_extension(hello, kind, body):
    """A hello of one record with one more extension behind the others."""
    more = kind + len(body).to_bytes(2, "big") + body
    message = hello[5:]
    at = 4 + 2 + 32
    at += 1 + message[at]
    at += 2 + int.from_bytes(message[at:at + 2], "big")
    at += 1 + message[at]
    extensions = message[at + 2:] + more
    message = (message[4:at] + len(extensions).to_bytes(2, "big") + extensions)
    message = b"\1" + len(message).to_bytes(3, "big") + message
    return b"\x16\x03\x01" + len(message).to_bytes(2, "big") + message


def ech_of(length):
    """An outer ECH extension (RFC 9849): a real one and GREASE look alike."""
    return (b"\0" + b"\0\1\0\1" + b"\x2a" + b"\0\x20" + os.urandom(32) +
            length.to_bytes(2, "big") + os.urandom(length))


class Tls(Story):
    """One run for all: see world.py."""

    def served(self, client, origin, host, answer=OK):
        client.send(request("GET", host, origin.port))
        peer = self.accept(origin)
        peer.head()
        peer.send(answer)
        self.assertEqual(200, client.answer()[0])
        return peer

    # Hellos.

    def test_hello_may_be_cut_at_every_byte(self):
        # S21; that of TLS 1.2 is the short one.  Each cut is a connection.
        host, most = "every.cut.raw.test", "TLSv1_2"
        length = len(self.sandbox.client().do(
            "hello", name=host, most=most).data)
        cuts = range(1, length, 1 if FULL else 17)
        for cut in cuts:
            with self.subTest(cut):
                client = self.open(host, self.cut.port)
                # It is served to the end of the handshake.
                client.do("tls", name=host, cut=cut, most=most)
                client.close()
        until("the end of each", lambda: len(self.ends(host)) == len(cuts))
        self.assertEqual({"none"}, set(self.ends(host)))

    def ends(self, host):
        return [row["reason"] for row in self.audit.of(host)
                if row["kind"] == "flow_end"]

    def test_hello_of_16_kib_is_read_and_answered(self):
        # S21: so long are those with the keys of a later age
        host = self.host()
        names = ["http/1.1"] + ["x%03d" % i + "y" * 251 for i in range(64)]
        client = self.open(host, self.tls.port)
        self.assertEqual("http/1.1", client.do(
            "tls", name=host, alpn=names)["alpn"])
        self.served(client, self.tls, host)
        client.close()
        self.expect_rows(host, OPEN, *PAIR, END)
        self.counts(1)

    def test_client_without_alpn_speaks_http1(self):
        host = self.host()
        client = self.open(host, self.tls.port)
        self.assertIsNone(client.do("tls", name=host)["alpn"])
        self.served(client, self.tls, host)
        client.close()
        self.expect_rows(host, OPEN, *PAIR, END)
        self.counts(1)

    def test_client_of_tls_1_2_alone_is_served(self):
        host = self.host()
        client = self.open(host, self.tls.port)
        reply = client.do("tls", name=host, most="TLSv1_2")
        self.assertEqual("TLSv1.2", reply["version"])
        self.served(client, self.tls, host)
        client.close()
        self.expect_rows(host, OPEN, *PAIR, END)
        self.counts(1)

    def test_no_server_name_to_an_address_that_a_rule_names(self):
        if self.outer is None:
            self.skipTest("this machine has no address but loopback")
        client = self.open(self.outer.host, self.outer.port)
        self.assertEqual([self.outer.host], client.do("tls")["names"])
        self.served(client, self.outer, self.outer.host)
        client.close()
        self.expect_rows(self.outer.host, OPEN, *PAIR, END)
        self.counts(1)

    # Encrypted hellos: the outer name is the one that is judged.

    def hello_with_ech(self, client, name):
        hello = client.do("hello", name=name).data
        return with_extension(hello, ECH, ech_of(176))

    def test_ech_is_not_taken_up_where_requests_are_judged(self):
        host = self.host()
        client = self.open(host, self.tls.port)
        client.send(self.hello_with_ech(client, host))
        # It is answered as a server answers that knows of no ECH.
        self.assertEqual(b"\x16", client.read(1))
        client.do("abort")
        # Nothing of that hello went outside: what arrives there is ours.
        self.assertEqual(b"", self.accept(self.tls).nothing())
        rows = self.rows_of(host, 1)
        self.assertTrue(json.loads(rows[0]["detail"])["ech"])

    def test_ech_behind_another_outer_name_is_refused(self):
        for below in ("raw.test", "pass.test"):
            with self.subTest(below):
                host = self.host(below)
                client = self.open(host, self.tls.port)
                before = self.tls.arrivals()
                client.send(self.hello_with_ech(client, "front." + below))
                client.read(1)
                client.do("abort")
                row = self.rows_of(host, 1)[0]
                self.assertEqual(("deny", "sni_mismatch"),
                                 (row["verdict"], row["reason"]))
                self.assertEqual("front." + below,
                                 json.loads(row["detail"])["sni"])
                self.assertEqual(before, self.tls.arrivals())
                self.counts(1, 1)

    def test_ech_passes_untouched_where_nobody_looks_in(self):
        host = self.host("pass.test")
        client = self.open(host, self.clear.port)
        hello = self.hello_with_ech(client, host)
        client.send(hello)
        peer = self.accept(self.clear)
        self.assertEqual(hello, peer.read(len(hello)))
        peer.close()
        client.close()
        rows = self.rows_of(host, 2)
        self.assertTrue(json.loads(rows[0]["detail"])["ech"])
        self.counts(1)

    # Sessions.

    def test_session_of_the_sandbox_is_resumed(self):
        for most in ("TLSv1_2", "TLSv1_3"):
            with self.subTest(most):
                host = "inside-%s.raw.test" % most.lower().replace("_", "-")
                client = self.open(host, self.tls.port)
                reply = client.do("tls", name=host, most=most)
                self.assertFalse(reply["resumed"])
                self.served(client, self.tls, host, LAST)
                client.do("keep", session=most)
                client.close()
                client = self.open(host, self.tls.port)
                reply = client.do("tls", name=host, most=most, session=most)
                self.assertTrue(reply["resumed"])
                self.served(client, self.tls, host, LAST)
                client.close()
                self.expect_rows(host, OPEN, *PAIR, END, OPEN, *PAIR, END)
                self.counts(2)

    def test_session_with_the_server_is_resumed(self):
        host = self.host()
        client = self.open_tls(host)
        first = self.served(client, self.tls, host, LAST)
        first.bye()
        self.assertFalse(first.sock.session_reused)
        client.close()
        client = self.open_tls(host)
        again = self.served(client, self.tls, host)
        self.assertTrue(again.sock.session_reused)
        client.close()
        self.expect_rows(host, OPEN, *PAIR, END, OPEN, *PAIR, END)
        self.counts(2)

    # Servers whose certificate does not hold.

    def test_cause_is_named_on_the_page_and_in_the_row(self):
        for word, cause in (
                ("expired", "certificate has expired"),
                ("future", "certificate is not yet valid"),
                ("wronghost", "host name mismatch"),
                ("self", "self-signed certificate"),
                ("stranger", "certificate from an unknown authority")):
            with self.subTest(word):
                host = "%s.bad.test" % word
                origin = self.bad[word]
                client = self.open(host, origin.port)
                client.do("tls", name=host)
                client.send(request("GET", host, origin.port))
                status, _, body = client.answer()
                page = json.loads(body)
                self.assertEqual((502, "upstream_tls"),
                                 (status, page["reason"]))
                self.assertIn(cause, page["detail"])
                client.close()
                rows = self.expect_rows(
                    host, OPEN, "http error upstream_tls 502",
                    "flow_end error upstream_tls None")
                self.assertIn(cause, rows[1]["detail"])
                self.assertTrue(origin.peers.empty())
                self.counts(1)

    def test_upstream_ca_may_be_the_servers_own_certificate(self):
        host = "self.own.test"
        client = self.open(host, self.bad["self"].port)
        client.do("tls", name=host)
        self.served(client, self.bad["self"], host)
        client.close()
        self.expect_rows(host, OPEN, *PAIR, END)
        self.counts(1)

    # What they stand on.

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def certify(cls, name, names, dates=()):
        """A certificate by our authority, for the origins' one key."""
        with open(cls.path(name + ".ext"), "w") as out:
            out.write("subjectAltName=%s\nextendedKeyUsage=serverAuth\n" %
                      names)
        cls.authority.openssl(
            "ca", "-batch", "-notext", "-config", "ca.cnf", "-in",
            "origin.pem", "-cert", "ca.pem", "-keyfile", "ca.key", "-extfile",
            name + ".ext", "-out", name + ".pem",
            *(dates or ("-days", "2")))
        return cls.served_by(name + ".pem", "origin.key")

    @classmethod
    def served_by(cls, certificate, key, **more):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cls.path(certificate), cls.path(key))
        origin = Origin(context, **more)
        cls.addClassCleanup(origin.close)
        return origin

    @classmethod
    def bad_origins(cls):
        with open(cls.path("ca.cnf"), "w") as out:
            out.write(CA_SETTINGS)
        open(cls.path("index"), "w").close()
        with open(cls.path("serial"), "w") as out:
            out.write("1000\n")
        for name in ("self", "stranger"):
            cls.authority.new(name, [
                "-x509", "-subj", "/CN=origin", "-days", "2", "-addext",
                "subjectAltName=DNS:*.bad.test,DNS:*.own.test"])
        here = "DNS:*.bad.test"
        return {
            "expired": cls.certify("expired", here, (
                "-startdate", "20200101000000Z",
                "-enddate", "20210101000000Z")),
            "future": cls.certify("future", here, (
                "-startdate", "20900101000000Z",
                "-enddate", "20910101000000Z")),
            "wronghost": cls.certify("wronghost", "DNS:bad.test"),
            "self": cls.served_by("self.pem", "self.key"),
            "stranger": cls.served_by("signed.pem", "origin.key"),
        }

    @classmethod
    def rules(cls):
        cls.bad = cls.bad_origins()
        # Of its connections many are opened, and few are used.
        cls.cut = cls.certify("cut", "DNS:every.cut.raw.test")
        here = {"resolve": "127.0.0.1", "private": True}
        rules = super().rules()
        for word, origin in cls.bad.items():
            # Of the stranger's authority that rule knows nothing.
            trusted = cls.path("stranger.pem" if word == "stranger"
                               else "ca.pem")
            rules.append({"id": word, "host": [word + ".bad.test"],
                          "port": [origin.port], "upstream_ca": trusted,
                          **here})
        rules.append({"id": "cut", "host": ["every.cut.raw.test"],
                      "port": [cls.cut.port],
                      "upstream_ca": cls.path("ca.pem"), **here})
        rules.append({"id": "own", "host": ["*.own.test"],
                      "port": [cls.bad["self"].port],
                      "upstream_ca": cls.path("self.pem"), **here})
        address = outer_address()
        cls.outer = None
        if address is not None:
            cls.certify("outer", "IP:" + address).close()
            cls.outer = cls.served_by("outer.pem", "origin.key", host=address)
            cls.outer.host = address
            rules.append({"id": "literal", "address": [address + "/32"],
                          "port": [cls.outer.port], "private": True,
                          "upstream_ca": cls.path("ca.pem")})
        return rules


if __name__ == "__main__":
    main()
