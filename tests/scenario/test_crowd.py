#!/usr/bin/python3 -I
"""Many runs at once, on one workspace, with one writer of one audit.

Twelve by default, a hundred with EXEAT_FULL=1.  A server holds its answers
until all of them have asked, so they are there at once on any machine.
"""
import collections
import contextlib
import fcntl
import json
import os
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import World, answer, become_ordinary, receive_head  # noqa: E402

MANY = 100 if os.environ.get("EXEAT_FULL") == "1" else 12
WAIT = 240


class Crowd(World):
    def setUp(self):
        super().setUp()
        self.running = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def meeting(self, count):
        """A server that answers nobody before count of them have asked."""
        meeting = threading.Barrier(count)

        def serve(peer):
            head, _ = receive_head(peer)
            if head:
                meeting.wait(WAIT)
                answer(peer, head.split()[1])
        self.addCleanup(meeting.abort)
        return self.origin(serve=serve)

    def begin(self, number, rules, script):
        """Its policy, environment and result are its own."""
        policy = os.path.join(self.folder, "policy-%d.json" % number)
        with open(policy, "w") as out:
            json.dump({"version": 1, "rules": rules}, out)
        process = subprocess.Popen(
            [os.path.join(self.bin, "exeat"), "run", "--policy", policy,
             "--audit", self.database, "--workspace", self.workspace,
             "--result", self.result_of(number),
             "--env", "NUMBER=%d" % number, "--", "bash", "-c", script],
            env=self.environment, cwd=self.workspace, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.running.append(process)

    def result_of(self, number):
        return os.path.join(self.folder, "result-%d.json" % number)

    def ends(self):
        """Of each, in the order of their begin: code, output, errors."""
        ends = []
        for process in self.running:
            out, err = process.communicate(timeout=WAIT)
            ends.append((process.returncode, out, err))
        return ends

    def name_of(self, number):
        with open(self.result_of(number)) as source:
            return json.load(source)["run"]

    def boxes(self):
        return os.path.join(self.environment["HOME"],
                            ".local/state/exeat/files/boxes")

    def processes(self):
        """Whoever was started with a path of this test."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open("/proc/%s/cmdline" % pid, "rb") as source:
                    line = source.read()
                if self.folder.encode() in line:
                    found.append((pid, line))
        return found

    def nothing_is_left(self):
        end = time.monotonic() + 60
        # A writer ends once the last run has left it.
        while self.processes() or os.path.exists(self.database + ".sock"):
            self.assertLess(time.monotonic(), end, self.processes())
            time.sleep(0.01)
        self.assertEqual(os.listdir(self.boxes()), [])

    def test_all_do_their_work_and_nothing_is_left(self):
        origin = self.meeting(MANY)
        rules = [self.rule("good", "good.test", origin)]
        for number in range(MANY):
            self.begin(number, rules,
                       "echo $NUMBER >mine-$NUMBER\n"
                       "curl -s https://good.test:%d/$NUMBER\n"
                       "curl -s http://bad.test/ || echo \" $?\"\n"
                       "exit $((NUMBER %% 100))" % origin.port)
        for number, (code, out, err) in enumerate(self.ends()):
            self.assertEqual((code, out),
                             (number % 100, "/%d 6\n" % number), err)
            with open(os.path.join(
                    self.workspace, "mine-%d" % number)) as mine:
                self.assertEqual(mine.read(), "%d\n" % number)
        # One writer's rows, each its own run's.
        requests = {row["sandbox"]: row["object"] for row in self.rows(
            "kind = 'http_intent'")}
        self.assertEqual(requests, {
            self.name_of(number): "/%d" % number for number in range(MANY)})
        for kind in ("sandbox_start", "sandbox_end"):
            self.assertEqual(
                collections.Counter(row["sandbox"] for row in self.rows(
                    "kind = '%s'" % kind)),
                collections.Counter(requests.keys()), kind)
        self.assertEqual(subprocess.run(
            [os.path.join(self.bin, "exeat"), "audit", "verify", "--audit",
             self.database], env=self.environment,
            capture_output=True).returncode, 0)
        self.nothing_is_left()

    def test_two_agents_have_two_policies_and_one_base(self):
        """What one may reach the other may not, and who comes second with
        the same file is told so: nothing of the first is lost."""
        origin = self.meeting(2)
        with open(os.path.join(self.workspace, "both"), "w") as out:
            out.write("base\n")
        for number, (own, other) in enumerate(
                (("a.test", "b.test"), ("b.test", "a.test"))):
            self.begin(number, [self.rule("own", own, origin)],
                       "cat both; echo $NUMBER >both; echo $NUMBER >$NUMBER\n"
                       "curl -s https://%s:%d/$NUMBER\n"
                       "curl -s https://%s:%d/ || echo \" $?\"" % (
                           own, origin.port, other, origin.port))
        for number, (code, out, err) in enumerate(self.ends()):
            self.assertEqual((code, out), (0, "base\n/%d 6\n" % number), err)
            with open(os.path.join(self.workspace, str(number))) as source:
                self.assertEqual(source.read(), "%d\n" % number)
        results = []
        for number in range(2):
            with open(self.result_of(number)) as source:
                results.append(json.load(source)["changes"])
        # Seen when it is collected, or when it is about to be put there.
        self.assertEqual(sorted(one["held"] for one in results), [0, 1])
        with open(os.path.join(self.workspace, "both")) as source:
            first = int(source.read())
        self.assertEqual(results[first]["held"], 0)
        # The second's is kept, and named.
        self.assertEqual(os.listdir(self.boxes()), [self.name_of(1 - first)])

    def test_what_another_removes_is_left_to_it(self):
        """A run that begins clears away what killed ones left, but nothing
        that somebody is at."""
        code, _, err = self.run_box([], "true")
        self.assertEqual(code, 0, err)
        gone = os.path.join(self.boxes(), ".gone-run-somebody")
        os.makedirs(os.path.join(gone, "upper/folder"))
        holder = os.open(gone, os.O_RDONLY)
        fcntl.flock(holder, fcntl.LOCK_EX)
        self.assertEqual(self.run_box([], "true")[0], 0)
        self.assertTrue(os.path.exists(os.path.join(gone, "upper/folder")))
        os.close(holder)
        self.assertEqual(self.run_box([], "true")[0], 0)
        self.assertFalse(os.path.exists(gone))


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
