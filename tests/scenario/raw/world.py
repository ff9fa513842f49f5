"""world - what the raw scenarios stand on: origins, one run, its audit.

A Story is a unittest class with one `exeat run` for all of its tests.  In it
runs hand.py, which does with sockets what it is told; the origins are sockets
of this process, on loopback; the names are all below raw.test and its like,
which no resolver knows.  Each test takes a host of its own, by which its rows
are found, and says how much it adds to the run's count: at the end the counts
of the closing line must be exactly the sum.

A run under sanitizers must not say a word of them on stderr.
"""
import base64
import json
import os
import queue
import resource
import shutil
import socket
import sqlite3
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BUILD = os.environ.get("EXEAT_BUILD", "build")
HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
WAIT = int(os.environ.get("RAW_WAIT", "30"))

sys.dont_write_bytecode = True
resource.setrlimit(resource.RLIMIT_NOFILE, (
    resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


def until(what, probe):
    """Asks again and again; only a fault makes it wait long."""
    end = time.monotonic() + WAIT
    while True:
        got = probe()
        if got:
            return got
        if time.monotonic() > end:
            raise AssertionError("never happened: " + what)
        time.sleep(0.005)


class Authority:
    """The certificates of the origins, made by openssl."""

    def __init__(self, folder):
        self.folder = folder
        self.ca = os.path.join(folder, "ca.pem")
        self.new("ca", ["-x509", "-subj", "/CN=a test authority", "-days",
                        "2", "-addext", "keyUsage=critical,keyCertSign"])
        self.new("origin", ["-subj", "/CN=origin"])
        with open(os.path.join(folder, "ext"), "w") as out:
            out.write("subjectAltName=DNS:*.raw.test,DNS:*.ws.test,"
                      "DNS:*.pass.test\nextendedKeyUsage=serverAuth\n")
        self.openssl("x509", "-req", "-in", "origin.pem", "-CA", "ca.pem",
                     "-CAkey", "ca.key", "-days", "2", "-extfile", "ext",
                     "-out", "signed.pem")
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(os.path.join(folder, "signed.pem"),
                                     os.path.join(folder, "origin.key"))
        self.context.set_alpn_protocols(["http/1.1"])

    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True,
                       capture_output=True)

    def new(self, name, more):
        self.openssl("req", "-newkey", "ec", "-pkeyopt",
                     "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                     name + ".key", "-out", name + ".pem", *more)


class Peer:
    """The origin's end of one connection."""

    def __init__(self, sock):
        self.sock = sock
        self.bytes = b""

    def fill(self):
        try:
            got = self.sock.recv(1 << 16)
        except (ConnectionResetError, BrokenPipeError):
            return "reset"
        except ssl.SSLEOFError:
            return "cut"
        if not got:
            return "eof"
        self.bytes += got
        return None

    def until(self, mark):
        while mark not in self.bytes:
            end = self.fill()
            if end:
                raise AssertionError("%s after %r" % (end, self.bytes[:2000]))
        cut = self.bytes.index(mark) + len(mark)
        data, self.bytes = self.bytes[:cut], self.bytes[cut:]
        return data

    def head(self):
        return self.until(b"\r\n\r\n")

    def read(self, count):
        while len(self.bytes) < count:
            end = self.fill()
            if end:
                raise AssertionError("%s after %r" % (end, self.bytes[:2000]))
        data, self.bytes = self.bytes[:count], self.bytes[count:]
        return data

    def nothing(self):
        """What has come so far, of a connection that stays open."""
        self.sock.setblocking(False)
        try:
            self.fill()
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        return self.bytes

    def rest(self):
        """(what still comes, how it ends)"""
        end = None
        while end is None:
            end = self.fill()
        data, self.bytes = self.bytes, b""
        return data, end

    def send(self, data):
        self.sock.sendall(data)

    def settle(self):
        """Waits until the gateway has read all that was sent."""
        here = "%04X" % self.sock.getsockname()[1]
        there = "%04X" % self.sock.getpeername()[1]

        def is_read():
            with open("/proc/self/net/tcp") as table:
                for row in table.read().splitlines()[1:]:
                    word = row.split()
                    if (word[1].endswith(":" + there) and
                            word[2].endswith(":" + here)):
                        return word[4].endswith(":00000000")
            return True

        until("the gateway's reading", is_read)

    def shutdown(self):
        self.sock.shutdown(socket.SHUT_WR)

    def bye(self):
        """A clean end: in TLS, with a close_notify."""
        self.sock.setblocking(False)
        try:
            if isinstance(self.sock, ssl.SSLSocket):
                self.sock.unwrap()
        except (ssl.SSLWantReadError, OSError):
            pass
        self.sock.close()

    def close(self):
        self.sock.close()

    def abort(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.sock.close()


class Origin:
    """A listener; who came waits in a queue, behind its handshake."""

    BARRIER = b"barrier"

    def __init__(self, context=None, host="127.0.0.1"):
        self.context = context
        self.listener = socket.create_server((host, 0), backlog=2048)
        self.port = self.listener.getsockname()[1]
        self.peers = queue.Queue()
        self.own = set()
        self.count = 0
        self.passed = queue.Queue()
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        while True:
            try:
                sock, address = self.listener.accept()
            except OSError:
                return
            if address[1] in self.own:
                sock.close()
                self.passed.put(self.count)
                continue
            self.count += 1
            threading.Thread(
                target=self.greet, args=(sock,), daemon=True).start()

    def greet(self, sock):
        sock.settimeout(WAIT)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.context is not None:
            try:
                sock = self.context.wrap_socket(
                    sock, server_side=True, suppress_ragged_eofs=False)
            except OSError:
                sock.close()
                return
        self.peers.put(Peer(sock))

    def accept(self):
        return self.peers.get(timeout=WAIT)

    def arrivals(self):
        """
        How many have come so far: a connection of our own queues up behind
        all that were made before it.
        """
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.own.add(probe.getsockname()[1])
            probe.connect(self.listener.getsockname())
            return self.passed.get(timeout=WAIT)

    def serve(self, count, reply):
        """Answers every request of the next connections; gives the peers."""
        peers = [self.accept() for _ in range(count)]
        for peer in peers:
            threading.Thread(target=serve, args=(peer, reply),
                             daemon=True).start()
        return peers

    def close(self):
        self.listener.close()


def serve(peer, reply):
    try:
        while True:
            peer.head()
            peer.send(reply)
    except (AssertionError, OSError):
        pass


class Reply(dict):
    @property
    def data(self):
        return base64.b64decode(self["data"])

    @property
    def end(self):
        return self["end"]


class Refused(Exception):
    """What a client met instead of what it wanted; a word of hand.py."""


class Hand:
    """The line to hand.py."""

    def __init__(self, process, words):
        """words tells what the run had to say, for when it is over."""
        self.process = process
        self.words = words
        self.number = 0
        self.waiting = {}
        self.gone = False
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for text in self.process.stdout:
            reply = json.loads(text)
            self.waiting.pop(reply.pop("n")).put(reply)
        self.gone = True
        for box in list(self.waiting.values()):
            box.put({"fault": "the run is over"})

    def start(self, on, do, **more):
        self.number += 1
        box = queue.Queue()
        self.waiting[self.number] = box
        order = {"n": self.number, "on": on, "do": do, **more}
        try:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise AssertionError("hand.py: the run is over") from None
        return lambda: self.finish(box)

    def finish(self, box):
        reply = box.get(timeout=4 * WAIT)
        if "fault" in reply:
            raise AssertionError("hand.py: %s\n%s" % (reply["fault"],
                                                      self.words()))
        if "error" in reply:
            raise Refused(reply["error"])
        return Reply(reply)


class Client:
    """The sandbox's end of one connection."""

    count = 0

    def __init__(self, hand):
        Client.count += 1
        self.hand = hand
        self.name = "c%d" % Client.count

    def start(self, do, **more):
        return self.hand.start(self.name, do, **more)

    def do(self, do, **more):
        return self.start(do, **more)()

    def send(self, data):
        self.do("send", data=base64.b64encode(data).decode())

    def until(self, mark):
        return self.do("read", until=base64.b64encode(mark).decode())

    def head(self):
        reply = self.until(b"\r\n\r\n")
        if reply.end != "more":
            raise AssertionError("%s after %r" % (reply.end, reply.data))
        return reply.data

    def read(self, count):
        reply = self.do("read", count=count)
        if reply.end != "more":
            raise AssertionError("%s after %r" % (reply.end, reply.data))
        return reply.data

    def rest(self):
        reply = self.do("read")
        return reply.data, reply.end

    def answer(self):
        """A whole response with a length: (status, head, body)."""
        head = self.head()
        length = 0
        for field in head.split(b"\r\n"):
            if field.lower().startswith(b"content-length:"):
                length = int(field.split(b":")[1])
        return int(head.split()[1]), head, self.read(length) if length else b""

    def close(self):
        self.do("close")

    def leave(self):
        """At a test's end, also when the run is over by then."""
        try:
            self.start("close")
        except (AssertionError, ValueError):
            pass


class Audit:
    def __init__(self, path):
        self.path = path

    def rows(self, query, *words):
        # A database that its writer has just made is not one yet.
        with sqlite3.connect("file:%s?mode=ro" % self.path, uri=True,
                             timeout=WAIT) as database:
            database.row_factory = sqlite3.Row
            return database.execute(query, words).fetchall()

    def of(self, host):
        """A host's rows in order, but for those about its name."""
        return self.rows("SELECT * FROM v_event WHERE host = ? AND "
                         "kind <> 'dns' ORDER BY seq", host)


class Run:
    """One `exeat run` with hand.py in it."""

    def __init__(self, folder, policy, options=(), state=None):
        self.folder = folder
        state = state or folder
        self.workspace = os.path.join(folder, "workspace")
        self.result = os.path.join(folder, "result.json")
        os.makedirs(self.workspace, exist_ok=True)
        shutil.copy(os.path.join(HERE, "hand.py"), self.workspace)
        with open(os.path.join(folder, "policy.json"), "w") as out:
            json.dump(policy, out)
        self.environment = dict(
            os.environ, HOME=folder, XDG_STATE_HOME=state,
            XDG_CONFIG_HOME=folder)
        self.audit = Audit(os.path.join(state, "exeat", "audit.db"))
        self.errors = open(os.path.join(folder, "stderr"), "w+")
        self.process = subprocess.Popen(
            [os.path.join(BUILD, "exeat"), "run", "--policy",
             os.path.join(folder, "policy.json"), "--workspace",
             self.workspace, "--result", self.result, "--env",
             "RAW_WAIT=%d" % WAIT, *options, "--",
             PYTHON, "-I", os.path.join(self.workspace, "hand.py")],
            env=self.environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.hand = Hand(self.process, self.stderr)

    def client(self):
        return Client(self.hand)

    def sibling(self, name):
        """The process of ours that serves this run, by its number."""
        # It may only be starting.
        found = until("one " + name, lambda: self.siblings(name))
        if len(found) != 1:
            raise AssertionError("%d of %s" % (len(found), name))
        return found[0]

    def siblings(self, name):
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/comm" % pid) as comm:
                    if comm.read().strip() != name[:15]:
                        continue
                with open("/proc/%s/cmdline" % pid) as words:
                    line = words.read()
                with open("/proc/%s/status" % pid) as status:
                    parent = status.read().split("PPid:")[1].split()[0]
            except OSError:
                continue
            if self.folder in line or int(parent) == self.process.pid:
                found[int(pid)] = int(parent)
        # The writer's keeper has its name, too, and is its child.
        return [pid for pid, parent in found.items() if parent not in found]

    def stderr(self):
        """What it said, and what the audit writer has to say of itself."""
        self.errors.flush()
        with open(self.errors.name) as source:
            said = source.read()
        for row in self.audit.rows("SELECT object, detail FROM v_event "
                                   "WHERE kind = 'audit'"):
            said += "audit: %s %s\n" % tuple(row)
        return said

    def end(self):
        """Lets the command end; (code, what the result file says)."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        code = self.process.wait(timeout=2 * WAIT)
        with open(self.result) as source:
            return code, json.load(source)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Story(unittest.TestCase):
    """A run for all tests of a class, and the origins it may reach."""

    requests = refused = 0
    audit_fails = False  # by a test of it, on purpose
    options = ()  # of exeat run
    longMessage = True
    maxDiff = None

    @classmethod
    def rules(cls):
        ports = [cls.clear.port, cls.tls.port]
        here = {"resolve": "127.0.0.1", "private": True,
                "upstream_ca": cls.authority.ca}
        return [
            {"id": "raw", "host": ["*.raw.test"], "port": ports,
             "access": "write", **here},
            {"id": "secret", "host": ["*.raw.test"], "port": ports,
             "path": ["/secret/**"], "action": "deny",
             "reason": "That path is nobody's business."},
            {"id": "read", "host": ["*.read.test"], "port": ports, **here},
            {"id": "upgrade", "host": ["*.ws.test"], "port": ports,
             "access": "any", **here},
            {"id": "pass", "host": ["*.pass.test"], "port": ports,
             "tls": "passthrough", "access": "any",
             "resolve": "127.0.0.1", "private": True},
            {"id": "tunnel", "host": ["*.tcp.test"], "port": ports,
             "protocol": "tcp", "resolve": "127.0.0.1", "private": True},
        ]

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="exeat-raw-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.authority = Authority(cls.folder)
        cls.clear = Origin()
        cls.tls = Origin(cls.authority.context)
        cls.addClassCleanup(cls.clear.close)
        cls.addClassCleanup(cls.tls.close)
        cls.requests = cls.refused = 0
        cls.sandbox = Run(cls.folder, {"version": 1, "name": "raw",
                                    "rules": cls.rules()}, cls.options)
        cls.addClassCleanup(cls.sandbox.kill)
        cls.audit = cls.sandbox.audit

    @classmethod
    def tearDownClass(cls):
        code, result = cls.sandbox.end()
        errors = cls.sandbox.stderr()
        counts = (code, result["requests"], result["refused"])
        if counts != (0, cls.requests, cls.refused):
            raise AssertionError(
                "the run ended with %r, not with %r\n%s" %
                (counts, (0, cls.requests, cls.refused), errors))
        for word in ("Sanitizer", "runtime error", "Assertion"):
            if word in errors:
                raise AssertionError(errors)

    def counts(self, requests, refused=0):
        """What this test adds to the run's counts."""
        type(self).requests += requests
        type(self).refused += refused

    def host(self, below="raw.test"):
        """A name of this test's own."""
        name = self._testMethodName.replace("_", "-")[:50].strip("-")
        return "%s.%s" % (name, below)

    def open(self, host, port, **more):
        client = self.sandbox.client()
        self.addCleanup(client.leave)
        client.do("connect", host=host, port=port, **more)
        return client

    def open_clear(self, host):
        return self.open(host, self.clear.port)

    def open_tls(self, host, name=None, **more):
        client = self.open(host, self.tls.port)
        client.do("tls", name=name or host, **more)
        return client

    def accept(self, origin):
        peer = origin.accept()
        self.addCleanup(peer.close)
        return peer

    def rows_of(self, host, count):
        """Waits for a host's rows; there must be exactly that many."""
        until("%d rows of %s" % (count, host),
              lambda: len(self.audit.of(host)) >= count)
        return self.audit.of(host)

    def expect_rows(self, host, *rows):
        """Each a word: kind verdict reason status; * is anything."""
        got = self.rows_of(host, len(rows))
        said = ["%s %s %s %s" % (row["kind"], row["verdict"], row["reason"],
                                 row["status"]) for row in got]
        for i, wanted in enumerate(rows):
            if i < len(said) and wanted.endswith(" *"):
                said[i] = said[i].rsplit(" ", 1)[0] + " *"
        self.assertEqual(list(rows), said)
        return got


def request(method, host, port, path="/", fields=b"", body=b""):
    return b"%s %s HTTP/1.1\r\nHost: %s:%d\r\n%s\r\n%s" % (
        method.encode(), path.encode(), host.encode(), port, fields, body)


def main():
    unittest.main(verbosity=2)
