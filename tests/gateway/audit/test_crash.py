#!/usr/bin/python3 -I
"""A writer that ends in the middle of any write of its, as by a kill and as by
a power cut, loses no row that it has accepted; see crash.c.

Each write is tried with EXEAT_FULL=1, else one of STEP.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ["EXEAT_BUILD"]
FILL = os.path.join(BUILD, "audit_fill")
EXEAT = os.path.join(BUILD, "exeat")
CRASH = os.path.join(BUILD, "audit_crash.so")
ROWS = 200
STEP = 1 if os.environ.get("EXEAT_FULL") == "1" else 53
MOST = 5000


class Crash(unittest.TestCase):
    def fill(self, path, letter, rows, segment, *environment, sync=None):
        """Whether it went to its end, and how many points it printed."""
        words = dict(zip(("FILL_WRITER", "FILL_WRITER_1", "FILL_WRITER_2"),
                         environment))
        if sync is not None:
            words["FILL_SYNC"] = sync
        done = subprocess.run(
            [FILL, path, letter, str(rows), str(segment)],
            env=dict(os.environ, **words), capture_output=True, text=True,
            timeout=120, check=False)
        return done.returncode == 0, done.stdout.count("."), done

    def check(self, path, points, what):
        whole, _, done = self.fill(path, "z", 1, 150)
        self.assertTrue(whole, (what, done.stdout, done.stderr))
        verified = subprocess.run(
            [EXEAT, "audit", "verify", "--audit", path], timeout=120,
            capture_output=True, text=True, check=False)
        self.assertEqual(verified.returncode, 0,
                         (what, verified.stdout, verified.stderr))
        for run in range(3):
            accepted = min(max(points - run * (ROWS // 100), 0), ROWS // 100)
            answer = subprocess.run(
                [EXEAT, "audit", "query", "--json", "--audit", path,
                 "SELECT count(*) AS n FROM v_event WHERE sandbox = "
                 "'run-a%d' AND kind IN ('http', 'http_intent')"
                 % (run + 1)], timeout=120, capture_output=True, text=True,
                check=True).stdout
            found = int(re.search(r"\d+", answer)[0])
            self.assertGreaterEqual(found, accepted * 100, (what, run))

    def crash_everywhere(self, *more, names=False, sync=None):
        tried = ended = 0
        for at in range(1, MOST, STEP):
            folder = tempfile.mkdtemp(prefix="exeat-test-crash-")
            try:
                path = os.path.join(folder, "a", "audit.db")
                lost = os.path.join(folder, "lost")
                os.mkdir(os.path.dirname(path), 0o700)
                os.mkdir(lost)
                words = ["LD_PRELOAD=" + CRASH, "EXEAT_CRASH_AT=%d" % at]
                if names:
                    words.append("EXEAT_CRASH_NAMES=" + lost)
                whole, points, _ = self.fill(path, "a", ROWS, 150,
                                             *words, *more, sync=sync)
                tried += 1
                ended += not whole
                self.check(path, points, "operation %d" % at)
            finally:
                shutil.rmtree(folder)
            if whole:
                break
        # It did end in the middle, and there was an end of it.
        self.assertTrue(whole, tried)
        self.assertGreater(ended, 5)
        print("%d crashes" % ended, file=sys.stderr)

    def test_killed_at_any_write(self):
        self.crash_everywhere()

    def test_without_power_at_any_write(self):
        self.crash_everywhere("EXEAT_CRASH_POWER=1")

    def test_killed_when_no_disk_is_waited_for(self):
        self.crash_everywhere(sync="normal")

    def test_without_power_where_every_row_is_on_the_disk(self):
        self.crash_everywhere("EXEAT_CRASH_POWER=1", sync="full")

    def test_without_power_names_are_lost_too(self):
        self.crash_everywhere(names=True)


if __name__ == "__main__":
    unittest.main()
