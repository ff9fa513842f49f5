#!/usr/bin/python3 -I
"""Which program is behind each connection: the audit's rows name it."""
import hashlib
import json
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_host import descendants  # noqa: E402
from world import World, become_ordinary  # noqa: E402

CURL = "curl --silent --fail --output /dev/null "

FETCH = ("import sys, urllib.request, urllib.error\n"
         "try: print(urllib.request.urlopen(sys.argv[1]).status)\n"
         "except urllib.error.HTTPError as error: print(error.code)")

# The connection is made by a process that then becomes another program.
EXECS = r'''
import os, socket, sys
peer = socket.create_connection(("api.test", int(sys.argv[1])))
os.set_inheritable(peer.fileno(), True)
os.execv("/bin/sh", ["sh", "-c", "printf 'GET / HTTP/1.1\r\nHost: "
         "api.test:%s\r\nConnection: close\r\n\r\n' >&%d; cat <&%d >/dev/null"
         % (sys.argv[1], peer.fileno(), peer.fileno())])
'''

# It is made by one process, passed to another, and used only there.
PASSES = r'''
import array, os, socket, sys
near, far = socket.socketpair()
if os.fork() == 0:
    near.close()
    _, control, _, _ = far.recvmsg(1, socket.CMSG_LEN(4))
    peer = socket.socket(fileno=array.array("i", control[0][2])[0])
    peer.sendall(b"GET / HTTP/1.1\r\nHost: api.test:%s\r\n"
                 b"Connection: close\r\n\r\n" % sys.argv[1].encode())
    while peer.recv(65536):
        pass
    os._exit(0)
peer = socket.create_connection(("api.test", int(sys.argv[1])))
near.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                       array.array("i", [peer.fileno()]))])
peer.close()
os.wait()
'''

# It asks and is gone before anybody could look.
LEAVES = r'''
import os, socket, sys
peer = socket.socket()
peer.connect(("api.test", int(sys.argv[1])))
os._exit(0)
'''


class Caller(World):
    def named(self, where="kind = 'flow_open'"):
        found = []
        for row in self.rows(where):
            detail = json.loads(row["detail"] or "{}")
            found.append((os.path.basename(detail.get("exe", "?")),
                          detail.get("argv", "?")))
        return found

    def one(self, *command):
        code, out, err = self.run_box(self.rules, *command)
        self.assertEqual(code, 0, err + out)
        (found,) = self.named()
        return found

    def setUp(self):
        super().setUp()
        self.web = self.origin(tls=False)
        self.rules = [self.rule("web", "api.test", self.web, ca=False)]
        self.url = "http://api.test:%d/" % self.web.port

    def test_curl_is_named_with_its_command_line(self):
        exe, argv = self.one("sh", "-c", CURL + self.url)
        self.assertEqual(exe, "curl")
        self.assertEqual(argv, CURL + self.url)

    def test_python_is_named(self):
        exe, argv = self.one(
            "python3", "-I", "-c", "import sys, urllib.request\n"
            "urllib.request.urlopen(sys.argv[1]).read()", self.url)
        self.assertRegex(exe, r"^python3\.\d+$")
        self.assertTrue(argv.startswith("python3 -I -c "), argv)

    def test_node_is_named(self):
        exe, argv = self.one(
            "node", "-e", "fetch(process.argv[1]).then(r => r.text())",
            self.url)
        self.assertEqual(exe, "node")
        self.assertTrue(argv.startswith("node -e "), argv)

    def test_secrets_of_a_command_line_are_not_written_down(self):
        # The password is blanked by curl itself, if it was fast enough.
        _, argv = self.one(
            "curl", "--silent", "-o", "/dev/null", "-u", "me:hunter2",
            "-H", "Authorization: Bearer abcdef", self.url + "?token=fedcba")
        self.assertRegex(
            argv, r"^curl --silent -o /dev/null -u (me:\*\*\*| +) -H "
            r"Authorization:\*\*\* http://api\.test:\d+/\?token=\*\*\*$")

    def test_program_that_becomes_another_is_still_known(self):
        exe, _ = self.one("python3", "-I", "-c", EXECS, str(self.web.port))
        # Which of the two depends on who was faster; it is never a third.
        self.assertRegex(exe, r"^(python3\.\d+|dash|bash|sh)$")

    def test_socket_that_was_passed_on_is_found_where_it_is(self):
        exe, _ = self.one("python3", "-I", "-c", PASSES, str(self.web.port))
        self.assertRegex(exe, r"^python3\.\d+$")

    def test_process_that_leaves_at_once_does_not_stop_the_next(self):
        code, out, err = self.run_box(
            self.rules, "sh", "-c", "python3 -I -c '%s' %d; %s"
            % (LEAVES, self.web.port, CURL + self.url))
        self.assertEqual(code, 0, err + out)
        self.assertEqual(self.named()[-1][0], "curl")

    def test_refused_connection_says_who_made_it(self):
        code, _, err = self.run_box([], "curl", "--silent",
                                    "http://192.0.2.7/")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.named("verdict = 'deny' and kind = 'http'"),
                         [("curl", "curl --silent http://192.0.2.7/")])

    def test_each_of_two_programs_has_its_own_rows(self):
        code, out, err = self.run_box(
            self.rules, "sh", "-c", "%s & %s/b & wait" % (
                CURL + self.url, CURL + self.url))
        self.assertEqual(code, 0, err + out)
        self.assertEqual(sorted(argv for _, argv in self.named()),
                         [CURL + self.url, CURL + self.url + "/b"])

    # ---- rules ----

    def answers(self, exe, **more):
        """What curl, python and a copy of curl are told by a rule on exe."""
        rule = self.rule("web", "api.test", self.web, ca=False, exe=exe,
                         **more)
        code, out, err = self.run_box(
            [rule, dict(self.rules[0], id="rest", path=["/rest"])],
            "sh", "-c",
            "cp /usr/bin/curl mine; ln -s /usr/bin/curl link;"
            "for tool in curl ./mine ./link; do $tool -s -o page "
            "-w '%%{http_code}\\n' %s; done; cat page; "
            "python3 -I -c '%s' %s" % (self.url, FETCH, self.url))
        self.assertEqual(code, 0, err + out)
        return out

    def test_rule_on_a_path_is_about_the_file_that_runs(self):
        out = self.answers(["/usr/bin/curl"])
        # T24: a link is the file it leads to, a copy is another one.
        self.assertEqual(out.split("\n")[:3], ["200", "403", "200"])
        self.assertTrue(out.endswith("403\n"), out)
        self.assertEqual([name for name, _ in self.named()][:3],
                         ["curl", "mine", "curl"])

    def test_refusal_names_the_program_that_was_seen(self):
        _, out, _ = self.run_box(
            [self.rule("web", "api.test", self.web, ca=False,
                       exe=["/usr/bin/git"])], "curl", "-s", self.url)
        self.assertIn("/usr/bin/curl", out)
        self.assertIn('"reason":"no_rule"', out)

    def test_rule_on_a_digest_is_about_the_bytes_wherever_they_lie(self):
        with open("/usr/bin/curl", "rb") as source:
            digest = hashlib.sha256(source.read()).hexdigest()
        out = self.answers(["sha256:" + digest])
        self.assertEqual(out.split("\n")[:3], ["200", "200", "200"])
        self.assertTrue(out.endswith("403\n"), out)

    def test_denied_program_is_denied_and_others_are_not(self):
        rules = self.rules + [dict(
            {"id": "no", "host": ["api.test"], "action": "deny",
             "exe": ["/usr/bin/python3*"]})]
        code, out, err = self.run_box(
            rules, "sh", "-c", "curl -s -o /dev/null -w '%%{http_code} ' %s;"
            "python3 -I -c '%s' %s" % (self.url, FETCH, self.url))
        self.assertEqual((code, out), (0, "200 403\n"), err)

    def test_nobody_is_let_through_when_nobody_can_tell_who_asks(self):
        process = self.start(
            [self.rule("web", "api.test", self.web, ca=False,
                       exe=["/usr/bin/curl"])],
            "sh", "-c", "trap : USR1; sleep 100 & echo up; wait; "
            "curl -s -o /dev/null -w '%%{http_code}' %s" % self.url)
        self.assertEqual(process.stdout.readline(), "up\n")
        (lookout,) = [pid for pid, name in descendants(process.pid)
                      if name == "exeat-lookout"]
        os.kill(lookout, signal.SIGKILL)
        process.send_signal(signal.SIGUSR1)
        out, err = process.communicate(timeout=120)
        self.assertEqual(out, "403", err)
        self.refused_for("no_rule")


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
