#!/usr/bin/python3 -I
"""exeat audit verify, on a real writer's database that somebody has changed.

Every change must be found, and told where it is.
"""
import contextlib
import csv
import io
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import unittest

BUILD = os.environ["EXEAT_BUILD"]
EXEAT = os.path.join(BUILD, "exeat")
FILL = os.path.join(BUILD, "audit_fill")
SEED = 6962


def fill(path, letter="a", rows=110):
    subprocess.run([FILL, path, letter, str(rows)], check=True, timeout=120,
                   stdout=subprocess.DEVNULL)


def audit(path, *words):
    return subprocess.run([EXEAT, "audit", *words, "--audit", path],
                          capture_output=True, text=True, timeout=120,
                          check=False)


def verify(path, *words):
    done = audit(path, "verify", "--json", *words)
    return done.returncode, json.loads(done.stdout)


def change(path, *statements):
    """As somebody with sqlite3 would, triggers and checks aside."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        for statement in statements:
            words = (statement,) if isinstance(statement, str) else statement
            assert database.execute(*words).rowcount != 0, words
        database.commit()


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="exeat-test-verify-")
        cls.original = os.path.join(cls.folder, "original.db")
        fill(cls.original)
        database = sqlite3.connect(cls.original)
        database.execute("PRAGMA journal_mode = DELETE").fetchone()
        cls.tables = {
            name: [row[1] for row in
                   database.execute(f"PRAGMA table_info({name})")]
            for name, in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table'")}
        cls.types = {
            (name, row[1]): row[2] for name in cls.tables for row in
            database.execute(f"PRAGMA table_info({name})")}
        cls.blocks = database.execute(
            "SELECT no, first_seq, last_seq FROM block").fetchall()
        database.close()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def copy(self):
        path = os.path.join(self.folder, "changed.db")
        shutil.copyfile(self.original, path)
        return path

    def expect(self, path, table, row=None, *words):
        """verify must find it, in this table and at this row."""
        code, found = verify(path, *words)
        self.assertEqual(code, 1, found)
        self.assertFalse(found["intact"])
        for finding in found["findings"]:
            if finding["table"] in (table if isinstance(table, tuple)
                                    else (table,)):
                if row is None or (finding.get("first", 0) <= row
                                   <= finding.get("last", 0)):
                    return found
        self.fail(f"{table} {row} is not among {found['findings']}")

    def block_of(self, seq):
        return [no for no, first, last in self.blocks
                if first <= seq <= last][0]


class Intact(Case):
    def test_what_a_writer_wrote_is_intact(self):
        code, found = verify(self.original)
        self.assertEqual((code, found["findings"]), (0, []))
        self.assertEqual(found["runs"], 3)
        self.assertEqual(found["open_runs"], 0)
        self.assertEqual(found["unproven_rows"], 0)
        self.assertEqual(found["signed_blocks"], found["blocks"])
        database = sqlite3.connect(self.original)
        rows, = database.execute("SELECT count(*) FROM event").fetchone()
        database.close()
        self.assertEqual(found["rows"], rows)

    def test_key_is_its_owners_alone(self):
        mode = os.stat(self.original + ".key").st_mode
        self.assertEqual(mode & 0o777, 0o600)
        key = audit(self.original, "verify", "--key").stdout
        self.assertRegex(key, r"^exeat-audit/[0-9a-f]{32}\+[0-9a-f]{8}\+")

    def test_second_writer_goes_on_with_the_chain(self):
        path = os.path.join(self.folder, "twice.db")
        fill(path, "a", 30)
        fill(path, "b", 30)
        code, found = verify(path)
        self.assertEqual((code, found["findings"]), (0, []))
        self.assertEqual(found["runs"], 6)

    def test_lost_key_ends_the_writer(self):
        path = os.path.join(self.folder, "lost.db")
        fill(path, "a", 30)
        os.unlink(path + ".key")
        writer = subprocess.run(
            [os.path.join(BUILD, "exeat-audit"), path], timeout=60,
            capture_output=True, text=True, check=False)
        self.assertEqual(writer.returncode, 1)
        self.assertIn("is not the key that", writer.stderr)
        self.assertEqual(verify(path)[0], 0)


class Older(Case):
    """A file of the first schema: no blocks, and then blocks."""
    SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          "../../../schema/audit/0001_init.sql")

    def make(self):
        path = os.path.join(self.folder, "older.db")
        with contextlib.closing(sqlite3.connect(path)) as database, \
                open(self.SCHEMA, encoding="utf-8") as schema:
            database.executescript(schema.read())
            database.executescript("""
                PRAGMA application_id = 0x45584541;
                PRAGMA user_version = 1;
                INSERT INTO meta VALUES('schema', 1), ('segment', 1),
                  ('chain', '00112233445566778899aabbccddeeff');
                INSERT INTO sandbox(id, uid, started_us, ended_us)
                  VALUES(1, 'run-old', 5, 7);
                INSERT INTO event(seq, ts_us, kind, verdict, sandbox_id)
                  VALUES(1, 5, 15, 0, 1), (2, 6, 1, 1, 1), (3, 7, 16, 0, 1);
                """)
        return path

    def test_blocks_begin_with_the_next_commit(self):
        path = self.make()
        done = audit(path, "verify")
        self.assertEqual(done.returncode, 125)
        self.assertIn("without blocks", done.stderr)
        fill(path, "n", 20)
        code, found = verify(path)
        self.assertEqual((code, found["findings"]), (0, []))
        self.assertEqual(found["unproven_rows"], 3)
        self.assertEqual(found["runs"], 4)
        self.assertIn("3 older ones", audit(path, "verify").stdout)
        self.assertEqual(audit(path, "prove", "2").returncode, 1)
        change(path, "UPDATE sandbox SET uid = 'run-new' WHERE id = 1")
        self.expect(path, "event")


class Changed(Case):
    def test_any_value_of_any_table(self):
        """One value after another, in a row of each table."""
        choice = random.Random(SEED)
        for table, columns in self.tables.items():
            for column in columns:
                with self.subTest(table=table, column=column):
                    self.change_one(choice, table, column)

    def change_one(self, choice, table, column):
        path = self.copy()
        database = sqlite3.connect(path)
        keys = {"meta": "k"}
        key = keys.get(table, self.tables[table][0])
        rows = database.execute(
            f"SELECT {key}, {column} FROM {table}").fetchall()
        database.close()
        if not rows:
            return
        at, value = choice.choice(rows)
        other = self.flip(choice, value, self.types[table, column])
        if isinstance(value, int) and column == key:
            other = value ^ (1 << choice.randrange(20, 40))
        if table == "meta" and column == "v" and at == "schema":
            other = 1
        change(path, (f"UPDATE {table} SET {column} = ? WHERE {key} IS ?",
                      (other, at)))
        found = self.expect(path, self.suspects(table, column))
        self.assertGreater(found["finding_count"], 0)

    @staticmethod
    def flip(choice, value, kind):
        if value is None:
            return {"TEXT": "x", "INTEGER": 1, "BLOB": b"x"}[kind]
        if isinstance(value, int):
            return value ^ (1 << choice.randrange(0, 40))
        if isinstance(value, str):
            at = choice.randrange(len(value)) if value else 0
            return value[:at] + chr(ord(value[at:at + 1] or "a") ^ 64) + \
                value[at + 1:]
        at = choice.randrange(len(value))
        return value[:at] + bytes([value[at] ^ (1 << choice.randrange(8))]) + \
            value[at + 1:]

    @staticmethod
    def suspects(table, column):
        """Where it may be told; entries stand in the blocks of their rows."""
        if table in ("kind", "verdict", "reason"):
            return ("kind, verdict or reason", "event")
        if table in ("event", "block", "checkpoint"):
            return (table, "block", "event", "checkpoint")
        if table == "meta":
            return ("meta", "block", "checkpoint", "event")
        if (table, column) == ("sandbox", "ended_us"):
            return "sandbox"
        return ("event", table)

    def test_row_is_located_to_its_block(self):
        choice = random.Random(SEED)
        columns = self.tables["event"][1:]
        for _ in range(12):
            seq = choice.randrange(1, self.blocks[-1][2])
            column = choice.choice(columns)
            with self.subTest(seq=seq, column=column):
                path = self.copy()
                database = sqlite3.connect(path)
                value, = database.execute(
                    f"SELECT {column} FROM event WHERE seq = ?",
                    (seq,)).fetchone()
                database.close()
                value = self.flip(choice, value, self.types["event", column])
                change(path, (f"UPDATE event SET {column} = ? WHERE seq = ?",
                              (value, seq)))
                self.expect(path, "event", seq)

    def test_rows_gone_added_and_reordered(self):
        last = self.blocks[-1][2]
        for seq in (1, 2, 17, last // 2, last - 1, last):
            with self.subTest(gone=seq):
                path = self.copy()
                change(path, f"DELETE FROM event WHERE seq = {seq}")
                self.expect(path, "event", seq)
        columns = ", ".join(self.tables["event"][1:])
        for seq in (last + 1, last + 100, 0, -5):
            with self.subTest(added=seq):
                path = self.copy()
                change(path, f"INSERT INTO event SELECT {seq}, {columns} "
                             "FROM event WHERE seq = 9")
                self.expect(path, "event", seq)
        path = self.copy()
        change(path, "UPDATE event SET seq = -1 WHERE seq = 20",
               "UPDATE event SET seq = 20 WHERE seq = 21",
               "UPDATE event SET seq = 21 WHERE seq = -1")
        self.expect(path, "event", 20)

    def test_blocks_gone_added_and_reordered(self):
        last = self.blocks[-1][0]
        for no in (1, 2, last // 2, last):
            with self.subTest(gone=no):
                path = self.copy()
                change(path, f"DELETE FROM block WHERE no = {no}")
                self.expect(path, "block", no)
        columns = ", ".join(self.tables["block"][1:])
        for no in (0, last + 1):
            with self.subTest(added=no):
                path = self.copy()
                change(path, f"INSERT INTO block SELECT {no}, {columns} "
                             "FROM block WHERE no = 2")
                self.expect(path, "block", no)
        path = self.copy()
        change(path, "UPDATE block SET no = -1 WHERE no = 2",
               "UPDATE block SET no = 2 WHERE no = 3",
               "UPDATE block SET no = 3 WHERE no = -1")
        self.expect(path, "block", 2)

    def test_end_cut_off(self):
        """Rows and blocks together: the tree's size and the signature tell."""
        no, first, _ = self.blocks[-1]
        path = self.copy()
        change(path, f"DELETE FROM event WHERE seq >= {first}",
               f"DELETE FROM block WHERE no = {no}")
        self.expect(path, "block", no)
        self.expect(path, "checkpoint", no)

    def test_entries_gone_added_and_exchanged(self):
        added = {
            "sandbox": "(99, 'x', 0, 0, 0, 0, 0, 0, 0, NULL, 0)",
            "principal": "(99, 'x', 'agent')",
            "dst": "(99, 'x', 'x', 0, 0, 1)",
            "cred": "(99, 'x', '', '', '[]', NULL)",
            "token": "(99, 'j', 0, 0, 0, 0, 0, 0, 0, 'a', 's', 0, 0, 1, 2, "
                     "NULL, NULL)",
            "policy": "(99, x'00', 0, 'me', '')",
            "rule": "(99, 1, 'x')",
        }
        for table, values in added.items():
            with self.subTest(added=table):
                path = self.copy()
                change(path, f"INSERT INTO {table} VALUES {values}")
                self.expect(path, table, 99)
        for table in set(added) - {"token"}:
            with self.subTest(gone=table):
                path = self.copy()
                change(path, f"DELETE FROM {table} WHERE id = 1")
                self.expect(path, ("event", table))
        path = self.copy()
        change(path, "UPDATE dst SET host = 'z' WHERE id = 3",
               "UPDATE dst SET host = (SELECT host FROM dst WHERE id = 4) "
               "|| 'z' WHERE id = 3")
        self.expect(path, "event")
        path = self.copy()
        change(path, "UPDATE event SET rule_id = (SELECT max(id) FROM rule) "
                     "+ 1 WHERE seq = 30")
        self.expect(path, "event", 30)

    def test_checkpoints_gone_and_exchanged(self):
        database = sqlite3.connect(self.original)
        sizes = [size for size, in database.execute(
            "SELECT size FROM checkpoint ORDER BY size")]
        database.close()
        self.assertGreater(len(sizes), 2)
        for size in sizes:
            with self.subTest(gone=size):
                path = self.copy()
                change(path, f"DELETE FROM checkpoint WHERE size = {size}")
                self.expect(path, "checkpoint", size)
        path = self.copy()
        change(path, "UPDATE checkpoint SET note = (SELECT note FROM "
                     "checkpoint ORDER BY size LIMIT 1) WHERE size = "
                     f"{sizes[1]}")
        self.expect(path, "checkpoint", sizes[1])

    def test_views_and_bytes_of_the_file(self):
        path = self.copy()
        database = sqlite3.connect(path)
        database.execute("DROP VIEW v_denied")
        database.execute("CREATE VIEW v_denied AS SELECT * FROM v_event "
                         "WHERE 0")
        database.commit()
        database.close()
        self.expect(path, "sqlite_schema")
        path = self.copy()
        database = sqlite3.connect(path)
        database.execute("PRAGMA writable_schema = ON")
        root, = database.execute("SELECT rootpage FROM sqlite_schema WHERE "
                                 "name = 'ev_ts'").fetchone()
        database.close()
        with open(path, "r+b") as file:
            # Into the last entry of a leaf of the index.
            file.seek(root * 8192 - 3)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        self.expect(path, "file")

    def test_history_that_fits_is_shown_by_an_anchor(self):
        """With the key another history can be made; what was kept shows it."""
        path = os.path.join(self.folder, "anchored.db")
        fill(path, "a", 30)
        anchor = os.path.join(self.folder, "anchor")
        with open(anchor, "w", encoding="utf-8") as file:
            file.write(audit(path, "verify", "--key").stdout)
            file.write(audit(path, "checkpoint").stdout)
        code, found = verify(path, "--anchor", anchor)
        self.assertEqual(code, 0, found)
        self.assertEqual(found["anchored_blocks"], found["blocks"])
        fill(path, "b", 30)
        with open(anchor, "a", encoding="utf-8") as file:
            file.write(audit(path, "checkpoint").stdout)
        self.assertEqual(verify(path, "--anchor", anchor)[0], 0)
        # The same chain and key, and fewer rows: an older copy.
        database = sqlite3.connect(path)
        keep, = database.execute("SELECT v FROM meta WHERE k = 'chain'"
                                 ).fetchone()
        database.close()
        other = os.path.join(self.folder, "other.db")
        shutil.copyfile(path + ".key", other + ".key")
        os.chmod(other + ".key", 0o600)
        fill(other, "c", 30)
        done = audit(other, "verify", "--anchor", anchor)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("another key", done.stderr)
        with open(anchor, encoding="utf-8") as file:
            text = file.read().replace(keep, keep[::-1])
        with open(anchor, "w", encoding="utf-8") as file:
            file.write(text)
        done = audit(path, "verify", "--anchor", anchor)
        self.assertEqual(done.returncode, 1, done)
        with open(anchor, "w", encoding="utf-8") as file:
            file.write("nonsense\n")
        self.assertEqual(
            audit(path, "verify", "--anchor", anchor).returncode, 125)

    def test_copy_from_before_an_anchor_is_shown(self):
        path = os.path.join(self.folder, "early.db")
        fill(path, "a", 30)
        early = os.path.join(self.folder, "early-copy.db")
        database = sqlite3.connect(path)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        shutil.copyfile(path, early)
        fill(path, "b", 30)
        anchor = os.path.join(self.folder, "late-anchor")
        with open(anchor, "w", encoding="utf-8") as file:
            file.write(audit(path, "checkpoint").stdout)
        self.assertEqual(verify(path, "--anchor", anchor)[0], 0)
        self.assertEqual(verify(early)[0], 0)
        self.expect(early, "anchor", None, "--anchor", anchor)


class Proven(Case):
    """An inclusion proof, and a verifier that shares no code with us."""
    CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                         "check_inclusion.py")

    def check(self, proof):
        key = audit(self.original, "verify", "--key").stdout
        return subprocess.run(
            ["python3", "-I", self.CHECK, key], input=json.dumps(proof),
            capture_output=True, text=True, timeout=60, check=False)

    def prove(self, seq):
        done = audit(self.original, "prove", str(seq))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_row_is_proven_to_somebody_without_the_database(self):
        last = self.blocks[-1][2]
        for seq in (1, 2, 50, last // 2, last - 1, last):
            with self.subTest(seq=seq):
                done = self.check(self.prove(seq))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(int(done.stdout), seq)

    def test_any_other_byte_is_refused(self):
        choice = random.Random(SEED)
        proof = self.prove(70)
        other = self.prove(71)
        places = ["row", "row_path", "block_path", "checkpoint", "row_index",
                  "prev", "no", "first_seq", "last_us"]
        for place in places + ["row"] * 6:
            changed = json.loads(json.dumps(proof))
            within = changed if place in changed else changed["block"]
            value = within[place]
            if isinstance(value, int):
                within[place] = value + 1
            elif isinstance(value, list):
                at = choice.randrange(len(value))
                value[at] = self.flip(choice, value[at])
            else:
                within[place] = self.flip(choice, value)
            with self.subTest(place=place):
                self.assertNotEqual(self.check(changed).returncode, 0)
        changed = dict(proof, row=other["row"])
        self.assertNotEqual(self.check(changed).returncode, 0)

    @staticmethod
    def flip(choice, text):
        at = choice.randrange(len(text))
        other = "0" if text[at] != "0" else "1"
        return text[:at] + other + text[at + 1:]

    def test_row_that_is_not_there_is_not_proven(self):
        done = audit(self.original, "prove", "99999")
        self.assertEqual(done.returncode, 1)
        self.assertIn("in no block", done.stderr)
        self.assertEqual(audit(self.original, "prove", "x").returncode, 125)


class Told(Case):
    """What is read of a run, and given to other programs."""

    def test_timeline_has_the_run_from_its_first_row_to_its_last(self):
        done = audit(self.original, "timeline", "run-a2", "--json")
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({row["sandbox"] for row in rows}, {"run-a2"})
        self.assertEqual(rows[0]["kind"], "sandbox_start")
        self.assertEqual(rows[-1]["kind"], "sandbox_end")
        self.assertEqual(len(rows), 110 + 4)
        text = audit(self.original, "timeline", "run-a2").stdout
        self.assertIn("sandbox_start", text)
        self.assertIn("+0.000", text)
        self.assertEqual(
            audit(self.original, "timeline", "run-none").returncode, 1)
        last = audit(self.original, "timeline", "--json").stdout
        self.assertEqual(json.loads(last.splitlines()[0])["sandbox"],
                         "run-a3")

    def test_export_has_every_row_in_both_forms(self):
        with contextlib.closing(sqlite3.connect(self.original)) as database:
            cursor = database.execute("SELECT * FROM v_event ORDER BY seq")
            names = [column[0] for column in cursor.description]
            rows = cursor.fetchall()
        done = audit(self.original, "export", "--format", "jsonl")
        found = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([row["seq"] for row in found],
                         [row[0] for row in rows])
        self.assertEqual(found[7]["host"], rows[7][names.index("host")])
        done = audit(self.original, "export", "--format", "csv")
        found = list(csv.reader(io.StringIO(done.stdout)))
        self.assertEqual(found[0], names)
        self.assertEqual(
            [row[:5] for row in found[1:]],
            [[str(value) for value in row[:5]] for row in rows])
        self.assertEqual(
            audit(self.original, "export", "--format", "xml").returncode, 125)

    def test_export_goes_on_behind_the_limit_of_a_question(self):
        path = self.copy()
        columns = ", ".join(self.tables["event"][1:])
        change(path, "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL "
                     "SELECT i + 1 FROM n WHERE i < 13000) INSERT INTO event "
                     f"SELECT i, {columns} FROM n JOIN event WHERE seq = 9")
        done = audit(path, "export", "--format", "csv")
        self.assertEqual(done.stdout.count("\n"),
                         self.blocks[-1][2] + 12001 + 1)

    def test_spreadsheet_takes_no_text_for_a_formula(self):
        path = self.copy()
        change(path, "UPDATE event SET object = '=HYPERLINK(\"x\")' "
                     "WHERE seq = 9")
        done = audit(path, "export", "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual(rows[8]["object"], "'=HYPERLINK(\"x\")")


class Killed(Case):
    def test_killed_writer_leaves_the_chain_whole(self):
        path = os.path.join(self.folder, "killed.db")
        choice = random.Random(SEED)
        accepted = 0
        for number in range(8):
            with subprocess.Popen(
                    [FILL, path, "abcdefgh"[number], "2000"],
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
        self.assertGreater(accepted, 1000)
        fill(path, "z", 10)
        code, found = verify(path)
        self.assertEqual((code, found["findings"]), (0, []))
        self.assertEqual(found["open_runs"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=1)
