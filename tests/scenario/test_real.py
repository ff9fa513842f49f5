#!/usr/bin/python3 -I
"""Real programs in the sandbox, as their users start them.

By default what every agent uses, a shell, git, gcc and python; the heavier
ones, most of which build something, with EXEAT_FULL=1.  Registries are
servers of the test, so that nothing leaves the machine.
"""
import base64
import gzip
import hashlib
import io
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tarfile
import time
import unittest
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import World, answer, become_ordinary, receive_head  # noqa: E402

FULL = os.environ.get("EXEAT_FULL") == "1"
WAIT = 120
heavy = unittest.skipUnless(FULL, "heavy: with EXEAT_FULL=1 only")


class Real(World):
    def needs(self, *programs):
        for name in programs:
            if shutil.which(name, path="/usr/bin:/bin") is None:
                self.skipTest("not installed: " + name)

    def write(self, name, text):
        path = os.path.join(self.workspace, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write(text)
        return path

    def sh(self, script, rules=(), options=()):
        """A shell script in a sandbox, of which each step must work."""
        code, out, err = self.run_box(
            list(rules), "bash", "-euc", script,
            options=("--quiet", *options))
        self.assertEqual(code, 0, err + out)
        return out

    def on_terminal(self, command, steps):
        """Types at exeat run: each step is what is waited for, and keys."""
        master, slave = pty.openpty()
        process = subprocess.Popen(
            ["setsid", "--ctty", os.path.join(self.bin, "exeat"), "run",
             "--quiet", "--audit", self.database, "--files", self.files,
             "--", *command], stdin=slave, stdout=slave, stderr=slave,
            env={**self.environment, "TERM": "xterm"}, cwd=self.workspace)
        os.close(slave)
        # A hang-up ends what still runs because the test has failed.
        self.addCleanup(process.wait)
        self.addCleanup(os.close, master)
        end = time.monotonic() + WAIT
        heard = seen = b""
        for sees, sends in steps:
            while not re.search(sees, seen):
                left = end - time.monotonic()
                self.assertTrue(
                    left > 0 and select.select([master], [], [], left)[0],
                    (sees, heard))
                more = os.read(master, 4096)
                seen += more
                heard += more
            seen = b""
            os.write(master, sends)
        while True:
            try:
                more = os.read(master, 4096)
            except OSError:
                more = b""
            if not more:
                break
            heard += more
        return process.wait(WAIT), heard

    def house(self, files):
        """A server of these files, by their paths."""
        def serve(peer):
            while True:
                head, _ = receive_head(peer)
                if not head:
                    return
                path = head.split()[1].decode().replace("%2f", "/")
                body = files.get(path)
                if callable(body):
                    body = body()
                if body is not None:
                    answer(peer, body, b"" if path.count(".") else
                           b"Content-Type: text/html\r\n")
                else:
                    peer.sendall(b"HTTP/1.1 404 Not Found\r\n"
                                 b"Content-Length: 0\r\n\r\n")
        return self.origin(serve=serve)


class Tools(Real):
    """What is not heavy."""

    def test_git_clones_branches_commits_and_has_submodules(self):
        out = self.sh(r"""
            git config --global user.name Agent
            git config --global user.email agent@example.com
            git config --global protocol.file.allow always
            git init -q -b main library; cd library
            echo 'int three(void) { return 3; }' >three.c
            git add .; git commit -qm 'Count to three'; cd ..
            git init -q --bare -b main origin.git
            git clone -q origin.git app 2>/dev/null; cd app
            git checkout -q -b main
            git submodule --quiet add ../library vendor/library
            git commit -qm 'Take the library in'
            git push -q origin main
            git worktree add -q ../other -b other
            cd ../other; echo x >x; git add x; git commit -qm x; cd ..
            git clone -q --recurse-submodules origin.git again
            cat again/vendor/library/three.c
            git -C app merge -q other; git -C app log --oneline | wc -l
            git -C app fsck --full""")
        self.assertIn("int three(void)", out)
        self.assertIn("\n2\n", out)

    def test_gcc_and_make_build_a_program(self):
        self.write("main.c", "#include <math.h>\n#include <stdio.h>\n"
                   "int main(void) { printf(\"%.3f\\n\", cos(0)); }\n")
        self.write("Makefile", "app: main.c\n\tcc -g -o $@ $< -lm\n")
        self.assertEqual(self.sh("make -s -j4; ./app"), "1.000\n")
        self.assertTrue(os.path.exists(os.path.join(self.workspace, "app")))

    def test_python_makes_a_venv_and_pip_installs_into_it(self):
        files = {}
        wheel = io.BytesIO()
        with zipfile.ZipFile(wheel, "w") as package:
            info = "three-1.0.dist-info/"
            package.writestr("three.py", "def three(): return 3\n")
            package.writestr(info + "METADATA", "Metadata-Version: 2.1\n"
                             "Name: three\nVersion: 1.0\n")
            package.writestr(info + "WHEEL", "Wheel-Version: 1.0\n"
                             "Root-Is-Purelib: true\nTag: py3-none-any\n")
            package.writestr(info + "RECORD", "")
        name = "three-1.0-py3-none-any.whl"
        files["/simple/three/"] = b"<a href='/%s'>x</a>" % name.encode()
        files["/" + name] = wheel.getvalue()
        house = self.house(files)
        out = self.sh(r"""
            python3 -m venv env; . env/bin/activate
            pip install -q --disable-pip-version-check \
                --index-url https://a.test:%d/simple three
            python -c 'import three; print(three.three())'""" % house.port,
                      [self.rule("house", "a.test", house)])
        self.assertEqual(out, "3\n")

    def test_bash_has_job_control_on_a_terminal(self):
        code, out = self.on_terminal(
            ["bash", "--norc", "-i"], [
                (b"\\$ ", b"PS1='ready> '\n"),
                (b"ready> ", b"sh -c \"echo be''gun; exec sleep 1000\"\n"),
                (b"begun", b"\x1a"),
                (b"Stopped", b"bg; jobs\n"), (b"Running", b"kill %1\n"),
                (b"ready> ", b"wait; echo do''ne\n"), (b"done", b"exit 4\n")])
        self.assertEqual(code, 4, out)
        self.assertNotRegex(out.decode(), "job control|process group")


@heavy
class Editors(Real):
    """Programs that fill a terminal."""

    def test_vim_edits_a_file(self):
        self.needs("vim")
        self.write("poem", "roses are red\n")
        code, out = self.on_terminal(
            ["vim", "-u", "NONE", "-N", "poem"],
            [(b"roses", b":%s/red/blue/\r"), (b"blue", b"oviolets\x1b"),
             (b"violets", b":wq\r")])
        self.assertEqual(code, 0, out)
        with open(os.path.join(self.workspace, "poem")) as poem:
            self.assertEqual(poem.read(), "roses are blue\nviolets\n")

    def test_tmux_keeps_a_session_and_attaches_to_it(self):
        self.needs("tmux")
        code, out = self.on_terminal(
            ["bash", "-c", "tmux -f /dev/null new-session -d -s work 'echo "
             "in the window; read line; echo $line >heard; "
             "tmux wait-for -S heard; exec cat'; "
             "(tmux wait-for heard; tmux detach-client -s work) & "
             "exec tmux attach -t work"],
            [(b"in the window", b"typed\r")])
        self.assertEqual(code, 0, out)
        self.assertIn(b"detached", out)
        with open(os.path.join(self.workspace, "heard")) as heard:
            self.assertEqual(heard.read(), "typed\n")


@heavy
class Builds(Real):
    def test_cmake_finds_the_compiler_and_runs_its_tests(self):
        self.needs("cmake", "ctest", "g++")
        self.write("main.cc", "#include <iostream>\n"
                   "int main() { std::cout << \"built\\n\"; }\n")
        self.write("CMakeLists.txt",
                   "cmake_minimum_required(VERSION 3.13)\nproject(p CXX)\n"
                   "enable_testing()\nadd_executable(app main.cc)\n"
                   "add_test(NAME app COMMAND app)\n")
        out = self.sh("cmake -S . -B out >/dev/null\n"
                      "cmake --build out -j2 >/dev/null\n"
                      "ctest --test-dir out --output-on-failure; out/app")
        self.assertIn("100% tests passed", out)

    def test_go_builds_and_tests(self):
        self.needs("go")
        self.write("go.mod", "module example.com/three\n\ngo 1.19\n")
        self.write("three.go", "package main\n\nimport \"fmt\"\n\n"
                   "func three() int { return 3 }\n\n"
                   "func main() { fmt.Println(three()) }\n")
        self.write("three_test.go", "package main\n\nimport \"testing\"\n\n"
                   "func TestThree(t *testing.T) { if three() != 3 {"
                   " t.Fail() } }\n")
        out = self.sh("go vet; go test -race 2>&1 || go test; go build -o t; "
                      "./t", options=("--limit", "tmp=2GiB"))
        self.assertIn("ok  \texample.com/three", out)
        self.assertTrue(out.endswith("3\n"), out)

    def test_cargo_builds_and_tests(self):
        self.needs("cargo")
        self.write("Cargo.toml", "[package]\nname = \"three\"\n"
                   "version = \"1.0.0\"\nedition = \"2018\"\n")
        self.write("src/main.rs", "fn main() { println!(\"three\"); }\n"
                   "#[test]\nfn counts() { assert_eq!(1 + 2, 3); }\n")
        out = self.sh("cargo test -q --offline; cargo run -q --offline")
        self.assertIn("1 passed", out)
        self.assertTrue(out.endswith("three\n"), out)

    def test_a_java_program_is_compiled_packed_and_run(self):
        self.needs("javac", "jar", "java")
        self.write("src/p/Three.java", "package p;\n"
                   "public class Three { public static void main("
                   "String[] a) throws Exception {\n"
                   "Thread t = new Thread(() -> System.out.println(3));\n"
                   "t.start(); t.join(); } }\n")
        out = self.sh("javac -d out src/p/Three.java\n"
                      "jar --create --file three.jar --main-class p.Three "
                      "-C out .\njava -jar three.jar",
                      options=("--limit", "memory=2GiB"))
        self.assertEqual(out, "3\n")

    def test_java_asks_a_server_that_it_trusts(self):
        self.needs("java")
        house = self.house({"/": b"from the house\n"})
        self.write("Ask.java", "import java.net.*;\nclass Ask {\n"
                   "public static void main(String[] a) throws Exception {\n"
                   "System.out.print(new String(new URL(a[0]).openStream()"
                   ".readAllBytes())); } }\n")
        out = self.sh("java Ask.java https://a.test:%d/" % house.port,
                      [self.rule("house", "a.test", house)])
        self.assertEqual(out, "from the house\n")


@heavy
class Packages(Real):
    def test_npm_installs_and_runs_scripts(self):
        self.needs("node", "npm")
        pack = io.BytesIO()
        with tarfile.open(fileobj=pack, mode="w:gz") as tar:
            for name, text in (
                    ("package.json", json.dumps({
                        "name": "three", "version": "1.0.0",
                        "scripts": {"postinstall": "touch done"}})),
                    ("index.js", "module.exports = () => 3;\n")):
                member = tarfile.TarInfo("package/" + name)
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))
        pack = pack.getvalue()
        files = {"/three/-/three-1.0.0.tgz": pack}
        house = self.house(files)
        files["/three"] = json.dumps({
            "name": "three", "dist-tags": {"latest": "1.0.0"},
            "versions": {"1.0.0": {
                "name": "three", "version": "1.0.0",
                "hasInstallScript": True,
                "scripts": {"postinstall": "touch done"},
                "dist": {
                    "tarball": "https://a.test:%d/three/-/three-1.0.0.tgz"
                               % house.port,
                    "integrity": "sha512-" + base64.b64encode(
                        hashlib.sha512(pack).digest()).decode()}}},
        }).encode()
        self.write("package.json", json.dumps({
            "name": "app", "version": "1.0.0", "scripts": {
                "test": "node -e \"console.log(require('three')())\""}}))
        out = self.sh(
            "npm install --no-audit --no-fund --loglevel error "
            "--registry https://a.test:%d/ three\n"
            "npm test --silent; ls node_modules/three" % house.port,
            [self.rule("house", "a.test", house)])
        self.assertIn("\n3\n", out)
        self.assertIn("done\n", out)

    def test_apt_get_downloads_a_package(self):
        self.needs("apt-get", "dpkg-deb")
        tree = os.path.join(self.folder, "tree")
        os.makedirs(tree + "/DEBIAN")
        os.makedirs(tree + "/usr/share/three")
        with open(tree + "/DEBIAN/control", "w") as out:
            out.write("Package: three\nVersion: 1.0\nArchitecture: all\n"
                      "Maintainer: A Test <test@example.com>\n"
                      "Description: three\n")
        with open(tree + "/usr/share/three/three", "w") as out:
            out.write("3\n")
        deb = os.path.join(self.folder, "three.deb")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, deb],
                       check=True, capture_output=True)
        with open(deb, "rb") as package:
            deb = package.read()
        index = ("Package: three\nVersion: 1.0\nArchitecture: all\n"
                 "Maintainer: A Test <test@example.com>\n"
                 "Filename: ./three_1.0_all.deb\nSize: %d\nSHA256: %s\n"
                 "Description: three\n" %
                 (len(deb), hashlib.sha256(deb).hexdigest())).encode()
        house = self.house({"/three_1.0_all.deb": deb, "/./Packages": index,
                            "/./Packages.gz": gzip.compress(index),
                            "/Packages": index,
                            "/./three_1.0_all.deb": deb,
                            "/Packages.gz": gzip.compress(index)})
        out = self.sh(r"""
            mkdir -p apt/lists/partial apt/archives/partial
            echo 'deb [trusted=yes] https://a.test:%d ./' >apt/sources
            apt() { apt-get -q -o Dir::Etc::SourceList="$PWD/apt/sources" \
                -o Dir::Etc::SourceParts=/dev/null \
                -o Dir::State="$PWD/apt" -o Dir::Cache="$PWD/apt" \
                -o Debug::NoLocking=1 "$@" >&2; }
            apt update; apt download three
            dpkg-deb --fsys-tarfile three_1.0_all.deb | tar -xO \
                ./usr/share/three/three""" % house.port,
                      [self.rule("house", "a.test", house)])
        self.assertEqual(out, "3\n")


@heavy
class Looking(Real):
    """Programs that look into others, and those that shut themselves in."""

    def build_something(self):
        self.write("main.c", "#include <stdio.h>\nstatic int twice(int n) "
                   "{ return 2 * n; }\nint main(void) { "
                   "printf(\"%d\\n\", twice(21)); }\n")
        return "gcc -g -O0 -o app main.c\n"

    def test_gdb_stops_at_a_line_and_reads_what_is_there(self):
        self.needs("gdb")
        out = self.sh(self.build_something() +
                      "gdb -q -nx -batch -ex 'break twice' -ex run "
                      "-ex 'print n' -ex bt -ex cont ./app 2>&1")
        self.assertIn("$1 = 21", out)
        self.assertRegex(out, r"#1 .* in main")
        self.assertIn("exited normally", out)

    def test_strace_follows_children(self):
        self.needs("strace")
        out = self.sh("strace -f -e trace=execve sh -c 'true; /bin/echo x' "
                      "2>&1")
        self.assertRegex(out, r'execve\("/(usr/)?bin/echo".* = 0')

    def test_no_debugger_without_ptrace(self):
        self.needs("strace")
        code, _, err = self.run_box([], "strace", "true",
                                    options=("--quiet", "--no-ptrace"))
        self.assertNotEqual(code, 0)
        self.assertIn("not permitted", err)

    def test_chromium_shows_a_page_inside_its_own_sandbox(self):
        self.needs("chromium")
        house = self.house({"/": b"<title>t</title><p id=x></p><script>"
                                 b"x.textContent = 'online ' + "
                                 b"navigator.onLine</script>"})
        out = self.sh(
            "chromium --headless --disable-gpu --no-first-run "
            "--user-data-dir=/tmp/profile --dump-dom https://a.test:%d/"
            % house.port, [self.rule("house", "a.test", house)],
            options=("--nested", "--limit", "memory=4GiB"))
        self.assertIn("online true", out)


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
