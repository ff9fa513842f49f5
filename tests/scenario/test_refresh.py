#!/usr/bin/python3 -I
"""Refresh tokens that are renewed: by one writer, and kept before use."""
import os
import signal
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from issuer import Issuer  # noqa: E402
from test_credentials import Lender, field  # noqa: E402
from world import answer, become_ordinary, receive_head  # noqa: E402

FETCH = "print(fetch('https://api.test:%s/' % words[0]))"


class Family:
    """An issuer that ends the family when a token is shown twice."""

    def __init__(self, issuer):
        self.number, self.dead = 0, False
        self.before, self.held = threading.Event(), threading.Event()
        self.hold = False
        issuer.page("POST", "/token", self.renew)

    def renew(self, asked):
        form = asked.form()
        assert asked.head["content-type"] == \
            "application/x-www-form-urlencoded"
        assert form["grant_type"] == "refresh_token", form
        assert form["client_id"] == "exeat", form
        assert set(form) == {"grant_type", "client_id", "refresh_token"}, form
        if self.hold:
            self.held.set()
            self.before.wait(60)
        if self.dead or form["refresh_token"] != "renew-%d" % self.number:
            self.dead = True
            return 400, {"error": "invalid_grant"}
        self.number += 1
        return 200, {"access_token": "access-%d" % self.number,
                     "token_type": "Bearer", "expires_in": 600,
                     "refresh_token": "renew-%d" % self.number}


class Refresh(Lender):
    files = "direct"

    def setUp(self):
        super().setUp()
        self.issuer = Issuer(self)
        self.family = Family(self.issuer)
        self.secret("key", "renew-0")
        self.environment["XDG_STATE_HOME"] = os.path.join(self.folder, "state")
        self.kept = os.path.join(self.folder, "state", "exeat", "kept")
        self.seen, self.stood = [], []
        self.api = self.origin(serve=self.serve_api)
        self.rules = [self.rule("o", "api.test", self.api, credential="api")]
        with open(os.path.join(self.shared, "ca.pem")) as ca:
            self.options = self.credentials({"api": {
                "kind": "oauth2_refresh", "source": {"file": "key"},
                "client_id": "exeat", "ca": ca.read(),
                "token_url": self.issuer.url + "/token",
                "hosts": ["api.test:%d" % self.api.port]}})

    def tearDown(self):
        self.assertEqual(self.issuer.faults, [])

    def serve_api(self, peer):
        """Keeps the token, and what stood on the disk when it came."""
        head, _ = receive_head(peer)
        if not head:
            return
        self.seen += field(head, "authorization")
        self.stood.append(self.on_disk())
        answer(peer)

    def on_disk(self):
        found = []
        for name in os.listdir(self.kept):
            if name.endswith(".lock"):
                continue
            path = os.path.join(self.kept, name)
            self.assertEqual(os.stat(path).st_mode & 0o7777, 0o600)
            with open(path) as text:
                found.append(text.read())
        return found

    def begin(self):
        return self.start(self.rules, "python3", "-I", "-c",
                          self.prelude() + FETCH, str(self.api.port),
                          options=self.options)

    def succeed(self, process):
        out, err = process.communicate(timeout=120)
        self.assertEqual(out, "(200, 'hello\\n')\n", err)

    def child_of(self, process, name):
        """Its number and what /proc says of it; or None."""
        for folder in os.listdir("/proc"):
            try:
                with open("/proc/%s/status" % folder) as source:
                    said = dict(line.rstrip("\n").split(":\t", 1)
                                for line in source if ":\t" in line)
            except OSError:
                continue
            if said["Name"] == name and said["PPid"] == str(process.pid) and \
                    not said["State"].startswith("Z"):
                return int(folder), said
        return None

    def test_each_run_goes_on_with_what_the_one_before_was_given(self):
        for number in (1, 2, 3):
            self.succeed(self.begin())
            self.assertEqual(self.seen[-1], b"Bearer access-%d" % number)
            # It was on the disk before anything was done with it.
            self.assertEqual(self.stood[-1], ["renew-%d" % number])
        self.assertEqual(os.stat(self.kept).st_mode & 0o7777, 0o700)
        self.assertNotIn("renew-", str(self.rows()))
        self.assertNotIn("access-", str(self.rows()))

    def test_a_token_put_there_anew_begins_a_family(self):
        self.succeed(self.begin())
        self.family.number = 7
        self.secret("key", "renew-7")
        self.succeed(self.begin())
        self.assertEqual(self.seen[-1], b"Bearer access-8")

    def test_runs_at_once_renew_one_after_the_other(self):
        runs = []
        for number in range(4):
            self.folder = os.path.join(self.shared, "run%d" % number)
            self.workspace = os.path.join(self.folder, "workspace")
            os.makedirs(self.workspace)
            runs.append(self.begin())
        for process in runs:
            self.succeed(process)
        self.assertFalse(self.family.dead)
        self.assertEqual(sorted(self.seen),
                         [b"Bearer access-%d" % (i + 1) for i in range(4)])

    def test_a_broker_killed_while_it_asks_leaves_the_old_one(self):
        self.family.hold = True
        process = self.begin()
        self.assertTrue(self.family.held.wait(60))
        pid, said = self.child_of(process, "exeat-broker")
        if not self.is_sanitized():
            self.assertEqual(said["Seccomp"], "2")
        os.kill(pid, signal.SIGKILL)
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 125, err)
        self.assertEqual((self.seen, self.on_disk()), ([], []))
        # The issuer had not looked at it yet.
        self.family.hold = False
        self.family.number, self.family.dead = 0, False
        self.succeed(self.begin())
        self.family.before.set()

    def test_a_broker_killed_once_it_was_used_leaves_the_new_one(self):
        def serve(peer):
            receive_head(peer)
            os.kill(self.child_of(process, "exeat-broker")[0],
                    signal.SIGKILL)
            peer.recv(1)
        serve_api, self.api.serve = self.api.serve, serve
        process = self.begin()
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 125)
        self.assertEqual(self.on_disk(), ["renew-1"])
        self.api.serve = serve_api
        self.succeed(self.begin())
        self.assertEqual(self.seen, [b"Bearer access-2"])

    def test_an_answer_on_its_way_is_kept_though_the_run_ends(self):
        # Else the next run would show a token that is worth nothing.
        self.family.hold = True
        process = self.start(
            self.rules, "python3", "-I", "-c", self.prelude() +
            "import os, threading\n"
            "threading.Thread(target=fetch, daemon=True, args=("
            "'https://api.test:%s/' % words[0],)).start()\n"
            "while not os.path.exists('told'):\n"
            "    time.sleep(0.01)\n"
            "os._exit(0)",
            str(self.api.port), options=self.options)
        self.assertTrue(self.family.held.wait(60))
        with open(os.path.join(self.workspace, "told"), "w") as told:
            told.write("held")
        # The gateway hears of the end no later than the broker does.
        while self.child_of(process, "exeat-gateway"):
            self.assertIsNone(process.poll())
        self.family.before.set()
        process.communicate(timeout=120)
        self.family.hold = False
        self.assertEqual(self.on_disk(), ["renew-1"])
        self.succeed(self.begin())
        self.assertEqual(self.seen, [b"Bearer access-2"])

    def test_a_folder_that_is_open_to_others_begins_no_run(self):
        os.makedirs(self.kept, 0o700)
        os.chmod(self.kept, 0o750)
        _, err = self.begin().communicate(timeout=120)
        self.assertIn("is open to others; chmod 700 it", err)
        self.assertEqual(self.issuer.asked, [])

    def test_a_folder_that_the_sandbox_sees_begins_no_run(self):
        state = os.path.join(self.folder, "state")
        self.options += ("--mount", state)
        os.makedirs(self.kept, 0o700)
        _, err = self.begin().communicate(timeout=120)
        self.assertIn("the sandbox could re", err)
        self.assertEqual(self.issuer.asked, [])


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
