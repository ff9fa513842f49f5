#!/usr/bin/python3 -I
"""A run leaves the machine as it was, however it ends: L24, L25, L35.

Links, addresses, routes, rules, mounts, processes and files are compared
before and after; packet filter rules, too, where we may read them.
"""
import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import World, become_ordinary  # noqa: E402

# Says that it runs, and then does nothing until it is ended.
WAIT = ("import signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        "print('up', flush=True)\n"
        "signal.sigwait([signal.SIGTERM])\n"
        "sys.exit(3)")


def printed(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else "not for us"


def ours(folder):
    """Files there that belong to us; other tests' worlds come and go."""
    found = []
    for entry in os.scandir(folder):
        with contextlib.suppress(FileNotFoundError):
            if (entry.stat(follow_symlinks=False).st_uid == os.geteuid()
                    and not entry.name.startswith("exeat-world-")):
                found.append(entry.name)
    return sorted(found)


def machine():
    """What may not change; counters and lifetimes are left out."""
    with open("/proc/self/mountinfo") as source:
        mounts = source.read()
    return {
        "links": printed("ip", "-o", "link"),
        "addresses": [line.split()[1:4] for line in printed(
            "ip", "-o", "addr").splitlines()],
        "routes": printed("ip", "route", "show", "table", "all"),
        "routes6": [line.split(" expires ")[0] for line in printed(
            "ip", "-6", "route", "show", "table", "all").splitlines()],
        "rules": printed("ip", "rule") + printed("ip", "-6", "rule"),
        "filter": printed("nft", "-s", "list", "ruleset"),
        "namespaces": printed("ip", "netns"),
        "mounts": mounts,
        "shared memory": ours("/dev/shm"),
        "files": ours(tempfile.gettempdir()),
    }


def descendants(pid):
    """Of a process, as (pid, name); those in the sandbox stand among them."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        try:
            with open("/proc/%d/task/%d/children" % (one, one)) as source:
                children = [int(word) for word in source.read().split()]
            for child in children:
                with open("/proc/%d/stat" % child) as source:
                    name = source.read().split("(")[1].rsplit(")")[0]
                found.append((child, name))
            todo += children
        except FileNotFoundError:
            pass
    return found


class Host(World):
    def run_and(self, do):
        """Starts a run, does something to it, waits until all of it is gone."""
        before = machine()
        process = self.start([], "python3", "-I", "-c", WAIT)
        self.assertEqual(process.stdout.readline(), "up\n")
        family = descendants(process.pid)
        names = [name for _, name in family]
        for name in ("exeat-launch", "exeat-gateway", "exeat-audit"):
            self.assertIn(name, names)
        gone = [os.pidfd_open(pid) for pid, _ in family]
        # A program's own children have its name, and stand behind it.
        do(process, dict((name, pid) for pid, name in reversed(family)))
        _, err = process.communicate(timeout=120)
        for fd, (pid, name) in zip(gone, family):
            self.assertTrue(select.select([fd], [], [], 60)[0],
                            "%s, process %d, is still there" % (name, pid))
            os.close(fd)
        self.assertEqual(machine(), before)
        return process.returncode, err

    def kill(self, name):
        return lambda process, family: os.kill(
            family[name] if name else process.pid, signal.SIGKILL)

    def last_end(self):
        return self.rows("kind = 'sandbox_end'")[-1]["object"]

    def test_run_that_ends_by_itself(self):
        code, err = self.run_and(
            lambda process, family: process.send_signal(signal.SIGTERM))
        self.assertEqual(code, 3, err)
        self.assertEqual(self.last_end(), "exited")
        self.assertFalse(os.path.exists(self.database + ".sock"))

    def test_run_whose_parent_is_killed(self):
        code, _ = self.run_and(self.kill(None))
        self.assertEqual(code, -signal.SIGKILL)
        self.assertEqual(self.last_end(), "lost")

    def test_run_whose_launcher_is_killed(self):
        code, err = self.run_and(self.kill("exeat-launch"))
        self.assertEqual(code, 125, err)

    def test_run_whose_gateway_is_killed(self):
        code, err = self.run_and(self.kill("exeat-gateway"))
        self.assertEqual(code, 125, err)
        self.assertIn("the gateway ended early", err)

    def test_run_whose_audit_is_killed(self):
        code, err = self.run_and(self.kill("exeat-audit"))
        self.assertEqual(code, 125, err)
        self.assertIn("the audit writer ended", err)

    def test_database_is_whole_after_its_writer_was_killed(self):
        self.run_and(self.kill("exeat-audit"))
        # The next writer says what became of the run, and takes the place
        # of the socket that a killed one cannot take away.
        code, _, err = self.run_box([], "true")
        self.assertEqual(code, 0, err)
        self.assertEqual(len(self.rows("kind = 'sandbox_start'")), 2)
        self.assertEqual(len(self.rows("kind = 'sandbox_end'")), 2)


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
