#!/usr/bin/python3 -I
"""A client certificate that a rule's credential is, asked for by a real nginx:
who the server sees, and who never has the key.
"""
import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import PRELUDE, World, become_ordinary  # noqa: E402

NGINX = """
daemon off;
error_log stderr;
pid %(home)s/pid;
events {}
http {
    access_log off;
    client_body_temp_path %(home)s/1;
    proxy_temp_path %(home)s/2;
    fastcgi_temp_path %(home)s/3;
    uwsgi_temp_path %(home)s/4;
    scgi_temp_path %(home)s/5;
    ssl_certificate %(shared)s/origin.pem;
    ssl_certificate_key %(shared)s/origin.key;
    ssl_client_certificate %(shared)s/ca.pem;
    ssl_session_cache shared:x:1m;
    %(servers)s
}
"""
SERVER = """
    server {
        listen 127.0.0.1:%(port)d ssl%(http2)s;
        ssl_protocols %(tls)s;
        ssl_verify_client %(verify)s;
        location / {
            default_type text/plain;
            return 200 "$ssl_client_verify|$ssl_client_s_dn|$http_authorization|$server_protocol\\n";
        }
    }
"""


class Badges(World):
    """Each server asks in its own way: "on" refuses who has none."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ports, servers = {}, ""
        for name, tls, verify, http2 in (
                ("optional", "TLSv1.2 TLSv1.3", "optional", ""),
                ("on12", "TLSv1.2", "on", ""), ("on13", "TLSv1.3", "on", ""),
                ("h2", "TLSv1.3", "on", " http2")):
            with socket.create_server(("127.0.0.1", 0)) as door:
                port = cls.ports[name] = door.getsockname()[1]
            servers += SERVER % {"port": port, "tls": tls, "verify": verify,
                                 "http2": http2}
        home = os.path.join(cls.shared, "nginx")
        os.mkdir(home)
        config = os.path.join(home, "conf")
        with open(config, "w") as out:
            out.write(NGINX % {"home": home, "shared": cls.shared,
                               "servers": servers})
        with open(os.path.join(home, "log"), "w") as log:
            cls.nginx = subprocess.Popen(
                ["/usr/sbin/nginx", "-c", config, "-e", "stderr"], stdout=log,
                stderr=log, stdin=subprocess.DEVNULL)
        cls.addClassCleanup(cls.nginx.wait)
        cls.addClassCleanup(cls.nginx.terminate)
        for port in cls.ports.values():
            cls.wait_for(port)

    @classmethod
    def wait_for(cls, port):
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                return
            assert cls.nginx.poll() is None and time.monotonic() < deadline
            select.select([], [], [], 0.02)

    @classmethod
    def make_certificates(cls):
        super().make_certificates()

        def run(*words):
            subprocess.run(["openssl", *words], check=True, cwd=cls.shared,
                           capture_output=True)
        for name in ("agent", "other"):
            run("req", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + name,
                "-keyout", name + ".key", "-out", name + ".csr")
            run("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem",
                "-CAkey", "ca.key", "-days", "2", "-out", name + ".pem")
        # Not signed by the one that nginx trusts.
        run("req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            "/CN=stranger", "-keyout", "stranger.key", "-out", "stranger.pem")
        run("x509", "-req", "-in", "agent.csr", "-CA", "ca.pem", "-CAkey",
            "ca.key", "-days", "-1", "-out", "past.pem")
        run("pkcs8", "-topk8", "-in", "agent.key", "-passout", "pass:x",
            "-out", "locked.key")

    def text(self, *names):
        parts = []
        for name in names:
            with open(os.path.join(self.shared, name)) as text:
                parts.append(text.read())
        return "".join(parts)

    def keys(self, **credentials):
        """A credential file; "pem" names the parts of the secret."""
        folder = os.path.join(self.folder, "keys")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        whole = {}
        for name, (parts, more) in credentials.items():
            self.private(folder, name + ".pem", self.text(*parts))
            whole[name] = {
                "kind": "client_certificate",
                "source": {"file": name + ".pem"},
                "hosts": ["*.test:%d" % port for port in self.ports.values()],
                **more}
        return ("--credentials", self.private(
            folder, "credentials.json",
            json.dumps({"version": 1, "credentials": whole})))

    def private(self, folder, name, text):
        path = os.path.join(folder, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
                  "w") as out:
            out.write(text)
        return path

    def reach(self, name, server, **more):
        return {"id": name, "host": ["api.test"], "private": True,
                "port": [self.ports[server]], "resolve": "127.0.0.1",
                "upstream_ca": os.path.join(self.shared, "ca.pem"), **more}

    def ask(self, rules, script, server, options):
        code, out, err = self.run_box(
            rules, "python3", "-I", "-c", PRELUDE +
            "url = 'https://api.test:%s' % words[0]\n" + script,
            str(self.ports[server]), options=options)
        self.assertEqual(code, 0, err + out)
        return out.strip().splitlines()

    AGENT = (("agent.key", "agent.pem"), {})

    # ---- who the server sees ----

    def test_every_kind_of_server_sees_who_the_rule_names(self):
        for server in self.ports:
            with self.subTest(server):
                self.database = os.path.join(self.folder, server + ".db")
                out = self.ask(
                    [self.reach("r", server, credential="me")],
                    "for i in range(3):\n    print(fetch(url + '/x', headers="
                    "{'Authorization': 'Bearer of-the-sandbox'}))",
                    server, self.keys(me=self.AGENT))
                version = "HTTP/2.0" if server == "h2" else "HTTP/1.1"
                # Its own key goes, as before any credential.
                self.assertEqual(out, [
                    "(200, 'SUCCESS|CN=agent||HTTP/1.1\\n')"] * 3)
                for row in self.rows("kind IN ('http_intent', 'http')"):
                    self.assertEqual((row["cred"], row["verdict"]),
                                     ("me", "allow"))
                self.assertEqual(
                    [row["cred"] for row in self.rows("kind = 'cred_mint'")],
                    ["me"])

    def test_requests_of_one_client_are_each_who_their_rule_says(self):
        # One keep-alive connection inside; outside as many as there are who.
        rules = [self.reach("me", "optional", credential="me",
                            path=["/me/**"]),
                 self.reach("other", "optional", credential="other",
                            path=["/other/**"]),
                 self.reach("nobody", "optional", path=["/nobody/**"])]
        out = self.ask(rules, r'''
link = http.client.HTTPSConnection("api.test", int(words[0]), timeout=60)
for who in ("nobody", "me", "other", "me", "nobody", "other"):
    link.request("GET", "/%s/1" % who)
    print(link.getresponse().read().decode().rpartition("||")[0])
''', "optional", self.keys(me=self.AGENT,
                           other=(("other.key", "other.pem"), {})))
        nobody, me, other = "NONE|", "SUCCESS|CN=agent", "SUCCESS|CN=other"
        self.assertEqual(out, [nobody, me, other, me, nobody, other])

    def test_http2_client_is_who_its_rule_says(self):
        code, out, err = self.run_box(
            [self.reach("r", "h2", credential="me")], "curl", "--http2",
            "--silent", "--show-error",
            *("https://api.test:%d/%d" % (self.ports["h2"], i)
              for i in range(3)), options=self.keys(me=self.AGENT))
        self.assertEqual(code, 0, err)
        self.assertEqual(out, "SUCCESS|CN=agent||HTTP/2.0\n" * 3)

    def test_certificate_may_stand_in_the_credential_file(self):
        out = self.ask(
            [self.reach("r", "on13", credential="me")],
            "print(fetch(url + '/x'))", "on13", self.keys(
                me=(("agent.key",), {"certificate": self.text("agent.pem")})))
        self.assertEqual(out, ["(200, 'SUCCESS|CN=agent||HTTP/1.1\\n')"])

    # ---- who has the key ----

    def test_key_is_nowhere_in_the_sandbox(self):
        key = self.text("agent.key").splitlines()[1]
        out = self.ask([self.reach("r", "on13", credential="me")], r'''
import os
print(fetch(url + "/x")[0], "PRIVATE" in repr(os.environ))
''', "on13", self.keys(me=self.AGENT))
        self.assertEqual(out, ["200 False"])
        with open(self.database, "rb") as database:
            self.assertNotIn(key.encode(), database.read())

    # ---- what goes wrong ----

    def test_server_that_wants_one_and_gets_none_is_told_as_its_answer(self):
        for server in ("on12", "on13", "optional"):
            with self.subTest(server):
                self.database = os.path.join(self.folder, server + ".db")
                out = self.ask([self.reach("r", server)],
                               "print(fetch(url + '/x'))", server, ())
                if server == "optional":
                    self.assertIn("NONE|", out[0])
                else:
                    # nginx asks, and says afterwards that it got none.
                    self.assertIn("No required SSL certificate", out[0])

    def test_certificate_that_the_server_does_not_trust_is_its_to_refuse(self):
        out = self.ask(
            [self.reach("r", "on13", credential="me")],
            "print(fetch(url + '/x'))", "on13",
            self.keys(me=(("stranger.key", "stranger.pem"), {})))
        self.assertIn("SSL certificate error", out[0])

    def test_another_host_is_not_shown_it(self):
        options = self.keys(me=(("agent.key", "agent.pem"),
                                {"hosts": ["else.test"]}))
        out = self.ask([self.reach("r", "optional", credential="me")],
                       "print(fetch(url + '/x')[0])", "optional", options)
        self.assertEqual(out, ["502"])
        row = self.rows("kind = 'http'")[0]
        self.assertEqual(row["reason"], "credential_unavailable")

    def test_file_that_cannot_be_presented_stops_the_start(self):
        rule = [self.reach("r", "on13", credential="me")]
        for parts, words in (
                (("agent.key",), "there is no certificate"),
                (("agent.pem",), "no private key"),
                (("locked.key", "agent.pem"), "without a password"),
                (("other.key", "agent.pem"), "not that of the certificate")):
            with self.subTest(words):
                code, _, err = self.run_box(
                    rule, "true", options=self.keys(me=(parts, {})))
                self.assertEqual(code, 125, err)
                self.assertIn(words, err)
                self.assertNotIn("PRIVATE", err)

    def test_certificate_that_has_ended_is_not_presented(self):
        out = self.ask([self.reach("r", "on13", credential="me")],
                       "print(fetch(url + '/x')[0])", "on13",
                       self.keys(me=(("agent.key", "past.pem"), {})))
        self.assertEqual(out, ["502"])
        row = self.rows("kind = 'http'")[0]
        self.assertEqual(row["reason"], "credential_unavailable")
        self.assertIn("not valid now", row["detail"])


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
