"""The workspace under a layer: what is written, what is hidden, what stays."""
import os
import socket
import stat
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
import box
from box import Box, USER, only


class Overlay(Box):
    def setUp(self):
        super().setUp()
        self.folder = self.make_folder("box")

    def make_folder(self, name):
        """What takes the writes of a run, as its owner's."""
        folder = self.path(name)
        for part in ("", "upper", "work"):
            os.mkdir(os.path.join(folder, part))
            self.own(os.path.join(folder, part))
        open(os.path.join(folder, "hidden"), "w").close()
        self.own(os.path.join(folder, "hidden"))
        return folder

    def over(self, script, layers=(), **more):
        return self.sh(script, workspace={
            "path": self.ws, "mode": "overlay",
            "folder": more.pop("folder", self.folder),
            "layers": list(layers)}, **more)

    def upper(self, *names, folder=None):
        return os.path.join(folder or self.folder, "upper", *names)

    def hidden(self):
        with open(os.path.join(self.folder, "hidden")) as names:
            return names.read().split("\0")[:-1]

    def is_whiteout(self, *names):
        st = os.lstat(self.upper(*names))
        return stat.S_ISCHR(st.st_mode) and st.st_rdev == 0

    def test_writes_stay_in_the_layer(self):
        self.write("a", "from outside")
        self.write("gone", "x")
        done = self.over("pwd; cat a; echo inside > b; mkdir d; echo c > a; "
                         "rm gone; ls")
        self.assertEqual(done.out, self.ws + "\nfrom outsidea\nb\nd\n",
                         done.err)
        self.assertEqual(sorted(os.listdir(self.ws)), ["a", "gone"])
        self.assertEqual(self.read("ws", "a"), "from outside")
        self.assertEqual(self.read("box", "upper", "b"), "inside\n")
        self.assertTrue(self.is_whiteout("gone"))
        owner = os.stat(self.ws).st_uid
        for name in ("a", "b", "d"):
            self.assertEqual(os.stat(self.upper(name)).st_uid, owner)

    @only("root")
    def test_root_gives_what_is_written_to_the_workspaces_owner(self):
        for owner in (0, 54321):
            folder = self.make_folder("box-%d" % owner)
            for path in (self.ws, folder, folder + "/upper",
                         folder + "/work", folder + "/hidden"):
                os.chown(path, owner, owner)
            done = self.over("touch x && stat -c %U . x", folder=folder)
            self.assertEqual(done.out, "agent\nagent\n", done.err)
            self.assertEqual(os.stat(folder + "/upper/x").st_uid, owner)

    def test_no_path_of_the_layers_is_told(self):
        done = self.over("cat /proc/self/mountinfo /proc/mounts")
        self.assertIn("userxattr", done.out)
        self.assertNotIn(self.folder, done.out)

    def test_layers_are_stacked_and_not_written(self):
        lower, upper = self.path("l1"), self.path("l2")
        for place, text in ((lower, "one"), (upper, "two")):
            os.mkdir(place)
            self.own(place)
            self.write("f", text, folder=place)
            self.write(text, text, folder=place)
        self.write("base", "base")
        done = self.over("cat f one two base; echo three > f; rm one base",
                         layers=[upper, lower])
        self.assertEqual(done.out, "twoonetwobase", done.err)
        self.assertEqual(self.read("l2", "f"), "two")
        self.assertEqual(self.read("l1", "one"), "one")
        self.assertTrue(self.is_whiteout("one"))

    # L13: at any depth; and what only looks like a secret stays.
    def test_secrets_are_whiteouts_and_named(self):
        deep = "/".join("abcdefghijk")
        hidden = {".env": "S", deep + "/.env.production": "S", ".netrc": "S",
                  "deploy/id_ed25519": "S", "k.pem": "PRIVATE KEY",
                  ".npmrc": "//r/:_authToken=S", "odd\nname.kdbx": "S"}
        shown = {".env.example": "ok", "cert.pem": "CERTIFICATE",
                 "src/env.py": "ok"}
        for name, text in {**hidden, **shown}.items():
            self.write(name, text)
        done = self.over("cat %s; find . -type f | wc -l" %
                         " ".join(shown))
        self.assertEqual(done.out, "okCERTIFICATEok3\n", done.err)
        self.assertEqual(sorted(done.result["hidden_files"]),
                         sorted(hidden))
        for name, text in hidden.items():
            self.assertTrue(self.is_whiteout(name), name)
            self.assertIn(name, self.hidden())
            self.assertEqual(self.read("ws", name), text)

    # launcher.md section 14, test 5
    def test_a_secret_that_the_host_replaces_stays_hidden(self):
        self.write(".env", "secret")
        self.write("sub/.env", "secret")
        os.mkdir(self.path("go"))
        self.own(self.path("go"))
        process, _ = self.start_box(
            ["bash", "-c", "cat .env sub/.env; echo ready; "
             "until test -e /srv/go/on; do sleep 0.02; done; "
             "cat .env sub/.env .env.local"],
            mounts=[{"source": self.path("go"), "at": "/srv/go",
                     "access": "rw"}],
            workspace={"path": self.ws, "mode": "overlay",
                       "folder": self.folder})
        self.assertEqual(process.stdout.readline(), "ready\n")
        for name in (".env", "sub/.env", ".env.local"):
            new = self.write(name + ".new", "newer secret")
            os.rename(new, self.path("ws", name))
        self.write("on", folder="go")
        done = self.finish(process)
        self.assertNotIn("secret", done.out)
        self.assertEqual(done.err.count("No such file"), 5, done.err)

    # launcher.md section 14, test 6
    def test_links_to_secrets_hide_what_they_lead_to(self):
        self.write("vault/config", "secret")
        os.symlink("vault/config", self.path("ws", ".env"))
        self.write("outside", "canary", folder="elsewhere")
        os.symlink(self.path("elsewhere", "outside"),
                   self.path("ws", ".netrc"))
        os.symlink("loop.kdbx", self.path("ws", "loop.kdbx"))
        done = self.over("cat .env .netrc loop.kdbx vault/config; ls -A")
        self.assertEqual(done.out, "vault\n", done.err)
        self.assertEqual(self.read("elsewhere", "outside"), "canary")
        self.assertEqual(os.listdir(self.path("elsewhere")), ["outside"])

    def test_hard_links_of_secrets_are_hidden_too(self):
        self.write("id_rsa", "secret")
        os.mkdir(self.path("ws", "node_modules"))
        self.own(self.path("ws", "node_modules"))
        os.link(self.path("ws", "id_rsa"),
                self.path("ws", "node_modules", "readme"))
        done = self.over("cat id_rsa node_modules/readme; ls node_modules")
        self.assertEqual(done.out, "", done.err)

    # L11
    def test_patterns_hide_and_show(self):
        for name in ("config/prod.yaml", "a/b/x.secret", "a/keep.secret",
                     ".env", "private/one", "private/two/three"):
            self.write(name, "S")
        done = self.over(
            "cat config/prod.yaml a/b/x.secret private/one; "
            "cat a/keep.secret .env; ls",
            secrets={"mask": ["config/*.yaml", "**/*.secret", "private",
                              "nothing/**"],
                     "show": ["a/keep.secret", ".env"]})
        self.assertEqual(done.out, "SSa\nconfig\n", done.err)
        self.assertEqual(len(done.result["degraded"]), 1)
        self.assertIn("nothing/**", done.result["degraded"][0])

    def test_a_pattern_that_would_mean_nothing_is_refused(self):
        for pattern in ("[a-z]*", "/etc/x", "../x", "a**", "", "{a,b}"):
            done = self.over("touch ran", secrets={"mask": [pattern]})
            self.assert_ran(done, 125)
            self.assertEqual(done.result["stage"], "plan")
        self.assertFalse(os.path.exists(self.upper("ran")))

    # B31
    def test_sockets_of_the_host_are_hidden(self):
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self.path("ws", "docker.sock"))
            os.chmod(self.path("ws", "docker.sock"), 0o777)
            listening.listen(1)
            done = self.over("ls -A")
        self.assertEqual(done.out, "")
        self.assertIn("docker.sock", done.result["hidden_files"])

    # CVE-2026-25725: settings that did not exist can be made, inside.
    def test_watched_names_are_written_inside_only(self):
        subprocess.run(["git", "init", "-q", self.ws], check=True)
        subprocess.run(["chown", "-R", "--reference=" + self.ws, self.ws],
                       check=True)
        before = self.read("ws", ".git", "config")
        done = self.over("echo evil > .git/config && echo evil > CLAUDE.md "
                         "&& mkdir .vscode && echo > .vscode/settings.json")
        self.assert_ran(done)
        self.assertEqual(self.read("ws", ".git", "config"), before)
        self.assertEqual(os.listdir(self.ws), [".git"])

    def test_a_folder_that_keeps_no_attributes_is_told(self):
        # /proc keeps none; any other file system here does.
        done = self.over("touch ran", folder="/proc/self")
        self.assert_ran(done, 125)
        self.assertFalse(os.path.exists(self.path("ws", "ran")))

    def test_a_folder_in_an_overlay_is_told(self):
        done = self.run_box(["true"], before=[
            "unshare", "-Urm", "--propagation", "private", "bash", "-c",
            "mkdir -p $0/m/{u,w,o} && mount -t overlay o -o lowerdir=$0/box,"
            "upperdir=$0/m/u,workdir=$0/m/w,userxattr $0/m/o && "
            "mount --bind $0/m/o $0/box && exec \"$@\"", self.top],
            workspace={"path": self.ws, "mode": "overlay",
                       "folder": self.folder})
        if box.WHO == "root":
            self.assertNotEqual(done.code, 0)
            return
        self.assert_ran(done, 125)
        self.assertIn("overlay.xattr", done.err)
        self.assertIn("--files direct", done.err)

    # L06
    def test_a_missing_folder_or_layer_is_an_error(self):
        for more in ({"folder": self.path("none")},
                     {"layers": [self.path("none")]}):
            done = self.over("touch ran", **more)
            self.assert_ran(done, 125)
            self.assertEqual(done.result["stage"], "sources")
        os.rmdir(self.path("box", "work"))
        done = self.over("touch ran")
        self.assert_ran(done, 125)
        self.assertEqual(done.result["stage"], "workspace")
        self.assertEqual(os.listdir(self.ws), [])

    def test_a_pattern_of_mounts_inside_the_workspace(self):
        self.write("data", "payload", folder="extra")
        done = self.over("cat in/data; touch in/x", mounts=[
            {"source": self.path("extra"), "at": self.ws + "/in",
             "access": "ro"}])
        self.assertEqual(done.out, "payload", done.err)
        self.assertIn("Read-only", done.err)


if __name__ == "__main__":
    box.main()
