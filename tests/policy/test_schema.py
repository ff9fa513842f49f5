#!/usr/bin/python3 -I
"""schema/policy.schema.json and the loader read the same documents alike.

The schema must take whatever the loader takes.  What only the loader refuses
is listed here, document by document, because no schema can say it.
"""
import copy
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

EXEAT = os.path.join(os.environ["EXEAT_BUILD"], "exeat")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
WRONG = (None, 0, 1, -1, 1.5, "", "x", "/x", "10.0.0.1", [], [1], [""],
         ["x"], ["/x"], ["GET"], {}, {"x": 1}, {"x": "y"}, True)
FULL = {"id": "a", "host": ["a.test"], "port": [443], "protocol": "http",
        "access": "write", "path": ["/x"], "query": {"q": "1"},
        "upgrade": ["websocket"], "valid": {"until": "2030-01-01T00:00:00Z"},
        "action": "ask", "ask": {"timeout_s": 1}, "tls": "inspect",
        "private": True, "resolve": "10.0.0.1", "wide": True,
        "exe": ["/usr/bin/git", "sha256:" + "0a" * 32],
        "mcp": {"methods": ["tools/*"], "tools": ["read_*"]},
        "credential": "acme", "clear": True, "echo": "mask", "log": ["mcp"],
        "limits": {"requests_per_minute": 600, "connections": 8,
                   "bytes_out": 50000000, "bytes_in": 9007199254740992},
        "reason": "r", "note": "n"}


def policy(*rules, **keys):
    return {"version": 1, "rules": list(rules), **keys}


def rule(**keys):
    return policy({"id": "a", "host": ["a.test"], **keys})


# What both refuse.
BAD = [
    [], {}, {"version": 1}, {"version": 2, "rules": []},
    {"version": 1, "rules": {}}, policy(limits={}), policy(name=3),
    policy(name=""), policy(note="n" * 501), policy(limit=1),
    policy({"id": "a"}), policy({"host": ["a.test"]}), policy("x"),
    policy(sets={"npm": ["a.test"]}), policy(sets={"@a": []}),
    policy(sets={"@a": ["@b"]}), policy(sets={"@A": ["a.test"]}),
    rule(id="a b"), rule(id=""), rule(id="a" * 65), rule(address=["10.0.0.1"]),
    rule(host=[]), rule(host=["https://a.test"]), rule(host=["a.test:443"]),
    rule(host=["a test"]), rule(port=[]), rule(port=[0]), rule(port=[65536]),
    rule(port=["x"]), rule(port=["1-"]), rule(port=443),
    rule(port=list(range(1, 66))), rule(protocol="any"), rule(access="all"),
    rule(methods=["get"]), rule(methods=[]), rule(methods=["G T"]),
    rule(methods=["GET"], access="read"), rule(path=["x"]),
    rule(path=["/x?y"]), rule(path="/x"), rule(query={}),
    rule(query={"a": 1}), rule(upgrade=[]), rule(upgrade=["a b"]),
    rule(valid={}), rule(valid={"until": "soon"}), rule(valid={"x": 1}),
    rule(action="maybe"), rule(tls="none"), rule(wide=1), rule(private="no"),
    rule(ask={}), rule(ask={"timeout_s": 1}),
    rule(action="ask", ask={"timeout_s": 0}),
    rule(action="ask", ask={"grant_s": 86401}),
    rule(action="ask", ask={"uses": 1}),
    rule(tls="passthrough"), rule(tls="passthrough", access="write"),
    rule(tls="passthrough", access="any", path=["/x"]),
    rule(protocol="tcp"), rule(protocol="udp"),
    rule(protocol="ssh", path=["/x"]),
    rule(protocol="tcp", port=[1], methods=["GET"]),
    rule(action="deny", tls="inspect"), rule(action="deny", private=True),
    rule(action="deny", resolve="10.0.0.1"), rule(action="deny",
                                                  access="write"),
    rule(credential="a b"), rule(credential=""), rule(credential=1),
    rule(credential="a" * 65), rule(exe=[]), rule(exe=["git"]),
    rule(exe=["sha256:12"]), rule(exe="/usr/bin/git"), rule(exe=["/"]),
    rule(mcp={}), rule(mcp={"methods": ["tools/call"]}),
    rule(mcp={"tools": ["x"]}, methods=["PUT"]),
    rule(mcp={"tools": []}, access="write"),
    rule(mcp={"tool": ["x"]}, access="write"),
    rule(mcp={"tools": ["x"]}, access="any", tls="passthrough"),
    rule(limits={}), rule(limits={"bytes": 1}), rule(limits={"bytes_in": 0}),
    rule(limits={"connections": 2 ** 53 + 1}), rule(limits={"bytes_in": 1.5}),
    rule(limits={"requests_per_minute": 1}, access="any", tls="passthrough"),
    rule(limits={"requests_per_minute": 1}, protocol="ssh"),
    rule(limits={"bytes_in": 1}, action="deny"), policy(limits={"x": 1}),
    policy(limits=[]), policy(limits={"bytes_out": -1}),
    rule(clear=True), rule(echo="mask"), rule(credential="a", echo="show"),
    rule(credential="a", clear="no"), rule(credential="a", action="deny"),
    rule(credential="a", protocol="ssh"), rule(log=[]), rule(log=["dns"]),
    rule(log="mcp"), rule(log=["mcp"], action="deny"),
    rule(log=["mcp"], access="any", tls="passthrough"),
    policy({"id": "a", "address": ["x"]}),
    policy({"id": "a", "address": ["10.0.0.1"], "resolve": "10.0.0.2"}),
]

# What only the loader refuses: names, numbers and other rules looked into.
STRICTER = [
    rule(host=["a..test"]), rule(host=["127.1"]), rule(host=["10.0.0.1"]),
    rule(host=["*"]), rule(host=["*.com"]), rule(host=["*.a.*.test"]),
    rule(host=["@nothing"]), rule(host=["-a.test"]),
    rule(port=["9-1"]), rule(port=["0"]), rule(port=["70000"]),
    rule(path=["/a//b"]), rule(path=["/../a"]), rule(path=["/%zz"]),
    rule(resolve="1.2.3"), rule(resolve="0.0.0.0"),
    rule(valid={"until": "2030-02-31T00:00:00Z"}),
    rule(valid={"from": "2030-01-01T00:00:00Z",
                "until": "2029-01-01T00:00:00Z"}),
    rule(upstream_ca="missing.pem"),
    policy({"id": "a", "address": ["0.0.0.0/0"]}),
    policy({"id": "a", "address": ["10.0.0.1/8"]}),
    policy({"id": "a", "host": ["a.test"]}, {"id": "a", "host": ["b.test"]}),
    policy({"id": "a", "host": ["a.test"]},
           {"id": "d", "host": ["a.test"], "action": "deny"}),
    policy({"id": "a", "host": ["a.test"], "private": True},
           {"id": "b", "host": ["a.test"]}),
    rule(protocol="ssh", access="read"), rule(protocol="ssh", tls="inspect"),
    rule(exe=["/usr//bin/git"]), rule(exe=["/usr/../bin/git"]),
    policy({"id": "a", "host": ["a.test"], "credential": "x"},
           {"id": "b", "host": ["a.test"], "credential": "y"}),
    policy({"id": "a", "host": ["a.test"], "limits": {"bytes_in": 1}},
           {"id": "b", "host": ["a.test"]}),
]


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, "schema", "policy.schema.json")) as text:
            schema = json.load(text)
        jsonschema.Draft202012Validator.check_schema(schema)
        cls.validator = jsonschema.Draft202012Validator(schema)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="exeat-schema-")
        self.addCleanup(self.folder.cleanup)
        with open(os.path.join(self.folder.name, ".npmrc"), "w") as out:
            out.write("registry=https://npm.example.com/\n")
        os.makedirs(os.path.join(self.folder.name, ".config", "pip"))
        with open(os.path.join(self.folder.name, ".config", "pip",
                               "pip.conf"), "w") as out:
            out.write("[global]\n"
                      "index-url = https://pypi.example.com/simple\n")

    def loaded(self, documents):
        """Whether the loader takes each, in one call."""
        paths = []
        for number, document in enumerate(documents):
            paths.append(os.path.join(self.folder.name, "%d.json" % number))
            with open(paths[-1], "w") as out:
                json.dump(document, out)
            os.chmod(paths[-1], 0o600)
        done = subprocess.run(
            [EXEAT, "policy", "check", "--json", *paths], text=True,
            capture_output=True, timeout=120,
            env={"HOME": self.folder.name, **{
                name: os.environ[name]
                for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS")
                if name in os.environ}})
        self.assertIn(done.returncode, (0, 1), done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(len(told), len(documents))
        return [one["ok"] for one in told]

    def test_both_take_every_policy_of_ours(self):
        paths = (glob.glob(os.path.join(ROOT, "tests/policy/cases/*.json")) +
                 glob.glob(os.path.join(ROOT, "deploy/examples/*.json")))
        self.assertGreater(len(paths), 10)
        documents = []
        for path in paths:
            with open(path) as text:
                documents.append(json.load(text))
        for path, document, ok in zip(paths, documents,
                                      self.loaded(documents)):
            self.assertTrue(ok, path)
            self.validator.validate(document)

    def test_both_refuse_what_is_wrong(self):
        for document, ok in zip(BAD, self.loaded(BAD)):
            self.assertFalse(ok, document)
            self.assertFalse(self.validator.is_valid(document), document)

    def test_only_the_loader_refuses_what_no_schema_can_say(self):
        for document, ok in zip(STRICTER, self.loaded(STRICTER)):
            self.assertFalse(ok, document)
            self.assertTrue(self.validator.is_valid(document), document)

    def test_every_key_with_every_wrong_value_is_read_alike(self):
        documents = [policy(FULL)]
        for key in FULL:
            for value in WRONG:
                changed = copy.deepcopy(FULL)
                changed[key] = value
                documents.append(policy(changed))
            changed = copy.deepcopy(FULL)
            del changed[key]
            documents.append(policy(changed))
        for document, ok in zip(documents, self.loaded(documents)):
            self.assertEqual(self.validator.is_valid(document), ok, document)

    def test_the_loader_has_no_key_that_the_schema_lacks(self):
        done = self.loaded([policy(FULL)])
        self.assertEqual(done, [True])
        names = set(self.validator.schema["$defs"]["rule"]["properties"])
        self.assertEqual(names - set(FULL), {"address", "methods",
                                             "upstream_ca"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
