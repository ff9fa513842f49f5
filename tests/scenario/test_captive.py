#!/usr/bin/python3 -I
"""What a gateway that was taken over can still do: next to nothing."""
import os
import shutil
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import (World, answer, become_ordinary,  # noqa: E402
                   receive_head)


class Captive(World):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        programs = os.path.join(cls.shared, "bin")
        shutil.copytree(cls.bin, programs, ignore=lambda folder, names: [
            name for name in names
            if os.path.isdir(os.path.join(folder, name))])
        os.replace(os.path.join(programs, "captive_gateway"),
                   os.path.join(programs, "exeat-gateway"))
        cls.bin = programs

    def ours(self):
        """Status of the gateway and of its lookout."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/status" % pid) as source:
                    said = dict(line.rstrip("\n").split(":\t", 1)
                                for line in source if ":\t" in line)
            except OSError:
                continue
            found[pid] = said
        gateway = [pid for pid, said in found.items()
                   if said["Name"] == "exeat-gateway" and
                   said["PPid"] == str(self.process.pid)]
        self.assertEqual(len(gateway), 1)
        lookout = [pid for pid, said in found.items()
                   if said["PPid"] == gateway[0]]
        self.assertEqual(len(lookout), 1)
        return found[gateway[0]], found[lookout[0]]

    def run_with(self, act):
        def serve(peer):
            receive_head(peer)
            act()
            answer(peer)
        origin = self.origin(serve=serve)
        self.process = self.start(
            [self.rule("o", "api.test", origin)], "curl", "-sS",
            "https://api.test:%d/" % origin.port)
        return self.process.communicate(timeout=120)

    def test_gateway_and_lookout_are_confined_before_the_first_byte(self):
        # Who is in the sandbox has begun and has sent nothing yet.
        self.files = "direct"
        go = os.path.join(self.workspace, "go")
        os.mkfifo(go)
        self.process = self.start([], "sh", "-c", "echo up; read go <go")
        self.assertEqual(self.process.stdout.readline(), "up\n")
        found = self.ours()
        with open(go, "w") as out:
            out.write("go\n")
        _, err = self.process.communicate(timeout=120)
        self.assertEqual(self.process.returncode, 0, err)
        listed = "0" if self.is_sanitized() else "2"
        self.assertEqual([(said["NoNewPrivs"], said["Seccomp"])
                          for said in found], [("1", listed)] * 2)

    @unittest.skipIf(b"__asan_init" in open(os.path.join(
        os.environ["EXEAT_BUILD"], "captive_gateway"), "rb").read(),
        "a sanitizer calls and opens what it likes: see confine.h")
    def test_nothing_is_opened_made_or_run_from_within(self):
        def act():
            gateway, _ = self.ours()
            os.kill(int(gateway["Pid"]), signal.SIGUSR1)
        out, err = self.run_with(act)
        said = [line.split(": ", 1)[1] for line in err.splitlines()
                if line.startswith("captive: ")]
        self.assertEqual(said, [
            "open EPERM", "create EPERM", "proc EPERM", "families EPERM",
            "fork EPERM", "code EPERM", "inet went through"])
        # The attempt to run a program was its end, and the sandbox's.
        self.assertNotEqual(self.process.returncode, 0)
        self.assertNotEqual(out, "hello\n")
        self.assertIn("the gateway ended", err)
        self.assertFalse(os.path.exists("/tmp/exeat-captive"))


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
