#!/usr/bin/python3 -I
"""credentials - what an injected credential costs, and how fast one is revoked.

usage: credentials.py BUILD [FLOWS]

  latency   requests with and without a credential, one after the other on one
            kept connection each; what is added at the median.  The row of a
            request with a credential is waited for until it is on the disk,
            which is most of it: so the time the gateway's own process takes
            for a request of each sort is told too.
  revoke    FLOWS uploads under way (1,000), and requests without a pause on a
            connection beside them.  From the acknowledgement of `exeat
            credential revoke`: until the last request that was still let
            through was begun, and until the last byte reached the origin.
"""
import json
import os
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "scenario"))
from world import PRELUDE, World, receive_head  # noqa: E402

ROUNDS = 2000

LATENCY = PRELUDE + r"""
context = ssl.create_default_context()
peers = {name: http.client.HTTPSConnection('api.test', int(words[0]),
                                           context=context)
         for name in ('plain', 'with')}
took = {name: [] for name in peers}
for turn in range(int(words[1])):
    for name, peer in peers.items():
        before = time.perf_counter_ns()
        peer.request('GET', '/' + name)
        answer = peer.getresponse()
        answer.read()
        took[name].append(time.perf_counter_ns() - before)
        assert answer.status == 200, answer.status
print(json.dumps({name: sorted(list)[len(list) // 2] / 1000
                  for name, list in took.items()}))
"""

UPLOADS = PRELUDE + r"""
import selectors, threading
context = ssl.create_default_context()
def begin():
    peer = context.wrap_socket(
        socket.create_connection(('api.test', int(words[0]))),
        server_hostname='api.test')
    peer.sendall(b'POST /up HTTP/1.1\r\nHost: api.test:%s\r\n'
                 b'Transfer-Encoding: chunked\r\n\r\n' % words[0].encode())
    return peer
peers = [begin() for i in range(int(words[1]))]
let, first = [0.0], threading.Event()
def ask():
    peer = http.client.HTTPSConnection('api.test', int(words[0]),
                                       context=context)
    while True:
        began = time.monotonic()
        try:
            peer.request('GET', '/ask')
            answer = peer.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return
        if answer.status != 200:
            return
        let[0] = began
        first.set()
asker = threading.Thread(target=ask)
asker.start()
first.wait()
print('uploading', flush=True)
chunk = b'400\r\n' + bytes(1024) + b'\r\n'
while peers:
    for peer in list(peers):
        try:
            peer.sendall(chunk)
        except OSError:
            peers.remove(peer)
    # Under way, not as fast as can be: that would measure this program.
    time.sleep(0.1)
asker.join()
print(let[0], flush=True)
"""


class Bench(World):
    def runTest(self):
        pass

    def prepare(self):
        self.credentials = os.path.join(self.folder, "credentials.json")
        for path, text in ((os.path.join(self.folder, "key"), "s3cr3t"),
                           (self.credentials, None)):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600),
                      "w") as out:
                out.write(text or json.dumps({
                    "version": 1, "credentials": {"api": {
                        "kind": "bearer", "source": {"file": "key"},
                        "hosts": ["api.test:%d" % self.web.port]}}}))

    def begin(self, script, *words, **rule):
        self.prepare()
        rules = [self.rule("with", "api.test", self.web, credential="api",
                           access="write",
                           path=["/with", "/up", "/ask"]),
                 self.rule("plain", "api.test", self.web, path=["/plain"])]
        return self.start(rules, "python3", "-I", "-c", script,
                          str(self.web.port), *map(str, words),
                          options=("--credentials", self.credentials))

    def latency(self):
        self.web = self.origin()
        process = self.begin(LATENCY, ROUNDS)
        out, err = process.communicate(timeout=240)
        if process.returncode != 0:
            sys.exit(err)
        took = json.loads(out)
        print("latency    plain %(plain).0f us, with a credential %(with).0f"
              " us at the median" % took)

    def revoke(self, flows):
        last, lock = [0.0], threading.Lock()

        def serve(peer):
            head, _ = receive_head(peer)
            while head.startswith(b"GET"):
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                head, _ = receive_head(peer)
            while head and peer.recv(65536):
                with lock:
                    last[0] = max(last[0], time.monotonic())
        self.web = self.origin(serve=serve)
        process = self.begin(UPLOADS, flows)
        if process.stdout.readline() != "uploading\n":
            sys.exit(process.communicate()[1])
        time.sleep(1)
        told = subprocess.run(
            [os.path.join(self.bin, "exeat"), "credential", "revoke", "api"],
            env=self.environment, capture_output=True, text=True, timeout=60)
        acknowledged = time.monotonic()
        out, err = process.communicate(timeout=240)
        if told.returncode != 0 or process.returncode != 0:
            sys.exit(told.stderr + err)
        print("revoke     %d uploads: last request let through %.1f ms, last"
              " byte %.1f ms after the acknowledgement"
              % (flows, (float(out) - acknowledged) * 1000,
                 (last[0] - acknowledged) * 1000))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    os.environ["EXEAT_BUILD"] = os.path.realpath(sys.argv[1])
    flows = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    Bench.setUpClass()
    try:
        for measure in (Bench.latency, lambda bench: bench.revoke(flows)):
            bench = Bench()
            bench.setUp()
            measure(bench)
            bench.doCleanups()
    finally:
        Bench.doClassCleanups()


main()
