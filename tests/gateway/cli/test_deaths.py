#!/usr/bin/python3 -I
"""deaths - each program of a run killed or stopped, with a real sandbox.

What the run ends as, that none of its processes is left, and that what its
command wrote is still there for its owner.
"""
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_runs  # noqa: E402
from test_runs import EXEAT, WAIT  # noqa: E402


def state_of(pid):
    """As in proc(5); X for who is gone."""
    try:
        with open("/proc/%d/stat" % pid) as source:
            return source.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def is_gone(pid):
    return state_of(pid) in "XZ"


class Deaths(test_runs.Runs):
    def begin(self):
        """A run that has written a file, and that ends only when told."""
        process = subprocess.Popen(
            [EXEAT, "run", "--workspace", self.workspace, "--result",
             os.path.join(self.folder, "result.json"), "--", "sh", "-c",
             "echo kept >file; setsid sleep 1000 & echo begun; exec sleep 1001"],
            cwd=self.workspace, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.runs.append(process)
        self.assertEqual(process.stdout.readline(), "begun\n")
        self.until(lambda: len(self.boxed(self.below(process.pid))) == 2)
        one, = self.ps()
        return process, one["run"]

    def below(self, pid):
        """All processes below pid, with their names."""
        found, todo = {}, [pid]
        while todo:
            here = todo.pop()
            try:
                with open("/proc/%d/task/%d/children" % (here, here)) as source:
                    children = list(map(int, source.read().split()))
                for child in children:
                    with open("/proc/%d/comm" % child) as source:
                        found[child] = source.read().strip()
            except OSError:
                continue
            todo += children
        return found

    def program(self, family, name):
        """The first of that name: its children have larger numbers or are
        further below."""
        return next(pid for pid, comm in family.items() if comm == name)

    def boxed(self, family):
        return [pid for pid, name in family.items() if name == "sleep"]

    def groups(self, run):
        return [name for _, names, _ in os.walk("/sys/fs/cgroup")
                for name in names if name.startswith("exeat-%s-" % run)]

    def nothing_is_left(self, family, run):
        """But the writer, which other runs may need."""
        mine = [pid for pid, name in family.items()
                if name not in ("exeat-audit", "exe")]
        self.until(lambda: all(map(is_gone, mine)))
        self.assertEqual(self.ps(), [])
        # What a killed launcher could not remove the next one does.
        self.exeat("run", "--quiet", "--", "true", code=0)
        self.assertEqual(self.groups(run), [])

    def can_be_had(self, run):
        """Nobody was left to apply them, but they are there."""
        self.assertIn("file", self.exeat("diff", run, code=0).stdout)
        self.exeat("apply", run, "--yes", code=0)
        self.is_applied()

    def is_applied(self):
        with open(os.path.join(self.workspace, "file")) as source:
            self.assertEqual(source.read(), "kept\n")

    # L24, L25; launcher.md section 14, test 13
    def test_a_killed_launcher_leaves_nothing_but_the_files(self):
        process, run = self.begin()
        family = self.below(process.pid)
        os.kill(self.program(family, "exeat-launch"), signal.SIGKILL)
        _, err = process.communicate(timeout=WAIT)
        self.assertEqual(process.returncode, 125, err)
        self.assertEqual(self.result()["end"], "launch_failed")
        self.nothing_is_left(family, run)
        self.is_applied()

    # test 14
    def test_a_killed_gateway_ends_the_run_as_lost(self):
        process, run = self.begin()
        family = self.below(process.pid)
        os.kill(self.program(family, "exeat-gateway"), signal.SIGKILL)
        _, err = process.communicate(timeout=WAIT)
        self.assertEqual(process.returncode, 125, err)
        result = self.result()
        self.assertEqual((result["end"], result["code"]),
                         ("gateway_lost", 137))
        self.nothing_is_left(family, run)

    # As at a loss of the machine, but for the machine.
    def test_all_killed_at_once_leave_nothing_but_the_files(self):
        process, run = self.begin()
        family = self.below(process.pid)
        ours = [pid for pid, name in family.items() if name != "sleep"]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in [process.pid, *ours]:
                os.kill(pid, number)
        process.communicate(timeout=WAIT)
        self.nothing_is_left(family, run)
        self.can_be_had(run)

    def test_a_killed_exeat_takes_all_with_it(self):
        process, run = self.begin()
        family = self.below(process.pid)
        process.kill()
        process.communicate(timeout=WAIT)
        self.nothing_is_left(family, run)
        self.can_be_had(run)

    def test_a_stopped_launcher_goes_on_where_it_was(self):
        process, run = self.begin()
        family = self.below(process.pid)
        launcher = self.program(family, "exeat-launch")
        os.kill(launcher, signal.SIGSTOP)
        self.until(lambda: state_of(launcher) == "T")
        order = subprocess.Popen([EXEAT, "stop", run], env=self.environment,
                                 stdout=subprocess.DEVNULL)
        self.runs.append(order)
        self.assertIsNone(process.poll())
        os.kill(launcher, signal.SIGCONT)
        self.assertEqual(order.wait(WAIT), 0)
        process.communicate(timeout=WAIT)
        self.assertEqual(self.result()["end"], "stopped")
        self.nothing_is_left(family, run)

    def test_a_stopped_launcher_dies_with_exeat(self):
        process, run = self.begin()
        family = self.below(process.pid)
        launcher = self.program(family, "exeat-launch")
        os.kill(launcher, signal.SIGSTOP)
        self.until(lambda: state_of(launcher) == "T")
        process.kill()
        process.communicate(timeout=WAIT)
        self.nothing_is_left(family, run)


# Those of the class that lends its ways stay where they are.
for name in [name for name in dir(test_runs.Runs) if name.startswith("test_")]:
    setattr(Deaths, name, None)


if __name__ == "__main__":
    unittest.main()
