"""world - a sandbox between real programs, and servers that stand for the world.

A scenario runs as an ordinary user; started by root, it copies what it needs
to a place such a user can read, and starts itself again as one.  Servers are
threads of the test on loopback; the policy names them by "resolve", so no
name leaves the machine.
"""
import contextlib
import json
import os
import shutil
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

PROGRAMS = ("exeat", "exeat-launch", "exeat-gateway", "exeat-audit",
            "exeat-broker", "exeat-fetch", "captive_gateway")
SOME_USER = 61234
HERE = os.path.dirname(os.path.abspath(__file__))


def become_ordinary():
    """Returns the folder of the programs; as root it does not return."""
    build = os.environ["EXEAT_BUILD"]
    if os.geteuid() != 0:
        return build
    stage = tempfile.mkdtemp(prefix="exeat-scenario-")
    status = 1
    try:
        for name in PROGRAMS:
            shutil.copy(os.path.join(build, name), stage)
        shutil.copytree(HERE, os.path.join(stage, "scenario"))
        subprocess.run(["chmod", "-R", "a+rX", stage], check=True)
        environment = dict(os.environ, EXEAT_BUILD=stage, HOME="/nonexistent")
        status = subprocess.run(
            ["setpriv", "--reuid", str(SOME_USER), "--regid", str(SOME_USER),
             "--clear-groups", sys.executable, "-I",
             os.path.join(stage, "scenario", os.path.basename(sys.argv[0])),
             *sys.argv[1:]], env=environment, cwd="/").returncode
    finally:
        shutil.rmtree(stage)
    sys.exit(status)


def remove(folder):
    """Also what an overlay of a run that was killed left closed, and what a
    writer that is about to end still makes."""
    for _ in range(1000):
        subprocess.run(["chmod", "-R", "u+rwX", folder], check=False,
                       stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
    raise AssertionError("somebody still writes into " + folder)


def receive_head(peer):
    """Everything up to the empty line, and what came behind it."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = peer.recv(65536)
        if not more:
            break
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def answer(peer, body=b"hello\n", head=b""):
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n%s"
                 % (len(body), head, body))


class Origin:
    """A server on loopback that keeps what it was sent.

    serve(peer) is called in a thread for each connection; without it every
    request is answered with a page.
    """

    def __init__(self, world, tls=True, serve=None, family=socket.AF_INET):
        self.heard, self.count = [], 0
        self.tls = world.server_tls() if tls else None
        self.serve = serve or self.page
        self.door = socket.socket(family, socket.SOCK_STREAM)
        self.door.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
        self.door.listen(2048)
        self.port = self.door.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.door.accept()
            except OSError:
                return
            self.count += 1
            threading.Thread(target=self.talk, args=(peer,),
                             daemon=True).start()

    def talk(self, peer):
        with contextlib.suppress(OSError):
            if self.tls is not None:
                peer = self.tls.wrap_socket(peer, server_side=True)
            self.serve(peer)
        with contextlib.suppress(OSError):
            peer.close()

    def page(self, peer):
        while True:
            head, rest = receive_head(peer)
            if not head:
                return
            self.heard.append(head)
            length = 0
            for line in head.split(b"\r\n")[1:]:
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            while len(rest) < length:
                rest += peer.recv(65536)
            answer(peer)

    def close(self):
        # A thread in accept() does not see a close.
        with contextlib.suppress(OSError):
            self.door.shutdown(socket.SHUT_RDWR)
        self.door.close()


class World(unittest.TestCase):
    """One folder with a certificate authority for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.bin = os.environ["EXEAT_BUILD"]
        cls.shared = tempfile.mkdtemp(prefix="exeat-world-")
        cls.addClassCleanup(remove, cls.shared)
        cls.make_certificates()

    @classmethod
    def make_certificates(cls):
        def run(*words):
            subprocess.run(["openssl", *words], check=True, cwd=cls.shared,
                           capture_output=True)
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
               "-nodes")
        run("req", "-x509", *key, "-days", "2", "-subj", "/CN=a test",
            "-keyout", "ca.key", "-out", "ca.pem")
        run("req", *key, "-subj", "/CN=origin", "-keyout", "origin.key",
            "-out", "origin.csr")
        with open(os.path.join(cls.shared, "ext"), "w") as out:
            out.write("subjectAltName=DNS:localhost,DNS:api.test,DNS:a.test,"
                      "DNS:b.test,DNS:good.test\n")
        run("x509", "-req", "-in", "origin.csr", "-CA", "ca.pem", "-CAkey",
            "ca.key", "-days", "2", "-extfile", "ext", "-out", "origin.pem")

    def server_tls(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(self.shared, "origin.pem"),
                                os.path.join(self.shared, "origin.key"))
        return context

    # "direct" for who speaks to the sandbox by files of the workspace.
    files = "overlay"

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=self.shared)
        self.workspace = os.path.join(self.folder, "workspace")
        os.mkdir(self.workspace)
        self.database = os.path.join(self.folder, "audit.db")
        self.environment = {
            "PATH": "/usr/bin:/bin", "HOME": os.path.join(self.folder, "home"),
            "LANG": "C.UTF-8",
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS",
                     "EXEAT_LOG"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def is_sanitized(self):
        with open(os.path.join(self.bin, "exeat-gateway"), "rb") as program:
            return b"__asan_init" in program.read()

    def origin(self, **options):
        origin = Origin(self, **options)
        self.addCleanup(origin.close)
        return origin

    def rule(self, name, host, *origins, ca=True, **more):
        rule = {"id": name, "host": [host],
                "port": [origin.port for origin in origins],
                "resolve": "127.0.0.1", "private": True, **more}
        if ca:
            rule["upstream_ca"] = os.path.join(self.shared, "ca.pem")
        return rule

    def start(self, rules, *command, options=(), prefix=()):
        path = os.path.join(self.folder, "policy.json")
        with open(path, "w") as out:
            json.dump(rules if isinstance(rules, dict)
                      else {"version": 1, "rules": rules}, out)
        return subprocess.Popen(
            [*prefix, os.path.join(self.bin, "exeat"), "run", "--policy", path,
             "--audit", self.database, "--workspace", self.workspace,
             "--files", self.files, *options, "--", *command],
            env=self.environment, cwd=self.workspace, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)

    def run_box(self, rules, *command, **more):
        process = self.start(rules, *command, **more)
        out, err = process.communicate(timeout=240)
        return process.returncode, out, err

    def box(self, rules, script, *words):
        """Runs a Python script in a sandbox; gives what it printed."""
        code, out, err = self.run_box(
            rules, "python3", "-I", "-c", PRELUDE + script, *map(str, words))
        self.assertEqual(code, 0, err + out)
        return out.strip()

    def rows(self, where="1"):
        database = sqlite3.connect("file:%s?mode=ro" % self.database, uri=True)
        database.row_factory = sqlite3.Row
        try:
            return [dict(row) for row in database.execute(
                "SELECT * FROM v_event WHERE %s ORDER BY seq" % where)]
        finally:
            database.close()

    def refused_for(self, reason):
        rows = self.rows("verdict = 'deny'")
        self.assertIn(reason, [row["reason"] for row in rows], rows)


# What every script in a sandbox may use.
PRELUDE = r'''
import http.client, json, socket, ssl, sys, time, urllib.error, urllib.request
words = sys.argv[1:]

def fetch(url, data=None, method=None, headers={}):
    """The status and the body; or "failed" and why."""
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as page:
            return page.status, page.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return "failed", str(error)

def talk(host, port, data, tls=None, timeout=30):
    """Sends bytes, reads to the end; gives what came or what went wrong."""
    try:
        peer = socket.create_connection((host, int(port)), timeout=timeout)
        if tls is not None:
            context = ssl.create_default_context()
            peer = context.wrap_socket(peer, server_hostname=tls)
        peer.sendall(data)
        heard = b""
        while True:
            more = peer.recv(65536)
            if not more:
                return heard.decode("latin-1")
            heard += more
    except OSError as error:
        return "failed: " + str(error)

'''
