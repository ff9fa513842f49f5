#!/usr/bin/python3 -I
"""exeat doctor: every probe for real, and each failure with its cure."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(os.environ.get("EXEAT_BUILD", "build"))
HEADER = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
NAMES = ["namespaces", "network", "redirect", "listeners", "round trip",
         "view", "proc", "syscalls", "overlay", "process descriptors",
         "owner map", "landlock", "exec record", "control groups", "disk",
         "clock"]

# What is refused; which probe tells it, how, and a word of what it says.
REFUSED = [
    ("clone3", "namespaces", "missing", "userns."),
    ("pidfd_send_signal", "process descriptors", "missing", "Linux"),
    ("seccomp", "syscalls", "missing", "CONFIG_SECCOMP_FILTER"),
    ("landlock_create_ruleset", "landlock", "degraded", "lsm=landlock"),
    ("pivot_root", "view", "missing", ""),
    ("fallocate", "disk", "degraded", "written"),
]


class Doctor(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="exeat-doctor-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = dict(
            os.environ, HOME=self.folder,
            XDG_STATE_HOME=os.path.join(self.folder, "state"))
        self.files = os.path.join(self.folder, "state", "exeat", "files")

    def run_it(self, *words):
        return subprocess.run(words, env=self.environment, text=True,
                              capture_output=True, timeout=120)

    def doctor(self, *words):
        return self.run_it(os.path.join(BUILD, "exeat"), "doctor", *words)

    def test_every_probe_has_a_line_and_leaves_nothing(self):
        done = self.doctor("--json")
        told = json.loads(done.stdout)
        self.assertEqual([one["probe"] for one in told], NAMES)
        for one in told:
            self.assertIn(one["result"], ("ok", "degraded", "missing"))
            if one["result"] != "ok":
                self.assertTrue(one["error"], one)
        missing = [one for one in told if one["result"] == "missing"]
        self.assertEqual(done.returncode, 1 if missing else 0)
        self.assertEqual(os.listdir(self.files), [])

    def test_lines_and_json_say_the_same(self):
        lines = self.doctor().stdout.splitlines()
        told = json.loads(self.doctor("--json").stdout)
        self.assertEqual(len(lines), len(NAMES))
        for line, one in zip(lines, told):
            self.assertTrue(line.startswith(
                "%-9s %s" % (one["result"], one["probe"])), line)

    def test_what_is_refused_is_told_with_its_cure(self):
        if not os.path.exists(HEADER):
            self.skipTest("no list of system calls: " + HEADER)
        with open(HEADER) as header:
            known = dict(re.findall(r"#define __NR_(\w+)\s+(\d+)",
                                    header.read()))
        os.makedirs(self.files)
        for call, name, result, word in REFUSED:
            with self.subTest(call=call):
                done = self.run_it(
                    os.path.join(BUILD, "deny_call"), known[call],
                    os.path.join(BUILD, "exeat-launch"), "--probe", "--json",
                    self.files)
                one, = [one for one in json.loads(done.stdout)
                        if one["probe"] == name]
                self.assertEqual(one["result"], result, one)
                self.assertIn(word, one["error"] + one["cure"])
                self.assertEqual(done.returncode,
                                 1 if result == "missing" else done.returncode)
        self.assertEqual(os.listdir(self.files), [])

    def test_a_place_that_nothing_can_be_written_to_is_told(self):
        done = self.run_it(os.path.join(BUILD, "exeat-launch"), "--probe",
                           "/proc")
        self.assertRegex(done.stdout, r"(?m)^degraded +overlay: ")
        self.assertRegex(done.stdout, r"(?m)^degraded +disk: ")

    def test_a_wrong_word_teaches(self):
        done = self.doctor("--all")
        self.assertEqual(done.returncode, 125)
        self.assertIn("usage: exeat doctor", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
