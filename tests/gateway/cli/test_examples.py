#!/usr/bin/python3 -I
"""Every policy of deploy/examples answers as its case file says."""
import os
import subprocess
import sys
import tempfile
import unittest

EXEAT = os.path.join(os.environ["EXEAT_BUILD"], "exeat")
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "..", "..", "..", "deploy", "examples")


class Examples(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory(prefix="exeat-examples-")
        self.addCleanup(self.home.cleanup)
        # What @npm and @pip stand for in these tests.
        with open(os.path.join(self.home.name, ".npmrc"), "w") as out:
            out.write("registry=https://npm.example.com/\n")
        os.makedirs(os.path.join(self.home.name, ".config", "pip"))
        with open(os.path.join(self.home.name, ".config", "pip",
                               "pip.conf"), "w") as out:
            out.write("[global]\n"
                      "index-url = https://pypi.example.com/simple\n")

    def exeat(self, *words):
        done = subprocess.run([EXEAT, "policy", *words], text=True,
                              capture_output=True, timeout=60,
                              env={"HOME": self.home.name, **{
                                  name: os.environ[name]
                                  for name in ("ASAN_OPTIONS",
                                               "UBSAN_OPTIONS")
                                  if name in os.environ}})
        return done.returncode, done.stdout, done.stderr

    def private_copy(self, path):
        """A checkout may be writable by a group, which is refused."""
        copy = os.path.join(self.home.name, os.path.basename(path))
        with open(path) as text, open(copy, "w") as out:
            out.write(text.read())
        os.chmod(copy, 0o600)
        return copy

    def test_each_answers_as_its_case_file_says(self):
        names = sorted(name[:-5] for name in os.listdir(FOLDER)
                       if name.endswith(".json"))
        self.assertEqual(names, ["ci-job", "coding-agent", "data-job",
                                 "locked-down", "mcp-tools",
                                 "research"])
        for name in names:
            stem = os.path.join(FOLDER, name)
            code, out, err = self.exeat(
                "test", self.private_copy(stem + ".json"), stem + ".ask")
            self.assertEqual((code, err), (0, ""), out)
            self.assertIn("as expected", out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
