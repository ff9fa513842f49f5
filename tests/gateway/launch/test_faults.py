"""Each step of a launch made to fail: the command never starts."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
import box
from box import Box, only

HEADER = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"

# Every call that a launch cannot do without.
CALLS = """clone3 openat2 open_tree move_mount mount_setattr fsopen fsconfig
    fsmount mount umount2 pivot_root fchdir chdir mkdirat symlinkat unlinkat
    sethostname socket bind listen setsockopt sendmsg recvmsg sendto recvfrom
    prctl capset seccomp execveat setsid pipe2 signalfd4 rt_sigprocmask
    socketpair close_range fstatfs poll""".split()


def numbers():
    with open(HEADER) as header:
        text = header.read()
    return {name: int(number) for name, number in
            re.findall(r"#define __NR_(\w+)\s+(\d+)", text)}


class Faults(Box):
    def never_ran(self, done):
        self.assertFalse(os.path.exists(self.path("ws", "ran")))
        self.assertEqual(done.out, "")

    # L06, L08
    def test_no_call_can_be_refused_and_the_command_run(self):
        if not os.path.exists(HEADER):
            self.skipTest("no list of system calls: " + HEADER)
        known = numbers()
        for name in CALLS:
            with self.subTest(call=name):
                done = self.run_box(
                    ["touch", "ran"],
                    gateway=["--deny", "%d:%s" %
                             (known[name], self.path("deny_call"))])
                self.never_ran(done)
                self.assertEqual(done.code, 125, done.err)
                self.assertIn("could not be built", done.err)

    # L06, L08: those that only an overlay needs.
    def test_no_overlay_is_no_run(self):
        if not os.path.exists(HEADER):
            self.skipTest("no list of system calls: " + HEADER)
        known = numbers()
        for name in ("mknodat", "mkdirat", "chdir", "fsopen", "fstatfs"):
            with self.subTest(call=name):
                for part in ("box", "box/upper", "box/work"):
                    os.mkdir(self.path(part))
                    self.own(self.path(part))
                self.write("hidden", folder="box")
                self.write("a/.env", "secret")
                done = self.run_box(
                    ["touch", "ran"],
                    workspace={"path": self.ws, "mode": "overlay",
                               "folder": self.path("box")},
                    gateway=["--deny", "%d:%s" %
                             (known[name], self.path("deny_call"))])
                self.assertFalse(self.exists("box", "upper", "ran"))
                self.assertEqual(done.code, 125, done.err)
                shutil.rmtree(self.path("box"), onerror=lambda f, p, e: (
                    os.chmod(p, 0o700), shutil.rmtree(p)))

    # L03
    @only("user")
    def test_no_user_namespaces_names_the_knob(self):
        done = self.run_box(["touch", "ran"], before=[
            "unshare", "-Ur", "bash", "-c",
            "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"", "-"])
        self.never_ran(done)
        self.assert_ran(done, 125)
        self.assertIn("user.max_user_namespaces", done.err)
        self.assertEqual(done.result["stage"], "namespaces")

    # L04, L05
    @only("user")
    def test_a_masked_proc_is_told_and_never_replaced(self):
        done = self.run_box(["touch", "ran"], before=[
            "unshare", "-Urm", "bash", "-c",
            "mount -t tmpfs none /proc/sys && exec \"$@\"", "-"])
        self.never_ran(done)
        self.assert_ran(done, 125)
        self.assertEqual(done.result["stage"], "proc")
        self.assertIn("unmasked /proc", done.err)

    # L38: the root of a user namespace is its owner.
    @only("user")
    def test_root_of_somebodys_namespace_is_an_ordinary_user(self):
        done = self.sh("touch ran; id -u", before=["unshare", "-Ur"])
        self.assert_ran(done)
        self.assertEqual(done.out, "1000\n")

    def test_a_gateway_that_does_not_answer_is_waited_for_in_vain(self):
        process, pid = self.start_box(["touch", "ran"],
                                      gateway=["--silent"])
        done = self.finish(process)
        self.never_ran(done)
        self.assert_ran(done, 125)
        self.assertEqual(done.result["stage"], "handoff")

    def test_an_empty_trust_bundle_is_refused(self):
        bundle = self.write("empty", "", folder="t")
        done = self.run_box(["touch", "ran"], gateway=["--bundle", bundle])
        self.never_ran(done)
        self.assert_ran(done, 125)
        self.assertEqual(done.result["stage"], "trust")

    def test_a_directory_that_is_not_in_the_view_is_no_place_to_start(self):
        done = self.run_box(["touch", "ran"], cwd="/root")
        self.never_ran(done)
        self.assert_ran(done, 125)
        self.assertEqual(done.result["stage"], "directory")

    # launcher.md section 14, test 9
    def test_a_source_that_is_swapped_is_told_or_was_never_seen(self):
        good, evil = self.path("good"), self.path("evil")
        for place in (good, evil):
            os.mkdir(place)
            self.own(place)
            self.write("who", place, folder=os.path.basename(place))
        swapper = subprocess.Popen(["python3", "-c", """
import ctypes, sys
libc = ctypes.CDLL(None)
while True:  # RENAME_EXCHANGE
    libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)
""", good, evil])
        try:
            for _ in range(25):
                done = self.run_box(
                    ["cat", "/srv/x/who"],
                    mounts=[{"source": good, "at": "/srv/x",
                             "access": "ro"}])
                # Either one is the place that was checked.
                if done.code == 0:
                    self.assertIn(done.out, (good, evil))
                else:
                    self.assertEqual(done.code, 125)
                    self.assertIn("replaced", done.err)
        finally:
            swapper.kill()
            swapper.wait()


if __name__ == "__main__":
    box.main()
