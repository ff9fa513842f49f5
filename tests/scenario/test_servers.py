#!/usr/bin/python3 -I
"""Protocols that are passed on unread, by a rule for the server's name: a real
PostgreSQL, an SMTP server, which speaks first, and OpenSSH with git over it.
"""
import glob
import os
import select
import socket
import subprocess
import sys
import time
import unittest

from aiosmtpd.controller import Controller

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import World, become_ordinary  # noqa: E402

WRAPPER = "libnss_wrapper.so"
SSHD = "/usr/sbin/sshd"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as door:
        return door.getsockname()[1]


class Servers(World):
    def setUp(self):
        super().setUp()
        # PostgreSQL and OpenSSH want to know the name of who runs them.
        self.home = os.path.join(self.folder, "served")
        os.mkdir(self.home, 0o700)
        for name, line in (
                ("passwd", "tester:x:%d:%d::%s:/bin/sh\n"
                 % (os.getuid(), os.getgid(), self.home)),
                ("group", "tester:x:%d:\n" % os.getgid())):
            with open(os.path.join(self.home, name), "w") as out:
                out.write(line)
        self.named = {
            "PATH": "/usr/bin:/bin", "HOME": self.home, "LANG": "C.UTF-8",
            "LD_PRELOAD": WRAPPER,
            "NSS_WRAPPER_PASSWD": os.path.join(self.home, "passwd"),
            "NSS_WRAPPER_GROUP": os.path.join(self.home, "group")}

    def run_here(self, *words, cwd=None):
        done = subprocess.run(words, env=self.named, cwd=cwd or self.home,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def serve(self, port, *words):
        """A server in the foreground, once it listens."""
        log = open(os.path.join(self.home, "log"), "w+")
        self.addCleanup(log.close)
        process = subprocess.Popen(words, env=self.named, cwd=self.home,
                                   stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return log
            except OSError:
                self.assertIsNone(process.poll(), words)
                self.assertLess(time.monotonic(), deadline)
                select.select([], [], [], 0.02)

    def tcp(self, name, host, port, protocol="tcp"):
        return {"id": name, "host": [host], "port": [port],
                "protocol": protocol, "resolve": "127.0.0.1",
                "private": True}

    def passed_on(self, host, rule):
        """The rows of the one connection there; what went each way."""
        (opened,) = self.rows("kind = 'flow_open' AND host = '%s'" % host)
        (ended,) = self.rows("kind = 'flow_end' AND host = '%s'" % host)
        for row in (opened, ended):
            self.assertEqual((row["verdict"], row["rule"]), ("allow", rule))
        self.assertEqual(ended["parent_seq"], opened["seq"])
        return ended["bytes_out"], ended["bytes_in"]

    # ---- PostgreSQL ----

    def postgres(self):
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        port = free_port()
        data = os.path.join(self.home, "data")
        self.run_here(os.path.join(programs, "initdb"), "-D", data, "-U",
                      "agent", "-A", "trust", "--no-sync", "-E", "UTF8",
                      "--locale=C.UTF-8")
        self.serve(port, os.path.join(programs, "postgres"), "-D", data, "-k",
                   self.home, "-c", "listen_addresses=127.0.0.1", "-c",
                   "port=%d" % port, "-c", "fsync=off")
        return port

    def psql(self, port, sql, host="db.test"):
        return ("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql,
                "host=%s port=%d user=agent dbname=postgres" % (host, port))

    def test_database_is_reached_by_name_and_no_other_one_is(self):
        port = self.postgres()
        rules = [self.tcp("db", "db.test", port)]
        code, out, err = self.run_box(rules, *self.psql(
            port, "CREATE TABLE t AS SELECT generate_series(1, 50000) AS n; "
            "SELECT sum(n) FROM t"))
        self.assertEqual((code, out), (0, "1250025000\n"), err)
        sent, received = self.passed_on("db.test", "db")
        self.assertGreater(sent, 100)
        self.assertGreater(received, 100)
        code, _, err = self.run_box(rules, *self.psql(
            port, "SELECT 1", host="other.test"))
        self.assertNotEqual(code, 0)
        self.assertIn("other.test", err)
        self.refused_for("no_rule")

    def test_port_that_no_rule_names_is_refused_at_once(self):
        port = self.postgres()
        code, _, err = self.run_box(
            [self.tcp("db", "db.test", port)],
            *self.psql(port + 1 if port < 65535 else port - 1, "SELECT 1"))
        self.assertNotEqual(code, 0)
        self.assertIn("db.test", err)
        self.refused_for("no_rule")

    # ---- SMTP ----

    def test_server_that_speaks_first_is_heard(self):
        class Box:
            async def handle_DATA(self, server, session, envelope):
                letters.append(envelope)
                return "250 kept"
        letters, port = [], free_port()
        controller = Controller(Box(), hostname="127.0.0.1", port=port)
        controller.start()
        self.addCleanup(controller.stop)
        text = "Subject: x\r\n\r\n" + "a line\r\n" * 5000
        out = self.box([self.tcp("mail", "mail.test", port)], r'''
import smtplib
with smtplib.SMTP("mail.test", int(words[0]), timeout=60) as mail:
    refused = mail.sendmail("a@a.test", ["b@b.test"], words[1])
print(refused)
try:
    smtplib.SMTP("other.test", int(words[0]), timeout=60)
except OSError as error:
    print("failed")
''', port, text)
        self.assertEqual(out, "{}\nfailed")
        self.assertEqual(len(letters), 1)
        self.assertIn(b"a line\r\n" * 5000, letters[0].content)
        self.assertGreater(self.passed_on("mail.test", "mail")[0], len(text))

    # ---- SSH ----

    def sshd(self):
        port = free_port()
        for name in ("host", "user"):
            self.run_here("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                          os.path.join(self.home, name))
        with open(os.path.join(self.home, "user")) as key:
            text = key.read()
        key = os.path.join(self.workspace, "key")
        with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o600), "w") as out:
            out.write(text)
        with open(os.path.join(self.home, "host.pub")) as public:
            kind, words = public.read().split()[:2]
        with open(os.path.join(self.workspace, "known"), "w") as out:
            out.write("[git.test]:%d %s %s\n" % (port, kind, words))
        self.serve(port, SSHD, "-D", "-e", "-f", "/dev/null",
                   "-h", os.path.join(self.home, "host"), "-p", str(port),
                   "-o", "ListenAddress=127.0.0.1", "-o", "PidFile=none",
                   "-o", "UsePAM=no", "-o", "StrictModes=no",
                   "-o", "AuthorizedKeysFile=" +
                   os.path.join(self.home, "user.pub"))
        return port

    def ssh(self, port):
        return ("ssh -F /dev/null -p %d -i %s/key -o BatchMode=yes "
                "-o UserKnownHostsFile=%s/known -o StrictHostKeyChecking=yes"
                % (port, self.workspace, self.workspace))

    def test_ssh_and_git_over_it_go_by_the_rule_for_ssh(self):
        port = self.sshd()
        store = os.path.join(self.home, "store.git")
        self.run_here("git", "init", "-q", "--bare", "-b", "main", store)
        script = r'''
set -e
%s tester@git.test 'echo over there'
export GIT_SSH_COMMAND="%s"
git clone -q ssh://tester@git.test%s work 2>/dev/null
cd work
git config user.email a@a.test
git config user.name a
echo text >file
git add file
git commit -q -m first
git push -q origin HEAD:main
''' % (self.ssh(port), self.ssh(port), store)
        code, out, err = self.run_box(
            [self.tcp("git", "git.test", port, protocol="ssh")],
            "sh", "-c", script)
        self.assertEqual((code, out), (0, "over there\n"), err)
        self.assertEqual(self.run_here("git", "-C", store, "log",
                                       "--format=%s", "main"), "first\n")
        opened = self.rows("kind = 'flow_open' AND host = 'git.test'")
        self.assertEqual([row["rule"] for row in opened], ["git"] * 3)

    def test_ssh_that_no_rule_allows_is_refused_and_says_so(self):
        port = self.sshd()
        web = self.tcp("web", "git.test", port, protocol="http")
        code, out, err = self.run_box(
            [web], "sh", "-c", self.ssh(port) + " tester@git.test true")
        self.assertNotEqual(code, 0)
        self.assertEqual(out, "")
        self.refused_for("no_rule")

    def test_what_is_no_ssh_does_not_pass_by_a_rule_for_it(self):
        port = self.sshd()
        out = self.box([self.tcp("git", "git.test", port, protocol="ssh")],
                       "print(fetch('http://git.test:%s/' % words[0])[0])",
                       port)
        self.assertIn(out, ("403", "failed"))
        self.assertEqual(self.rows("kind = 'flow_open' AND verdict = 'allow' "
                                   "AND host = 'git.test'"), [])


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
