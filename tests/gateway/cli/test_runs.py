#!/usr/bin/python3 -I
"""runs - ps, exec, stop, pause and resume, with real sandboxes."""
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.path.abspath(os.environ.get("EXEAT_BUILD", "build"))
EXEAT = os.path.join(BUILD, "exeat")
WAIT = 60


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="exeat-runs-")
        self.workspace = os.path.join(self.folder, "workspace")
        for name in ("workspace", "state", "runtime", "config"):
            os.mkdir(os.path.join(self.folder, name), 0o700)
        self.environment = dict(
            os.environ, HOME=self.folder,
            XDG_STATE_HOME=os.path.join(self.folder, "state"),
            XDG_RUNTIME_DIR=os.path.join(self.folder, "runtime"),
            XDG_CONFIG_HOME=os.path.join(self.folder, "config"))
        self.runs = []

    def tearDown(self):
        for process in self.runs:
            if process.poll() is None:
                process.kill()
            process.communicate()
        # A writer that is about to end still makes and removes files.
        for _ in range(1000):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                return
        self.fail("somebody still writes into " + self.folder)

    def exeat(self, *words, stdin=None, code=None):
        done = subprocess.run([EXEAT, *words], env=self.environment,
                              cwd=self.workspace, input=stdin, text=True,
                              capture_output=True, timeout=WAIT)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stderr)
        return done

    def start(self, script, *options):
        """Gives the run, its name, once its first line is there."""
        process = subprocess.Popen(
            [EXEAT, "run", "--workspace", self.workspace, "--files", "direct",
             "--result",
             os.path.join(self.folder, "result.json"), *options, "--",
             "sh", "-c", "echo begun; " + script], cwd=self.workspace,
            env=self.environment, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.runs.append(process)
        line = process.stdout.readline()
        self.assertEqual(line, "begun\n", line or process.stderr.read())
        # One that is over at once is not listed any more.
        listed = self.ps()
        return process, listed[-1]["run"] if listed else None

    def ps(self):
        return json.loads(self.exeat("ps", "--json", code=0).stdout)

    def result(self):
        with open(os.path.join(self.folder, "result.json")) as source:
            return json.load(source)

    def until(self, condition):
        end = time.monotonic() + WAIT
        while not condition():
            self.assertLess(time.monotonic(), end, "waited in vain")
            time.sleep(0.005)

    def test_runs_are_listed_while_they_last(self):
        self.assertEqual(self.ps(), [])
        process, run = self.start("exec sleep 1000", "--quiet")
        one, = self.ps()
        self.assertEqual(one["state"], "running")
        self.assertEqual(one["workspace"], self.workspace)
        self.assertEqual(one["command"][0], "sh")
        self.assertIn(run, self.exeat("ps", code=0).stdout)
        self.exeat("stop", run, code=0)
        process.wait(WAIT)
        self.assertEqual(self.ps(), [])

    def test_a_command_is_sent_in(self):
        _, run = self.start("echo $$ >here; sleep 1000")
        done = self.exeat("exec", run, "--", "sh", "-c",
                          "cat here; pwd; hostname; id -u; cat; exit 7",
                          stdin="from outside\n", code=7)
        lines = done.stdout.split("\n")
        self.assertEqual(lines[1:5],
                         [self.workspace, "box", "1000", "from outside"])
        self.exeat("exec", run, "no-such-program", code=127)
        self.exeat("exec", run, self.workspace, code=126)
        self.exeat("exec", "--cwd", "/nowhere", run, "true", code=125)
        self.exeat("exec", "--cwd", "/tmp", run, "sh", "-c",
                   "[ $(pwd) = /tmp ]", code=0)
        self.exeat("exec", run, "sh", "-c", "kill -9 $$", code=137)

    def test_what_is_sent_in_is_confined_like_the_rest(self):
        _, run = self.start("sleep 1000")
        script = ("import os, socket, sys\n"
                  "s = open('/proc/self/status').read()\n"
                  "print('CapEff:\\t0000000000000000' in s,"
                  " 'NoNewPrivs:\\t1' in s, 'Seccomp:\\t2' in s)\n"
                  "try: socket.socket(40, 1)\n"
                  "except OSError as e: print(e.errno)\n"
                  "print(sorted(os.listdir('/proc/self/fd')))\n"
                  "print(os.path.exists(%r))\n" % EXEAT)
        done = self.exeat("exec", run, "python3", "-c", script, code=0)
        self.assertEqual(done.stdout.split("\n")[:4],
                         ["True True True", "97", "['0', '1', '2', '3']",
                          "False"])

    def listeners(self, launcher):
        """Of the record of programs, that the launcher has to wait for."""
        found = 0
        for name in os.listdir("/proc/%d/fd" % launcher):
            try:
                link = os.readlink("/proc/%d/fd/%s" % (launcher, name))
            except FileNotFoundError:
                continue
            found += link == "anon_inode:seccomp notify"
        return found

    def test_the_record_of_a_command_that_was_sent_in_ends_with_it(self):
        """What is left of it is readable for ever, and would be read."""
        process, run = self.start("exec sleep 1000")
        with open("/proc/%d/task/%d/children" % (process.pid,
                                                 process.pid)) as source:
            children = [int(word) for word in source.read().split()]
        launcher, = [pid for pid in children
                     if open("/proc/%d/comm" % pid).read() ==
                     "exeat-launch\n"]
        for _ in range(3):
            self.exeat("exec", run, "true", code=0)
        self.until(lambda: self.listeners(launcher) == 1)

    # launcher.md section 14, test 12
    def test_the_joining_process_cannot_be_looked_into(self):
        _, run = self.start(
            "while :; do for p in /proc/[0-9]*; do "
            "[ -w $p/exe ] && : 2>/dev/null >>$p/exe && echo $p >>written; "
            "cat $p/environ >>seen 2>/dev/null; done; done")
        for _ in range(20):
            self.exeat("exec", run, "true", code=0)
        self.assertFalse(os.path.exists(
            os.path.join(self.workspace, "written")))

    def test_it_ends_with_the_run_and_with_its_caller(self):
        process, run = self.start("sleep 1000")
        inside = subprocess.Popen(
            [EXEAT, "exec", run, "sh", "-c", "echo in; sleep 1000"],
            env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.runs.append(inside)
        self.assertEqual(inside.stdout.readline(), "in\n")
        count = "ps -A | grep -c sleep || :"
        self.assertEqual(
            self.exeat("exec", run, "sh", "-c", count).stdout, "2\n")
        inside.send_signal(signal.SIGTERM)
        self.assertEqual(inside.wait(WAIT), 128 + signal.SIGTERM)
        self.until(lambda: self.exeat("exec", run, "sh", "-c",
                                      count).stdout == "1\n")
        other = subprocess.Popen(
            [EXEAT, "exec", run, "sleep", "1000"], env=self.environment,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.runs.append(other)
        self.exeat("stop", run, code=0)
        self.assertNotEqual(other.wait(WAIT), 0)
        process.wait(WAIT)

    # L21: job control there too.
    def test_a_shell_is_sent_in_with_a_terminal_of_its_own(self):
        _, run = self.start("sleep 1000")
        pid, master = pty.fork()
        if pid == 0:
            os.execve(EXEAT, [EXEAT, "exec", run, "--", "bash", "--norc",
                              "-i"], {**self.environment, "PS1": "p> "})
        out = b""
        for sees, sends in ((b"[$] ", b"sh -c \"tty; echo rea''dy; "
                                    b"exec sleep 500\"\n"),
                            (b"ready", b"\x1a"),
                            (b"Stopped(.|\n)*[$] ", b"kill %1; wait %1; "
                                     b"echo do''ne\n"),
                            (b"done", b"exit 4\n")):
            while not re.search(sees, out):
                self.assertTrue(select.select([master], [], [], WAIT)[0], out)
                out += os.read(master, 4096)
            out = b""
            os.write(master, sends)
        try:
            while os.read(master, 4096):
                pass
        except OSError:
            pass
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 4)
        os.close(master)

    def test_stop_asks_first(self):
        process, run = self.start(
            "trap 'echo asked; exit 3' TERM; while :; do sleep 0.05; done")
        self.exeat("stop", run, code=0)
        self.assertEqual(process.wait(WAIT), 143)
        self.assertIn("asked", process.stdout.read())
        self.assertEqual(self.result()["end"], "stopped")

    # test 23
    def test_nothing_moves_while_a_run_is_paused(self):
        counter = os.path.join(self.workspace, "n")
        process, run = self.start(
            "for i in 1 2 3 4 5 6 7 8; do (while :; do echo $i >>n; done) & "
            "done; wait")
        self.until(lambda: os.path.exists(counter))
        self.exeat("pause", run, code=0)
        self.assertEqual(self.ps()[0]["state"], "paused")
        size = os.path.getsize(counter)
        time.sleep(0.5)  # the time in which nothing may happen
        self.assertEqual(os.path.getsize(counter), size)
        self.exeat("exec", run, "true", code=125)
        self.exeat("pause", run, code=125)
        self.exeat("resume", run, code=0)
        self.until(lambda: os.path.getsize(counter) > size)
        self.exeat("pause", run, code=0)
        self.exeat("stop", run, code=0)
        self.assertEqual(process.wait(WAIT), 143)

    def test_the_time_of_a_pause_does_not_count(self):
        process, run = self.start("while :; do sleep 0.05; done",
                                  "--timeout", "2s")
        self.exeat("pause", run, code=0)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(2.5)
        self.exeat("resume", run, code=0)
        self.assertEqual(process.wait(WAIT), 124)

    def test_a_paused_run_can_be_killed(self):
        process, run = self.start("sleep 1000")
        self.exeat("pause", run, code=0)
        process.kill()
        process.wait(WAIT)
        self.assertEqual(self.ps(), [])
        marker = ("sleep\x001000\x00").encode()

        def left():
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open("/proc/%s/cmdline" % pid, "rb") as words:
                        if words.read() == marker and os.readlink(
                                "/proc/%s/cwd" % pid) == self.workspace:
                            return True
                except OSError:
                    pass
            return False
        # What version 1 froze is thawed by the next run, which kills it.
        if left():
            self.start("exit 0")
        self.until(lambda: not left())

    def test_a_run_that_is_not_there_is_told(self):
        for word in ("stop", "pause", "resume"):
            done = self.exeat(word, "run-nothere", code=125)
            self.assertIn("there is no run run-nothere", done.stderr)
        self.exeat("exec", "run-nothere", "true", code=125)

    def test_each_command_explains_itself(self):
        for word in ("ps", "exec", "stop", "pause", "resume"):
            self.assertIn("usage: exeat " + word,
                          self.exeat(word, "--help", code=0).stdout)
        self.exeat("exec", code=125)
        self.exeat("stop", code=125)


if __name__ == "__main__":
    probe = subprocess.run([os.path.join(BUILD, "exeat-launch"), "--probe"],
                           capture_output=True, text=True)
    if probe.returncode != 0:
        print("skipped: no sandbox can be made here\n" + probe.stdout)
        sys.exit(77)
    unittest.main()
