#!/usr/bin/python3 -I
"""schema/task.schema.json and the loader read the same documents alike.

The schema must take whatever the loader takes.  What only the loader refuses
is listed here, document by document, because no schema can say it.
"""
import copy
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

READER = os.path.join(os.environ["EXEAT_BUILD"], "read_tasks")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                    "..")
WRONG = (None, 0, 1, -1, 1.5, "", "x", "/x", "A b", "2GiB", "30m", "live",
         [], [1], [""], ["x"], ["/x"], ["/../x"], {}, {"x": 1}, {"x": "y"},
         {"A": "y"}, True, False)
FULL = {
    "version": 1, "$schema": "../schema/task.schema.json", "note": "n",
    "name": "fix-issue-42", "template": "./template.json",
    "command": ["npm", "test"], "cwd": "/ws/app",
    "workspace": {"path": "./app", "at": "/ws/app", "mode": "overlay",
                  "base": "live"},
    "from_snapshot": "ready",
    "mounts": [{"source": "./data", "at": "/data", "access": "ro"},
               {"tmpfs": "/scratch", "size": "2GiB"}],
    "secrets": {"mask": ["config/prod.yaml"], "show": [".env.ci"]},
    "env": {"set": {"CI": "1"}, "pass": ["LANG"]},
    "identity": {"name": "coder", "agent": "coder-1", "session": "a1b2"},
    "policy": "npm.json", "observe": False, "credentials": "keys.json",
    "audit": {"database": "a.db", "sync": "full"},
    "network": {"mode": "transparent", "nic": True, "proxy_env": False,
                "via": "http://proxy.example:3128",
                "via_credential": "house"},
    "isolation": {"mode": "full", "nested": False, "ptrace": True,
                  "etc": "synthetic"},
    "limits": {"memory": "4GiB", "pids": 512, "cpu": 2.0,
               "open_files": 4096, "file_bytes": "1GiB",
               "workspace_bytes": "10GiB", "tmp_bytes": "1GiB",
               "best_effort": False},
    "timeout": {"wall": "30m", "idle": None, "grace": "5s"},
    "record": {"exec": True}, "terminal": False,
    "collect": {"apply": "never"}, "on_end": {"snapshot": "after"},
    "result": "r.json",
}


def task(**keys):
    return {"version": 1, **keys}


# What both refuse, and how the loader names it.
BAD = [
    ([], "task.invalid"), ({}, "task.invalid"),
    ({"version": 2}, "task.invalid"), (task(nam="x"), "task.invalid"),
    (task(command=[]), "task.invalid"), (task(command="x"), "task.invalid"),
    (task(command=[""]), "task.invalid"), (task(command=[1]), "task.invalid"),
    (task(name="A b"), "task.invalid"), (task(name="-a"), "task.invalid"),
    (task(workspace="x"), "task.invalid"),
    (task(workspace={"mode": "copy"}), "task.invalid"),
    (task(workspace={"at": "x"}), "mount.target"),
    (task(workspace={"base": "copy"}), "task.invalid"),
    (task(mounts={}), "task.invalid"), (task(mounts=[1]), "task.invalid"),
    (task(mounts=[{}]), "task.invalid"),
    (task(mounts=[{"source": "./data", "x": 1}]), "task.invalid"),
    (task(mounts=[{"source": "./data", "access": "w"}]), "task.invalid"),
    (task(mounts=[{"source": "./data", "at": "data"}]), "mount.target"),
    (task(mounts=[{"tmpfs": "/a"}]), "task.invalid"),
    (task(mounts=[{"tmpfs": "/a", "size": "x"}]), "task.invalid"),
    (task(env={"set": {"1A": "x"}}), "env.invalid"),
    (task(env={"set": {"A": 1}}), "task.invalid"),
    (task(env={"set": {"A" * 129: ""}}), "env.invalid"),
    (task(limits={"cpu": 0}), "task.invalid"),
    (task(limits={"cpu": "2"}), "task.invalid"),
    (task(limits={"pids": 0}), "task.invalid"),
    (task(limits={"pids": 1.5}), "task.invalid"),
    (task(limits={"memory": 1}), "task.invalid"),
    (task(timeout={"wall": 1}), "task.invalid"),
    (task(timeout={"wall": "soon"}), "task.invalid"),
    (task(network={"mode": "host"}), "task.invalid"),
    (task(isolation={"mode": "lite"}), "task.invalid"),
    (task(terminal="no"), "task.invalid"),
    (task(policy=[1]), "task.invalid"), (task(policy=[""]), "task.invalid"),
]

# What only the loader refuses: paths, names and sums looked into.
STRICTER = [
    (task(cwd="x", workspace={"at": "/usr/x"}), "mount.target"),
    (task(workspace={"at": "/a/../b"}), "mount.target"),
    (task(workspace={"at": "/proc"}), "mount.target"),
    (task(mounts=[{"source": "./data", "at": "/sys/x"}]), "mount.target"),
    (task(mounts=[{"source": "./data", "at": "/a//b"}]), "mount.target"),
    (task(mounts=[{"source": "./data", "at": "/a"},
                  {"tmpfs": "/a", "size": "1MiB"}]), "mount.target"),
    (task(mounts=[{"source": "./missing"}]), "mount.source"),
    (task(mounts=[{"source": "./link", "at": "/a"}]), "mount.source"),
    (task(mounts=[{"source": "./pipe", "at": "/a"}]), "mount.source"),
    (task(mounts=[{"tmpfs": "/a", "size": "0"}]), "task.invalid"),
    (task(mounts=[{"tmpfs": "/m%d" % i, "size": "1"} for i in range(65)]),
     "task.invalid"),
    (task(env={"pass": ["API_KEY"]}), "env.credential"),
    (task(env={"pass": ["GIT_DIR"]}), "env.credential"),
    (task(env={"pass": ["LD_PRELOAD"]}), "env.credential"),
    (task(env={"pass": ["1A"]}), "env.invalid"),
    (task(env={"pass": ["NOT_SET_HERE"]}), "env.invalid"),
    (task(env={"set": {"A": "x" * 262144}}), "env.invalid"),
    (task(env={"set": {"A%d" % i: "" for i in range(257)}}), "env.invalid"),
    (task(secrets={"mask": ["/x"]}), "task.invalid"),
    (task(secrets={"show": ["../x"]}), "task.invalid"),
    (task(limits={"cpu": 0.0001}), "task.invalid"),
    (task(limits={"pids": 1.0}), "task.invalid"),
    (task(limits={"memory": "0"}), "task.invalid"),
    (task(limits={"memory": "9999TiB"}), "task.invalid"),
    (task(timeout={"wall": "9000h"}), "task.invalid"),
    (task(template="unheard-of"), "ref.missing"),
    (task(template="./missing.json"), "ref.missing"),
    (task(template="./circle.json"), "task.invalid"),
    (task(policy=["p.json"] * 15), "task.invalid"),
]


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, "schema", "task.schema.json")) as text:
            schema = json.load(text)
        jsonschema.Draft202012Validator.check_schema(schema)
        cls.validator = jsonschema.Draft202012Validator(schema)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="exeat-task-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.mkdir(os.path.join(self.folder, "data"))
        os.symlink("data", os.path.join(self.folder, "link"))
        os.mkfifo(os.path.join(self.folder, "pipe"))
        self.write("template.json", json.dumps(
            task(env={"set": {"FROM": "template"}})))
        self.write("circle.json", json.dumps(task(template="./x.json")))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as out:
            out.write(text)
        os.chmod(path, 0o600)
        return path

    def read(self, paths):
        """True, or every problem, for each; in one call."""
        done = subprocess.run(
            [READER, *paths], text=True, capture_output=True, timeout=120,
            env={"HOME": self.folder, "LANG": "C", "x": "y", **{
                name: os.environ[name]
                for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS")
                if name in os.environ}})
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def loaded(self, documents):
        return self.read([self.write("%d.json" % number, json.dumps(one))
                          for number, one in enumerate(documents)])

    def expect(self, cases, valid):
        """Each is refused by the loader, by this name."""
        told = self.loaded([document for document, _ in cases])
        for (document, name), problems in zip(cases, told):
            self.assertIsNot(problems, True, document)
            self.assertTrue(any("(%s)" % name in one for one in problems),
                            (document, problems))
            self.assertEqual(self.validator.is_valid(document), valid,
                             document)

    def test_both_take_a_task_with_everything_in_it(self):
        self.assertEqual(self.loaded([FULL]), [True])
        self.validator.validate(FULL)
        names = set(self.validator.schema["properties"])
        self.assertEqual(names, set(FULL))
        for name, about in self.validator.schema["properties"].items():
            if name == "env" or about.get("type") != "object":
                continue
            self.assertEqual(set(about["properties"]), set(FULL[name]))

    def test_both_refuse_what_is_wrong(self):
        self.expect(BAD, False)

    def test_only_the_loader_refuses_what_no_schema_can_say(self):
        self.expect(STRICTER, True)

    def test_every_key_with_every_wrong_value_is_read_alike(self):
        documents = []
        for key, value in FULL.items():
            # These are paths and names, which are looked into.
            if key in ("template", "cwd"):
                continue
            for wrong in WRONG:
                documents.append(dict(FULL, **{key: wrong}))
            documents.append({k: v for k, v in FULL.items() if k != key})
            if not isinstance(value, dict):
                continue
            for below in value:
                for wrong in WRONG:
                    changed = copy.deepcopy(FULL)
                    changed[key][below] = wrong
                    documents.append(changed)
        for document, told in zip(documents, self.loaded(documents)):
            valid = self.validator.is_valid(document)
            if told is True or not valid:
                self.assertEqual(valid, told is True, (document, told))
                continue
            # Only paths, patterns and names of variables are looked into.
            self.assertEqual(len(told), 1, told)
            self.assertRegex(told[0], r'"?/(\.\./)?x"? (is no absolute path|'
                             r"begins with a slash|does not begin with)|"
                             r"proxy|credential")

    def test_what_is_no_json_is_told_with_its_place(self):
        cases = {
            "open": ('{"version": 1,\n "name": }', ":2:"),
            "twice": ('{"version": 1,\n "name": "a",\n "name": "b"}', ":3:"),
            "nul": ('{"version": 1,\n "name": "a\\u0000b"}', ":2:"),
            "deep": ('{"version": 1, "x": ' + "[" * 17 + "]" * 17 + "}",
                     "more than 16 deep"),
            "long": ('{"version": 1}' + " " * 1048576, "too long"),
        }
        paths = [self.write(name, text)
                 for name, (text, _) in cases.items()]
        for (text, place), told in zip(cases.values(), self.read(paths)):
            self.assertEqual(len(told), 1, told)
            self.assertIn(place, told[0])
            self.assertIn("(task.invalid)", told[0])

    def test_everything_wrong_is_told_at_once_with_line_and_column(self):
        path = self.write("all.json", '{\n  "version": 3,\n  "nam": 1,\n'
                          '  "limits": {"cpu": true,\n    "pids": -1}\n}')
        told, = self.read([path])
        self.assertEqual([one.split(": ")[0][len(path):] for one in told],
                         [":2:14", ":3:3", ":4:21", ":5:13"])
        self.assertIn('"nam"', told[1])

    def test_a_file_that_others_can_write_is_refused(self):
        path = self.write("open.json", json.dumps(task()))
        os.chmod(path, 0o666)
        told, = self.read([path])
        self.assertIn("written by others", told[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
