#!/usr/bin/python3 -I
"""An audit of several segments is asked, proven and gone on with as one."""
import contextlib
import csv
import fcntl
import hashlib
import io
import json
import os
import re
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ["EXEAT_BUILD"]
EXEAT = os.path.join(BUILD, "exeat")
FILL = os.path.join(BUILD, "audit_fill")
PROVER = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "check_inclusion.py")
SQL = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                   "../../../schema/audit/questions")
BETWEEN = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "check_consistency.py")
ROWS = 500
SEED = 8000000


def fill(path, letter="a", rows=ROWS, segment_rows=None):
    words = [FILL, path, letter, str(rows)]
    if segment_rows is not None:
        words.append(str(segment_rows))
    subprocess.run(words, check=True, timeout=120, stdout=subprocess.DEVNULL)


def audit(path, *words):
    return subprocess.run([EXEAT, "audit", *words, "--audit", path],
                          capture_output=True, text=True, timeout=120,
                          check=False)


def ask(path, *words):
    done = audit(path, *words, "--json")
    assert done.returncode == 0, (words, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def verify(path, *words):
    done = audit(path, "verify", "--json", *words)
    assert done.stdout.endswith("\n"), (done.stdout, done.stderr)
    return done.returncode, json.loads(done.stdout)


def await_writer(path):
    """Until the writer has ended and let go of its lock."""
    with open(path + ".lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


def await_sealed(path):
    """Until what was left is sealed, on a busy machine as well."""
    done = audit(path, "prune", "--keep", "999")
    assert done.returncode == 0, done.stderr
    await_writer(path)


def segments(path):
    folder, name = os.path.split(path)
    return sorted(os.path.join(folder, entry) for entry in os.listdir(folder)
                  if entry == name or (entry[:-6] == name + "." and
                                       entry[-6:].isdigit()))


def change(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute(statement).rowcount != 0, statement
        database.commit()


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="exeat-test-segments-")
        cls.many = os.path.join(cls.folder, "many.db")
        cls.one = os.path.join(cls.folder, "one.db")
        fill(cls.many, segment_rows=300)
        fill(cls.one)
        for path in (cls.many, cls.one):
            await_sealed(path)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def copy(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        for name in os.listdir(self.folder):
            if name.startswith("many.db") and not name.endswith(".sock"):
                shutil.copy(os.path.join(self.folder, name),
                            os.path.join(folder, name))
        return os.path.join(folder, "many.db")


class Questions(Case):
    def test_there_are_several_and_runs_go_through_them(self):
        self.assertGreaterEqual(len(segments(self.many)), 4)
        self.assertEqual(len(segments(self.one)), 1)
        continued = ask(self.many, "query", "SELECT sandbox, seq FROM v_event "
                        "WHERE object = 'continue'")
        self.assertGreaterEqual(len(continued), 3)

    def test_questions_are_answered_as_by_one_segment(self):
        for name in ["q01", "q02", "q04", "q06", "q08", "q13", "q14", "q15",
                     "q18", "q21", "q22", "q23"]:
            answers = []
            for path in (self.one, self.many):
                rows = ask(path, "query", name)
                for row in rows:
                    for key in ("seq", "first_us", "loaded_us"):
                        row.pop(key, None)
                answers.append(sorted(map(str, rows)))
            self.assertEqual(answers[0], answers[1], name)
        self.assertEqual(ask(self.one, "query", "q03", "cred=npm-token"),
                         ask(self.many, "query", "q03", "cred=npm-token"))
        self.assertEqual(ask(self.many, "query", "q20"), [
            {"missing_rows": 0, "broken_links": 0, "uncovered_rows": 0}])
        # Every intent is open: nothing ended them.
        self.assertEqual(len(ask(self.many, "query", "q24")), 500)

    def test_window_leaves_out_what_is_older_and_nothing_else(self):
        for name in ("q01", "q02", "q13", "q14", "q15", "q21", "q22", "q23"):
            for path in (self.one, self.many):
                self.assertEqual(ask(path, "query", name, "t0=1"),
                                 ask(path, "query", name), name)
                self.assertEqual(
                    ask(path, "query", name, "t0=9000000000000000"), [], name)
        middle = ask(self.many, "query", "SELECT ts_us FROM v_event "
                     "ORDER BY seq LIMIT 1 OFFSET 800")[0]["ts_us"]
        counted = [sum(row["n"] for row in
                       ask(path, "query", "q02", "t0=%d" % middle))
                   for path in (self.one, self.many)]
        wanted = [ask(path, "query", "SELECT count(*) AS n FROM v_denied "
                      "WHERE ts_us >= %d" % middle)[0]["n"]
                  for path in (self.one, self.many)]
        self.assertEqual(counted, wanted)

    def test_sealed_segment_answers_from_its_indexes(self):
        """Or eight million rows would take half a minute."""
        used = {"q01": "ev_traffic", "q02": "ev_denied", "q03": "ev_lent",
                "q04": "ev_lent", "q06": "ev_reach", "q13": "ev_reach",
                "q14": "ev_names", "q15": "ev_traffic", "q18": "ev_denied",
                "q21": "ev_lent", "q22": "ev_unread", "q24": "ev_children"}
        with contextlib.closing(sqlite3.connect(
                "file:%s?immutable=1" % segments(self.many)[1],
                uri=True)) as database:
            for name, index in used.items():
                with open(os.path.join(SQL, name + ".sql"),
                          encoding="utf-8") as file:
                    text = re.split("^-- (?:part|merge)$", file.read(),
                                    flags=re.MULTILINE)[0]
                plan = [row[3] for row in database.execute(
                    "EXPLAIN QUERY PLAN " + text, dict(
                        t0=0, t1=1 << 60, top=100, cred="npm-token"))]
                self.assertTrue(any(index in step for step in plan),
                                (name, plan))
                self.assertFalse(any("ev_ts" in step or step == "SCAN event"
                                     for step in plan if name != "q18"),
                                 (name, plan))

    def test_run_has_one_summary_and_one_timeline(self):
        for run in ("run-a1", "run-a2", "run-a3"):
            parts = [json.loads(audit(path, "summary", run, "--json").stdout)
                     for path in (self.one, self.many)]
            for part in parts:
                for key in ("started", "seconds"):
                    part["run"][0].pop(key)
                part.pop("audit")
            self.assertEqual(parts[0], parts[1])
            lines = ask(self.many, "timeline", run)
            kinds = [line["kind"] for line in lines]
            self.assertEqual((kinds[0], kinds[-1]),
                             ("sandbox_start", "sandbox_end"))
            self.assertEqual(
                sum(kind in ("http", "http_intent") for kind in kinds), ROWS)

    def test_page_is_the_one_of_one_segment(self):
        pages = []
        for path in (self.one, self.many):
            done = audit(path, "report", "--html", "-", "--since", "9999d")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            parts = {"tiles": re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>",
                                         done.stdout),
                     "state": re.findall(r'class="state (\w+)"',
                                         done.stdout)}
            for name, text in re.findall(
                    r'<section id="(\w+)" tabindex.*?<table>(.*?)</table>',
                    done.stdout, re.DOTALL):
                cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line)
                         for line in text.split("<tr>")[1:]]
                # What is another time or number in another audit.
                kept = [i for i, head in enumerate(cells[0])
                        if head not in ("row", "took") and "(" not in head]
                parts[name] = [[row[i] for i in kept if i < len(row)]
                               for row in cells]
            pages.append(parts)
        one, many = pages
        self.assertGreater(len(one["refused"]), 1)
        self.assertGreater(len(one["hosts"]), 1)
        self.assertEqual(len(one["runs"]), 4)
        # Each segment says where it goes on.
        del one["record"], many["record"]
        self.assertEqual(one, many)

    def test_views_and_tables_stand_over_all(self):
        last = ask(self.many, "query", "SELECT count(*) AS n, max(seq) AS m "
                   "FROM v_event")[0]
        self.assertEqual(last["n"], last["m"])
        self.assertEqual(ask(self.many, "query", "SELECT count(*) AS n, "
                             "max(seq) AS m FROM event"), [last])
        for table in ("dst", "sandbox", "policy", "cred", "principal"):
            sql = f"SELECT count(*) AS n FROM {table}"
            self.assertEqual(ask(self.many, "query", sql),
                             ask(self.one, "query", sql), table)
        done = audit(self.many, "query",
                     "SELECT * FROM event e JOIN dst d ON d.id = e.dst_id")
        self.assertEqual(done.returncode, 125)
        self.assertIn("several segments", done.stderr)

    def test_rows_are_shown_and_exported_from_where_they_are(self):
        rows = ask(self.many, "export")
        self.assertEqual([row["seq"] for row in rows],
                         list(range(1, len(rows) + 1)))
        text = audit(self.many, "export", "--format", "csv").stdout
        self.assertEqual(len(list(csv.DictReader(io.StringIO(text)))),
                         len(rows))
        for seq in (2, 700, len(rows)):
            self.assertEqual(ask(self.many, "show", str(seq))[0]["seq"], seq)
        tail = ask(self.many, "tail", "-n", "400")
        self.assertEqual([row["seq"] for row in tail],
                         [row["seq"] for row in rows[-400:]])


class Kept(Case):
    def rollup(self, path, sql):
        with contextlib.closing(sqlite3.connect(path + ".rollup")) as database:
            return database.execute(sql).fetchall()

    def test_segments_that_were_left_are_sealed(self):
        for path in segments(self.many)[:-1]:
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o440)
            self.assertFalse(os.path.exists(path + "-wal"))
            with contextlib.closing(sqlite3.connect(
                    f"file:{path}?immutable=1", uri=True)) as database:
                names = {name for name, in database.execute(
                    "SELECT name FROM sqlite_schema WHERE type = 'index'")}
            self.assertGreater(names, {"ev_sandbox", "ev_reach", "ev_lent",
                                       "ev_token", "ev_children"})
            with open(path, "rb") as file:
                digest = hashlib.sha256(file.read()).digest()
            number = 1 if path == self.many else int(path[-6:])
            self.assertEqual(self.rollup(
                self.many, "SELECT state, sha256 FROM segment "
                f"WHERE no = {number}"), [("sealed", digest)])

    def test_rollup_counts_every_row_once(self):
        counted = ask(self.many, "query", "SELECT host, verdict, count(*) AS "
                      "n, sum(bytes_out) AS out FROM v_event WHERE kind IN "
                      "('http', 'flow_end') GROUP BY 1, 2")
        rolled = self.rollup(
            self.many, "SELECT host, verdict, sum(n), sum(bytes_out) FROM "
            "rollup GROUP BY 1, 2")
        self.assertEqual(sorted((row["host"], row["n"], row["out"] or 0)
                                for row in counted),
                         sorted((host, n, out) for host, _, n, out in rolled))
        for name in ("q05", "q07"):
            self.assertEqual(ask(self.many, "query", name),
                             ask(self.one, "query", name), name)
        self.assertGreater(len(ask(self.many, "query", "q07")), 10)
        self.assertEqual(self.rollup(
            self.many, "SELECT count(*) FROM run WHERE ended_us > 0"), [(3,)])

    def test_rollup_that_was_removed_or_damaged_is_made_anew(self):
        before = ask(self.many, "query", "q07")
        for damage in (False, True):
            path = self.copy()
            if damage:
                with open(path + ".rollup", "r+b") as file:
                    file.write(b"not a database at all")
            else:
                os.unlink(path + ".rollup")
            fill(path, "b", 20)
            self.assertEqual([row for row in ask(path, "query", "q07")
                              if not row["sandbox"].startswith("run-b")],
                             before)
            self.assertEqual(verify(path)[0], 0)


class Proof(Case):
    def test_whole_audit_is_verified(self):
        code, found = verify(self.many)
        self.assertEqual((code, found["findings"]), (0, []))
        self.assertEqual(found["runs"], 3)
        self.assertEqual(found["segments"], len(segments(self.many)))

    def test_row_of_any_segment_is_proven(self):
        key = audit(self.many, "verify", "--key").stdout.strip()
        last = ask(self.many, "query", "SELECT max(seq) AS m FROM v_event")
        for seq in (3, 299, 304, 620, 1100, last[0]["m"]):
            proof = audit(self.many, "prove", str(seq))
            self.assertEqual(proof.returncode, 0, proof.stderr)
            done = subprocess.run([sys.executable, "-I", PROVER, key],
                                  input=proof.stdout, capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(str(seq), done.stdout)
        self.assertEqual(audit(self.many, "prove", "9999999").returncode, 1)

    def test_checkpoint_is_proven_to_be_the_beginning_of_a_later_one(self):
        """To somebody without the database, who shares no code with us."""
        key = audit(self.many, "verify", "--key").stdout
        sizes = [row["size"] for row in ask(
            self.many, "query", "SELECT size FROM checkpoint ORDER BY size")]
        self.assertGreater(len(sizes), 5)

        def check(proof):
            return subprocess.run(
                ["python3", "-I", BETWEEN, key], input=json.dumps(proof),
                capture_output=True, text=True, timeout=60, check=False)
        for first in (sizes[0], sizes[1], sizes[len(sizes) // 2], sizes[-2],
                      sizes[-1]):
            for second in (sizes[len(sizes) // 2], sizes[-1]):
                done = audit(self.many, "prove", "--from", str(first), "--to",
                             str(second))
                if first > second:
                    self.assertEqual(done.returncode, 125)
                    continue
                self.assertEqual(done.returncode, 0, done.stderr)
                proof = json.loads(done.stdout)
                found = check(proof)
                self.assertEqual((found.returncode, found.stdout),
                                 (0, "%d %d\n" % (first, second)),
                                 (first, second, found.stderr))
                for at in range(len(proof["path"])):
                    path = list(proof["path"])
                    path[at] = ("1" if path[at][0] == "0" else "0") + \
                        path[at][1:]
                    self.assertNotEqual(
                        check(dict(proof, path=path)).returncode, 0)
        newest = json.loads(audit(self.many, "prove", "--from",
                                  str(sizes[0])).stdout)
        self.assertEqual(newest["to"].split("\n")[1], str(sizes[-1]))
        for wrong in ("0", "x", "-1"):
            self.assertEqual(audit(self.many, "prove", "--from",
                                   wrong).returncode, 125)
        done = audit(self.many, "prove", "--from", "99999999")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no checkpoint of 99999999 blocks", done.stderr)

    def test_checkpoint_of_before_anchors_what_came_later(self):
        path = self.copy()
        anchor = os.path.join(self.folder, "anchor")
        with open(anchor, "w", encoding="utf-8") as file:
            file.write(audit(path, "checkpoint").stdout)
        fill(path, "b", 400, 300)
        code, found = verify(path, "--anchor", anchor)
        self.assertEqual((code, found["findings"]), (0, []))
        self.assertGreater(found["anchored_blocks"], 0)

    def expect(self, path, table, number=None):
        code, found = verify(path)
        self.assertEqual(code, 1)
        self.assertTrue(any(
            finding["table"] == table and
            (number is None or finding["first"] <= number <= finding["last"])
            for finding in found["findings"]), found["findings"])

    def test_segment_that_is_gone_is_missed(self):
        for number in range(1, len(segments(self.many)) - 1):
            path = self.copy()
            for name in (segments(path)[number],):
                for ending in ("", "-wal", "-shm"):
                    if os.path.exists(name + ending):
                        os.unlink(name + ending)
            self.expect(path, "segment", number + 1)

    def test_segment_of_another_audit_is_found(self):
        path = self.copy()
        other = os.path.join(self.folder, "other.db")
        if not os.path.exists(other):
            fill(other, segment_rows=300)
            await_sealed(other)
        os.unlink(path + ".000002")
        shutil.copyfile(other + ".000002", path + ".000002")
        self.expect(path, "segment", 2)

    def test_segment_that_was_left_half_sealed_is_read(self):
        """Its sealer died in the middle of a change by rollback journal."""
        for number in (1, 2):
            path = self.copy()
            left = segments(path)[number]
            os.chmod(left, 0o600)
            subprocess.run([sys.executable, "-c", """
import os, signal, sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("PRAGMA cache_size = 1")
database.execute("PRAGMA cache_spill = 1")
database.execute("UPDATE event SET object = '/changed' || seq")
os.kill(os.getpid(), signal.SIGKILL)
""", left], check=False, timeout=60)
            self.assertTrue(os.path.exists(left + "-journal"))
            rows = ask(path, "query", "SELECT count(*) AS n, "
                       "sum(object LIKE '/changed%') AS c FROM v_event")
            self.assertEqual(rows[0]["c"], 0)
            self.assertEqual(verify(path)[0], 0)

    def test_change_in_a_segment_that_is_left_is_found(self):
        path = self.copy()
        change(path + ".000002", "UPDATE event SET object = '/other' "
               "WHERE seq = 400")
        self.expect(path, "event", 400)
        path = self.copy()
        change(path + ".000003", "UPDATE meta SET v = (SELECT v FROM meta "
               "WHERE k = 'tree') WHERE k = 'start'")
        self.expect(path, "meta")
        path = self.copy()
        change(path + ".000002", "INSERT INTO dst(id, host, reg_domain, is_ip,"
               " first_us) VALUES(0, 'x.test', 'x.test', 0, 1)")
        self.expect(path, "event")


def is_sanitized():
    with open(os.path.join(BUILD, "exeat-audit"), "rb") as program:
        return b"__asan_init" in program.read()


def is_confined(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as status:
        return "\nSeccomp:\t2\n" in status.read()


def children(pid):
    """Of that process, and not ended."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open("/proc/%s/stat" % name, encoding="ascii") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            if fields[1] == str(pid) and fields[0] != "Z":
                found.append(int(name))
    return found


class Keeper(Case):
    def test_keeper_that_dies_is_told_of_and_another_one_seals(self):
        path = os.path.join(tempfile.mkdtemp(dir=self.folder), "audit.db")
        said = tempfile.TemporaryFile()
        with subprocess.Popen([FILL, path, "a", "20000", "9000"], stderr=said,
                              stdout=subprocess.PIPE, bufsize=0) as filler:
            writer = int(filler.stdout.readline())
            self.assertTrue(is_sanitized() or is_confined(writer))
            killed = []
            # It fills on while this looks; both have an end.
            while len(killed) < 3 and filler.poll() is None:
                # Between the two stands the nurse.
                for pid in sum(map(children, children(writer)), []):
                    if pid not in killed:
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)
                filler.stdout.read(1)
            filler.stdout.read()
            self.assertEqual(filler.wait(timeout=120), 0)
        self.assertEqual(len(killed), 3)
        said.seek(0)
        text = said.read().decode()
        said.close()
        self.assertIn("the keeper has died, and another one begins", text)
        await_sealed(path)
        self.assertEqual(verify(path)[0], 0)
        self.assertGreater(len(segments(path)), 4)
        for name in segments(path)[:-1]:
            self.assertEqual(os.stat(name).st_mode & 0o777, 0o440, name)


class Upkeep(Case):
    def upkeep(self, path, *words):
        done = audit(path, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        await_writer(path)
        return done.stdout

    def test_old_segments_are_pruned_and_verify_knows(self):
        path = self.copy()
        before = segments(path)
        said = self.upkeep(path, "prune", "--keep", "2", "--dry-run")
        self.assertIn("segment 1 would be pruned", said)
        self.assertEqual(segments(path), before)
        self.upkeep(path, "prune", "--keep", "2")
        left = segments(path)
        self.assertEqual(left, before[-2:])
        code, found = verify(path)
        self.assertEqual((code, found["findings"]), (0, []))
        self.assertEqual(found["pruned_segments"], len(before) - 2)
        rows = ask(path, "query", "SELECT object, detail FROM v_event "
                   "WHERE object = 'prune'")
        self.assertEqual([json.loads(row["detail"])["segment"]
                          for row in rows], list(range(1, len(before) - 1)))
        # What was counted stays.
        self.assertEqual(ask(path, "query", "q07"),
                         ask(self.many, "query", "q07"))
        fill(path, "b", 50, 300)
        self.assertEqual(verify(path)[0], 0)

    def test_held_run_keeps_its_segments(self):
        path = self.copy()
        self.upkeep(path, "hold", "run-a1")
        said = self.upkeep(path, "prune", "--keep", "1")
        self.assertIn("segment 1 stays: run run-a1 is held", said)
        self.assertIn(path, segments(path))
        self.upkeep(path, "release", "run-a1")
        self.upkeep(path, "prune", "--keep", "1")
        self.assertEqual(len(segments(path)), 1)
        self.assertEqual(verify(path)[0], 0)

    def test_seal_begins_the_next_segment(self):
        path = os.path.join(tempfile.mkdtemp(dir=self.folder), "a.db")
        fill(path, rows=20)
        self.upkeep(path, "seal")
        self.assertEqual(len(segments(path)), 2)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o440)
        self.assertEqual(verify(path)[0], 0)
        said = self.upkeep(path, "prune", "--older-than", "1d")
        self.assertIn("nothing to prune", said)
        self.assertEqual(audit(path, "prune").returncode, 125)


class Interrupted(Case):
    def test_segment_whose_maker_died_is_made_by_the_next(self):
        path = self.copy()
        last = segments(path)[-1]
        newest = path + f".{int(last[-6:]) + 1:06}"
        with open(newest, "wb"):
            pass
        code, found = verify(path)
        self.assertEqual((code, found["findings"]), (0, []))
        self.assertGreater(len(ask(path, "tail")), 0)
        fill(path, "b", 50, 300)
        code, found = verify(path)
        self.assertEqual((code, found["findings"]), (0, []))
        self.assertIn(newest, segments(path))

    def test_killed_writer_leaves_every_segment_whole(self):
        path = os.path.join(self.folder, "killed.db")
        choice = random.Random(SEED)
        rounds = 60 if os.environ.get("EXEAT_FULL") == "1" else 6
        accepted = 0
        for number in range(rounds):
            letter = chr(ord("a") + number % 26) + chr(
                ord("a") + number // 26)
            with subprocess.Popen(
                    [FILL, path, letter, "2000", "150"],
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                    bufsize=0) as filler:
                pid = int(filler.stdout.readline())
                for _ in range(choice.randrange(1, 40)):
                    if filler.stdout.read(1) != b".":
                        break
                    accepted += 100
                os.kill(pid, signal.SIGKILL)
                accepted += filler.stdout.read().count(b".") * 100
            code, found = verify(path)
            self.assertEqual((code, found["findings"]), (0, []))
            self.assertGreaterEqual(found["rows"], accepted)
        fill(path, "z", 10)
        code, found = verify(path)
        self.assertEqual((code, found["findings"]), (0, []))
        self.assertEqual(found["open_runs"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=1)
