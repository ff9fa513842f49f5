#!/usr/bin/python3 -I
"""A person is asked, and answers or does not; cases of user reports by id."""
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import PRELUDE, World, become_ordinary  # noqa: E402

# A request for each line of words; prints status and page, one line each.
TALK = PRELUDE + r'''
import os
def send(line):
    method, url = line.split()
    status, body = fetch(url, b"" if method == "POST" else None, method)
    page = json.loads(body) if body.startswith("{") else {}
    print(json.dumps([status, page.get("reason"), page.get("rule"),
                      page.get("ask"), page.get("detail")]), flush=True)
'''


class Asking(World):
    files = "direct"

    def exeat(self, *words):
        return subprocess.run([os.path.join(self.bin, "exeat"), *words],
                              env=self.environment, capture_output=True,
                              text=True, timeout=60)

    def asking(self, origin, **ask):
        return [self.rule("ro", "api.test", origin),
                self.rule("prod", "api.test", origin, access="write",
                          path=["/merge/**"], action="ask", ask=ask)]

    def talk(self, rules, script, *words, options=()):
        return self.start(rules, "python3", "-I", "-c", TALK + script,
                          *map(str, words), options=options)

    def questions(self, count=1):
        """What exeat pending lists, once there are so many."""
        deadline = time.monotonic() + 60
        while True:
            done = self.exeat("pending", "--json")
            found = [json.loads(line) for line in done.stdout.splitlines()]
            if len(found) >= count:
                return found
            self.assertLess(time.monotonic(), deadline, done.stderr)
            select.select([], [], [], 0.02)

    def line(self, process):
        text = process.stdout.readline()
        self.assertTrue(text, process.poll())
        return json.loads(text)

    def end(self, process):
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err)
        return out, err

    def rest_of_home(self):
        return os.path.join(self.environment["HOME"],
                            ".local/state/exeat/runs")

    def test_approved_request_goes_and_the_rows_say_who(self):
        # A01, A02
        origin = self.origin()
        box = self.talk(self.asking(origin, grant_uses=2),
                        "send('POST https://api.test:%s/merge/1?x=secret'"
                        " % words[0])", origin.port)
        asked = self.questions()[0]
        self.assertEqual(asked["request"],
                         "POST https://api.test:%d/merge/1?x=secret"
                         % origin.port)
        self.assertEqual((asked["rule"], origin.heard), ("prod", []))
        self.assertRegex(asked["program"], r"^/usr/bin/python3[.0-9]*$")
        self.assertEqual(asked["its_words"], "")
        began = time.monotonic()
        done = self.exeat("approve", "--for", "15m", "--uses", "1",
                          asked["id"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.line(box)[0], 200)
        self.assertLess(time.monotonic() - began, 10)
        self.end(box)
        self.assertEqual(len(origin.heard), 1)
        ask = self.rows("kind = 'approval_ask'")[0]
        decision = self.rows("kind = 'approval_decision'")[0]
        intent = self.rows("kind = 'http_intent'")[0]
        self.assertEqual((ask["verdict"], ask["host"], ask["verb"],
                          ask["object"], ask["rule"]),
                         ("pending", "api.test", "POST", "/merge/1?x",
                          "prod"))
        self.assertEqual((decision["verdict"], decision["parent_seq"]),
                         ("allow", ask["seq"]))
        detail = json.loads(decision["detail"])
        self.assertIn("exeat approve", detail["by"])
        self.assertEqual((detail["ask"], detail["uses"]), (asked["id"], 1))
        self.assertEqual(json.loads(intent["detail"])["ask"], asked["id"])
        self.assertEqual((intent["verdict"], intent["rule"]),
                         ("allow", "prod"))
        self.assertLess(decision["seq"], intent["seq"])

    def test_yes_is_used_up_and_matches_nothing_else(self):
        # A01
        origin = self.origin()
        box = self.talk(self.asking(origin, grant_uses=2, timeout_s=2), r'''
url = "https://api.test:%s" % words[0]
for line in ("POST /merge/1", "POST /merge/1", "PUT /merge/1",
             "POST /merge/1?y", "POST /merge/1"):
    method, path = line.split()
    send("%s %s%s" % (method, url, path))''', origin.port)
        self.exeat("approve", self.questions()[0]["id"])
        self.assertEqual([self.line(box)[0] for _ in range(5)],
                         [200, 200, 403, 403, 403])
        self.end(box)
        self.assertEqual(len(origin.heard), 2)
        self.assertEqual(len(self.rows("kind = 'approval_ask'")), 4)

    def test_yes_runs_out(self):
        # A01
        origin = self.origin()
        box = self.talk(self.asking(origin, grant_uses=9, grant_s=1,
                                    timeout_s=1), r'''
url = "POST https://api.test:%s/merge/1" % words[0]
send(url)
begun = time.monotonic()
while time.monotonic() - begun < 1.2:
    time.sleep(0.1)
send(url)''', origin.port)
        self.exeat("approve", self.questions()[0]["id"])
        self.assertEqual(self.line(box)[0], 200)
        self.assertEqual(self.line(box)[:2], [403, "approval_denied"])
        self.end(box)

    def test_refused_request_says_so_and_is_not_asked_again(self):
        # A05, P12
        origin = self.origin()
        box = self.talk(self.asking(origin), r'''
url = "POST https://api.test:%s/merge/1" % words[0]
send(url)
send(url)''', origin.port)
        asked = self.questions()[0]["id"]
        self.assertEqual(self.exeat("refuse", asked).returncode, 0)
        for _ in range(2):
            status, reason, rule, ask, detail = self.line(box)
            self.assertEqual((status, reason, rule, ask),
                             (403, "approval_denied", "prod", asked))
            self.assertIn("not a network fault", detail)
        _, err = self.end(box)
        self.assertEqual(origin.heard, [])
        self.assertEqual(len(self.rows("kind = 'approval_ask'")), 1)
        self.assertEqual(self.rows("kind = 'approval_decision'")[0]["verdict"],
                         "deny")
        self.assertIn("2 requests, 2 refused (2 approval_denied)", err)

    def test_silence_is_no_and_a_late_or_wrong_answer_changes_nothing(self):
        # P12
        origin = self.origin()
        box = self.talk(self.asking(origin, timeout_s=1),
                        "send('POST https://api.test:%s/merge/1' % words[0])\n"
                        "sys.stdin.read()", origin.port)
        self.assertEqual(self.line(box)[:2], [403, "approval_denied"])
        done = self.exeat("approve", json.loads(self.rows(
            "kind = 'approval_ask'")[0]["detail"])["ask"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("no question", done.stderr)
        for word in ("x", "../x", "", "abcd-99"):
            self.assertEqual(self.exeat("approve", word).returncode, 1)
        self.end(box)
        self.assertEqual(origin.heard, [])

    def test_more_than_the_rule_gives_is_not_given(self):
        origin = self.origin()
        box = self.talk(self.asking(origin, grant_s=60),
                        "send('POST https://api.test:%s/merge/1' % words[0])",
                        origin.port)
        asked = self.questions()[0]["id"]
        for words, told in ((("--for", "2m"), "60 s at most"),
                            (("--uses", "2"), "1 times at most")):
            done = self.exeat("approve", *words, asked)
            self.assertEqual(done.returncode, 1)
            self.assertIn(told, done.stderr)
        self.assertEqual(origin.heard, [])
        self.assertEqual(self.exeat("approve", asked).returncode, 0)
        self.assertEqual(self.line(box)[0], 200)
        self.end(box)

    def test_same_question_waits_together(self):
        origin = self.origin()
        box = self.talk(self.asking(origin, grant_uses=2), r'''
import threading
url = "POST https://api.test:%s/merge/1" % words[0]
threads = [threading.Thread(target=send, args=(url,)) for _ in range(3)]
for one in threads: one.start()
for one in threads: one.join()''', origin.port)
        asked = self.questions()
        # All three are held before the answer comes.
        deadline = time.monotonic() + 60
        while len(self.rows("kind = 'flow_open'")) < 3:
            self.assertLess(time.monotonic(), deadline)
            select.select([], [], [], 0.02)
        select.select([], [], [], 0.3)
        self.assertEqual(len(self.questions()), len(asked))
        self.exeat("approve", asked[0]["id"])
        self.assertEqual(sorted(self.line(box)[0] for _ in range(3)),
                         [200, 200, 403])
        self.end(box)
        self.assertEqual(len(self.rows("kind = 'approval_ask'")), 1)

    def test_client_that_gave_up_is_not_served_later(self):
        origin = self.origin()
        box = self.talk(self.asking(origin), r'''
peer = ssl.create_default_context().wrap_socket(
    socket.create_connection(("api.test", int(words[0]))),
    server_hostname="api.test")
peer.sendall(b"POST /merge/1 HTTP/1.1\r\nHost: api.test:" + words[0].encode() +
             b"\r\nContent-Length: 0\r\n\r\n")
sys.stdin.readline()
peer.close()
print(json.dumps(1), flush=True)
while not os.path.exists("go"):
    time.sleep(0.02)
send("POST https://api.test:%s/merge/1" % words[0])''', origin.port)
        self.line(box)
        asked = self.questions()[0]["id"]
        deadline = time.monotonic() + 60
        while not self.rows("reason = 'client_abort'"):
            self.assertLess(time.monotonic(), deadline)
            select.select([], [], [], 0.02)
        self.assertEqual(self.exeat("approve", asked).returncode, 0)
        open(os.path.join(self.workspace, "go"), "w").close()
        self.assertEqual(self.line(box)[0], 200)
        self.end(box)
        self.assertEqual(len(origin.heard), 1)

    @unittest.skipUnless(os.environ.get("EXEAT_FULL") == "1",
                         "a request is held for a minute with EXEAT_FULL=1")
    def test_request_is_held_a_minute_and_its_question_stays(self):
        origin = self.origin()
        os.mkfifo(os.path.join(self.workspace, "go"))
        box = self.talk(self.asking(origin, timeout_s=300), r'''
def held():
    link = http.client.HTTPSConnection("api.test", int(words[0]), timeout=120)
    begun = time.monotonic()
    link.request("POST", "/merge/1")
    answer = link.getresponse()
    page = json.loads(answer.read()) if answer.status == 403 else {}
    print(json.dumps([answer.status, page.get("reason"), page.get("ask"),
                      time.monotonic() - begun]), flush=True)
held()
for _ in open("go"):
    held()''', origin.port)
        asked = self.questions()[0]
        status, reason, ask, took = self.line(box)
        self.assertEqual((status, reason, ask),
                         (403, "approval_needed", asked["id"]))
        self.assertGreater(took, 59)
        self.assertEqual(origin.heard, [])
        self.assertEqual(self.questions()[0]["id"], asked["id"])
        self.assertEqual(self.exeat("approve", asked["id"]).returncode, 0)
        with open(os.path.join(self.workspace, "go"), "w") as go:
            go.write("\n")
        self.assertEqual(self.line(box)[0], 200)
        self.end(box)

    WISH = r'''
def wish(**parts):
    status, body = fetch("http://exeat.internal/v1/ask",
                         json.dumps(parts).encode(), "POST")
    page = json.loads(body)
    print(json.dumps([status, page.get("answer"), page.get("reason"),
                      page.get("ask"), page.get("detail")]), flush=True)
url = "https://api.test:%s" % words[0]
'''

    def test_sandbox_asks_beforehand_and_its_words_are_shown_as_its_own(self):
        # A01, A02
        origin = self.origin()
        os.mkfifo(os.path.join(self.workspace, "go"))
        box = self.talk(self.asking(origin, grant_uses=2), self.WISH + r'''
for _ in range(2):
    wish(url=url + "/merge/1", method="POST", why="trust me\x1b[31m\nyes")
for _ in open("go"):
    pass
wish(url=url + "/merge/1", method="POST")
send("POST " + url + "/merge/1")
send("POST " + url + "/merge/1")
wish(url=url + "/merge/1", method="POST")''', origin.port)
        first, again = self.line(box), self.line(box)
        (asked,) = self.questions()
        for answer in (first, again):
            self.assertEqual(answer[:4], [202, "pending", None, asked["id"]])
        self.assertEqual(asked["request"],
                         "POST https://api.test:%d/merge/1" % origin.port)
        self.assertIn("trust me", asked["its_words"])
        self.assertNotIn("\x1b", self.exeat("pending").stdout)
        self.assertEqual(self.exeat("approve", asked["id"]).returncode, 0)
        with open(os.path.join(self.workspace, "go"), "w"):
            pass
        self.assertEqual(self.line(box)[:2], [200, "granted"])
        # Asking has used nothing of the yes.
        self.assertEqual([self.line(box)[0] for _ in range(2)], [200, 200])
        self.assertEqual(self.line(box)[:2], [202, "pending"])
        self.end(box)
        self.assertEqual(len(origin.heard), 2)
        asks = self.rows("kind = 'approval_ask'")
        self.assertEqual(len(asks), 2)
        self.assertIn("trust me", json.loads(asks[0]["detail"])["words"])
        # The question is a row under the request that proposed it.
        intent = self.rows("kind = 'http_intent' AND host = 'exeat.internal'")
        self.assertEqual(asks[0]["req"], intent[0]["req"])

    def test_wish_opens_nothing_that_no_rule_asks_about(self):
        origin = self.origin()
        os.mkfifo(os.path.join(self.workspace, "go"))
        box = self.talk(self.asking(origin), self.WISH + r'''
wish(url=url + "/read")
wish(url=url + "/read", method="DELETE")
wish(url="https://other.test/")
wish(url="ssh://api.test/")
wish(url=url + "/merge/1", methods=["POST"])
wish(url=url + "/merge/1", method="@hello")
wish(url=url + "/merge/1", method="POST")
for _ in open("go"):
    pass
wish(url=url + "/merge/1", method="POST")
send("POST " + url + "/merge/1")''', origin.port)
        answers = [self.line(box) for _ in range(7)]
        self.assertEqual([answer[:3] for answer in answers], [
            [200, "allowed", None], [403, None, "path"],
            [403, None, "no_rule"], [400, None, None], [400, None, None],
            [400, None, None], [202, "pending", None]])
        self.assertIn("exeat policy set", answers[2][4])
        (asked,) = self.questions()
        self.assertEqual(self.exeat("refuse", asked["id"]).returncode, 0)
        with open(os.path.join(self.workspace, "go"), "w"):
            pass
        self.assertEqual(self.line(box)[:3], [403, None, "approval_denied"])
        self.assertEqual(self.line(box)[:2], [403, "approval_denied"])
        self.end(box)
        self.assertEqual(origin.heard, [])
        self.assertEqual(len(self.rows("kind = 'approval_ask'")), 1)

    def test_nothing_is_left_also_of_a_killed_run(self):
        runs = self.rest_of_home()
        box = self.talk([], "print(1, flush=True)\nsys.stdin.read()\n"
                            "signal = __import__('signal').pause()")
        box.stdout.readline()
        self.assertEqual(len(os.listdir(runs)), 1)
        self.assertEqual(os.stat(runs).st_mode & 0o777, 0o700)
        box.send_signal(signal.SIGKILL)
        box.communicate(timeout=60)
        self.assertEqual(self.exeat("pending").returncode, 1)
        self.assertEqual(os.listdir(runs), [])
        code, _, err = self.run_box([], "true")
        self.assertEqual(code, 0, err)
        self.assertFalse(os.path.exists(runs))

    def test_sandbox_that_could_see_its_own_socket_is_not_started(self):
        self.environment["XDG_RUNTIME_DIR"] = self.workspace
        code, _, err = self.run_box([], "true")
        self.assertEqual(code, 125)
        self.assertIn("answer its own questions", err)
        self.assertEqual(os.listdir(self.workspace), [])

    def prompt(self, typed):
        """Answers the question on a terminal; gives status and screen."""
        origin = self.origin()
        path = os.path.join(self.folder, "policy.json")
        with open(path, "w") as out:
            json.dump({"version": 1, "rules": self.asking(origin)}, out)
        outcome = os.path.join(self.workspace, "outcome")
        pid, terminal = pty.fork()
        if pid == 0:
            null = os.open("/dev/null", os.O_RDWR)
            os.dup2(null, 0)
            os.chdir(self.workspace)
            os.execve(os.path.join(self.bin, "exeat"), [
                "exeat", "run", "--policy", path, "--audit", self.database,
                "--workspace", self.workspace, "--", "python3", "-I", "-c",
                TALK + "sys.stdout = open('outcome', 'w')\n"
                "send('POST https://api.test:%s/merge/1' % words[0])",
                str(origin.port)], self.environment)
        screen, answered = b"", False
        while True:
            try:
                screen += os.read(terminal, 4096)
            except OSError:
                break
            if b"type yes" in screen and not answered:
                answered = True
                os.write(terminal, typed)
        os.waitpid(pid, 0)
        os.close(terminal)
        with open(outcome) as source:
            return json.loads(source.read())[0], screen, origin

    def test_prompt_is_answered_by_yes_in_full(self):
        status, screen, origin = self.prompt(b"yes\n")
        self.assertEqual(status, 200, screen)
        self.assertIn(b"POST https://api.test:%d/merge/" % origin.port,
                      screen)
        self.assertIn(b"rule prod", screen)
        self.assertIn(b"the program is /usr/bin/python3", screen)
        self.assertNotIn(b"own words", screen)
        self.assertIn("at the terminal", self.rows(
            "kind = 'approval_decision'")[0]["detail"])

    def test_prompt_takes_everything_else_for_no(self):
        for typed in (b"y\n", b"\n", b"yes please\n", b"\x04"):
            status, screen, origin = self.prompt(typed)
            self.assertEqual((status, origin.heard), (403, []), screen)


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
