#!/usr/bin/python3 -I
"""Credentials that are put in on the way out; cases of user reports by id."""
import base64
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import unittest
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import World, answer, become_ordinary, receive_head  # noqa: E402

SECRET = "s3cr3t-of-the-api"


class Lender(World):
    """A credential file beside the policy, in a folder of the owner's."""

    def setUp(self):
        super().setUp()
        self.keys = os.path.join(self.folder, "keys")
        os.mkdir(self.keys, 0o700)
        self.secret("key", SECRET)

    def secret(self, name, text, mode=0o600):
        path = os.path.join(self.keys, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as out:
            out.write(text)
        os.chmod(path, mode)
        return path

    def credentials(self, credentials, **top):
        return ("--credentials", self.secret("credentials.json", json.dumps(
            {"version": 1, "credentials": credentials, **top})))

    def bearer(self, *origins, **more):
        return {"kind": "bearer", "source": {"file": "key"},
                "hosts": ["api.test:%d" % origin.port for origin in origins],
                **more}

    def lent(self, credential, origin, rule, script, *words):
        """Runs a script with one credential "api"; gives what it printed."""
        code, out, err = self.run_box(
            [rule], "python3", "-I", "-c", self.prelude() + script,
            *map(str, words or [origin.port]),
            options=self.credentials({"api": credential}))
        self.assertEqual(code, 0, err + out)
        return out.strip()

    def prelude(self):
        from world import PRELUDE
        return PRELUDE


def field(head, name):
    """All values of a field, in order."""
    return re.findall(rb"(?im)^%s: *([^\r\n]*)" % re.escape(name.encode()),
                      head)


class Placement(Lender):
    def test_every_static_kind_has_its_place(self):
        # C03
        pair = base64.b64encode(("me:" + SECRET).encode())
        kinds = {
            "bearer": ({"kind": "bearer"}, "authorization",
                       b"Bearer " + SECRET.encode()),
            "token": ({"kind": "bearer", "scheme": "token"}, "authorization",
                      b"token " + SECRET.encode()),
            "basic": ({"kind": "basic", "user": "me"}, "authorization",
                      b"Basic " + pair),
            "header": ({"kind": "header", "header": "x-api-key"}, "x-api-key",
                       SECRET.encode()),
            "gitlab": ({"kind": "header", "header": "PRIVATE-TOKEN"},
                       "private-token", SECRET.encode()),
            "query": ({"kind": "query", "query": "key"}, None, None),
        }
        origin = self.origin()
        rules = [self.rule(name, "api.test", origin, path=["/" + name],
                           credential=name) for name in kinds]
        options = self.credentials({
            name: {**kind, "source": {"file": "key"},
                   "hosts": ["api.test:%d" % origin.port]}
            for name, (kind, _, _) in kinds.items()})
        code, out, err = self.run_box(
            rules, "python3", "-I", "-c", self.prelude() +
            "for name in words[1:]:\n"
            "    print(fetch('https://api.test:%s/%s?a=1' % (words[0], name),"
            " headers={'Authorization': 'Bearer mine', 'X-Api-Key': 'mine',"
            " 'Private-Token': 'mine'}))",
            str(origin.port), *kinds, options=options)
        self.assertEqual(code, 0, err)
        self.assertEqual(out.count("(200, 'hello\\n')"), len(kinds), out)
        for head, (name, (_, where, value)) in zip(origin.heard,
                                                   kinds.items()):
            self.assertNotIn(b"mine", head)
            if where is None:
                self.assertTrue(head.startswith(
                    b"GET /query?a=1&key=%s HTTP/1.1\r\n" % SECRET.encode()),
                    head)
            else:
                self.assertEqual(field(head, where), [value])
        for kind in ("http_intent", "http"):
            rows = self.rows("kind = '%s'" % kind)
            self.assertEqual([row["cred"] for row in rows], list(kinds))
        self.assertEqual(
            [row["cred"] for row in self.rows("kind = 'cred_mint'")],
            list(kinds))

    def test_one_question_for_a_lease(self):
        origin = self.origin()
        self.lent(self.bearer(origin), origin,
                  self.rule("o", "api.test", origin, credential="api"),
                  "for i in range(20):\n"
                  "    assert fetch('https://api.test:%s/' % words[0])[0]"
                  " == 200")
        self.assertEqual(len(origin.heard), 20)
        for head in origin.heard:
            self.assertEqual(field(head, "authorization"),
                             [b"Bearer " + SECRET.encode()])
        self.assertEqual(len(self.rows("kind = 'cred_mint'")), 1)

    def test_first_request_has_it_and_so_has_the_retry(self):
        # C01: git and others send theirs only when they are asked to.
        def serve(peer):
            for status in (b"401 Unauthorized", b"200 OK"):
                head, _ = receive_head(peer)
                heard.append(head)
                peer.sendall(b"HTTP/1.1 %s\r\nWWW-Authenticate: Basic "
                             b"realm=\"r\"\r\nContent-Length: 0\r\n\r\n"
                             % status)
        heard = []
        origin = self.origin(serve=serve)
        out = self.lent(
            {**self.bearer(origin), "kind": "basic", "user": "git"}, origin,
            self.rule("o", "api.test", origin, credential="api"),
            "c = http.client.HTTPSConnection('api.test', int(words[0]),"
            " context=ssl.create_default_context())\n"
            "for i in (None, 'Basic bWluZTptaW5l'):\n"
            "    c.request('GET', '/', headers={'Authorization': i} if i"
            " else {})\n"
            "    r = c.getresponse(); r.read(); print(r.status)")
        self.assertEqual(out.split(), ["401", "200"])
        want = b"Basic " + base64.b64encode(("git:" + SECRET).encode())
        for head in heard:
            self.assertEqual(field(head, "authorization"), [want])

    def test_large_upload_has_it_in_its_head(self):
        # C06, C04: the head is final before the first byte, lengths as told.
        def serve(peer):
            head, rest = receive_head(peer)
            heard.append(head)
            got = len(rest)
            while got < 64 << 20:
                more = peer.recv(1 << 20)
                if not more:
                    return
                got += len(more)
            answer(peer, b"%d" % got)
        heard = []
        origin = self.origin(serve=serve)
        out = self.lent(
            self.bearer(origin), origin,
            self.rule("o", "api.test", origin, credential="api",
                      access="write"),
            "print(fetch('https://api.test:%s/' % words[0],"
            " bytes(64 << 20)))")
        self.assertEqual(out, "(200, '67108864')")
        self.assertEqual(field(heard[0], "authorization"),
                         [b"Bearer " + SECRET.encode()])
        self.assertEqual(field(heard[0], "content-length"), [b"67108864"])

    def test_forwarding_fields_of_the_sandbox_change_nothing(self):
        # C25
        origin, other = self.origin(), self.origin()
        self.lent(self.bearer(origin), origin,
                  self.rule("o", "api.test", origin, credential="api"),
                  "fetch('https://api.test:%s/' % words[0], headers={"
                  "'X-Forwarded-Host': 'b.test', 'Forwarded': 'host=b.test',"
                  "'X-Original-URL': '/other', 'X-Host': 'b.test'})")
        self.assertEqual((len(origin.heard), other.count), (1, 0))

    def test_query_keys_of_the_sandbox_go_however_they_are_spelled(self):
        origin = self.origin()
        self.lent({**self.bearer(origin), "kind": "query", "query": "key"},
                  origin,
                  self.rule("o", "api.test", origin, credential="api"),
                  "fetch('https://api.test:%s/p?key=mine&a=key&%%6bey=mine"
                  "&ke%%79&b=2&keys=3' % words[0])")
        self.assertTrue(origin.heard[0].startswith(
            b"GET /p?a=key&b=2&keys=3&key=%s HTTP/1.1" % SECRET.encode()),
            origin.heard[0])
        self.assertNotIn(SECRET, str(self.rows()))


class Elsewhere(Lender):
    def test_redirect_elsewhere_goes_without_it(self):
        # C21: two hosts in the credential; a third one gets nothing.
        def serve(peer):
            head, _ = receive_head(peer)
            heard.append(head)
            peer.sendall(b"HTTP/1.1 302 Found\r\nLocation: https://b.test:%d/"
                         b"\r\nContent-Length: 0\r\n\r\n" % other.port)
        heard = []
        other, origin = self.origin(), self.origin(serve=serve)
        credential = self.bearer(origin)
        credential["hosts"].append("a.test:%d" % origin.port)
        out = self.lent(
            credential, origin,
            {**self.rule("o", "api.test", origin, other, credential="api"),
             "host": ["api.test", "a.test", "b.test"]},
            "for host in ('api.test', 'a.test'):\n"
            "    print(fetch('https://%s:%s/' % (host, words[0])))")
        self.assertEqual(out.count("(502"), 2, out)
        self.assertEqual(out.count('"reason":"credential_unavailable"'), 2,
                         out)
        self.assertEqual([field(head, "authorization") for head in heard],
                         [[b"Bearer " + SECRET.encode()]] * 2)
        # Nothing was forwarded.
        self.assertEqual(other.heard, [])
        rows = self.rows("kind = 'http' AND host = 'b.test'")
        self.assertEqual([(row["reason"], row["status"], row["cred"])
                          for row in rows],
                         [("credential_unavailable", 502, None)] * 2)
        self.assertIn("not for this host", rows[0]["detail"])

    def test_a_rule_without_credential_goes_without_one(self):
        origin = self.origin()
        self.lent(self.bearer(origin), origin,
                  self.rule("o", "api.test", origin, path=["/with"],
                            credential="api"),
                  "print(fetch('https://api.test:%s/without' % words[0]))")
        self.assertEqual(origin.heard, [])
        code, out, err = self.run_box(
            [self.rule("o", "api.test", origin, path=["/with"],
                       credential="api"),
             self.rule("p", "api.test", origin, path=["/without"])],
            "python3", "-I", "-c", self.prelude() +
            "fetch('https://api.test:%s/without' % words[0],"
            " headers={'Authorization': 'Bearer mine'})", str(origin.port),
            options=self.credentials({"api": self.bearer(origin)}))
        self.assertEqual(field(origin.heard[0], "authorization"),
                         [b"Bearer mine"], err)

    def test_clear_text_only_when_the_rule_says_so(self):
        # C11
        origin = self.origin(tls=False)
        script = "print(fetch('http://api.test:%s/' % words[0]))"
        rule = self.rule("o", "api.test", origin, ca=False, credential="api")
        out = self.lent(self.bearer(origin), origin, rule, script)
        self.assertIn("credential_unavailable", out)
        self.assertIn("does not travel in the clear", out)
        self.assertEqual(origin.heard, [])
        out = self.lent(self.bearer(origin), origin, {**rule, "clear": True},
                        script)
        self.assertEqual(out, "(200, 'hello\\n')")
        self.assertEqual(field(origin.heard[0], "authorization"),
                         [b"Bearer " + SECRET.encode()])

    def test_absolute_form_is_the_same(self):
        # C18
        origin = self.origin()
        self.lent(
            self.bearer(origin), origin,
            self.rule("o", "api.test", origin, credential="api"),
            "talk('api.test', words[0], ('GET https://api.test:%s/x HTTP/1.1"
            "\\r\\nHost: api.test:%s\\r\\nAuthorization: Bearer mine\\r\\n"
            "Connection: close\\r\\n\\r\\n' % (words[0], words[0])).encode(),"
            " tls='api.test')")
        self.assertTrue(origin.heard[0].startswith(b"GET /x HTTP/1.1"))
        self.assertEqual(field(origin.heard[0], "authorization"),
                         [b"Bearer " + SECRET.encode()])


class Witnesses(Lender):
    """The gateway tells of each use, the broker of what it has lent."""

    def q04(self):
        done = subprocess.run(
            [os.path.join(self.bin, "exeat"), "audit", "query", "q04",
             "--json", "--audit", self.database], env=self.environment,
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_use_that_the_broker_knows_nothing_of_is_found(self):
        origin = self.origin()
        self.lent(self.bearer(origin), origin,
                  self.rule("o", "api.test", origin, credential="api"),
                  "print([fetch('https://api.test:%s/%d' % (words[0], i))[0]"
                  " for i in range(3)])")
        uses = self.rows("cred = 'api' AND kind <> 'cred_mint'")
        self.assertGreaterEqual(len(uses), 3)
        self.assertEqual(self.q04(), [])
        with sqlite3.connect(self.database) as database:
            database.execute("UPDATE event SET dst_id = 1 + (SELECT max(id) "
                             "FROM dst) WHERE seq = ?", (uses[0]["seq"],))
            database.execute(
                "INSERT INTO dst(id, host, reg_domain, is_ip, first_us) "
                "SELECT 1 + max(id), 'evil.test', 'evil.test', 0, 0 FROM dst")
        database.close()
        self.assertEqual([(row["seq"], row["host"]) for row in self.q04()],
                         [(uses[0]["seq"], "evil.test")])


class Revoked(Lender):
    def exeat(self, *words):
        return subprocess.run([os.path.join(self.bin, "exeat"), *words],
                              env=self.environment, capture_output=True,
                              text=True, timeout=60)

    def test_live_upload_is_cut_and_new_requests_are_refused(self):
        def serve(peer):
            head, _ = receive_head(peer)
            heads.append(head)
            started.set()
            try:
                while peer.recv(1 << 20):
                    pass
            finally:
                ended.set()
        heads = []
        started, ended = threading.Event(), threading.Event()
        origin, other = self.origin(serve=serve), self.origin()
        # Bytes without end, until somebody ends them.
        script = self.prelude() + """
def upload():
    while True:
        yield bytes(65536)
context = ssl.create_default_context()
c = http.client.HTTPSConnection('api.test', int(words[0]), context=context)
try:
    c.request('POST', '/', upload(), {'Transfer-Encoding': 'chunked'},
              encode_chunked=True)
    print('sent')
except OSError as error:
    print('cut')
print(fetch('https://api.test:%s/' % words[0]))
print(fetch('https://api.test:%s/' % words[1])[0])
"""
        process = self.start(
            [self.rule("o", "api.test", origin, credential="api",
                       access="write"),
             self.rule("p", "api.test", other, credential="other")],
            "python3", "-I", "-c", script, str(origin.port), str(other.port),
            options=self.credentials({"api": self.bearer(origin),
                                      "other": self.bearer(other)}))
        self.assertTrue(started.wait(60), process.poll())
        said = self.exeat("credential", "revoke", "nothing")
        self.assertEqual(said.returncode, 1)
        self.assertIn("has no such credential", said.stderr)
        said = self.exeat("credential", "revoke", "api")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertTrue(said.stdout.startswith("revoked api in run-"))
        self.assertTrue(ended.wait(30))
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        lines = out.splitlines()
        self.assertEqual(lines[0], "cut")
        self.assertIn("the credential was revoked", lines[1])
        self.assertEqual(lines[2], "200")
        # A connection may be dialled early; a request never leaves.
        self.assertEqual(len([head for head in heads if head]), 1)
        row, = self.rows("kind = 'admin' AND object = 'credential_revoke'")
        self.assertEqual(row["cred"], "api")
        self.assertIn("exeat credential revoke", row["detail"])
        self.assertEqual(
            [row["reason"] for row in self.rows(
                "kind = 'http' AND cred = 'api'")], ["revoked"])

    def test_check_reads_every_secret(self):
        options = self.credentials({
            "good": {"kind": "bearer", "hosts": ["a.test"],
                     "source": {"file": "key"}},
            "bad": {"kind": "bearer", "hosts": ["a.test"],
                    "source": {"file": "none"}}})
        said = self.exeat("credential", "check", options[1])
        self.assertEqual(said.returncode, 1, said.stdout)
        self.assertRegex(said.stderr, r"credentials.json:1:\d+: the secret "
                         r"of bad, file none: it cannot be opened")
        self.assertNotIn("good", said.stderr)
        self.secret("none", "another")
        said = self.exeat("credential", "check", options[1])
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertIn("every credential has its secret", said.stdout)
        self.assertEqual(
            self.exeat("credential", "revoke", "good").returncode, 1)


class Kept(Lender):
    """Nothing of a secret where a sandbox, or somebody later, could look."""

    def test_the_broker_has_given_up_everything(self):
        def serve(peer):
            receive_head(peer)
            for folder in os.listdir("/proc"):
                try:
                    with open("/proc/%s/status" % folder) as source:
                        said = dict(line.rstrip("\n").split(":\t", 1)
                                    for line in source if ":\t" in line)
                except OSError:
                    continue
                if said["Name"] == "exeat-broker" and \
                        said["PPid"] == str(self.process.pid):
                    found.append(said)
            answer(peer)
        found = []
        origin = self.origin(serve=serve)
        self.process = self.start(
            [self.rule("o", "api.test", origin, credential="api")],
            "python3", "-I", "-c", self.prelude() +
            "print(fetch('https://api.test:%s/' % words[0])[0])",
            str(origin.port),
            options=self.credentials({"api": self.bearer(origin)}))
        out, err = self.process.communicate(timeout=120)
        self.assertEqual(out, "200\n", err)
        self.assertEqual([(said["NoNewPrivs"], said["Seccomp"])
                          for said in found],
                         [("1", "0" if self.is_sanitized() else "2")])

    def is_sanitized(self):
        """Then the list of calls is left out: see confine.h."""
        with open(os.path.join(self.bin, "exeat-broker"), "rb") as program:
            return b"__asan_init" in program.read()

    def test_no_secret_stays_anywhere(self):
        # C19: what the sandbox sees of itself and of us, and what is left
        # behind, in each of six encodings.
        secret = "tr33-frog/+kept?far=away"
        self.secret("key", secret)
        raw = secret.encode()
        shapes = [raw, raw.hex().encode(), raw[::-1],
                  base64.b64encode(raw).rstrip(b"="),
                  urllib.parse.quote(secret, safe="").encode(),
                  json.dumps(secret).encode().strip(b'"').replace(
                      b"/", b"\\/")]
        origin = self.origin()
        out = self.lent(self.bearer(origin), origin,
                        self.rule("o", "api.test", origin, credential="api"),
                        LOOK, origin.port, *(bytes(
                            byte ^ 0x5a for byte in shape).hex()
                            for shape in shapes))
        self.assertEqual(out.splitlines()[-1], "nothing", out)
        self.assertEqual(field(origin.heard[0], "authorization"),
                         [b"Bearer " + raw])
        looked = 0
        for where, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(where, name)
                if not os.path.isfile(path) or where == self.keys:
                    continue
                with open(path, "rb") as source:
                    text = source.read()
                looked += 1
                for shape in shapes:
                    self.assertFalse(shape in text, path)
        self.assertGreater(looked, 3)


# Everything that can be read in a sandbox, for shapes that are handed over in
# disguise: the command line of a run is written down.
LOOK = r"""
import os
print(fetch('https://api.test:%s/' % words[0])[0])
shapes = [bytes(byte ^ 0x5a for byte in bytes.fromhex(word))
          for word in words[1:]]
found = []
def look(path, most=1 << 24):
    try:
        with open(path, 'rb') as source:
            text = source.read(most)
    except OSError:
        return
    for shape in shapes:
        if shape in text:
            found.append((path, shape))
me = str(os.getpid())
for folder in os.listdir('/proc'):
    if not folder.isdigit():
        continue
    for name in ('environ', 'cmdline', 'mounts', 'status', 'maps'):
        if folder != me or name != 'cmdline':
            look('/proc/%s/%s' % (folder, name))
    # Of other processes' memory nothing may be readable but our own.
    if folder != me:
        try:
            with open('/proc/%s/maps' % folder) as maps,                     open('/proc/%s/mem' % folder, 'rb', 0) as memory:
                for line in maps:
                    span, access = line.split()[:2]
                    if 'r' not in access or 'vsyscall' in line:
                        continue
                    start, end = (int(n, 16) for n in span.split('-'))
                    try:
                        memory.seek(start)
                        text = memory.read(end - start)
                    except (OSError, ValueError):
                        continue
                    if any(shape in text for shape in shapes):
                        found.append((folder, span))
        except OSError:
            pass
for top in ('/etc', '/tmp', '/run', '/dev/shm', '/home', os.getcwd(), '/var'):
    for where, _, names in os.walk(top):
        for name in names:
            path = os.path.join(where, name)
            if os.path.isfile(path):
                look(path)
for name, value in os.environ.items():
    if any(shape in value.encode() for shape in shapes):
        found.append(name)
print(found or 'nothing')
"""


class Begin(Lender):
    """What keeps a run with a credential from beginning."""

    def refused(self, *expected, rule=None, options=(), **more):
        origin = self.origin()
        rule = rule or self.rule("o", "api.test", origin, credential="api")
        code, out, err = self.run_box([rule], "true", options=options)
        self.assertEqual(code, 125, err)
        for text in expected:
            self.assertIn(text, err)
        self.assertNotIn(SECRET, err)

    def one(self, **more):
        return self.credentials({"api": {
            "kind": "bearer", "hosts": ["api.test"],
            "source": {"file": "key"}, **more}})

    def test_no_file(self):
        self.refused("credential file", "cannot be opened")

    def test_file_open_to_others(self):
        options = self.one()
        os.chmod(options[1], 0o640)
        self.refused("it is open to others", options=options)

    def test_file_in_the_workspace(self):
        path = os.path.join(self.workspace, "credentials.json")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as out:
            out.write('{"version": 1, "credentials": {}}')
        self.refused("the sandbox could read it",
                     options=("--credentials", path))

    def test_secret_in_the_workspace(self):
        path = os.path.join(self.workspace, "key")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as out:
            out.write(SECRET)
        self.refused("the sandbox could read it",
                     options=self.one(source={"file": path}))

    def test_secret_behind_a_link(self):
        os.symlink("key", os.path.join(self.keys, "link"))
        self.refused("it cannot be opened",
                     options=self.one(source={"file": "link"}))

    def test_empty_secret(self):
        self.secret("empty", "\n")
        self.refused("credentials.json:1:", "it is empty",
                     options=self.one(source={"file": "empty"}))

    def test_unknown_credential(self):
        self.refused("the policy names the credential api", options=(
            self.credentials({"other": {
                "kind": "bearer", "hosts": ["api.test"],
                "source": {"file": "key"}}})))

    def test_every_problem_with_its_place(self):
        self.refused(
            "credentials.json:1:", "is no kind of credential",
            "means nothing here",
            options=self.credentials({"api": {"kind": "magic"}}, colour=1))

    def test_environment_and_descriptor(self):
        origin = self.origin()
        self.environment["THE_KEY"] = SECRET
        out = self.lent({**self.bearer(origin), "source": {"env": "THE_KEY"}},
                        origin,
                        self.rule("o", "api.test", origin, credential="api"),
                        "import os\nprint(fetch('https://api.test:%s/' %"
                        " words[0]), os.environ.get('THE_KEY'))")
        self.assertEqual(out, "(200, 'hello\\n') None")
        self.assertEqual(field(origin.heard[0], "authorization"),
                         [b"Bearer " + SECRET.encode()])
        del self.environment["THE_KEY"]
        self.refused("there is no such variable",
                     options=self.one(source={"env": "THE_KEY"}))
        self.refused("left no such descriptor open",
                     options=self.one(source={"fd": 9}))


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
