#!/usr/bin/python3 -I
"""readings - the differential test of HTTP/1.1: what a second strict parser
(node's llhttp) finds in what we forward is what was judged and recorded.

Each message is ambiguous to somebody, and has a request hidden behind it.
Whatever the gateway makes of it, the origin sees exactly the requests that
have a row, in order; so nothing gets through inside something else.
"""
import base64
import json
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_http2
import world

HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: H\r\n\r\n"
# Behind "POST /n HTTP/1.1" and a Host: fields, and what follows the head.
MESSAGES = [
    (b"Content-Length: 0\r\n", b""),
    (b"Content-Length: 5\r\n", b"hello"),
    (b"Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n0\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n", b"5;a=b\r\nhello\r\n0\r\nx: y\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n", b"0005\r\nhello\r\n0\r\n\r\n"),
    (b"Transfer-Encoding: Chunked\r\n", b"0\r\n\r\n"),
    (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", b"0\r\n\r\n"),
    (b"Content-Length: 5\r\nContent-Length: 6\r\n", b"hello"),
    (b"Content-Length: 5, 5\r\n", b"hello"),
    (b"Content-Length: +5\r\n", b"hello"),
    (b"Content-Length: 0x5\r\n", b"hello"),
    (b"Content-Length: 5 \r\n", b"hello"),
    (b"Content-Length : 5\r\n", b"hello"),
    (b"Content-Length:\t5\r\n", b"hello"),
    (b"Content-Length: 18446744073709551621\r\n", b"hello"),
    (b"Content-Length:\r\n", b""),
    (b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"),
    (b"Transfer-Encoding: chunked, identity\r\n", b"0\r\n\r\n"),
    (b"Transfer-Encoding: identity\r\n", b""),
    (b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"),
    (b"Transfer-Encoding:\x0bchunked\r\n", b"0\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", b"0\r\n\r\n"),
    (b"Transfer-Encoding:\r\n chunked\r\n", b"0\r\n\r\n"),
    (b"Transfer-Encoding : chunked\r\n", b"0\r\n\r\n"),
    (b"X: a\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    (b"X: a\rTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    (b"X: \0Transfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n", b"+5\r\nhello\r\n0\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n", b"5 \r\nhello\r\n0\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n", b"5\nhello\r\n0\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n", b"5\r\nhelloX0\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n",
     b"10000000000000005\r\nhello\r\n0\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n",
     b"0\r\nContent-Length: 9\r\nHost: x\r\n\r\n"),
    (b"Connection: Content-Length\r\nContent-Length: 5\r\n", b"hello"),
    (b"Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n",
     b"0\r\n\r\n"),
    (b"Host: other.test\r\n", b""),
    (b"Expect: 100-continue\r\nContent-Length: 5\r\n", b"hello"),
    (b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"
     b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n", b""),
]


class Readings(world.World):
    def test_second_parser_finds_what_was_judged(self):
        origin = test_http2.NodeOrigin(self, kind="plain")
        rules = [self.rule("api", "api.test", origin, ca=False,
                           access="write")]
        host = b"api.test:%d" % origin.port
        messages = []
        for number, (fields, body) in enumerate(MESSAGES):
            messages.append(base64.b64encode(
                b"POST /%d HTTP/1.1\r\nHost: %s\r\n%s\r\n%s%s" % (
                    number, host, fields, body,
                    HIDDEN.replace(b"H\r", host + b"\r"))).decode())
        with open(os.path.join(self.workspace, "messages"), "w") as out:
            json.dump(messages, out)
        self.box(rules, """
import base64
for message in json.load(open("messages")):
    peer = socket.create_connection(("api.test", int(words[0])), timeout=30)
    peer.sendall(base64.b64decode(message))
    peer.shutdown(socket.SHUT_WR)
    try:
        while peer.recv(65536):
            pass
    except OSError:
        pass
    peer.close()
print("done")
""", origin.port)
        judged = [(row["verb"], row["object"]) for row in
                  self.rows("kind = 'http_intent'")]
        heard = [(seen["method"], seen["path"]) for seen in origin.heard]
        self.assertEqual(judged, heard)
        # The good ones got through, and what was behind them.
        paths = [path for _, path in heard]
        for number in (0, 1, 2, 3, 4, 5, 37):
            self.assertIn("/%d" % number, paths)
        self.assertIn("/hidden", paths)
        refused = self.rows("kind = 'http' AND status = 400")
        self.assertGreater(len(refused), 20)


if __name__ == "__main__":
    os.environ["EXEAT_BUILD"] = world.become_ordinary()
    unittest.main(verbosity=2)
