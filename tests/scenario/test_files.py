#!/usr/bin/python3 -I
"""What a run writes, from the sandbox to the workspace: launcher.md 14, 28."""
import json
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import world
from world import World


class Files(World):
    def write(self, name, text="", mode=None):
        path = os.path.join(self.workspace, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write(text)
        if mode is not None:
            os.chmod(path, mode)
        return path

    def read(self, name):
        with open(os.path.join(self.workspace, name)) as source:
            return source.read()

    def exists(self, name):
        return os.path.lexists(os.path.join(self.workspace, name))

    def exeat(self, *words):
        return subprocess.run(
            [os.path.join(self.bin, "exeat"), *words], env=self.environment,
            cwd=self.workspace, capture_output=True, timeout=120,
            stdin=subprocess.DEVNULL)

    def sh(self, script, *options, code=0):
        got, self.out, self.err = self.run_box(
            [], "bash", "-c", script, options=options)
        self.assertEqual(got, code, self.err)
        return self.out

    def held(self):
        """The runs that hold something."""
        done = self.exeat("diff")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.split()[0] for line in done.stdout.decode().splitlines()]

    def changes(self, run, *paths):
        done = self.exeat("diff", "--json", run, *paths)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {change["path"]: change for change in json.loads(done.stdout)}

    def boxes(self):
        folder = os.path.join(self.environment["HOME"],
                              ".local/state/exeat/files/boxes")
        return os.listdir(folder) if os.path.isdir(folder) else []

    def tree(self):
        """Everything of the workspace, with what matters of it."""
        found = {}
        for folder, folders, files in os.walk(self.workspace):
            for name in folders + files:
                path = os.path.join(folder, name)
                st = os.lstat(path)
                short = os.path.relpath(path, self.workspace)
                text = None
                if os.path.islink(path):
                    text = os.readlink(path)
                elif os.path.isfile(path):
                    with open(path, "rb") as source:
                        text = source.read()
                found[short] = (st.st_mode, text)
        return found


class Applying(Files):
    def test_what_is_safe_is_there_after_the_run(self):
        self.write("kept", "kept")
        self.write("gone", "x")
        self.write("changed", "before")
        self.write("lib/old", "x")
        self.write("lib/deep/older", "x")
        self.sh("echo new > new; rm gone; echo after > changed; "
                "rm -r lib; mkdir lib; echo y > lib/young; "
                "mkdir -p a/b/c; echo z > a/b/c/z; ln -s new link; "
                "printf '#!/bin/sh\n' > tool; chmod 755 tool; ln tool tool2; "
                "mkdir ro; echo r > ro/r; chmod 555 ro")
        self.assertEqual(self.read("new"), "new\n")
        self.assertEqual(self.read("changed"), "after\n")
        self.assertEqual(self.read("kept"), "kept")
        self.assertFalse(self.exists("gone"))
        self.assertEqual(os.listdir(os.path.join(self.workspace, "lib")),
                         ["young"])
        self.assertEqual(self.read("a/b/c/z"), "z\n")
        self.assertEqual(os.readlink(os.path.join(self.workspace, "link")),
                         "new")
        self.assertTrue(os.access(os.path.join(self.workspace, "tool"),
                                  os.X_OK))
        self.assertEqual(
            os.stat(os.path.join(self.workspace, "tool")).st_ino,
            os.stat(os.path.join(self.workspace, "tool2")).st_ino)
        self.assertEqual(
            os.stat(os.path.join(self.workspace, "ro")).st_mode & 0o777,
            0o555)
        os.chmod(os.path.join(self.workspace, "ro"), 0o755)
        self.assertIn(" applied to the workspace", self.err)
        self.assertNotIn("held", self.err)
        self.assertEqual(self.boxes(), [])
        for name in ("new", "changed", "lib/young"):
            self.assertEqual(
                os.listxattr(os.path.join(self.workspace, name)), [])

    def test_the_round_trip_gives_the_same_tree(self):
        """The run's own view at its end is what is there afterwards."""
        for i in range(30):
            self.write("d%d/f%d" % (i % 5, i), "%d" % i)
        script = (
            "import os, random, shutil\n"
            "r = random.Random(%d)\n"
            "for i in range(200):\n"
            "  d = 'd%%d' %% r.randrange(8)\n"
            "  f = d + '/f%%d' %% r.randrange(12)\n"
            "  what = r.randrange(7)\n"
            "  try:\n"
            "    if what == 0: shutil.rmtree(d)\n"
            "    elif what == 1: os.makedirs(d + '/sub/sub', exist_ok=True)\n"
            "    elif what == 2: os.rename(d, 'd%%d' %% r.randrange(8))\n"
            "    elif what == 3: os.unlink(f)\n"
            "    elif what == 4: os.symlink('x', f)\n"
            "    elif what == 5: os.makedirs(f)\n"
            "    else:\n"
            "      os.makedirs(d, exist_ok=True); open(f, 'w').write(str(i))\n"
            "  except OSError: pass\n"
            "for p, ds, fs in sorted(os.walk('.')):\n"
            "  for n in sorted(ds + fs):\n"
            "    q = os.path.join(p, n)\n"
            "    print(q, os.lstat(q).st_mode, os.readlink(q) if "
            "os.path.islink(q) else open(q).read() if os.path.isfile(q) "
            "else '')\n")
        for seed in range(4):
            inside = self.run_box([], "python3", "-I", "-c", script % seed)
            self.assertEqual(inside[0], 0, inside[2])
            lines = []
            for path, folders, files in sorted(os.walk(self.workspace)):
                short = os.path.relpath(path, self.workspace)
                for name in sorted(folders + files):
                    here = os.path.join(path, name)
                    text = ""
                    if os.path.islink(here):
                        text = os.readlink(here)
                    elif os.path.isfile(here):
                        with open(here) as source:
                            text = source.read()
                    lines.append("%s %d %s" % (
                        "./" + os.path.normpath(os.path.join(short, name)),
                        os.lstat(here).st_mode, text))
            self.assertEqual("\n".join(lines) + "\n", inside[1])
            self.assertEqual(self.boxes(), [], inside[2])

    def test_odd_names_are_taken_over(self):
        self.sh(r"touch -- $'line\nbreak' $'\xff\xfe' ' blank ' '-n' '*'; "
                r"mkdir $'\x1b[31m'; echo x > $'\x1b[31m'/CLAUDE.md")
        names = os.listdir(os.fsencode(self.workspace))
        for name in (b"line\nbreak", b"\xff\xfe", b" blank ", b"-n", b"*"):
            self.assertIn(name, names)
        # What a sandbox named moves no cursor.
        self.assertNotIn("\x1b", self.err)
        self.assertIn("\\x1b[31m/CLAUDE.md", self.err)

    # CVE-2026-25725, section 6.4: also names that were not there.
    def test_what_the_host_would_execute_is_held(self):
        subprocess.run(["git", "init", "-q", self.workspace], check=True)
        config = self.read(".git/config")
        self.write("CLAUDE.md", "ours")
        watched = [".git/hooks/pre-commit", ".git/config", ".git/commondir",
                   ".envrc", ".vscode/tasks.json", "sub/.idea/x", "CLAUDE.md",
                   ".github/workflows/ci.yml", ".mcp.json"]
        self.sh("; ".join("mkdir -p $(dirname %s); echo evil > %s" % (n, n)
                          for n in watched) + "; echo fine > fine")
        self.assertEqual(self.read("fine"), "fine\n")
        self.assertEqual(self.read(".git/config"), config)
        self.assertEqual(self.read("CLAUDE.md"), "ours")
        for name in watched:
            if name not in (".git/config", "CLAUDE.md"):
                self.assertFalse(self.exists(name), name)
        run, = self.held()
        changes = self.changes(run)
        for name in watched:
            self.assertEqual(changes[name]["class"], "review", name)
        self.assertIn("exeat apply " + run, self.err)
        # Without consent nothing moves, with it what was named does.
        done = self.exeat("apply", "--yes", run)
        self.assertEqual(done.returncode, 1)
        self.assertFalse(self.exists(".envrc"))
        done = self.exeat("apply", "--yes", "--review", run, ".envrc")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.read(".envrc"), "evil\n")
        self.assertFalse(self.exists(".mcp.json"))
        self.assertEqual(self.exeat("apply", "--yes", "--review",
                                    run).returncode, 0)
        self.assertEqual(self.read(".git/hooks/pre-commit"), "evil\n")
        self.assertEqual(self.held(), [])
        self.assertEqual(self.boxes(), [])

    def test_a_hidden_secret_is_never_taken_for_a_deletion(self):
        self.write(".env", "secret")
        self.write("sub/.env", "secret")
        self.write("sub/other", "x")
        self.write("whole/id_rsa", "secret")
        out = self.sh("cat .env sub/.env whole/id_rsa; rm -rf whole sub/other; "
                      "echo mine > .env; true")
        self.assertEqual(out, "")
        self.assertEqual(self.read("sub/.env"), "secret")
        self.assertEqual(self.read("whole/id_rsa"), "secret")
        self.assertEqual(self.read(".env"), "secret")
        self.assertFalse(self.exists("sub/other"))
        changes = self.changes(self.held()[0])
        self.assertEqual({name: change["class"]
                          for name, change in changes.items()},
                         {".env": "review", "whole": "review"})

    def test_a_folder_that_a_pattern_hides_is_not_emptied(self):
        self.write("private/one", "1")
        self.sh("mkdir private; echo x > private/mine", "--hide", "private")
        self.assertEqual(self.read("private/one"), "1")
        self.assertFalse(self.exists("private/mine"))
        run, = self.held()
        self.assertEqual(set(self.changes(run)), {"private/mine"})

    def test_links_out_and_special_files_are_not_taken(self):
        self.sh("ln -s /etc/passwd abs; ln -s ../../up up; "
                "mkdir d; ln -s ../d/x in; ln -s x d/in; mkfifo pipe; "
                "python3 -c 'import socket;"
                "socket.socket(socket.AF_UNIX).bind(\"sock\")'")
        changes = self.changes(self.held()[0])
        self.assertEqual({name: change["class"]
                          for name, change in changes.items()},
                         {"abs": "review", "up": "review", "in": "review",
                          "pipe": "dropped", "sock": "dropped"})
        self.assertTrue(self.exists("d/in"))

    def test_what_changed_meanwhile_is_a_conflict(self):
        for name in ("both", "deleted", "removed", "dir/inner", "same"):
            self.write(name, "before")
        process = self.start(
            [], "bash", "-c", "echo inside > both; rm deleted; rm -r dir; "
            "echo inside > removed; echo inside > made; echo agreed > same; "
            "echo ready; read x < /srv/go/pipe",
            options=("--mount", self.door() + ":/srv/go:rw"))
        self.assertEqual(process.stdout.readline(), "ready\n")
        for name, text in (("both", "outside"), ("deleted", "outside"),
                           ("dir/inner", "outside"), ("made", "outside"),
                           ("same", "agreed\n")):
            self.write(name, text)
        os.unlink(os.path.join(self.workspace, "removed"))
        self.open_door()
        err = process.communicate(timeout=60)[1]
        run, = self.held()
        self.assertEqual({name: change["class"] for name, change
                          in self.changes(run).items()},
                         {"both": "conflict", "deleted": "conflict",
                          "dir": "conflict", "made": "conflict",
                          "removed": "conflict"})
        self.assertIn("changed there meanwhile", err)
        for name in ("both", "deleted", "dir/inner", "made"):
            self.assertEqual(self.read(name), "outside")
        self.assertFalse(self.exists("removed"))
        done = self.exeat("apply", "--yes", "--overwrite", run)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.read("both"), "inside\n")
        self.assertEqual(self.read("removed"), "inside\n")
        self.assertFalse(self.exists("dir"))

    # A folder outside that a pipe of the test lies in.
    def door(self):
        folder = os.path.join(self.folder, "door")
        os.mkdir(folder)
        os.mkfifo(os.path.join(folder, "pipe"))
        return folder

    def open_door(self):
        with open(os.path.join(self.folder, "door", "pipe"), "w") as out:
            out.write("go\n")

    def test_a_link_in_the_way_is_never_followed(self):
        os.mkdir(os.path.join(self.folder, "outside"))
        self.write("a/b/x", "x")
        self.sh("echo inside > a/b/x; echo inside > a/b/y; mkdir c; "
                "echo inside > c/z", "--apply", "never")
        run, = self.held()
        # Between the run and the person, somebody put links in their places.
        os.rename(os.path.join(self.workspace, "a/b"),
                  os.path.join(self.folder, "was"))
        os.symlink(os.path.join(self.folder, "outside"),
                   os.path.join(self.workspace, "a/b"))
        os.symlink(os.path.join(self.folder, "outside"),
                   os.path.join(self.workspace, "c"))
        # A person may say that the links are to go; nobody follows them.
        for options, code in (((), 1), (("--overwrite",), 0)):
            done = self.exeat("apply", "--yes", *options, run)
            self.assertEqual(done.returncode, code, done.stdout)
            self.assertEqual(os.listdir(os.path.join(self.folder, "outside")),
                             [])
        self.assertEqual(self.read("a/b/y"), "inside\n")

    def test_a_workspace_that_was_replaced_takes_nothing(self):
        self.sh("echo x > x", "--apply", "never")
        run, = self.held()
        os.rename(self.workspace, self.workspace + "-old")
        os.mkdir(self.workspace)
        done = self.exeat("apply", "--yes", run)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"not the folder that the run began with", done.stderr)
        self.assertEqual(os.listdir(self.workspace), [])


class Asking(Files):
    def test_apply_is_dry_unless_told_otherwise(self):
        self.sh("echo x > x", "--apply", "never")
        self.assertFalse(self.exists("x"))
        run, = self.held()
        done = self.exeat("apply", run)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"nothing was changed, add --yes", done.stdout)
        self.assertFalse(self.exists("x"))
        self.assertEqual(self.held(), [run])
        self.exeat("apply", "--yes", run)
        self.assertTrue(self.exists("x"))
        self.assertEqual(self.held(), [])

    def test_ask_without_a_terminal_is_never(self):
        self.sh("echo x > x", "--apply", "ask")
        self.assertFalse(self.exists("x"))
        self.assertEqual(len(self.held()), 1)

    def test_the_diff_is_a_patch(self):
        self.write("a", "1\n2\n3\n")
        self.write("d", "gone\n")
        before = self.tree()
        self.sh("echo 4 >> a; rm d; mkdir n; echo new > n/f; "
                "printf 'no end' > e; head -c 100 /dev/zero > bin",
                "--apply", "never")
        run, = self.held()
        patch = self.exeat("diff", run).stdout
        self.assertIn(b"not shown: no text", patch)
        self.assertEqual(self.tree(), before)
        subprocess.run(["patch", "-p1", "-s", "-E"], input=patch, check=True,
                       cwd=self.workspace)
        self.assertEqual(self.read("a"), "1\n2\n3\n4\n")
        self.assertEqual(self.read("n/f"), "new\n")
        self.assertEqual(self.read("e"), "no end")
        self.assertFalse(self.exists("d"))

    def test_paths_narrow_what_is_shown_and_applied(self):
        self.sh("mkdir -p src/a srcs; echo 1 > src/a/x; echo 2 > src/y; "
                "echo 3 > srcs/z; echo 4 > w", "--apply", "never")
        run, = self.held()
        self.assertEqual(set(self.changes(run, "src/")),
                         {"src", "src/a", "src/a/x", "src/y"})
        self.assertEqual(set(self.changes(run, "src/a/x", "w")),
                         {"src/a/x", "w"})
        self.exeat("apply", "--yes", run, "src")
        self.assertTrue(self.exists("src/a/x"))
        self.assertFalse(self.exists("w"))
        self.assertEqual(set(self.changes(run)), {"srcs", "srcs/z", "w"})
        for path in ("/etc", "../x", "."):
            self.assertEqual(self.exeat("diff", run, path).returncode, 125)

    def test_discard_throws_away(self):
        self.sh("mkdir -p d/e; echo x > d/e/x; chmod 000 d/e", "--apply",
                "never")
        run, = self.held()
        self.assertEqual(self.exeat("discard", run).returncode, 0)
        self.assertEqual(self.boxes(), [])
        done = self.exeat("discard", run)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"no run " + run.encode(), done.stderr)
        self.assertEqual(self.exeat("diff", "../x").returncode, 125)

    def test_the_result_tells_the_numbers(self):
        self.write("b", "x")
        self.write("c", "x")
        result = os.path.join(self.folder, "result.json")
        self.sh("echo > a; rm b; echo > c; echo > CLAUDE.md", "--result",
                result)
        with open(result) as text:
            changes = json.load(text)["changes"]
        self.assertEqual(changes, {
            "added": 2, "changed": 1, "deleted": 1, "review": 1,
            "conflict": 0, "dropped": 0, "applied": 3, "held": 1})


class Modes(Files):
    def test_direct_writes_go_through_at_once(self):
        self.sh("echo x > x; echo > CLAUDE.md", "--files", "direct")
        self.assertEqual(self.read("x"), "x\n")
        self.assertEqual(self.boxes(), [])

    def test_discarded_writes_are_gone(self):
        self.sh("echo x > x; cat x", "--files", "discard")
        self.assertEqual(self.out, "x\n")
        self.assertFalse(self.exists("x"))
        self.assertEqual(self.boxes(), [])

    def test_no_other_word_is_taken(self):
        for options in (("--files", "both"), ("--apply", "all"),
                        ("--hide", "[a]"), ("--show", "/x")):
            self.sh("true", *options, code=125)

    def test_a_command_that_did_not_start_leaves_nothing(self):
        code, _, err = self.run_box([], "no-such-program")
        self.assertEqual(code, 127)
        self.assertEqual(self.boxes(), [])

    def test_the_store_is_not_for_the_sandbox(self):
        self.environment["XDG_STATE_HOME"] = self.workspace
        self.sh("true", code=125)
        self.assertIn("XDG_STATE_HOME", self.err)

    def test_show_makes_an_exception(self):
        self.write(".env", "A=1")
        self.write("id_rsa", "S")
        self.assertEqual(self.sh("cat .env id_rsa; true", "--show", ".env"),
                         "A=1")


class Deaths(Files):
    def begin(self, *options):
        process = self.start(
            [], "bash", "-c", "echo kept > kept; echo > CLAUDE.md; "
            "echo ready; while :; do sleep 1; done", options=options)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_a_run_that_is_killed_loses_nothing(self):
        process = self.begin()
        run, = self.held()
        done = self.exeat("diff", run)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"still going on", done.stderr)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.wait_until_free(run)
        self.assertFalse(self.exists("kept"))
        self.assertEqual(self.exeat("apply", "--yes", run).returncode, 1)
        self.assertEqual(self.read("kept"), "kept\n")
        self.assertEqual(self.held(), [run])

    def wait_until_free(self, run):
        """Its sandbox dies behind it: it may take a moment."""
        for _ in range(2000):
            if self.exeat("diff", run).returncode == 0:
                return
        self.fail("the run never becomes free")

    def test_the_next_run_removes_what_a_killed_one_discards(self):
        process = self.begin("--files", "discard")
        self.assertEqual(len(self.boxes()), 1)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        for _ in range(2000):
            self.sh("true")
            if self.boxes() == []:
                break
        self.assertEqual(self.boxes(), [])

    def test_a_term_still_brings_the_files(self):
        process = self.begin()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(self.read("kept"), "kept\n")
        self.assertFalse(self.exists("CLAUDE.md"))

    # issue 7, point 9
    def test_several_runs_share_one_base(self):
        self.write("shared", "before")
        first, second = self.begin(), self.begin()
        self.assertEqual(len(self.held()), 2)
        for process in (first, second):
            process.send_signal(signal.SIGTERM)
        for process in (first, second):
            process.communicate(timeout=60)
        self.assertEqual(self.read("kept"), "kept\n")
        for run in self.held():
            self.assertEqual(set(self.changes(run)), {"CLAUDE.md"})


# launcher.md section 14, test 29
class Snapshots(Files):
    def take(self, name, script, *options):
        self.sh(script, "--snapshot", name, "--apply", "never", *options)
        for run in self.held():
            self.exeat("discard", run)

    def look(self, name, script="cat f; ls -A"):
        return self.sh(script, "--from", name, "--files", "discard")

    def test_two_runs_begin_at_one_snapshot_and_never_meet(self):
        self.write("f", "base")
        self.write("gone", "x")
        self.take("s1", "echo one > f; rm gone; mkdir d; echo 1 > d/x")
        before = self.look("s1", "cat f; find . -type f | sort | "
                           "xargs sha256sum")
        self.take("s2", "echo two > f; rm -r d", "--from", "s1")
        self.take("s3", "echo three > f; echo 3 > d/y", "--from", "s1")
        self.assertEqual(self.look("s2"), "two\nf\n")
        self.assertEqual(self.look("s3", "cat f; ls d"), "three\nx\ny\n")
        self.assertEqual(self.look("s1", "cat f; find . -type f | sort | "
                                   "xargs sha256sum"), before)
        self.assertEqual(self.read("f"), "base")
        # What a chain of runs changed is applied as one.
        self.sh("echo four >> f", "--from", "s3")
        self.assertEqual(self.read("f"), "three\nfour\n")
        self.assertEqual(self.read("d/y"), "3\n")
        self.assertFalse(self.exists("gone"))

    def test_many_begin_at_one_snapshot(self):
        self.take("s", "echo s > f")
        for i in range(64 if os.environ.get("EXEAT_FULL") == "1" else 6):
            self.assertEqual(
                self.look("s", "cat f; echo %d > f; cat f" % i),
                "s\n%d\n" % i)

    def test_a_chain_of_snapshots_is_one_view(self):
        self.take("s0", "echo 0 > f0")
        for i in range(1, 4):
            self.take("s%d" % i, "echo %d > f%d" % (i, i), "--from",
                      "s%d" % (i - 1))
        self.assertEqual(self.look("s3", "cat f*"), "0\n1\n2\n3\n")

    def test_secrets_stay_hidden_over_a_snapshot(self):
        self.write(".env", "secret")
        self.take("s", "echo x > x; echo own > .env")
        self.write("late/.env", "secret")
        self.assertEqual(self.look("s", "cat .env late/.env; true"), "own\n")
        self.sh("true", "--from", "s")
        self.assertEqual(self.read(".env"), "secret")
        self.assertEqual(self.read("late/.env"), "secret")

    def test_what_is_held_can_be_sealed_later(self):
        self.sh("echo x > x", "--apply", "never")
        run, = self.held()
        self.assertEqual(self.exeat("snapshot", run, "late").returncode, 0)
        self.assertEqual(set(self.changes(run)), {"x"})
        self.exeat("discard", run)
        self.assertEqual(self.look("late", "cat x"), "x\n")

    def test_what_cannot_be_is_told(self):
        self.take("s", "echo x > x")
        self.sh("true", "--from", "none", code=125)
        self.assertIn("ref.missing", self.err)
        for name in ("../s", ".s", "a b", ""):
            self.sh("true", "--from", name, code=125)
        self.sh("echo y > y", "--snapshot", "s", code=125)
        self.assertIn("already", self.err)
        self.assertEqual(self.look("s", "ls"), "x\n")
        # The run's own writes are not lost by that.
        self.assertEqual(len(self.held()), 1)
        self.exeat("discard", *self.held())
        os.rename(self.workspace, self.workspace + "-old")
        os.mkdir(self.workspace)
        self.workspace += "-old"
        self.sh("true", "--from", "s", code=125)
        self.assertIn("state.conflict", self.err)

    def test_a_sealing_that_was_killed_is_finished(self):
        """At each step of it: see files/snapshot."""
        for step in range(4):
            self.sh("echo x > x", "--apply", "never")
            run, = self.held()
            store = os.path.join(self.environment["HOME"],
                                 ".local/state/exeat/files")
            box = os.path.join(store, "boxes", run)
            with open(os.path.join(box, "sealing"), "w") as note:
                note.write("" if step == 0 else "layer%d" % step)
            layer = os.path.join(store, "layers", "layer%d" % step)
            if step >= 2:
                os.makedirs(layer)
                os.link(os.path.join(box, "hidden"),
                        os.path.join(layer, "hidden"))
            if step >= 3:
                os.rename(os.path.join(box, "upper"),
                          os.path.join(layer, "tree"))
            self.assertEqual(set(self.changes(run)), {"x"})
            self.assertFalse(os.path.exists(os.path.join(box, "sealing")))
            self.assertEqual(self.exeat("apply", "--yes", run).returncode, 0)
            self.assertEqual(self.read("x"), "x\n")
            os.unlink(os.path.join(self.workspace, "x"))


if __name__ == "__main__":
    world.become_ordinary()
    unittest.main()
