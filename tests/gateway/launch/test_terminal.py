"""What a sandbox has for a terminal, and for files as input and output."""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios

sys.path.insert(0, os.path.dirname(__file__))
import box
from box import Box


class Terminal(Box):
    def on_terminal(self, script, keys=b""):
        """On a pseudo-terminal whose session leader starts the launcher."""
        argv = self.argv(["bash", "--norc", "-c", script])
        self.clean()
        pid, master = pty.fork()
        if pid == 0:
            before = termios.tcgetattr(0)
            code = subprocess.call(argv)
            after = termios.tcgetattr(0)
            same = before == after and os.tcgetpgrp(0) == os.getpgrp()
            os._exit(code if same else 90)
        out = b""
        while True:
            if keys and keys[0] in out:
                os.write(master, keys[1])
                keys = keys[2:]
            try:
                got = os.read(master, 4096)
            except OSError:
                break
            if not got:
                break
            out += got
        os.close(master)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), \
            out.decode(errors="replace")

    # L20, L21, L23
    def test_job_control_works_and_the_terminal_is_given_back(self):
        for shell in ("bash --norc -i", "sh -i"):
            code, out = self.on_terminal(
                "%s -c 'stty -echo raw; echo here; exit 5'" % shell)
            self.assertEqual(code, 5, out)
            self.assertIn("here", out)
            self.assertNotRegex(out, "job control|process group")

    # L37
    def test_ctrl_c_reaches_the_foreground_only(self):
        code, out = self.on_terminal(
            "trap 'echo caught; exit 7' INT; echo ready; "
            "while :; do sleep 0.05; done",
            [b"ready", b"\x03"])
        self.assertEqual(code, 7, out)
        self.assertEqual(len(re.findall("caught", out)), 1, out)

    def test_ctrl_z_stops_the_job_and_fg_goes_on(self):
        """The launcher as a job of an interactive shell."""
        job = self.path("job")
        argv = self.argv(["bash", "--norc", "-c",
                          "trap 'echo continued' CONT; echo begun; "
                          "while :; do sleep 0.05; done"])
        with open(job, "w") as out:
            out.write("#!/bin/sh\nexec " + " ".join(argv) + "\n")
        os.chmod(job, 0o755)
        self.clean()
        pid, master = pty.fork()
        if pid == 0:
            os.execvpe("bash", ["bash", "--norc", "-i"],
                       {**os.environ, "PS1": "prompt> "})
        for sees, sends in ((b"prompt> ", job + "\n"), (b"begun", "\x1a"),
                            (b"Stopped", "fg\n"),
                            (b"continued", "\x1a"),
                            (b"Stopped", "bg; kill -9 %1; echo en''d\n"),
                            (b"end", "exit\n")):
            self.expect(master, sees)
            os.write(master, sends.encode())
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        os.close(master)

    def expect(self, master, words):
        out = b""
        while words not in out:
            ready = select.select([master], [], [], 60)[0]
            self.assertTrue(ready, out)
            out += os.read(master, 4096)

    def session(self, command, **more):
        """The launcher on a new terminal: (pid, master, slave's name)."""
        argv = self.argv(command, gateway=["--pid", self.path("pid")], **more)
        self.clean()
        pid, master = pty.fork()
        if pid == 0:
            os.execvp(argv[0], argv)
        return pid, master

    def finish_on(self, pid, master):
        out = b""
        while True:
            try:
                got = os.read(master, 4096)
            except OSError:
                break
            if not got:
                break
            out += got
        os.close(master)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out

    # launcher.md section 14, test 3: nothing of the user's terminal is there.
    def test_the_terminal_is_the_sandboxs_own(self):
        code, out = self.on_terminal(
            "tty; for fd in 0 1 2; do readlink /proc/self/fd/$fd; done; "
            "ls /dev/pts; test -t 0 && test -t 1 && echo both")
        self.assertEqual(code, 0, out)
        self.assertEqual(out.split(), ["/dev/pts/0"] * 4 +
                         ["0", "ptmx", "both"])

    def test_the_window_has_the_size_of_the_outer_and_follows_it(self):
        pid, master = self.session(
            ["bash", "--norc", "-c",
             "trap 'stty size; exit' WINCH; stty size; "
             "while :; do sleep 0.02; done"])
        self.expect(master, b"0 0")
        fcntl.ioctl(master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 33, 77, 0, 0))
        self.expect(master, b"33 77")
        self.assertEqual(self.finish_on(pid, master)[0], 0)

    # L20, L21: job control of each shell, by the keys.
    def test_interactive_shells_stop_and_continue_their_jobs(self):
        for shell in (["bash", "--norc", "-i"], ["dash", "-i"],
                      ["zsh", "-f", "-i"]):
            if not shutil.which(shell[0]):
                continue
            with self.subTest(shell=shell[0]):
                pid, master = self.session(
                    shell, env={"PS1": "prompt> ", "TERM": "dumb"})
                seen = b""
                for sees, sends in (
                        (b"prompt> ", "sh -c \"echo be''gun; "
                                      "exec sed -u s/^/got-/\"\n"),
                        (b"begun", "line\n"), (b"got-line", "\x1a"),
                        (b"(?i)stopped|suspended", "jobs; fg\n"),
                        (b"sed.*\n.*sed", "more\n"), (b"got-more", "\x03"),
                        (b"prompt> ", "echo co''de $?\n"),
                        (b"code 130", "exit 3\n")):
                    seen += self.expect_one(master, sees)
                    os.write(master, sends.encode())
                code, out = self.finish_on(pid, master)
                self.assertEqual(code, 3)
                self.assertNotRegex(
                    (seen + out).decode(errors="replace"),
                    "job control|process group|can't access tty")

    def expect_one(self, master, pattern):
        out = b""
        while not re.search(pattern, out):
            ready = select.select([master], [], [], 60)[0]
            self.assertTrue(ready, out)
            out += os.read(master, 4096)
        return out

    def mode(self, master):
        return bool(termios.tcgetattr(master)[3] & termios.ICANON)

    # L23
    def test_the_terminal_is_put_back_when_the_launcher_is_killed(self):
        pid, master = self.session(["sh", "-c", "echo here; exec sleep 1000"])
        self.expect(master, b"here")
        self.wait_for(lambda: not self.mode(master))
        launcher = int(self.read("pid"))
        os.kill(launcher, signal.SIGKILL)
        self.wait_for(lambda: self.mode(master))
        self.finish_on(pid, master)
        self.wait_for(lambda: not box.is_alive(launcher))

    # L24: whatever ends the launcher, nothing of the run is left.
    def test_no_process_is_left_by_any_end_of_the_launcher(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP,
                       signal.SIGKILL):
            with self.subTest(signal=number.name):
                pid, master = self.session(
                    ["sh", "-c", "sleep 1000 & echo here; wait"])
                self.expect(master, b"here")
                launcher = int(self.read("pid"))
                all_of_it = box.descendants(launcher)
                self.assertGreater(len(all_of_it), 2)
                os.kill(launcher, number)
                self.finish_on(pid, master)
                self.wait_for(
                    lambda: not any(map(box.is_alive, all_of_it)), 10)

    # Whoever closes a window tells its session leader alone, and the launcher
    # is none: setsid is here, as exeat is when it is a window's own program.
    def test_a_window_that_is_closed_ends_what_runs_in_it(self):
        for last in ("exec sleep 1000", "sleep 1000 | cat"):
            with self.subTest(last=last):
                argv = self.argv(["sh", "-c", "echo here; " + last],
                                 gateway=["--pid", self.path("pid")])
                self.clean()
                pid, master = pty.fork()
                if pid == 0:
                    signal.signal(signal.SIGHUP, signal.SIG_IGN)
                    process = subprocess.Popen(
                        argv, preexec_fn=lambda: signal.signal(
                            signal.SIGHUP, signal.SIG_DFL))
                    os._exit(process.wait())
                self.expect(master, b"here")
                os.close(master)
                self.assertEqual(os.waitstatus_to_exitcode(
                    os.waitpid(pid, 0)[1]), 129)
                self.assertEqual(self.result()["end"], "signaled")

    def test_a_second_ctrl_c_works_too(self):
        code, out = self.on_terminal(
            "n=0; trap 'n=$((n+1)); echo caught$n; [ $n -lt 2 ] || exit 7' "
            "INT; echo ready; while :; do sleep 0.05; done",
            [b"ready", b"\x03", b"caught1", b"\x03"])
        self.assertEqual(code, 7, out)

    def test_all_that_was_printed_at_the_end_arrives(self):
        code, out = self.on_terminal("seq 1 20000; printf last")
        self.assertEqual(code, 0)
        lines = out.split("\r\n")
        self.assertEqual(lines, [str(i) for i in range(1, 20001)] + ["last"])

    def test_every_byte_goes_through_a_raw_terminal(self):
        keys = bytes(range(256))
        code, out = self.on_terminal(
            "stty raw -echo; echo ready; head -c 256 | od -An -v -tx1",
            [b"ready", keys])
        self.assertEqual(code, 0, out)
        self.assertEqual("".join(out.split("ready")[1].split()), keys.hex())

    def test_output_into_a_pipe_leaves_the_terminal_as_it_is(self):
        """As in: exeat run ... | less"""
        argv = self.argv(["sh", "-c", "read line; echo got $line; test -t 0"])
        self.clean()
        pid, master = pty.fork()
        if pid == 0:
            before = termios.tcgetattr(0)
            process = subprocess.Popen(argv, stdout=subprocess.PIPE)
            os.write(1, b"ready")
            out = process.stdout.read()
            same = termios.tcgetattr(0) == before
            os.write(1, b"<%s>" % out.strip())
            os._exit(process.wait() if same else 90)
        self.expect(master, b"ready")
        self.assertTrue(self.mode(master))
        os.write(master, b"a line\n")
        self.expect(master, b"<got a line>")
        self.assertEqual(self.finish_on(pid, master)[0], 0)

    def test_nothing_can_be_typed_into_the_terminal(self):
        code, out = self.on_terminal(
            "python3 -c 'import fcntl, termios\n"
            "try: fcntl.ioctl(0, termios.TIOCSTI, b\"x\"); print(\"typed\")\n"
            "except OSError as e: print(\"errno\", e.errno)'")
        self.assertNotIn("typed", out)
        self.assertIn("errno 1\r\n", out)


class Files(Box):
    """Standard input and output that are no terminal."""

    def run_with(self, command, stdin=subprocess.DEVNULL, stdout=None,
                 stderr=None):
        self.clean()
        return subprocess.run(self.argv(command), stdin=stdin, stdout=stdout,
                              stderr=stderr, timeout=100).returncode

    def test_pipes_carry_every_byte(self):
        sent = os.urandom(1 << 20)
        self.clean()
        done = subprocess.run(self.argv(["cat"]), input=sent,
                              stdout=subprocess.PIPE, timeout=100)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, sent)

    def test_files_carry_every_byte(self):
        sent = os.urandom(1 << 20)
        with open(self.path("in"), "wb") as out:
            out.write(sent)
        with open(self.path("in"), "rb") as source, \
                open(self.path("out"), "wb") as out:
            self.assertEqual(self.run_with(["cat"], source, out), 0)
        with open(self.path("out"), "rb") as out:
            self.assertEqual(out.read(), sent)

    def test_a_file_that_is_appended_to_cannot_be_read_or_cut(self):
        log = self.path("log")
        with open(log, "w") as out:
            out.write("kept\n")
        self.own(log)
        with open(log, "a") as out:
            self.assertEqual(self.run_with(
                # Opened and never read: what it read would be lost to us.
                ["sh", "-c", "echo added; exec 3</proc/self/fd/1; "
                             ": >/proc/self/fd/1; : >/proc/self/fd/2; "
                             "readlink /proc/self/fd/3 | cut -c1-5"],
                stdout=out, stderr=out), 0)
        self.assertEqual(self.read("log"), "kept\nadded\npipe:\n")

    def test_a_file_that_is_read_cannot_be_written(self):
        source = self.write("input", "kept\n")
        with open(source) as given:
            self.run_with(["sh", "-c", "echo lost >/proc/self/fd/0"], given,
                          subprocess.DEVNULL, subprocess.DEVNULL)
        self.assertEqual(self.read("ws", "input"), "kept\n")

    def test_output_and_errors_in_one_file_keep_their_order(self):
        with open(self.path("both"), "w") as out:
            self.assertEqual(self.run_with(
                ["sh", "-c", "for i in $(seq 1 50); do echo $i; "
                             "echo $i >&2; done"], stdout=out, stderr=out), 0)
        self.assertEqual(self.read("both").split(),
                         [str(i // 2) for i in range(2, 102)])

    def test_a_full_disk_is_told_to_who_writes(self):
        with open("/dev/full", "w") as out:
            self.assertEqual(self.run_with(
                ["head", "-c", "1000000", "/dev/zero"], stdout=out,
                stderr=subprocess.DEVNULL), 1)


if __name__ == "__main__":
    box.main()
