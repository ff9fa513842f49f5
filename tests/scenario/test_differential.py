#!/usr/bin/python3 -I
"""differential - made-up HTTP/1.1 that some parser reads otherwise, through the
gateway to three others: node's llhttp, nginx, and a lenient one in Python.

Each message has a request hidden behind it.  Whatever the gateway makes of it,
an origin reads no request that was not judged and written down, and reads each
that was answered.  The messages are drawn from a fixed seed; EXEAT_FULL=1
draws many more.
"""
import base64
import contextlib
import json
import os
import random
import select
import socket
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_http2
import world

COUNT = 3000 if os.environ.get("EXEAT_FULL") else 120
SEED = 20261201

# What is good stands often enough that one fault at a time is met, too.
LINES = [b"POST /%n HTTP/1.1"] * 90 + [
    b"GET /%n HTTP/1.1", b"POST /%n HTTP/1.0", b"POST /%n HTTP/1.2",
    b"POST /%n http/1.1", b"POST  /%n HTTP/1.1", b"POST\t/%n HTTP/1.1",
    b"POST /%n\tHTTP/1.1", b"POST /%n HTTP/1.1 ", b"POST /%n  HTTP/1.1",
    b"\r\nPOST /%n HTTP/1.1", b"\nPOST /%n HTTP/1.1", b"POST /%n",
    b"POST /%n#x HTTP/1.1", b"POST /%n?a=\xff HTTP/1.1",
    b"POST /%n/%00 HTTP/1.1", b"POST /%n/../x HTTP/1.1",
    b"POST /%n/%2e%2e/x HTTP/1.1", b"POST /%n\x00 HTTP/1.1",
    b"POST http://%h/%n HTTP/1.1", b"POST http://other.test/%n HTTP/1.1",
    b"POST %h/%n HTTP/1.1", b"POST //%h/%n HTTP/1.1",
    b"PO\x7fST /%n HTTP/1.1", b"post /%n HTTP/1.1", b"HEAD /%n HTTP/1.1",
    b"OPTIONS * HTTP/1.1", b"CONNECT %h HTTP/1.1", b"PRI * HTTP/2.0",
    b"POST /%n HTTP/1.1\rX: y", b"POST /%n HTTP/1.1\x0b"]
NAMES = [b"Content-Length", b"Transfer-Encoding"]
LENGTHS = [b"5", b"0", b"05", b"+5", b"-5", b"5 ", b" 5", b"\t5", b"5,5",
           b"5, 5", b"5;x", b"0x5", b"5\x0b", b"5\x00", b"5_0", b"", b'"5"',
           b"5\r", b"5\n", b"99999999999999999999", b"\xd9\xa5", b"5.0", b"5e0"]
CODINGS = [b"chunked", b"Chunked", b" chunked ", b"\tchunked", b"chunked\x0b",
           b"\x0bchunked", b"chunked,", b",chunked", b"chunked, chunked",
           b"identity", b"chunked, identity", b"gzip, chunked", b"xchunked",
           b"chunkedx", b'"chunked"', b"chunked;q=1", b"chunked\x00",
           b"chunked\r\n\t", b"chun\r\n ked", b"\r\n chunked", b"\xa0chunked"]
SPELLINGS = [b"%s: %v", b"%s:%v", b"%s : %v", b"%s\t: %v", b" %s: %v",
             b"\t%s: %v", b"%s:\t%v", b"%s:\r\n %v", b"%s\x00: %v",
             b"%s\x0b: %v", b"\x00%s: %v", b"%s;: %v", b"X: y\n%s: %v",
             b"X: y\r%s: %v", b"X: y\r\n\r%s: %v", b"X-%s: %v", b"%s-: %v",
             b":%s: %v", b"%s %v", b"%s: %v\n", b"X: \"\r\n%s: %v\r\nY: \""]
OTHERS = [b"Connection: close", b"Connection: keep-alive, Content-Length",
          b"Connection: Transfer-Encoding", b"Expect: 100-continue",
          b"Expect: x", b"Upgrade: h2c\r\nConnection: Upgrade",
          b"TE: chunked", b"TE: trailers", b"Trailer: Content-Length",
          b"Host: other.test", b"host: %h", b"Host : %h", b"X: y", b"X",
          b": y", b"X:", b"Content_Length: 7", b"Transfer_Encoding: chunked",
          b"Content-Encoding: chunked", b"X-HTTP-Method-Override: DELETE",
          b"Keep-Alive: timeout=1", b"Proxy-Connection: keep-alive",
          b"X: \xff\xfe", b"X: a\r\n\tb", b"\xef\xbb\xbfX: y", b"X\xe9: y"]
BODIES = [b"", b"hello", b"hell", b"0\r\n\r\n", b"5\r\nhello\r\n0\r\n\r\n",
          b"5\r\nhello\r\n0\r\nX: y\r\n\r\n", b"5\nhello\n0\n\n",
          b"5;a=b\r\nhello\r\n0\r\n\r\n", b"5;\"\r\n\"\r\nhello\r\n0\r\n\r\n",
          b"5 ;a\r\nhello\r\n0\r\n\r\n", b"0x5\r\nhello\r\n0\r\n\r\n",
          b"05\r\nhello\r\n00\r\n\r\n", b"5\r\nhelloX\r\n0\r\n\r\n",
          b"5\r\nhello0\r\n\r\n", b"5\r\nhello\r\n0\r\n", b"5\r\nhello\r\n0\n\r\n",
          b"-1\r\nhello\r\n0\r\n\r\n", b"5_\r\nhello\r\n0\r\n\r\n",
          b"ffffffffffffffff5\r\nhello\r\n0\r\n\r\n", b"\r\n5\r\nhello\r\n0\r\n\r\n",
          b"5\r\r\nhello\r\n0\r\n\r\n", b"5;\x00\r\nhello\r\n0\r\n\r\n",
          b"5\r\nhello\r\n0\r\nContent-Length: 9\r\nHost: x\r\n\r\n",
          b"5\r\nhello\r\n0\r\n X: y\r\n\r\n", b"5\r\nhello\r\n0\r\nX : y\r\n\r\n",
          b"5;a\nb\r\nhello\r\n0\r\n\r\n", b"5;a\rb\r\nhello\r\n0\r\n\r\n"]

NGINX = """
daemon off;
error_log stderr crit;
pid %(home)s/pid;
events {}
http {
    log_format told escape=json '$request_method $request_uri';
    access_log %(home)s/access told;
    client_body_temp_path %(home)s/1;
    proxy_temp_path %(home)s/2;
    fastcgi_temp_path %(home)s/3;
    uwsgi_temp_path %(home)s/4;
    scgi_temp_path %(home)s/5;
    keepalive_requests 100000;
    server { listen 127.0.0.1:%(port)d; location / { return 200 "ok"; } }
}
"""

SEND = r'''
import base64
for message in json.load(open("messages")):
    peer = socket.create_connection(("api.test", int(words[0])), timeout=60)
    try:
        peer.sendall(base64.b64decode(message))
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(65536):
            pass
    except OSError:
        pass
    peer.close()
'''


def draw(chance, number, host):
    """One message; what stands in it by chance is drawn again each time."""
    def field(name, values):
        return (chance.choice(SPELLINGS[:2] * 30 + SPELLINGS)
                .replace(b"%s", name).replace(b"%v", chance.choice(values)))
    lines = [b"Host: %h"]
    for name, values in ((NAMES[0], LENGTHS), (NAMES[1], CODINGS)):
        for _ in range(chance.choice((0, 1, 1, 1, 2) if name == NAMES[1]
                                     else (0, 0, 0, 1, 2))):
            lines.append(field(name, values[:1] * 50 + values))
    for _ in range(chance.choice((0, 0, 0, 0, 1, 2))):
        lines.append(chance.choice(OTHERS))
    chance.shuffle(lines)
    end = chance.choice([b"\r\n"] * 60 + [b"\n", b"\r", b"\r\r\n"])
    message = chance.choice(LINES) + b"\r\n" + end.join(lines) + b"\r\n\r\n"
    message += chance.choice(BODIES[4:5] * 20 + BODIES)
    message += b"GET /hidden/%n HTTP/1.1\r\nHost: %h\r\n\r\n"
    return message.replace(b"%n", b"%d" % number).replace(b"%h", host)


class Lenient:
    """Takes bare LF, the last of two lengths, chunks over lengths: whatever
    could make it see more requests than a strict one."""

    def __init__(self, test):
        self.heard = []
        self.origin = test.origin(tls=False, serve=self.serve)
        self.port = self.origin.port

    def serve(self, peer):
        stream = peer.makefile("rb")
        while True:
            line = stream.readline()
            if not line:
                return
            words = line.split()
            if len(words) < 2:
                continue
            self.heard.append((words[0].decode("latin-1"),
                               words[1].decode("latin-1")))
            length, chunked = 0, False
            for line in iter(stream.readline, b""):
                name, _, value = line.strip().partition(b":")
                name, value = name.strip().lower(), value.strip()
                if not line.strip():
                    break
                if name == b"content-length":
                    with contextlib.suppress(ValueError):
                        length = int(value)
                chunked |= (name == b"transfer-encoding"
                            and b"chunked" in value.lower())
            if chunked:
                while True:
                    digits = stream.readline().split(b";")[0].strip()
                    size = int(digits, 16) if digits else 0
                    if size == 0:
                        break
                    stream.read(size)
                    stream.readline()
                while stream.readline().strip():
                    pass
            else:
                stream.read(length)
            world.answer(peer)


class Differential(world.World):
    def nginx(self):
        home = os.path.join(self.folder, "nginx")
        os.mkdir(home)
        with socket.create_server(("127.0.0.1", 0)) as door:
            port = door.getsockname()[1]
        with open(os.path.join(home, "conf"), "w") as out:
            out.write(NGINX % {"home": home, "port": port})
        process = subprocess.Popen(
            ["/usr/sbin/nginx", "-c", os.path.join(home, "conf"), "-e",
             "stderr"], stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                return port, os.path.join(home, "access")
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), deadline)
            select.select([], [], [], 0.02)

    def send(self, port, seed):
        chance = random.Random(seed)
        host = b"api.test:%d" % port
        messages = [draw(chance, n, host) for n in range(COUNT)]
        with open(os.path.join(self.workspace, "messages"), "w") as out:
            json.dump([base64.b64encode(text).decode() for text in messages],
                      out)
        rule = {"id": "api", "host": ["api.test"], "port": [port],
                "resolve": "127.0.0.1", "private": True, "access": "write"}
        self.box([rule], SEND, port)
        return messages

    def number_of(self, path):
        """Of the message that a request stands in; -1: in none of them."""
        for word in path.split("?")[0].split("/"):
            if word.isdigit():
                return int(word)
        return -1

    def compare(self, messages, heard):
        judged, answered = {}, {}
        for row in self.rows("kind = 'http_intent'"):
            judged.setdefault(self.number_of(row["object"]), []).append(
                (row["verb"], row["object"].split("?")[0]))
        for row in self.rows("kind = 'http' AND status < 400 AND "
                             "parent_seq IS NOT NULL"):
            answered.setdefault(self.number_of(row["object"]), []).append(
                (row["verb"], row["object"].split("?")[0]))
        read = {}
        for verb, path in heard:
            read.setdefault(self.number_of(path), []).append(
                (verb, path.split("?")[0]))
        for number in sorted(set(judged) | set(read)):
            ours, theirs = judged.get(number, []), read.get(number, [])
            said = (messages[number] if number >= 0 else b"", ours, theirs)
            # It may have been broken off before it was read, never more.
            self.assertEqual(theirs, ours[:len(theirs)], said)
            for request in answered.get(number, []):
                self.assertIn(request, theirs, said)
        # Not everything is refused, or this would show nothing.
        self.assertGreater(sum(map(len, read.values())), COUNT // 20)
        self.assertGreater(len(self.rows("kind = 'http' AND status = 400")),
                           COUNT // 10)

    def test_node_reads_what_was_judged(self):
        origin = test_http2.NodeOrigin(self, kind="plain")
        messages = self.send(origin.port, SEED)
        self.compare(messages, [(seen["method"], seen["path"])
                                for seen in origin.heard])

    def test_nginx_reads_what_was_judged(self):
        port, log = self.nginx()
        messages = self.send(port, SEED + 1)
        with open(log) as lines:
            heard = [tuple(line.rstrip("\n").split(" ", 1)) for line in lines]
        # Our own look whether it listens has no request.
        self.compare(messages, [one for one in heard if len(one) == 2
                                and one != ("", "")])

    def test_lenient_parser_reads_what_was_judged(self):
        origin = Lenient(self)
        messages = self.send(origin.port, SEED + 2)
        self.compare(messages, origin.heard)


if __name__ == "__main__":
    os.environ["EXEAT_BUILD"] = world.become_ordinary()
    unittest.main(verbosity=2)
