#!/usr/bin/python3 -I
"""execlog - programs that a sandbox executes, as rows of the audit.

launcher.md section 14, test 27.
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.path.abspath(os.environ.get("EXEAT_BUILD", "build"))
WAIT = 120


class Execlog(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="exeat-execlog-")
        self.workspace = os.path.join(self.folder, "workspace")
        for name in ("workspace", "state", "runtime", "config"):
            os.mkdir(os.path.join(self.folder, name), 0o700)
        self.environment = dict(
            os.environ, HOME=self.folder,
            XDG_STATE_HOME=os.path.join(self.folder, "state"),
            XDG_RUNTIME_DIR=os.path.join(self.folder, "runtime"),
            XDG_CONFIG_HOME=os.path.join(self.folder, "config"))

    def tearDown(self):
        # The writer may only be leaving.
        shutil.rmtree(self.folder, ignore_errors=True)

    def run_it(self, *command, options=()):
        result = os.path.join(self.folder, "result.json")
        done = subprocess.run(
            [os.path.join(BUILD, "exeat"), "run", "--quiet", "--workspace",
             self.workspace, "--result", result, *options, "--", *command],
            env=self.environment, cwd=self.workspace, timeout=WAIT,
            stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(result) as source:
            self.execs = json.load(source)["execs"]
        return self.rows()

    def run_held(self, *command, until):
        """Its rows once until holds of them; by then the command, which reads
        a line at its end, was looked at in peace."""
        with subprocess.Popen(
                [os.path.join(BUILD, "exeat"), "run", "--quiet",
                 "--workspace", self.workspace, "--", *command],
                env=self.environment, cwd=self.workspace, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE) as run:
            end = time.monotonic() + WAIT
            rows = self.rows()
            while not until(rows):
                self.assertIsNone(run.poll(), "it ended before its row")
                self.assertLess(time.monotonic(), end, "waited in vain")
                time.sleep(0.02)
                rows = self.rows()
            self.said, told = run.communicate("\n", timeout=WAIT)
        self.assertEqual(run.returncode, 0, told)
        return rows

    def rows(self):
        database = os.path.join(self.folder, "state", "exeat", "audit.db")
        if not os.path.exists(database):
            return []
        with sqlite3.connect("file:%s?mode=ro" % database, uri=True) as db:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE "
                              "name = 'event'").fetchone():
                return []
            found = db.execute(
                "SELECT seq, parent_seq, object, detail FROM event "
                "WHERE kind = 20 ORDER BY seq").fetchall()
        return [(seq, parent, exe, json.loads(detail))
                for seq, parent, exe, detail in found]

    def test_each_program_is_a_row_below_the_one_that_started_it(self):
        rows = self.run_held("sh", "-c", "sh -c '/bin/true; read l'; exit 0",
                             until=lambda rows: len(rows) == 3)
        by_argv = {row[3]["argv"]: row for row in rows}
        top = by_argv["sh -c sh -c '/bin/true; read l'; exit 0"]
        inner = by_argv["sh -c /bin/true; read l"]
        self.assertIsNone(top[1])
        self.assertEqual(inner[1], top[0])
        self.assertEqual(inner[3]["state"], "confirmed")
        self.assertTrue(inner[2].endswith("sh"), inner)

    def test_what_a_shell_starts_is_its_own(self):
        rows = self.run_it("sh", "-c", "sh -c '/bin/true a; exit 0'; "
                                       "/bin/true b; exit 0")
        by_argv = {row[3]["argv"]: row for row in rows}
        self.assertEqual(len(rows), 4)
        self.assertEqual(self.execs, 4)
        self.assertEqual(by_argv["/bin/true a"][1],
                         by_argv["sh -c /bin/true a; exit 0"][0])
        self.assertEqual(by_argv["/bin/true b"][1], rows[0][0])

    def test_secrets_in_arguments_are_hidden(self):
        rows = self.run_it("/bin/echo", "--token=abc", "-H",
                           "Authorization: Bearer xyz",
                           "https://user:word@host/")
        text = json.dumps([row[3] for row in rows])
        for secret in ("abc", "xyz", "word"):
            self.assertNotIn(secret, text)

    def test_a_search_along_the_path_is_one_row(self):
        rows = self.run_it("sh", "-c", "ls >/dev/null; sleep 0.1")
        names = [row[3]["argv"].split()[0] for row in rows]
        self.assertEqual(names, ["sh", "ls", "sleep"])

    def test_many_and_long_arguments_are_cut_and_said_to_be(self):
        rows = self.run_it(
            "python3", "-c", "import subprocess\n"
            "subprocess.run(['/bin/true'] + ['x'] * 200)\n"
            "subprocess.run(['/bin/true', 'y' * 100000])\n"
            "subprocess.run(['/bin/true'])\n")
        calls = [row[3] for row in rows if row[3]["claimed"] == "/bin/true"]
        self.assertEqual([call.get("cut", False) for call in calls],
                         [True, True, False])

    def test_scripts_are_confirmed_by_their_interpreter(self):
        script = os.path.join(self.workspace, "s.sh")
        with open(script, "w") as out:
            out.write("#!/bin/sh\nread l\n")
        os.chmod(script, 0o755)
        rows = self.run_held("./s.sh", "word", until=len)
        self.assertEqual(rows[0][3]["state"], "confirmed")
        self.assertEqual(rows[0][3]["claimed"], "./s.sh")
        self.assertTrue(rows[0][2].endswith("sh"))

    def test_what_is_claimed_and_not_done_is_told(self):
        rows = self.run_held(
            "python3", "-c", "import os\n"
            "try: os.execv('/bin/nosuch', ['claimed'])\n"
            "except OSError: os.read(0, 1)\n",
            until=lambda rows: "/bin/nosuch" in [
                row[3]["claimed"] for row in rows])
        claimed, = [row for row in rows
                    if row[3]["claimed"] == "/bin/nosuch"]
        self.assertEqual(claimed[3]["state"], "differs")

    def odd(self, how, *words):
        """The row of words, executed as odd_exec does it."""
        if not os.path.exists(os.path.join(self.workspace, "odd_exec")):
            shutil.copy(os.path.join(BUILD, "odd_exec"), self.workspace)
        last = max([row[0] for row in self.rows()], default=0)

        def found(rows):
            return [row[3] for row in rows if row[0] > last and
                    row[3]["argv"].startswith(words[0])]

        row, = found(self.run_held("./odd_exec", how, *words, until=found))
        return row

    def test_words_at_the_end_of_a_mapping_are_read(self):
        row = self.odd("edge", "/bin/sh", "-c", "read l", "x" * 300)
        self.assertEqual(row["argv"], "/bin/sh -c read l " + "x" * 300)
        self.assertEqual(row["claimed"], "/bin/sh")
        self.assertEqual(row["state"], "confirmed")
        self.assertNotIn("cut", row)

    def test_who_lets_nobody_look_in_is_read(self):
        row = self.odd("sealed", "/bin/sh", "-c", "read l")
        self.assertEqual((row["argv"], row["state"]),
                         ("/bin/sh -c read l", "confirmed"))

    def test_a_file_without_a_path_has_the_name_of_its_descriptor(self):
        row = self.odd("descriptor", "/usr/bin/dash", "-c", "read l")
        self.assertEqual((row["claimed"], row["state"]),
                         ("/usr/bin/dash", "confirmed"))

    def test_a_thread_becomes_its_process(self):
        row = self.odd("thread", "/bin/sh", "-c", "read l")
        self.assertEqual(row["state"], "confirmed")

    def test_a_claim_that_others_change_is_told_from_what_ran(self):
        for _ in range(6):
            row = self.odd("changing", "/bin/sh", "-c", "echo $0; read l",
                           "1")
            same = row["argv"].endswith(" " + self.said.strip())
            self.assertEqual(row["state"],
                             "confirmed" if same else "differs",
                             (row, self.said))

    def test_a_thousand_in_a_row_are_all_there(self):
        rows = self.run_it("sh", "-c", "i=0; while [ $i -lt 1000 ]; do "
                                       "/bin/true $i; i=$((i+1)); done")
        seen = {row[3]["argv"] for row in rows}
        self.assertEqual(
            [i for i in range(1000) if "/bin/true %d" % i not in seen], [])

    def test_nothing_is_recorded_when_it_is_not_wanted(self):
        self.assertEqual(
            self.run_it("sh", "-c", "ls", options=["--no-exec-record"]), [])
        self.assertEqual(self.execs, 0)

    def test_programs_that_are_sent_in_are_rows_too(self):
        with subprocess.Popen(
                [os.path.join(BUILD, "exeat"), "run", "--workspace",
                 self.workspace, "--", "sh", "-c", "echo begun; read l"],
                env=self.environment, cwd=self.workspace, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE) as run:
            self.assertEqual(run.stdout.readline(), "begun\n")
            listed = subprocess.run(
                [os.path.join(BUILD, "exeat"), "ps", "--json"],
                env=self.environment, capture_output=True, text=True)
            name = json.loads(listed.stdout)[0]["run"]
            subprocess.run(
                [os.path.join(BUILD, "exeat"), "exec", name, "sh", "-c",
                 "sleep 0.1; true sent"], env=self.environment, check=True)
            run.communicate("\n", timeout=WAIT)
        self.assertIn("sh -c sleep 0.1; true sent",
                      [row[3]["argv"] for row in self.rows()])


if __name__ == "__main__":
    probe = subprocess.run([os.path.join(BUILD, "exeat-launch"), "--probe"],
                           capture_output=True, text=True)
    if probe.returncode != 0:
        print("skipped: no sandbox can be made here\n" + probe.stdout)
        sys.exit(77)
    unittest.main()
