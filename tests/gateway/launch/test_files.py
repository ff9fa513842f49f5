"""What a sandbox sees of the machine's files, and what it does not."""
import os
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
import box
from box import Box, USER, only


class View(Box):
    def test_the_workspace_is_at_its_own_path_and_writes_go_through(self):
        self.write("a", "from outside")
        done = self.sh("pwd; cat a; echo inside > b; mkdir -p d/e")
        self.assertEqual(done.out, self.ws + "\nfrom outside")
        self.assertEqual(self.read("ws", "b"), "inside\n")
        owner = os.stat(self.ws).st_uid
        for name in ("b", "d", "d/e"):
            self.assertEqual(os.stat(self.path("ws", name)).st_uid, owner)

    @only("root")
    def test_root_gives_files_to_the_workspaces_owner(self):
        for owner in (0, USER, 54321):
            os.chown(self.ws, owner, owner)
            done = self.sh("touch by-%d && stat -c %%U . by-%d" %
                           (owner, owner))
            self.assertEqual(done.out, "agent\nagent\n", done.err)
            self.assertEqual(
                os.stat(self.path("ws", "by-%d" % owner)).st_uid, owner)

    @only("root")
    def test_root_is_never_mapped_in(self):
        os.chown(self.ws, 0, 0)
        done = self.sh("cat /proc/self/uid_map /proc/self/gid_map")
        for line in done.out.strip().split("\n"):
            self.assertGreaterEqual(int(line.split()[1]), 1879048192)

    def test_homes_and_their_secrets_are_not_there(self):
        home = self.path("home")
        for name in (".ssh/id_rsa", ".aws/credentials", ".kube/config",
                     ".config/gcloud/x", ".netrc"):
            self.write(name, "canary", folder="home")
        os.symlink(home + "/.ssh/id_rsa", self.path("ws", "link"))
        done = self.sh("cat %s/.ssh/id_rsa /proc/self/root%s/.netrc link; "
                       "ls -A ~; ls %s" % (home, home, self.top))
        self.assertNotIn("canary", done.out)
        self.assertEqual(done.out.strip(), "ws")

    def test_a_home_is_refused_as_a_mount(self):
        self.write(".ssh/config", "x", folder="home")
        for mounts in ([{"source": self.path("home"), "at": "/srv/h",
                         "access": "ro"}],
                       [{"source": "/", "at": "/srv/all", "access": "ro"}]):
            done = self.run_box(["touch", "ran"], mounts=mounts)
            self.assert_ran(done, 125)
            self.assertEqual(done.result["stage"], "sources")
        self.assertFalse(os.path.exists(self.path("ws", "ran")))

    def test_the_machines_proc_is_refused_as_a_mount(self):
        # /proc/PID/root of a process outside leads to all of its files.
        for source in ("/proc", "/proc/%d" % os.getpid()):
            done = self.run_box(["true"], mounts=[
                {"source": source, "at": "/srv/x", "access": "ro"}])
            self.assert_ran(done, 125)
            self.assertIn("is a part of /proc", done.err)

    def test_links_sockets_and_missing_places_are_refused(self):
        os.symlink("/etc", self.path("link"))
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self.path("docker.sock"))
            for name, words in (("link", "symbolic link"),
                                ("docker.sock", "a socket"),
                                ("missing", "No such file")):
                done = self.run_box(["true"], mounts=[
                    {"source": self.path(name), "at": "/srv/x",
                     "access": "ro"}])
                self.assert_ran(done, 125)
                self.assertIn(words, done.err)

    def test_a_directory_as_standard_input_is_refused(self):
        # /proc/self/fd/0/.. would be the machine's own tree.
        folder = os.open(self.top, os.O_RDONLY | os.O_DIRECTORY)
        try:
            done = self.run_box(["touch", "ran"], stdin=folder)
        finally:
            os.close(folder)
        self.assert_ran(done, 125)
        self.assertEqual(done.result["stage"], "sources")
        self.assertIn("standard input is a directory", done.err)
        self.assertFalse(self.exists("ws", "ran"))

    def test_mounts_are_there_with_their_access(self):
        self.write("data", "payload", folder="extra")
        mounts = [{"source": self.path("extra"), "at": "/srv/ro",
                   "access": "ro"},
                  {"source": self.path("extra"), "at": "/srv/rw",
                   "access": "rw"},
                  {"source": self.path("extra", "data"), "at": "/srv/file",
                   "access": "ro"}]
        done = self.sh("cat /srv/ro/data /srv/file; touch /srv/ro/x; "
                       "touch /srv/rw/y; echo >> /srv/file", mounts=mounts)
        self.assertEqual(done.out, "payloadpayload")
        self.assertEqual(done.err.count("Read-only"), 2, done.err)
        self.assertEqual(sorted(os.listdir(self.path("extra"))),
                         ["data", "y"])

    # launcher.md section 14, test 8
    def test_a_target_behind_a_link_is_refused(self):
        os.mkdir(self.path("elsewhere"))
        os.symlink(self.path("elsewhere"), self.path("ws", "trap"))
        self.write("data", "x", folder="extra")
        done = self.run_box(["true"], mounts=[
            {"source": self.path("extra"), "at": self.ws + "/trap/in",
             "access": "ro"}])
        self.assert_ran(done, 125)
        self.assertEqual(os.listdir(self.path("elsewhere")), [])

    # L17, L18
    def test_temporary_places_are_private_and_bounded(self):
        canary = "/tmp/exeat-canary-%d" % os.getpid()
        with open(canary, "w") as out:
            out.write("x")
        done = self.sh("ls /tmp; python3 -c 'import multiprocessing as m;"
                       "print(m.Lock() is not None)'; "
                       "head -c 2000000 /dev/zero > /tmp/large",
                       limits={"tmp_bytes": 1000000})
        os.unlink(canary)
        self.assertNotIn("canary", done.out)
        self.assertIn("True", done.out)
        self.assertIn("No space left", done.err)

    # D03
    def test_etc_is_made_for_the_sandbox(self):
        done = self.sh("cat /etc/resolv.conf /etc/passwd /etc/hosts; "
                       "ls /etc/shadow /etc/ssh /etc/sudoers; "
                       "cat /etc/machine-id | wc -c")
        self.assertIn("nameserver 192.0.0.1", done.out)
        self.assertIn("agent:x:1000:1000", done.out)
        self.assertEqual(done.out.count("nameserver"), 1)
        self.assertEqual(done.err.count("No such file"), 3)
        self.assertTrue(done.out.endswith("0\n"))

    def test_trust_is_laid_where_programs_look(self):
        bundle = self.write("bundle.pem", "THE BUNDLE\n", folder="t")
        done = self.sh(
            "cat /etc/ssl/certs/ca-certificates.crt /etc/ssl/cert.pem "
            "/etc/pki/tls/certs/ca-bundle.crt $SSL_CERT_FILE "
            "/usr/lib/ssl/cert.pem", gateway=["--bundle", bundle])
        self.assertGreaterEqual(done.out.count("THE BUNDLE"), 4, done.err)


class Masks(Box):
    # L13: at any depth; and what only looks like a secret stays.
    def test_secrets_are_hidden_and_named(self):
        hidden = {".env": "S", "a/b/.env.production": "S", ".netrc": "S",
                  "deploy/id_ed25519": "S", "k.pem": "PRIVATE KEY",
                  ".npmrc": "//r/:_authToken=S", "x.kdbx": "S",
                  "terraform.tfstate": "S", "service-account-1.json": "S"}
        shown = {".env.example": "ok", "cert.pem": "CERTIFICATE",
                 "src/env.py": "ok", "sub/.npmrc": "cache=x"}
        for name, text in {**hidden, **shown}.items():
            self.write(name, text)
        done = self.sh("cat %s; for f in %s; do cat $f && echo LEAK; "
                       "rm -f $f && echo GONE; mv $f m && echo MOVED; "
                       "chmod 600 $f && echo OPENED; done" %
                       (" ".join(shown), " ".join(hidden)))
        self.assertEqual(done.out, "okCERTIFICATEokcache=x", done.err)
        self.assertEqual(sorted(done.result["hidden_files"]),
                         sorted(hidden))
        for name, text in hidden.items():
            self.assertEqual(self.read("ws", name), text)

    # L09
    def test_links_with_a_secrets_name_are_followed_or_lead_nowhere(self):
        self.write("real/secret", "S")
        self.write("outside", "S", folder="other")
        for name, target in (("inner/.env", "../real/secret"),
                             ("abs/.env", self.ws + "/real/secret"),
                             ("far/.env", self.path("other", "outside")),
                             ("view/.env", "/etc/hostname"),
                             ("dangling/.env", "nowhere"),
                             ("loop/.env", ".env")):
            self.write(os.path.dirname(name) + "/keep")
            os.symlink(target, self.path("ws", name))
        os.symlink("real", self.path("ws", "parent"))
        done = self.sh("cat inner/.env abs/.env far/.env dangling/.env "
                       "loop/.env real/secret parent/secret; "
                       "cat view/.env; hostname")
        self.assertEqual(done.out, "box\nbox\n", done.err)

    # B31
    def test_sockets_in_the_workspace_are_hidden(self):
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self.path("ws", "docker.sock"))
            os.chmod(self.path("ws", "docker.sock"), 0o777)
            listening.listen(1)
            done = self.run_box(["python3", "-c", """
import socket
for address in ("docker.sock", "\\0exeat-test-abstract"):
    try:
        socket.socket(socket.AF_UNIX).connect(address)
        print("connected")
    except OSError as e:
        print(e.errno)
"""])
        self.assertNotIn("connected", done.out)
        self.assertIn("docker.sock", done.result["hidden_files"])

    def test_what_the_host_executes_later_is_read_only(self):
        subprocess.run(["git", "init", "-q", self.ws], check=True)
        self.write(".git/hooks/pre-commit", "original")
        self.write(".vscode/settings.json", "original")
        self.write("CLAUDE.md", "original")
        self.write(".github/workflows/ci.yml", "original")
        subprocess.run(["chown", "-R", "--reference=" + self.ws, self.ws],
                       check=True)
        done = self.sh(
            "for f in .git/hooks/pre-commit .vscode/settings.json CLAUDE.md "
            ".github/workflows/ci.yml .git/config; do "
            "echo evil > $f && echo WROTE; rm -rf $f && echo GONE; done; "
            "for d in .git .vscode .github .git/hooks; do "
            "mv $d moved && echo MOVED; done; "
            "git add CLAUDE.md && git -c user.name=a -c user.email=a@b "
            "commit -qm works && git log --format=%s")
        self.assertEqual(done.out, "works\n", done.err)
        for name in (".git/hooks/pre-commit", "CLAUDE.md",
                     ".vscode/settings.json", ".github/workflows/ci.yml"):
            self.assertEqual(self.read("ws", name), "original")


class Tools(Box):
    def test_compilers_and_interpreters_run(self):
        self.write("a.c", "#include <stdio.h>\nint main(void)"
                          "{puts(\"compiled\");return 0;}\n")
        self.write("a.js", "require('fs');console.log(process.version[0])")
        done = self.sh(
            "gcc a.c -o a && ./a; node a.js; python3 -m venv --without-pip v "
            "&& v/bin/python -c 'print(\"venv\")'; git init -q g && "
            "git -C g status --porcelain && echo git; perl -e 'print \"perl\\n\"'")
        for word in ("compiled", "v", "venv", "git", "perl"):
            self.assertIn(word, done.out.split("\n"), done.err)

    def test_apt_finds_its_lists_and_no_settings_of_the_machine(self):
        done = self.sh("apt-cache policy bash | head -2; "
                       "ls -A /etc/apt/apt.conf.d /etc/apt/auth.conf")
        self.assertIn("Installed: ", done.out)
        self.assertEqual(done.err.count("\n"), 1, done.err)
        self.assertIn("auth.conf", done.err)

    def test_git_trusts_the_workspace(self):
        subprocess.run(["git", "init", "-q", self.ws], check=True)
        subprocess.run(["chown", "-R", "--reference=" + self.ws, self.ws],
                       check=True)
        done = self.sh("git status --porcelain")
        self.assertEqual(done.err, "")
        self.assert_ran(done)


if __name__ == "__main__":
    box.main()
