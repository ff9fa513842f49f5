#!/usr/bin/python3 -I
"""exeat run --task: real runs, from files."""
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

BUILD = os.path.abspath(os.environ.get("EXEAT_BUILD", "build"))
EXEAT = os.path.join(BUILD, "exeat")
WAIT = 60


class Task(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="exeat-task-")
        self.workspace = os.path.join(self.folder, "ws")
        for name in ("ws", "state", "runtime", "config", "out"):
            os.mkdir(os.path.join(self.folder, name), 0o700)
        self.environment = dict(
            os.environ, HOME=self.folder,
            XDG_STATE_HOME=os.path.join(self.folder, "state"),
            XDG_RUNTIME_DIR=os.path.join(self.folder, "runtime"),
            XDG_CONFIG_HOME=os.path.join(self.folder, "config"))

    def tearDown(self):
        # A writer that is about to end still makes and removes files.
        for _ in range(1000):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                return
        self.fail("somebody still writes into " + self.folder)

    def write(self, name, document):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write(document if isinstance(document, str)
                      else json.dumps(document))
        os.chmod(path, 0o600)
        return path

    def task(self, file, command, **keys):
        return self.write(file, {"version": 1, "command": command,
                                 "workspace": {"path": "ws"}, **keys})

    def run_it(self, path, *words, code=0):
        done = subprocess.run([EXEAT, "run", "--task", path, *words],
                              env=self.environment, cwd=self.folder,
                              stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=WAIT)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_the_sandbox_is_as_the_file_says(self):
        os.mkdir(os.path.join(self.folder, "data"))
        self.write("data/given", "seen\n")
        os.mkdir(os.path.join(self.workspace, "below"))
        self.write("ws/below/prod.yaml", "hidden")
        path = self.task(
            "task.json",
            ["sh", "-c", "hostname; pwd; cat /data/given; echo $CI$LANG; "
             "touch /data/x 2>/dev/null || echo no; "
             "df -k --output=size /scratch | tail -1; "
             "cat below/prod.yaml 2>/dev/null || echo none; "
             "ls /sys/class/net 2>/dev/null; grep -c : /proc/net/dev; "
             "ulimit -n; echo new > made"],
            name="fix-42", cwd="/ws/app",
            workspace={"path": "./ws", "at": "/ws/app"},
            mounts=[{"source": "./data", "at": "/data"},
                    {"tmpfs": "/scratch", "size": "8MiB"}],
            secrets={"mask": ["below/prod.yaml"]},
            env={"set": {"CI": "yes"}, "pass": ["LANG"]},
            network={"mode": "transparent", "nic": False},
            limits={"open_files": 100}, terminal=False,
            audit={"database": "out/own.db"}, result="out/result.json")
        self.environment["LANG"] = "C.UTF-8"
        done = self.run_it(path)
        self.assertEqual(done.stdout.split(),
                         ["fix-42", "/ws/app", "seen", "yesC.UTF-8", "no",
                          "8192", "none", "1", "100"])
        with open(os.path.join(self.workspace, "made")) as made:
            self.assertEqual(made.read(), "new\n")
        with open(os.path.join(self.folder, "out/result.json")) as text:
            result = json.load(text)
        self.assertEqual(result["end"], "exited")
        self.assertEqual(result["audit"],
                         os.path.join(self.folder, "out/own.db"))

    def test_the_command_begins_where_it_was_called_in_the_workspace(self):
        below = os.path.join(self.workspace, "below")
        os.mkdir(below)
        path = self.task("task.json", ["pwd"],
                         workspace={"path": "ws", "at": "/w"})
        done = subprocess.run([EXEAT, "run", "--task", path], cwd=below,
                              env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=WAIT)
        self.assertEqual(done.stdout, "/w/below\n", done.stderr)

    def test_an_option_stands_over_the_file_and_lists_add_up(self):
        path = self.task("task.json", ["sh", "-c", "echo file $A $B"],
                         env={"set": {"A": "1", "B": "2"}},
                         limits={"pids": 3}, timeout={"wall": "1h"})
        done = self.run_it(path, "--env", "B=3", "--limit", "pids=100", "--",
                           "sh", "-c", "echo option $A $B; ulimit -p")
        self.assertEqual(done.stdout.split(), ["option", "1", "3", "100"])

    def test_a_template_is_read_first(self):
        self.write("config/exeat/templates/node20.json",
                   {"version": 1, "name": "template",
                    "env": {"set": {"A": "t", "B": "t"}}})
        path = self.task("task.json", ["sh", "-c", "hostname; echo $A $B"],
                         template="node20", env={"set": {"B": "f"}})
        self.assertEqual(self.run_it(path).stdout.split(),
                         ["template", "t", "f"])

    def test_a_template_says_neither_what_nor_where(self):
        self.write("t.json", {"version": 1, "command": ["true"],
                              "workspace": {}, "template": "x"})
        path = self.task("task.json", ["true"], template="./t.json")
        err = self.run_it(path, code=125).stderr
        for key in ("command", "workspace", "template"):
            self.assertIn('a template has no "%s"' % key, err)

    def test_a_file_that_the_sandbox_could_write_is_refused(self):
        """L: what one run may write decides over the next one."""
        path = self.task("ws/task.json", ["touch", "ran"],
                         workspace={"path": "."})
        err = self.run_it(path, code=125).stderr
        self.assertIn("the sandbox could write its task", err)
        self.assertFalse(os.path.exists(os.path.join(self.workspace, "ran")))

    def test_everything_wrong_in_file_and_options_is_told_at_once(self):
        path = self.task("task.json", ["touch", "ran"], name="A b",
                         limits={"cpu": -1})
        err = self.run_it(path, "--timeout", "soon", "--env", "MY_TOKEN",
                          code=125).stderr
        for text in ("task.json:1:", "(task.invalid)", "--timeout: soon",
                     "(env.credential)"):
            self.assertIn(text, err)
        self.assertEqual(os.listdir(self.workspace), [])

    def test_what_holds_credentials_is_no_mount(self):
        os.makedirs(os.path.join(self.folder, ".config", "gcloud"))
        os.mkdir(os.path.join(self.folder, ".ssh"))
        for source in (".ssh", ".config", ".config/gcloud", ".", "/"):
            path = self.task("task.json", ["true"],
                             mounts=[{"source": source, "at": "/data"}])
            err = self.run_it(path, code=125).stderr
            self.assertIn("(mount.source)", err, source)

    def test_our_own_state_is_no_mount(self):
        path = self.task("task.json", ["true"],
                         mounts=[{"source": "state", "at": "/data"}])
        self.assertIn("the sandbox could reach",
                      self.run_it(path, code=125).stderr)

    def test_a_snapshot_that_is_not_there_is_named(self):
        path = self.task("task.json", ["true"], from_snapshot="nothing")
        self.assertIn("(ref.missing)", self.run_it(path, code=125).stderr)

    def test_two_run_side_by_side_each_with_its_own(self):
        """Identity, policy, limits, audit and files; one workspace."""
        meet = os.path.join(self.folder, "out")
        running = {}
        for name, other, pids in (("a", "b", 40), ("b", "a", 50)):
            self.write("%s-policy.json" % name, {
                "version": 1, "name": name,
                "rules": [{"id": name, "host": ["%s.example.com" % name]}]})
            # Each ends only when it has seen the other one run.
            path = self.task(
                name + ".json",
                ["sh", "-c",
                 "touch /meet/{0}; while [ ! -e /meet/{1} ]; do :; done; "
                 "ulimit -p; hostname; ls; echo {0} > of-{0}; "
                 "curl -s http://exeat.internal/v1/whoami".format(
                     name, other)],
                name="box-" + name, policy=name + "-policy.json",
                identity={"agent": "agent-" + name, "session": "s-" + name},
                mounts=[{"source": "out", "at": "/meet", "access": "rw"}],
                limits={"pids": pids}, timeout={"wall": "60s"},
                audit={"database": "audit-%s.db" % name})
            running[name] = subprocess.Popen(
                [EXEAT, "run", "--task", path], env=self.environment,
                cwd=self.folder, stdin=subprocess.DEVNULL, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        told = {}
        for name, process in running.items():
            out, err = process.communicate(timeout=WAIT + 30)
            self.assertEqual(process.returncode, 0, err)
            told[name] = out
        self.assertEqual(sorted(os.listdir(meet)), ["a", "b"])
        self.assertEqual(sorted(os.listdir(self.workspace)),
                         ["of-a", "of-b"])
        for name, other, pids in (("a", "b", 40), ("b", "a", 50)):
            lines = told[name].splitlines()
            self.assertEqual(lines[:2], [str(pids), "box-" + name])
            self.assertIn("run-", lines[-1])
            db = sqlite3.connect(
                os.path.join(self.folder, "audit-%s.db" % name))
            self.assertEqual(
                db.execute("SELECT sub FROM principal").fetchall(),
                [("agent-" + name,)])
            policies = db.execute("SELECT body FROM policy").fetchall()
            self.assertEqual(len(policies), 1)
            self.assertIn("%s.example.com" % name, str(policies[0][0]))
            db.close()


if __name__ == "__main__":
    unittest.main()
