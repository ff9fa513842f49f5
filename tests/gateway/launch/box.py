"""A sandbox for tests: exeat-launch with fake_gateway as its other end.

Every test file is run as `test_x.py user` and `test_x.py root`.  As root, the
"user" is one that owns nothing but the test's own folder.  What cannot be
tried here is a skip (77) with its reason, or a failure when LAUNCH_MUST_WORK
is set.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.environ.get("EXEAT_BUILD", "build")
USER = 12345
PROGRAMS = ("exeat-launch", "fake_gateway", "deny_call", "launch_attack")
WHO = sys.argv[1] if len(sys.argv) > 1 else "user"


def only(who):
    return unittest.skipUnless(WHO == who, "only as " + who)


class Result:
    def __init__(self, code, out, err, result):
        self.code, self.out, self.err, self.result = code, out, err, result


class Box(unittest.TestCase):
    """One folder, one workspace in it, thrown away after each test."""

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="exeat-launch-", dir="/var/tmp")
        os.chmod(self.top, 0o755)
        for name in PROGRAMS:
            shutil.copy(os.path.join(BUILD, name), self.top)
        self.ws = os.path.join(self.top, "ws")
        os.mkdir(self.ws)
        if os.geteuid() == 0:
            os.chown(self.top, USER, USER)
            os.chown(self.ws, USER, USER)

    def tearDown(self):
        shutil.rmtree(self.top)

    def path(self, *names):
        return os.path.join(self.top, *names)

    def write(self, name, text="", folder="ws"):
        """A file of the workspace's owner."""
        path = self.path(folder, name)
        parts = os.path.relpath(os.path.dirname(path), self.top).split("/")
        for i in range(len(parts)):
            part = self.path(*parts[:i + 1])
            if not os.path.isdir(part):
                os.mkdir(part)
                self.own(part)
        with open(path, "w") as out:
            out.write(text)
        self.own(path)
        return path

    def read(self, *names):
        with open(self.path(*names)) as text:
            return text.read()

    def exists(self, *names):
        return os.path.exists(self.path(*names))

    def own(self, path):
        if os.geteuid() == 0:
            os.chown(path, USER, USER, follow_symlinks=False)

    def plan(self, command, **more):
        plan = {"version": 1, "run": "test", "command": command,
                "cwd": self.ws,
                "workspace": {"path": self.ws, "mode": "direct"}}
        plan.update(more)
        path = self.path("plan.json")
        with open(path, "w") as out:
            json.dump({k: v for k, v in plan.items() if v is not Ellipsis},
                      out)
        self.own(path)
        return path

    def argv(self, command, gateway=(), before=(), **more):
        argv = list(before)
        argv += [self.path("fake_gateway"), "--result", self.path("result"),
                 *gateway, self.path("exeat-launch"),
                 self.plan(command, **more)]
        if WHO == "user" and os.geteuid() == 0:
            argv = ["setpriv", "--reuid=%d" % USER, "--regid=%d" % USER,
                    "--clear-groups"] + argv
        return argv

    def run_box(self, command, **more):
        """Runs it to its end."""
        stdin = more.pop("stdin", subprocess.DEVNULL)
        self.clean()
        done = subprocess.run(self.argv(command, **more), stdin=stdin,
                              capture_output=True, text=True, timeout=100,
                              errors="replace")
        return Result(done.returncode, done.stdout, done.stderr,
                      self.result())

    def start_box(self, command, **more):
        """Leaves it running; its launcher's pid, once it is known."""
        self.clean()
        gateway = ["--pid", self.path("pid"), *more.pop("gateway", ())]
        process = subprocess.Popen(
            self.argv(command, gateway=gateway, **more),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.wait_for(lambda: self.exists("pid") and
                      self.read("pid").endswith("\n"))
        return process, int(self.read("pid"))

    def finish(self, process):
        out, err = process.communicate(timeout=100)
        return Result(process.returncode, out, err, self.result())

    def clean(self):
        for name in ("result", "pid"):
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))

    def result(self):
        try:
            with open(self.path("result")) as text:
                return json.load(text)
        except (FileNotFoundError, ValueError):
            return {}

    def wait_for(self, condition, seconds=30):
        """Not a pause: it ends as soon as the condition holds."""
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "waited in vain")
            time.sleep(0.005)

    def sh(self, script, **more):
        return self.run_box(["bash", "-c", script], **more)

    def assert_ran(self, done, code=0):
        self.assertEqual(done.code, code, done.err + done.out)


def descendants(pid):
    """All processes below pid, by /proc."""
    parents = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name) as stat:
                parents[int(name)] = int(stat.read().rsplit(")", 1)[1]
                                         .split()[1])
        except OSError:
            continue
    found, todo = [], [pid]
    while todo:
        here = todo.pop()
        below = [p for p, parent in parents.items() if parent == here]
        found += below
        todo += below
    return found


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def main():
    if WHO == "root" and os.geteuid() != 0:
        print("skipped: this needs root")
        sys.exit(77)
    probe = subprocess.run([os.path.join(BUILD, "exeat-launch"), "--probe"],
                           capture_output=True, text=True)
    if probe.returncode != 0:
        print("skipped: no sandbox can be made here\n" + probe.stdout)
        sys.exit(1 if os.environ.get("LAUNCH_MUST_WORK") else 77)
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=1)
