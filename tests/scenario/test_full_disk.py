#!/usr/bin/python3 -I
"""A15: the disk of the audit fills up under load, on a file system of its own.

What cannot be written down does not leave: requests are refused with
audit_unavailable, and go on by themselves when there is room.
"""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import PRELUDE, SOME_USER, World, become_ordinary  # noqa: E402

SIZE = 24 * 1024 * 1024
DISK = "EXEAT_SMALL_DISK"

# One request after another, told as they are answered.
ASK = r'''
number = 0
while True:
    number += 1
    status, text = fetch("http://api.test:%s/n%d" % (words[0], number))
    reason = json.loads(text)["reason"] if status == 503 else "-"
    print(number, status, reason, flush=True)
    if number > 100000:
        break
'''


class FullDisk(World):
    def setUp(self):
        super().setUp()
        folder = os.path.join(os.environ[DISK], "audit")
        os.mkdir(folder, 0o700)
        self.database = os.path.join(folder, "audit.db")
        self.filler = os.path.join(os.environ[DISK], "filler")

    def fill_up(self):
        with open(self.filler, "wb", buffering=0) as out:
            try:
                while True:
                    out.write(bytes(4096))
            except OSError:
                pass

    def read_until(self, process, status, times):
        seen = 0
        while seen < times:
            line = process.stdout.readline()
            self.assertNotEqual(line, "", "the run ended too soon")
            number, got, reason = line.split()
            self.answers[int(number)] = (got, reason)
            seen += got == status

    def test_requests_wait_for_room_and_none_leaves_without_its_row(self):
        web, self.answers = self.origin(tls=False), {}
        rule = self.rule("web", "api.test", web, ca=False)
        process = self.start([rule], "python3", "-I", "-c",
                             PRELUDE + ASK, str(web.port))
        self.read_until(process, "200", 30)
        self.fill_up()
        self.read_until(process, "503", 30)
        heard = len(web.heard)
        self.read_until(process, "503", 10)
        self.assertEqual(len(web.heard), heard)
        os.unlink(self.filler)
        self.read_until(process, "200", 30)
        process.terminate()
        process.communicate(timeout=60)
        self.check(web)

    def check(self, web):
        refused = {number for number, (got, reason) in self.answers.items()
                   if got == "503"}
        self.assertEqual({self.answers[number][1] for number in refused},
                         {"audit_unavailable"})
        heard = [int(head.split(b" ")[1][2:]) for head in web.heard]
        self.assertFalse(refused.intersection(heard))
        written = {row["object"] for row in self.rows("kind = 'http_intent'")}
        self.assertLessEqual({"/n%d" % number for number in heard}, written)
        self.assertEqual(
            [row["object"] for row in self.rows(
                "kind = 'audit' AND object IN ('full', 'low')")].count("full"),
            1)
        done = subprocess.run([os.path.join(self.bin, "exeat"), "audit",
                               "verify", "--audit", self.database],
                              capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


def with_small_disk():
    """Starts itself again where a small file system is mounted."""
    if DISK in os.environ:
        return
    if os.geteuid() != 0:
        print("skipped: only root can mount a small file system for it")
        sys.exit(77)
    folder = tempfile.mkdtemp(prefix="exeat-small-disk-")
    status = 1
    try:
        status = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             'mount -t tmpfs -o "size=$1,mode=0700,uid=$2" small "$3" && '
             'shift 3 && exec "$@"', "sh", str(SIZE), str(SOME_USER), folder,
             sys.executable, "-I", os.path.abspath(sys.argv[0])],
            env=dict(os.environ, **{DISK: folder}), check=False).returncode
    finally:
        os.rmdir(folder)
    sys.exit(status)


if __name__ == "__main__":
    with_small_disk()
    become_ordinary()
    unittest.main(verbosity=1)
