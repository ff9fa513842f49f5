"""hand - does inside the sandbox what a test outside tells it to.

Orders are lines of JSON on stdin, answers lines on stdout, so that a test is
one story told from one place: what the client does, what the origin saw, what
the audit has.  Each connection has a thread of its own, and its orders are
done one after another; those of two connections do not wait for each other.
Every wait has an end, and running into it is an answer: "timeout".
"""
import base64
import hashlib
import json
import os
import queue
import resource
import socket
import ssl
import struct
import sys
import threading
import time

WAIT = int(os.environ.get("RAW_WAIT", "30"))
PIECE = 1 << 16


def word_of(error):
    if isinstance(error, (socket.timeout, TimeoutError)):
        return "timeout"
    if isinstance(error, ConnectionResetError):
        return "reset"
    if isinstance(error, BrokenPipeError):
        return "pipe"
    if isinstance(error, ssl.SSLCertVerificationError):
        return "untrusted"
    if isinstance(error, ssl.SSLEOFError):
        return "cut"
    if isinstance(error, ssl.SSLError):
        return "alert " + (error.reason or str(error))
    if isinstance(error, socket.gaierror):
        return "no name"
    return type(error).__name__ + " " + str(error)


def hide(data):
    return base64.b64encode(data).decode()


def pattern(length):
    """The bytes of pour() and of Peer.pour(), a piece at a time."""
    block = bytes(range(251)) * 262
    while length > 0:
        piece = block[:min(length, PIECE)]
        yield piece
        length -= len(piece)


# Sessions by the name a test gave them, each with its context.
kept = {}


class Line:
    """One connection."""

    def __init__(self):
        self.sock = None
        self.bytes = b""

    def connect(self, host, port, buffer=0):
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM)[0]
        sock = socket.socket(family, socket.SOCK_STREAM)
        if buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        sock.settimeout(WAIT)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = sock
        sock.connect(address)
        return {"to": address[0]}

    def tls(self, name=None, alpn=None, cut=0, most=None, session=None):
        """most is the highest version; session a name to resume it by."""
        context = kept.get(session, (None, None))[0]
        if context is None:
            context = ssl.create_default_context()
        if name is None:
            context.check_hostname = False
        if alpn:
            context.set_alpn_protocols(alpn)
        if most:
            context.maximum_version = ssl.TLSVersion[most]
        if cut:
            return self.tls_in_pieces(context, name, cut)
        self.sock = context.wrap_socket(
            self.sock, server_hostname=name, suppress_ragged_eofs=False,
            session=kept.get(session, (None, None))[1])
        names = [value for _, value in
                 self.sock.getpeercert().get("subjectAltName", ())]
        return {"alpn": self.sock.selected_alpn_protocol(), "names": names,
                "version": self.sock.version(),
                "resumed": self.sock.session_reused}

    def keep(self, session):
        """For later: in TLS 1.3 a ticket comes behind the handshake."""
        kept[session] = (self.sock.context, self.sock.session)
        return {}

    def tls_in_pieces(self, context, name, cut):
        """The hello in two pieces, the second once the first was read."""
        came, goes = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = context.wrap_bio(came, goes, server_hostname=name)
        first = True
        while True:
            try:
                session.do_handshake()
                break
            except ssl.SSLWantReadError:
                pass
            out = goes.read()
            if first:
                self.send(hide(out[:cut]))
                self.settle()
                out = out[cut:]
                first = False
            self.sock.sendall(out)
            got = self.sock.recv(PIECE)
            if not got:
                raise ssl.SSLEOFError("ended in the handshake")
            came.write(got)
        self.sock.sendall(goes.read())
        return {}

    def hello(self, name=None, most=None):
        """What a ClientHello looks like, not sent."""
        context = ssl.create_default_context()
        context.check_hostname = False
        if most:
            context.maximum_version = ssl.TLSVersion[most]
        goes = ssl.MemoryBIO()
        session = context.wrap_bio(ssl.MemoryBIO(), goes, server_hostname=name)
        try:
            session.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return {"data": hide(goes.read())}

    def send(self, data):
        self.sock.sendall(base64.b64decode(data))
        return {}

    def settle(self):
        """Waits until the gateway has read all that was sent."""
        here = self.sock.getsockname()[1]
        until = time.monotonic() + WAIT
        while time.monotonic() < until:
            if all(left == 0 for port, left in unread() if port == here):
                return {}
        raise TimeoutError

    def read(self, until=None, count=0):
        """Up to a mark, to a count, or (neither) to the end."""
        mark = base64.b64decode(until) if until else None
        end = "more"
        while end == "more":
            if mark is not None and mark in self.bytes:
                count = self.bytes.index(mark) + len(mark)
                break
            if mark is None and count and len(self.bytes) >= count:
                break
            try:
                got = self.sock.recv(PIECE)
                if not got:
                    end = "eof"
                self.bytes += got
            except OSError as error:
                end = word_of(error)
        if end != "more":
            count = len(self.bytes)
        data, self.bytes = self.bytes[:count], self.bytes[count:]
        return {"data": hide(data), "end": end}

    def pour(self, count):
        sent, end = 0, "more"
        try:
            for piece in pattern(count):
                while piece:
                    put = self.sock.send(piece)
                    sent += put
                    piece = piece[put:]
        except OSError as error:
            end = word_of(error)
        return {"sent": sent, "end": end}

    def soak(self, count=None):
        got, end = len(self.bytes), "more"
        digest = hashlib.sha256(self.bytes)
        self.bytes = b""
        while end == "more" and (count is None or got < count):
            try:
                piece = self.sock.recv(PIECE)
                if not piece:
                    end = "eof"
                got += len(piece)
                digest.update(piece)
            except OSError as error:
                end = word_of(error)
        return {"got": got, "digest": digest.hexdigest(), "end": end}

    def shutdown(self):
        self.sock.shutdown(socket.SHUT_WR)
        return {}

    def bye(self):
        """Ends TLS as it should be ended: with a close_notify."""
        self.sock.setblocking(False)
        try:
            self.sock.unwrap()
        except (ssl.SSLWantReadError, OSError):
            pass
        return self.close()

    def close(self):
        if self.sock is not None:
            self.sock.close()
        return {}

    def abort(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        return self.close()

    def lookup(self, host):
        found = socket.getaddrinfo(host, 80, type=socket.SOCK_STREAM)
        return {"list": [entry[4][0] for entry in found]}

    def sockets(self):
        """Connections that are not over, of which one end is a program's."""
        return {"count": len(unread())}

    # Many connections at once, in one thread.

    def crowd(self, host, port, count):
        address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4]
        self.many = []
        for _ in range(count):
            sock = socket.socket(
                socket.AF_INET6 if len(address) == 4 else socket.AF_INET)
            sock.settimeout(WAIT)
            sock.connect(address)
            self.many.append(sock)
        return {"count": len(self.many)}

    def crowd_tls(self, name):
        context = ssl.create_default_context()
        self.many = [context.wrap_socket(sock, server_hostname=name)
                      for sock in self.many]
        return {}

    def crowd_send(self, data, first=0, last=None):
        for sock in self.many[first:last]:
            sock.sendall(base64.b64decode(data))
        return {}

    def crowd_read(self, first=0, last=None, count=1):
        """How many got each answer: the first bytes, or a word."""
        seen = {}
        for sock in self.many[first:last]:
            got = b""
            try:
                while len(got) < count:
                    piece = sock.recv(count - len(got))
                    if not piece:
                        break
                    got += piece
                got = got.decode("latin-1")
            except OSError as error:
                got = word_of(error)
            seen[got] = seen.get(got, 0) + 1
        return {"seen": seen}

    def crowd_end(self, how, first=0, last=None):
        for sock in self.many[first:last]:
            if how == "half":
                try:
                    sock.shutdown(socket.SHUT_WR)
                except OSError:
                    pass  # the other side was faster
                continue
            if how == "abort":
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                struct.pack("ii", 1, 0))
            sock.close()
        return {}


def unread():
    """(peer's port, bytes not read) of each connection in the sandbox."""
    found = []
    for name in ("tcp", "tcp6"):
        with open("/proc/self/net/" + name) as table:
            for row in table.read().splitlines()[1:]:
                word = row.split()
                # Listeners, and those that only wait for time to pass.
                if word[3] in ("0A", "06"):
                    continue
                found.append((int(word[2].rsplit(":", 1)[1], 16),
                              int(word[4].split(":")[1], 16)))
    return found


answering = threading.Lock()


def answer(number, body):
    with answering:
        sys.stdout.write(json.dumps({"n": number, **body}) + "\n")
        sys.stdout.flush()


def serve(orders):
    line = Line()
    while True:
        order = orders.get()
        number, verb = order.pop("n"), order.pop("do")
        order.pop("on")
        try:
            answer(number, getattr(line, verb)(**order))
        except OSError as error:
            answer(number, {"error": word_of(error)})
        except Exception as error:  # a fault of the test itself
            answer(number, {"fault": repr(error)})


def main():
    lines = {}
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for text in sys.stdin:
        order = json.loads(text)
        name = order["on"]
        if name not in lines:
            lines[name] = queue.Queue()
            threading.Thread(
                target=serve, args=(lines[name],), daemon=True).start()
        lines[name].put(order)
    os._exit(0)


main()
