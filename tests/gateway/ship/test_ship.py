#!/usr/bin/python3 -I
"""exeat-ship, with a real PostgreSQL of the test's own.

What arrives is what was recorded, once, whatever happens on the way; what
comes back from there verifies.
"""
import contextlib
import json
import os
import pwd
import select
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

BUILD = os.environ["EXEAT_BUILD"]
SHIP = os.path.join(BUILD, "exeat-ship")
EXEAT = os.path.join(BUILD, "exeat")
FILL = os.path.join(BUILD, "audit_fill")
SOME_USER = pwd.getpwnam("nobody").pw_uid  # initdb wants one with a name
TABLES = ("sandbox", "principal", "dst", "cred", "policy", "rule", "event",
          "block", "checkpoint")


def find_postgres():
    """The folder of its programs; Debian has one a version."""
    base = "/usr/lib/postgresql"
    for version in sorted(os.listdir(base), reverse=True):
        path = os.path.join(base, version, "bin")
        if os.path.exists(os.path.join(path, "initdb")):
            return path
    sys.exit("no PostgreSQL server in " + base)


class Server:
    """A PostgreSQL that only its socket leads to; it refuses to be root."""

    def __init__(self, folder, fsync="off"):
        self.bin, self.folder, self.fsync = find_postgres(), folder, fsync
        self.data = os.path.join(folder, "data")
        self.where = f"host={folder} user=postgres dbname=postgres"
        if os.geteuid() == 0:
            os.chown(folder, SOME_USER, SOME_USER)
        self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust",
                 "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
        self.start()

    def run(self, name, *words):
        prefix = () if os.geteuid() != 0 else (
            "setpriv", "--reuid", str(SOME_USER), "--regid", str(SOME_USER),
            "--clear-groups")
        subprocess.run([*prefix, os.path.join(self.bin, name), *words],
                       check=True, stdout=subprocess.DEVNULL, timeout=120,
                       cwd=self.folder)

    def start(self):
        self.run("pg_ctl", "-D", self.data, "-w", "-l",
                 os.path.join(self.folder, "log"), "-o",
                 f"-k {self.folder} -c listen_addresses= "
                 f"-c fsync={self.fsync}",
                 "start")

    def stop(self):
        self.run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")

    def sql(self, text, where=None):
        done = subprocess.run(
            [os.path.join(self.bin, "psql"), "-XAtq", "-d",
             where or self.where, "-v", "ON_ERROR_STOP=1", "-c", text],
            capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()


class Relay:
    """Between ship and the server, to be cut at a byte of one's choice."""

    def __init__(self, folder, server):
        self.path = os.path.join(folder, ".s.PGSQL.5432")
        self.server = os.path.join(server.folder, ".s.PGSQL.5432")
        self.left = None  # bytes until the cut
        self.cuts = 0
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(self.path)
        self.door.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.door.accept()
            except OSError:
                return
            with client, socket.socket(socket.AF_UNIX) as server:
                server.connect(self.server)
                self.pass_on(client, server)

    def pass_on(self, client, server):
        pairs = {client: server, server: client}
        while True:
            for end in select.select(list(pairs), [], [])[0]:
                try:
                    data = end.recv(65536)
                    if self.left is not None and end is client:
                        data = data[:self.left]
                        self.left -= len(data)
                    pairs[end].sendall(data)
                except OSError:
                    return
                if not data:
                    return
                if self.left == 0:
                    self.left = None
                    self.cuts += 1
                    return


def ship(*words, check=0):
    done = subprocess.run([SHIP, *words], capture_output=True, text=True,
                          timeout=240, check=False)
    if done.returncode != check:
        raise AssertionError((words, done))
    return done.stdout


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="exeat-ship-")
        cls.addClassCleanup(shutil.rmtree, cls.shared)
        home = os.path.join(cls.shared, "pg")
        os.chmod(cls.shared, 0o755)
        os.mkdir(home)
        cls.server = Server(home)
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=self.shared)
        self.audit = os.path.join(self.folder, "audit.db")
        self.where = self.server.where
        self.server.sql("DROP SCHEMA IF EXISTS exeat CASCADE")
        ship("--to", self.where, "--create")

    def fill(self, rows=110, letter="a", path=None):
        subprocess.run([FILL, path or self.audit, letter, str(rows)],
                       check=True, timeout=120, stdout=subprocess.DEVNULL)

    def send(self, *words, **more):
        return ship("--audit", self.audit, "--to", self.where, *words, **more)

    def local(self, sql, path=None):
        with contextlib.closing(sqlite3.connect(
                f"file:{path or self.audit}?mode=ro", uri=True)) as db:
            return db.execute(sql).fetchall()

    def counts(self):
        return {name: int(self.server.sql(
            f"SELECT count(*) FROM exeat.{name}")) for name in TABLES}

    def expected(self):
        return {name: self.local(f"SELECT count(*) FROM {name}")[0][0]
                for name in TABLES}

    def test_everything_arrives_once_however_often_it_is_sent(self):
        self.fill()
        self.send()
        first = self.counts()
        self.assertEqual(first, self.expected())
        self.send()
        self.send("--from", "1")
        self.assertEqual(self.counts(), first)
        self.fill(30, "b")
        self.send()
        self.assertEqual(self.counts(), self.expected())
        self.assertNotEqual(self.counts(), first)

    def test_values_are_the_ones_that_were_recorded(self):
        self.fill()
        self.send()
        here = self.local("SELECT * FROM v_event ORDER BY seq")
        names = [row[1] for row in
                 self.local("SELECT * FROM pragma_table_info('v_event')")]
        there = [json.loads(line) for line in self.server.sql(
            "SELECT row_to_json(v) FROM exeat.v_event v ORDER BY seq")
            .splitlines()]
        self.assertEqual(len(there), len(here))
        base = int(self.server.sql("SELECT base FROM exeat.gateway"))
        for row, other in zip(here, there):
            row = dict(zip(names, row))
            for name in ("seq", "parent_seq"):
                if other[name] is not None:
                    other[name] -= base
            row["req"] = row["req"] or None
            self.assertEqual(row, other)

    def test_the_end_of_a_run_is_told_later(self):
        self.fill()
        with contextlib.closing(sqlite3.connect(self.audit)) as db:
            last, = db.execute("SELECT max(seq) FROM event").fetchone()
        self.send()
        self.assertEqual(self.server.sql(
            "SELECT count(*) FROM exeat.sandbox WHERE ended_us IS NULL"), "0")
        self.assertGreater(last, 300)

    def test_cut_at_many_places_it_goes_on_where_it_was(self):
        relay = Relay(self.folder, self.server)
        self.addCleanup(relay.door.close)
        away = f"host={self.folder} user=postgres dbname=postgres"
        for letter, left in zip("abcdef", (50, 900, 3000, 7000, 20000,
                                           60000)):
            self.fill(100, letter)
            relay.left = left
            ship("--audit", self.audit, "--to", away)
        self.assertEqual(relay.cuts, 6)
        self.assertEqual(self.counts(), self.expected())

    def test_a_fleet_that_is_away_is_waited_for(self):
        self.fill()
        self.server.stop()
        with subprocess.Popen(
                [SHIP, "--audit", self.audit, "--to", self.where, "-f"],
                stderr=subprocess.PIPE, text=True) as follower:
            try:
                self.assertIn("trying again", follower.stderr.readline())
                self.server.start()
                self.await_count(self.expected()["event"])
                self.fill(20, "b")
                self.await_count(self.expected()["event"])
            finally:
                follower.kill()
        self.assertEqual(self.counts(), self.expected())

    def await_count(self, wanted):
        """Notified by the server itself; bounded by the test's timeout."""
        for _ in range(1200):
            if self.counts()["event"] == wanted:
                return
            self.server.sql("SELECT pg_sleep(0.1)")
        self.fail("the rows do not arrive")

    def test_two_audits_keep_their_own_rows(self):
        self.fill()
        self.send()
        other = os.path.join(self.folder, "other.db")
        self.fill(50, "c", other)
        ship("--audit", other, "--to", self.where)
        rows = self.local("SELECT count(*) FROM event")[0][0] + self.local(
            "SELECT count(*) FROM event", other)[0][0]
        self.assertEqual(self.counts()["event"], rows)
        self.assertEqual(self.server.sql(
            "SELECT count(*) FROM exeat.gateway"), "2")
        uids = self.server.sql("SELECT DISTINCT sandbox FROM exeat.v_event "
                               "WHERE sandbox IS NOT NULL ORDER BY 1")
        self.assertEqual(uids.split(), ["run-a1", "run-a2", "run-a3",
                                        "run-c1", "run-c2", "run-c3"])

    def test_what_comes_back_verifies_and_a_change_there_is_found(self):
        self.fill()
        self.send()
        chain = self.server.sql("SELECT chain FROM exeat.gateway")
        back = os.path.join(self.folder, "back.db")
        ship("--to", self.where, "--recall", chain, "--audit", back)
        done = subprocess.run([EXEAT, "audit", "verify", "--audit", back],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for table in TABLES:
            self.assertEqual(self.local(f"SELECT * FROM {table}", back),
                             self.local(f"SELECT * FROM {table}"), table)
        self.server.sql("UPDATE exeat.event SET bytes_out = 5 WHERE seq = "
                        "(SELECT max(seq) - 20 FROM exeat.event)")
        changed = os.path.join(self.folder, "changed.db")
        ship("--to", self.where, "--recall", chain, "--audit", changed)
        done = subprocess.run([EXEAT, "audit", "verify", "--audit", changed],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("NOT as it was written", done.stdout)

    def test_every_question_is_answered_as_by_the_audit(self):
        self.fill()
        self.send()
        listed = subprocess.run([EXEAT, "audit", "query", "--audit",
                                 self.audit], capture_output=True, text=True)
        names = [line.split()[0] for line in listed.stdout.splitlines()]
        self.assertEqual(len(names), 24)
        values = ("sbx=run-a1", "cred=npm-token", "jti=none")
        names.remove("q19")  # how far behind an audit's exports are
        for name in names:
            with self.subTest(name):
                there = self.answers(ship(
                    "--to", self.where, "--ask", name, *values, "--json"))
                if name in ("q05", "q07", "q18", "q20"):
                    continue  # of the rollup, or of one audit alone
                done = subprocess.run(
                    [EXEAT, "audit", "query", name, *values, "--json",
                     "--audit", self.audit], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(there, self.answers(done.stdout))

    def answers(self, text):
        """Rows without what has another base there, in any order."""
        rows = [json.loads(line) for line in text.splitlines()]
        for row in rows:
            for name in ("seq",):
                row.pop(name, None)
        return sorted(json.dumps(row, sort_keys=True) for row in rows)

    def test_roles_can_add_and_read_and_nothing_else(self):
        self.server.sql("DO $$ BEGIN CREATE ROLE w LOGIN IN ROLE exeat_writer;"
                        " CREATE ROLE a LOGIN IN ROLE exeat_analyst;"
                        " EXCEPTION WHEN duplicate_object THEN END $$")
        writer = f"host={self.server.folder} user=w dbname=postgres"
        analyst = f"host={self.server.folder} user=a dbname=postgres"
        self.fill()
        ship("--audit", self.audit, "--to", writer)
        self.assertEqual(self.counts(), self.expected())
        self.server.sql("SELECT count(*) FROM exeat.v_event", analyst)
        for where, sql in (
                (writer, "DELETE FROM exeat.event"),
                (writer, "UPDATE exeat.event SET verdict = 1"),
                (writer, "UPDATE exeat.sandbox SET uid = 'x'"),
                (writer, "TRUNCATE exeat.event"),
                (analyst, "INSERT INTO exeat.verdict VALUES(9, 'x')"),
                (analyst, "DELETE FROM exeat.event"),
                (analyst, "UPDATE exeat.event SET verdict = 1")):
            with self.assertRaisesRegex(RuntimeError, "permission denied"):
                self.server.sql(sql, where)
        before = self.server.sql("SELECT sum(ended_us) FROM exeat.sandbox")
        self.server.sql("UPDATE exeat.sandbox SET ended_us = 1", writer)
        self.assertEqual(self.server.sql(
            "SELECT sum(ended_us) FROM exeat.sandbox"), before)

    def test_what_is_wrong_is_told(self):
        self.fill()
        for words, text in (
                (("--to", "host=/nowhere", "--audit", self.audit),
                 "PostgreSQL: "),
                (("--audit", self.audit), "--to says where"),
                (("--to", self.where), "--audit says which"),
                (("--to", self.where, "--audit", "/nowhere"), "cannot read"),
                (("--to", self.where, "--ask", "q99"), "no question"),
                (("--to", self.where, "--ask", "q03"), "needs a value"),
                (("--to", self.where, "--ask", "q19"), "about one audit"),
                (("--to", self.where, "--recall", "x", "--audit",
                  os.path.join(self.folder, "n.db")), "has no audit"),
                (("--to", self.where, "--create"), "already exists")):
            done = subprocess.run([SHIP, *words], capture_output=True,
                                  text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 125, words)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
