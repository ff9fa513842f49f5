#!/usr/bin/python3 -I
"""Killed at any moment, nothing of ours has let out what it had not written
down: every request that an origin has seen has its row, and the audit is whole.

EXEAT_FULL=1 makes 200 rounds of it, else there are ROUNDS.
"""
import contextlib
import itertools
import os
import random
import re
import signal
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_host import descendants  # noqa: E402
from world import World, answer, become_ordinary, receive_head  # noqa: E402

ROUNDS = 200 if os.environ.get("EXEAT_FULL") == "1" else 8

# As many requests as there is time for, each with a path of its own.
BUSY = r'''
import http.client, sys, threading
host, port, word = sys.argv[1], int(sys.argv[2]), sys.argv[3]

def ask(thread):
    link = http.client.HTTPConnection(host, port, timeout=30)
    for number in range(100000):
        body = b"x" * (number % 3 * 700)
        link.request("POST" if body else "GET",
                     "/%s/%d/%d" % (word, thread, number), body or None)
        link.getresponse().read()

for thread in range(4):
    threading.Thread(target=ask, args=(thread,)).start()
'''

# Whose end is tried; a machine that stops takes all of them at once.
WHO = (("exeat-audit",), ("exeat-gateway",), ("exeat-audit", "exeat-gateway"),
       ("exeat-launch",), (None,),
       ("exeat-audit", "exeat-gateway", "exeat-launch", None))


class Kills(World):
    def setUp(self):
        super().setUp()
        self.arrived = threading.Semaphore(0)

    def serve(self, peer):
        while True:
            head, rest = receive_head(peer)
            if not head:
                return
            self.api.heard.append(head)
            self.arrived.release()
            length = re.search(rb"(?i)content-length: (\d+)", head)
            length = int(length[1]) if length else 0
            while len(rest) < length:
                more = peer.recv(65536)
                if not more:
                    return
                rest += more
            answer(peer)

    def writer(self):
        """It may be an earlier run's, and has a keeper of the same name."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open("/proc/%s/cmdline" % pid, "rb") as source:
                    words = source.read().split(b"\0")
                if (os.path.basename(words[0]) == b"exeat-audit"
                        and words[1] == self.database.encode()):
                    return int(pid)
        raise AssertionError("there is no writer")

    def kill(self, process, who):
        family = {name: pid
                  for pid, name in reversed(descendants(process.pid))}
        family["exeat-audit"] = self.writer()
        # All are stopped first, so that none sees another's end.
        pids = [process.pid if name is None else family[name] for name in who]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

    def round(self, rule, word, who, least):
        process = self.start([rule], "python3", "-I", "-c", BUSY, "api.test",
                             str(self.api.port), word)
        for _ in range(least):
            self.assertTrue(self.arrived.acquire(timeout=60), process.poll())
        self.kill(process, who)
        process.communicate(timeout=120)
        while self.arrived.acquire(blocking=False):
            pass

    def test_nothing_has_left_without_its_row(self):
        self.api = self.origin(tls=False, serve=self.serve)
        rule = self.rule("api", "api.test", self.api, ca=False, access="any")
        chance = random.Random(6)
        for number, who in zip(range(ROUNDS), itertools.cycle(WHO)):
            word = "round%d" % number
            self.api.heard.clear()
            self.round(rule, word, who, chance.randrange(1, 120))
            seen = {head.split()[1].decode() for head in list(self.api.heard)}
            # The next writer brings what the last one has left in order.
            code, out, err = self.run_box([rule], "true")
            self.assertEqual(code, 0, err + out)
            rows = {row["object"] for row in self.rows(
                "kind = 'http_intent' AND object LIKE '/%s/%%'" % word)}
            with self.subTest(word, who=who):
                self.assertTrue(seen)
                self.assertEqual(seen - rows, set())
        done = subprocess.run(
            [os.path.join(self.bin, "exeat"), "audit", "verify", "--audit",
             self.database], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        ends = [row["object"] for row in self.rows("kind = 'sandbox_end'")]
        self.assertEqual(len(ends), 2 * ROUNDS, ends)


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
