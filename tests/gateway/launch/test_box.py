"""The life of a sandbox: codes, signals, processes, what it may not do."""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
import box
from box import Box, descendants, is_alive


class Codes(Box):
    # L29
    def test_the_commands_own_code_is_ours(self):
        for code in (0, 1, 42, 124, 255):
            done = self.sh("exit %d" % code)
            self.assert_ran(done, code)
            self.assertEqual(done.result["end"], "exited")
            self.assertEqual(done.result["code"], code)
            self.assertEqual(done.err, "")

    def test_a_signal_is_128_and_its_number(self):
        for name, number in (("TERM", 15), ("SEGV", 11), ("KILL", 9)):
            done = self.sh("kill -%s $$" % name)
            self.assert_ran(done, 128 + number)
            self.assertEqual(done.result["end"], "signaled")
            self.assertEqual(done.result["signal"], number)

    def test_not_found_is_127_and_not_executable_126(self):
        self.write("plain", "#!/bin/sh\necho ran")
        self.write("nonsense", "no interpreter is named here")
        os.chmod(self.path("ws", "nonsense"), 0o755)
        for command, code in (("no-such-program", 127), ("./missing", 127),
                              ("./plain", 126), ("/usr", 126),
                              ("./nonsense", 126)):
            done = self.run_box([command])
            self.assert_ran(done, code)
            self.assertEqual(done.result["end"], "launch_failed")
            self.assertEqual(done.result["stage"], "command")
            self.assertIn(command, done.err)
            self.assertEqual(done.out, "")

    def test_a_time_limit_is_124(self):
        done = self.sh("sleep 60", wall_ms=500)
        self.assert_ran(done, 124)
        self.assertEqual(done.result["end"], "timeout")
        self.assertIn("time limit", done.err)

    def test_who_ignores_the_time_limit_is_killed(self):
        done = self.sh("trap '' TERM; while :; do sleep 1; done",
                       wall_ms=300)
        self.assert_ran(done, 124)
        self.assertLess(done.result["wall_ms"], 9000)

    def test_a_lost_gateway_ends_the_run(self):
        done = self.sh("sleep 60", gateway=["--leave", "300"])
        self.assert_ran(done, 137)
        self.assertEqual(done.result["end"], "gateway_lost")

    def test_no_gateway_and_no_plan_is_125(self):
        done = subprocess.run([self.path("exeat-launch")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 125)
        self.assertIn("exeat run", done.stderr)

    def test_a_bad_plan_is_125_and_names_the_place(self):
        done = self.run_box(["true"], surprise=1)
        self.assert_ran(done, 125)
        self.assertEqual(done.result["stage"], "plan")
        self.assertIn('unknown key "surprise"', done.err)


class Signals(Box):
    def start_waiting(self, script, last="while :; do sleep 0.05; done"):
        if self.exists("ws", "ready"):
            os.unlink(self.path("ws", "ready"))
        process, pid = self.start_box(
            ["bash", "-c", script + "; echo > ready; " + last])
        self.wait_for(lambda: self.exists("ws", "ready"))
        return process, pid

    def test_signals_reach_the_command_and_not_the_launcher(self):
        process, pid = self.start_waiting(
            "".join("trap 'echo %s >> got' %s; " % (n, n)
                    for n in ("INT", "HUP", "QUIT", "USR1", "USR2",
                              "WINCH", "CONT")) + "trap 'exit 9' TERM")
        for name in ("INT", "HUP", "QUIT", "USR1", "USR2", "WINCH", "CONT"):
            os.kill(pid, getattr(signal, "SIG" + name))
            self.wait_for(lambda: self.exists("ws", "got") and
                          name in self.read("ws", "got"))
        os.kill(pid, signal.SIGTERM)
        done = self.finish(process)
        self.assert_ran(done, 9)
        got = self.read("ws", "got").split()
        self.assertEqual(len(got), 7, got)

    # L24, L25, L27: also who made a session of its own.
    def test_nothing_is_left_when_the_launcher_is_killed(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT,
                       signal.SIGHUP):
            process, pid = self.start_waiting(
                "setsid sleep 1000 & (setsid bash -c 'sleep 1001 & "
                "sleep 1002' &)", last="exec sleep 1003")
            # Process 1, the command, and the four it made.
            self.wait_for(lambda: len(descendants(pid)) == 6)
            everybody = descendants(pid)
            os.kill(pid, number)
            self.finish(process)
            self.wait_for(lambda: not any(map(is_alive, everybody)), 5)

    def test_what_the_command_leaves_behind_ends_with_it(self):
        process, pid = self.start_waiting(
            "setsid sleep 1000 & trap 'exit 3' TERM")
        everybody = descendants(pid)
        os.kill(pid, signal.SIGTERM)
        self.assert_ran(self.finish(process), 3)
        self.assertFalse(any(map(is_alive, everybody)))


class Processes(Box):
    def test_orphans_are_reaped(self):
        done = self.sh(
            "for i in $(seq 300); do (true &); done; sleep 0.3; "
            "cat /proc/[0-9]*/stat | grep -c ') Z '")
        self.assertEqual(done.out.strip(), "0", done.err)

    def test_killing_all_hurts_only_the_sandbox(self):
        done = self.sh("sleep 100 & kill -KILL -1; kill -0 1 && wait; "
                       "echo still here")
        self.assertEqual(done.out, "still here\n")

    # L31
    def test_a_fork_bomb_meets_its_limit(self):
        done = self.run_box(
            ["python3", "-c", """
import os, time
n = 0
try:
    while n < 500:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        n += 1
except OSError as e:
    print(n, e.errno)
"""], limits={"pids": 20})
        number, error = done.out.split()
        self.assertLess(int(number), 20)
        self.assertEqual(error, "11")

    def test_two_sandboxes_do_not_share_the_limit(self):
        first, _ = self.start_box(
            ["bash", "-c", "for i in 1 2 3 4 5 6 7; do sleep 20 & done; "
             "echo ready > ready; wait"], limits={"pids": 10})
        self.wait_for(lambda: self.exists("ws", "ready"))
        done = self.sh("for i in 1 2 3 4 5 6 7; do sleep 0.1 & done; wait; "
                       "echo all", limits={"pids": 10})
        self.assertEqual(done.out.strip(), "all", done.err)
        first.kill()
        self.finish(first)

    # B02, B04, B32, L32 and the attacks of launcher.md section 14
    def test_the_attack_set_finds_no_hole(self):
        shutil.copy(self.path("launch_attack"), self.path("ws", "attack"))
        done = self.run_box(["./attack"])
        self.assertNotIn("HOLE", done.out)
        self.assert_ran(done)
        self.assertIn("0 holes", done.out)

    def test_ptrace_can_be_denied(self):
        script = ["python3", "-c", "import ctypes;"
                  "print(ctypes.CDLL(None).ptrace(0, 0, 0, 0))"]
        self.assertEqual(self.run_box(script).out.strip(), "0")
        self.assertEqual(self.run_box(script, ptrace=False).out.strip(),
                         "-1")

    def test_nested_sandboxes_are_possible_when_asked_for(self):
        script = "unshare -Urnm true && echo nested"
        self.assertEqual(self.sh(script).out, "")
        self.assertEqual(self.sh(script, nested=True).out.strip(), "nested")

    # L34
    def test_the_environment_is_built_from_nothing(self):
        os.environ["EXEAT_CANARY"] = "canary"
        done = self.sh("env; tr '\\0' '\\n' < /proc/1/environ",
                       env={"CI": "1", "https_proxy": "http://x"})
        self.assertNotIn("canary", done.out)
        self.assertNotIn("proxy", done.out)
        self.assertIn("CI=1\n", done.out)
        self.assertIn("HOME=/home/agent\n", done.out)

    def test_ids_and_names(self):
        done = self.sh("id -u; id -g; whoami; hostname; pwd; "
                       "cat /proc/self/uid_map | tr -s ' '")
        lines = done.out.split("\n")
        self.assertEqual(lines[:5], ["1000", "1000", "agent", "box", self.ws])
        self.assertNotEqual(lines[5].split()[1], "0")

    # L07: no program is found by a path, none is needed.
    def test_no_program_outside_is_run(self):
        done = self.run_box(["true"], before=["env", "-i", "PATH="])
        self.assert_ran(done)


if __name__ == "__main__":
    box.main()
