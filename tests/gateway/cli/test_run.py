#!/usr/bin/python3 -I
"""exeat run beside siblings that stand in for the real ones.

Each failure of a sibling is made by a real process that fails so; what is
asked is that the command never starts or is ended, that the code is 125, and
that the cause is told in one line.
"""
import hashlib
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ["EXEAT_BUILD"]
HERE = os.path.dirname(os.path.abspath(__file__))
SIBLING = os.path.join(HERE, "../../support/sibling.py")
NAMES = ("exeat-gateway", "exeat-launch", "exeat-audit")


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="exeat-run-")
        self.addCleanup(self.remove)
        self.bin = self.make("bin")
        self.workspace = self.make("workspace")
        self.home = self.make("home")
        shutil.copy(os.path.join(BUILD, "exeat"), self.bin)
        for name in NAMES:
            shutil.copy(SIBLING, os.path.join(self.bin, name))
            os.chmod(os.path.join(self.bin, name), 0o755)
        self.environment = {
            "HOME": self.home,
            "XDG_STATE_HOME": os.path.join(self.home, "state"),
            "XDG_CONFIG_HOME": os.path.join(self.home, "config"),
            "PATH": "/nonexistent",
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def remove(self):
        # A sibling that is about to end may write one more note.
        for _ in range(1000):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                return
        self.fail("somebody still writes into " + self.folder)

    def make(self, name):
        path = os.path.join(self.folder, name)
        os.mkdir(path)
        return path

    def does(self, sibling, word):
        path = os.path.join(self.bin, "exeat-%s.does" % sibling)
        with open(path, "w") as out:
            out.write(word)

    def write(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write(text)
        os.chmod(path, 0o600)
        return path

    def start(self, *words):
        return subprocess.Popen(
            [os.path.join(self.bin, "exeat"), "run", *words],
            cwd=self.workspace, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)

    def run_it(self, *words):
        process = self.start(*words)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def notes(self):
        try:
            with open(os.path.join(self.bin, "notes")) as source:
                return source.read().splitlines()
        except FileNotFoundError:
            return []

    def wait_for(self, start):
        """Reads notes until one begins so; the writer is a live process."""
        for _ in range(100000):
            for line in self.notes():
                if line.startswith(start):
                    return line
            os.sched_yield()
        self.fail("nobody noted %s; notes: %s" % (start, self.notes()))

    def plan(self):
        lines = [line for line in self.notes() if line.startswith("plan ")]
        self.assertEqual(len(lines), 1)
        return json.loads(lines[0][5:])

    def fails(self, result, cause):
        code, out, err = result
        self.assertEqual(code, 125, err)
        self.assertEqual(out, "")
        self.assertIn(cause, err)

    def command_never_started(self):
        self.assertFalse([n for n in self.notes() if n == "go"])

    # ---- what goes well ----

    def test_code_of_the_command_is_handed_on(self):
        for code in (0, 1, 77, 255):
            self.does("launch", str(code))
            self.assertEqual(self.run_it("--", "true")[0], code)

    def test_last_line_tells_counts_and_where_to_look(self):
        code, out, err = self.run_it("--", "true")
        self.assertEqual((code, out), (0, ""))
        run = self.wait_for("run ").split()[1]
        self.assertRegex(
            err.splitlines()[-1],
            r"^exeat: 12 requests, 3 refused.*; exeat audit summary " + run)

    def test_quiet_says_nothing(self):
        self.assertEqual(self.run_it("--quiet", "true"), (0, "", ""))

    def test_without_policy_there_is_one_that_denies_and_it_says_so(self):
        _, _, err = self.run_it("--", "true")
        self.assertIn("no policy, so the network is closed", err)
        layers = [n for n in self.notes() if n.startswith("layer ")]
        self.assertEqual(len(layers), 1)
        self.assertIn('"rules": []', layers[0])

    def test_gateway_and_audit_are_told_the_same_digests(self):
        one = self.write("one.json", '{"version": 1, "rules": []}')
        two = self.write("two.json", '{"version": 1, "rules": [] }')
        code, _, err = self.run_it("--policy", one, "--policy=" + two, "true")
        self.assertEqual(code, 0, err)
        layers = [n.split(" ", 3) for n in self.notes()
                  if n.startswith("layer ")]
        told = [n.split()[1] for n in self.notes() if n.startswith("policy ")]
        self.assertEqual(len(layers), 2)
        self.assertEqual([layer[2] for layer in layers], told)
        for layer in layers:
            self.assertEqual(
                layer[2], hashlib.sha256(layer[3].encode()).hexdigest())

    def test_ceiling_is_a_layer_above_the_policy(self):
        ceiling = self.write("ceiling.json", '{"version": 1, "rules": []}')
        policy = self.write("policy.json", '{"version": 1, "rules": []}')
        self.environment["EXEAT_CEILING"] = ceiling
        code, _, err = self.run_it("--policy", policy, "true")
        self.assertEqual(code, 0, err)
        names = [n.split()[1] for n in self.notes() if n.startswith("layer ")]
        self.assertEqual(names[-2:], [ceiling, policy])

    def test_policy_of_the_person_is_found(self):
        path = self.write("home/config/exeat/policy.json",
                          '{"version": 1, "rules": []}')
        _, _, err = self.run_it("true")
        self.assertNotIn("no policy", err)
        self.wait_for("layer " + path)

    def test_plan_has_the_command_its_folder_and_variables(self):
        data = self.make("data")
        self.environment.update(LANG="C.UTF-8", HARMLESS="yes", SECRET="no")
        code, _, err = self.run_it(
            "--env", "A=1", "--env", "HARMLESS", "--env", "API_TOKEN=mine",
            "--mount", data + ":/data", "--timeout", "2m", "--",
            "npm", "test", "--policy", "x")
        self.assertEqual(code, 0, err)
        plan = self.plan()
        self.assertEqual(plan["command"], ["npm", "test", "--policy", "x"])
        self.assertEqual(plan["cwd"], self.workspace)
        folder = os.path.join(self.home, "state/exeat/files/boxes",
                              plan["run"])
        self.assertEqual(plan["workspace"],
                         {"path": self.workspace, "mode": "overlay",
                          "folder": folder, "layers": []})
        self.assertFalse(os.path.exists(folder))
        self.assertEqual(plan["env"], {"A": "1", "HARMLESS": "yes",
                                       "API_TOKEN": "mine",
                                       "LANG": "C.UTF-8"})
        self.assertEqual(plan["mounts"], [{"source": data, "at": "/data",
                                           "access": "ro"}])
        self.assertEqual(plan["wall_ms"], 120000)

    def test_result_file_settles_how_it_ended(self):
        path = os.path.join(self.folder, "result.json")
        self.does("launch", "7")
        self.run_it("--result", path, "true")
        with open(path) as source:
            result = json.load(source)
        self.assertEqual(result["end"], "exited")
        self.assertEqual(result["exit_code"], 7)
        self.assertEqual((result["requests"], result["refused"]), (12, 3))

    def test_audit_folder_is_made_for_us_alone(self):
        self.run_it("true")
        mode = os.stat(os.path.join(self.home, "state/exeat")).st_mode
        self.assertEqual(mode & 0o777, 0o700)

    def test_long_audit_path_is_no_hindrance(self):
        deep = os.path.join(self.folder, "d" * 100)
        os.mkdir(deep)
        code, _, err = self.run_it(
            "--audit", os.path.join(deep, "a.db"), "true")
        self.assertEqual(code, 0, err)

    def test_closed_descriptors_are_filled_with_nothing_of_ours(self):
        def close_all():
            for fd in range(3):
                os.close(fd)
        self.does("launch", "descriptors")
        process = subprocess.Popen(
            [os.path.join(self.bin, "exeat"), "run", "--result",
             os.path.join(self.folder, "result.json"), "true"],
            cwd=self.workspace, env=self.environment, preexec_fn=close_all)
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertEqual(
            [line for line in self.notes() if line.startswith("launcher 0")],
            ["launcher 0 to 2: /dev/null /dev/null /dev/null"])

    # ---- signals ----

    def test_signal_for_us_reaches_the_command(self):
        self.does("launch", "wait")
        process = self.start("--", "true")
        self.wait_for("launcher waits")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertIn("end 143 signaled", self.notes())

    def test_interrupt_of_a_terminal_is_not_handed_on_again(self):
        # L37: the terminal has sent it to the launcher already.
        self.does("launch", "wait")
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.workspace)
            os.execve(os.path.join(self.bin, "exeat"),
                      ["exeat", "run", "true"], self.environment)
        self.wait_for("launcher waits")
        os.write(terminal, b"\x03")
        self.wait_for("launcher got %d" % signal.SIGINT)
        # What we had handed on would come before this.
        os.kill(pid, signal.SIGTERM)
        self.wait_for("launcher got %d" % signal.SIGTERM)
        status = os.waitpid(pid, 0)[1]
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(status), 143)
        self.assertEqual([n for n in self.notes() if " got " in n],
                         ["launcher got 2", "launcher got 15"])

    def test_interrupt_of_another_process_is_handed_on(self):
        self.does("launch", "wait")
        process = self.start("--", "true")
        self.wait_for("launcher waits")
        process.send_signal(signal.SIGINT)
        self.wait_for("launcher got %d" % signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)

    def test_when_we_are_killed_the_siblings_end_by_themselves(self):
        self.does("launch", "wait")
        process = self.start("--", "true")
        pid = int(self.wait_for("launcher waits").split()[-1])
        launcher = os.pidfd_open(pid)
        process.kill()
        process.communicate(timeout=60)
        # The descriptor becomes readable when the launcher has ended.
        self.assertTrue(select.select([launcher], [], [], 60)[0])
        os.close(launcher)
        self.wait_for("gateway saw its parent leave")
        self.wait_for("audit saw its parent leave")

    # ---- siblings that fail ----

    def test_gateway_that_exits_at_once(self):
        self.does("gateway", "exit")
        self.fails(self.run_it("true"), "the gateway ended early")
        self.command_never_started()
        self.assertIn("end 125 launch_failed", self.notes())

    def test_gateway_that_cannot_start_tells_why(self):
        self.does("gateway", "refuse")
        self.fails(self.run_it("true"), "no certificate; x")
        self.command_never_started()

    def test_words_of_a_gateway_cannot_move_the_cursor(self):
        self.does("gateway", "escape")
        self.fails(self.run_it("true"), "\\x1b[2Jno")

    def test_gateway_that_breaks_the_protocol(self):
        self.does("gateway", "nonsense")
        self.fails(self.run_it("true"), "the gateway said")
        self.command_never_started()

    def test_gateway_that_dies_while_the_command_runs_ends_it(self):
        self.does("gateway", "die-later")
        self.does("launch", "wait")
        self.fails(self.run_it("true"), "the gateway ended early")
        self.wait_for("launcher got %d" % signal.SIGTERM)

    def test_gateway_that_keeps_its_sums_to_itself(self):
        self.does("gateway", "no-tally")
        self.fails(self.run_it("true"), "without telling its sums")

    def test_launcher_killed_is_a_failure_of_ours(self):
        self.does("launch", "killed")
        self.fails(self.run_it("true"), "the launcher was killed by signal 9")
        self.assertIn("end 125 launch_failed", self.notes())

    def test_launcher_that_fails_without_a_word(self):
        self.does("launch", "silent")
        code, _, _ = self.run_it("true")
        self.assertEqual(code, 125)

    def test_audit_that_cannot_open_its_file(self):
        self.does("audit", "cannot")
        self.fails(self.run_it("true"), "the disk is read-only")
        self.command_never_started()

    def test_audit_that_exits_without_a_word(self):
        self.does("audit", "exit")
        self.fails(self.run_it("true"), "ended without a word")
        self.command_never_started()

    def test_audit_that_takes_no_rows(self):
        self.does("audit", "closed")
        self.fails(self.run_it("true"), "the audit writer cannot write now")
        self.command_never_started()

    def test_audit_that_dies_before_the_start(self):
        self.does("audit", "die")
        self.fails(self.run_it("true"), "the audit writer ")
        self.command_never_started()

    def test_audit_that_dies_before_the_last_row(self):
        # A16: a run whose end is not written down has not gone well.
        self.does("audit", "no-close")
        self.fails(self.run_it("true"), "the audit writer ended")

    def test_program_that_is_not_there(self):
        for name in NAMES:
            os.rename(os.path.join(self.bin, name),
                      os.path.join(self.folder, name))
            self.fails(self.run_it("true"), name + " is neither in ")
            os.rename(os.path.join(self.folder, name),
                      os.path.join(self.bin, name))
        self.command_never_started()

    # ---- what is refused before anything starts ----

    def test_policy_that_the_sandbox_could_write_is_refused(self):
        # B24: the agent could write the list it is held to.
        inside = self.write("workspace/p.json", '{"version": 1, "rules": []}')
        self.fails(self.run_it("--policy", inside, "true"), "sandbox")
        link = os.path.join(self.folder, "link.json")
        os.symlink(inside, link)
        self.fails(self.run_it("--policy", link, "true"), "")
        self.assertEqual(self.notes(), [])

    def test_policy_that_others_could_write_is_refused(self):
        path = self.write("p.json", '{"version": 1, "rules": []}')
        os.chmod(path, 0o666)
        self.fails(self.run_it("--policy", path, "true"), path)
        self.assertEqual(self.notes(), [])

    def test_all_problems_of_all_policies_are_told_with_their_places(self):
        # P16, P17: nothing that does not read is passed over.
        one = self.write("one.json",
                         '{"version": 1, "rules": [\n'
                         ' {"id": "a", "host": ["a b"], "hots": 1},\n'
                         ' {"id": "a", "host": ["https://x.test"]}]}')
        two = self.write("two.json", '{"version": 1')
        result = self.run_it("--policy", one, "--policy", two, "true")
        self.fails(result, one + ":2:")
        self.fails(result, one + ":3:")
        self.fails(result, two + ":1:")
        self.assertEqual(self.notes(), [])

    def test_policy_in_a_writable_mount_is_refused(self):
        path = self.write("shared/p.json", '{"version": 1, "rules": []}')
        mount = os.path.dirname(path) + ":/shared:rw"
        self.fails(self.run_it("--policy", path, "--mount", mount, "true"),
                   "sandbox")

    def test_audit_database_in_the_workspace_is_refused(self):
        self.fails(self.run_it("--audit", "audit.db", "true"),
                   "could reach the audit database")

    def test_audit_database_that_a_mount_shows_is_refused(self):
        # Its writer's socket would be there, read-only or not.
        folder = self.make("seen")
        self.fails(self.run_it("--mount", folder, "--audit",
                               os.path.join(folder, "a.db"), "true"),
                   "could reach the audit database")

    def test_workspace_or_mount_with_our_programs_is_refused(self):
        # The next run would start what the sandbox put in their place.
        for words in (("--workspace", self.bin),
                      ("--mount", self.bin + ":/b:rw")):
            self.fails(self.run_it(*words, "true"),
                       "which runs outside of it")
        self.command_never_started()
        code, _, err = self.run_it("--mount", self.bin + ":/b", "true")
        self.assertEqual(code, 0, err)

    def test_home_as_workspace_is_refused(self):
        self.fails(self.run_it("--workspace", self.home, "true"),
                   "holds the home directory")
        self.fails(self.run_it("--workspace", "/", "true"),
                   "holds the home directory")

    def test_credential_by_name_alone_is_refused(self):
        # L34: what the caller's environment holds does not slip in.
        self.environment.update(AWS_SECRET_ACCESS_KEY="x", LD_PRELOAD_="x",
                                SSH_AUTH_SOCK="x", https_proxy="x")
        for name in ("AWS_SECRET_ACCESS_KEY", "LD_PRELOAD_", "SSH_AUTH_SOCK",
                     "https_proxy"):
            self.fails(self.run_it("--env", name, "true"), name)

    def test_wrong_usage_teaches(self):
        for words, cause in (
            ((), "no command is named"),
            (("--polcy", "x", "true"), "no option --polcy"),
            (("--policy",), "--policy wants a value"),
            (("--policy=", "true"), "--policy wants a value"),
            (("--quiet=1", "true"), "--quiet takes no value"),
            (("--timeout", "0", "true"), "is not a time"),
            (("--timeout", "5x", "true"), "is not a time"),
            (("--timeout", "99999999999", "true"), "is not a time"),
            (("--mount", ":/x", "true"), "SOURCE"),
            (("--mount", "/usr:/x:rx", "true"), "SOURCE"),
            (("--mount", "/nonexistent", "true"), "cannot open"),
            (("--env", "1=2", "true"), "NAME=VALUE"),
            (("--env", "NOT_SET", "true"), "not set here"),
            (("--workspace", "/nonexistent", "true"), "cannot open"),
            (("--policy", "/nonexistent", "true"), "/nonexistent"),
            (("--result", "/dev/null", "true"), "plain file"),
        ):
            with self.subTest(words=words):
                self.fails(self.run_it(*words), cause)
        self.assertEqual(self.notes(), [])

    def test_argument_that_is_not_utf8_is_refused_not_changed(self):
        self.fails(self.run_it("echo", b"\xff".decode(
            "utf-8", "surrogateescape")), "not UTF-8")

    def test_help_goes_to_stdout(self):
        code, out, err = self.run_it("--help")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("usage: exeat run", out)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
