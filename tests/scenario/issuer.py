"""issuer - whoever gives tokens, as an HTTPS server of the test's own.

It stands on loopback as "localhost".  Every path it knows has a function that
looks at what was asked, letter by letter, and says what to answer; anything
else is a 404.
"""
import json
import threading
import urllib.parse

from world import receive_head

REASONS = {200: "OK", 201: "Created", 204: "No Content", 400: "Bad Request",
           401: "Unauthorized", 404: "Not Found", 500: "Broken"}


class Asked:
    """One request: .method, .path, .head (lower-case names), .body."""

    def __init__(self, head, body):
        first, *lines = head.decode().split("\r\n")
        self.method, self.path, _ = first.split(" ")
        self.head = {}
        for line in lines:
            name, _, value = line.partition(":")
            self.head[name.lower()] = value.strip()
        self.body = body

    def form(self):
        pairs = urllib.parse.parse_qsl(self.body.decode(), True, True)
        assert len(dict(pairs)) == len(pairs), "a field stands there twice"
        return dict(pairs)

    def json(self):
        return json.loads(self.body)


class Issuer:
    def __init__(self, world):
        self.pages, self.asked, self.faults = {}, [], []
        self.lock = threading.Lock()
        self.origin = world.origin(serve=self.serve)
        self.port = self.origin.port
        self.url = "https://localhost:%d" % self.port

    def page(self, method, path, answer):
        """answer(asked) gives a status and what becomes JSON, or None."""
        self.pages[method, path] = answer

    def serve(self, peer):
        while True:
            head, rest = receive_head(peer)
            if not head:
                return
            asked = Asked(head, b"")
            length = int(asked.head.get("content-length", "0"))
            while len(rest) < length:
                rest += peer.recv(65536)
            asked.body = rest[:length]
            status, body = self.answer(asked)
            text = b"" if body is None else json.dumps(body).encode()
            peer.sendall(
                b"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s"
                % (status, REASONS[status].encode(), len(text), text))

    def answer(self, asked):
        with self.lock:
            self.asked.append(asked)
        page = self.pages.get((asked.method, asked.path))
        if page is None:
            self.faults.append("nobody knows %s %s"
                               % (asked.method, asked.path))
            return 404, {"error": "not_found"}
        try:
            return page(asked)
        except Exception as fault:  # whatever it is, the test must hear of it
            self.faults.append(repr(fault))
            return 500, {"error": repr(fault)}
