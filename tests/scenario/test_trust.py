#!/usr/bin/python3 -I
"""Programs of every family trust the run's authority; cases T by id.

Each fetches a path of its own from an origin whose certificate the sandbox
has never seen.  It came through the gateway if a row says that a request for
that path was read and answered with 200: only who trusts the leaf sends one.
With EXEAT_FULL=1 also those whose packages are large.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import World, answer, become_ordinary, receive_head  # noqa: E402

FULL = bool(os.environ.get("EXEAT_FULL"))

PAGES = {
    "/git/info/refs": b"0123456789012345678901234567890123456789\t"
                      b"refs/heads/main\n",
    "/npm/left-pad": b'{"name":"left-pad","dist-tags":{"latest":"1.0.0"},'
                     b'"versions":{"1.0.0":{"name":"left-pad",'
                     b'"version":"1.0.0"}}}',
    "/yarn/left-pad": b'{"name":"left-pad","dist-tags":{"latest":"1.0.0"},'
                      b'"versions":{"1.0.0":{"name":"left-pad",'
                      b'"version":"1.0.0"}}}',
    "/aws/": b'<?xml version="1.0"?><ListAllMyBucketsResult><Buckets/>'
             b"</ListAllMyBucketsResult>",
    "/apt/InRelease": b"Origin: none\n",
}

JAVA = """
import java.net.URI; import java.net.http.*;
public class Get { public static void main(String[] words) throws Exception {
  var page = HttpClient.newHttpClient().send(
    HttpRequest.newBuilder(URI.create(words[0])).build(),
    HttpResponse.BodyHandlers.ofString());
  System.out.print(page.body()); } }
"""
GO = """
package main
import ("fmt"; "io"; "net/http"; "os")
func main() {
  page, err := http.Get(os.Args[1])
  if err != nil { fmt.Println(err); os.Exit(1) }
  io.Copy(os.Stdout, page.Body)
}
"""
CARGO = """
[source.crates-io]
replace-with = "here"
[source.here]
registry = "%s"
"""
TOML = """
[package]
name = "a"
version = "0.1.0"
[dependencies]
left-pad = "1"
"""
MAVEN = """
<settings><localRepository>/tmp/m2</localRepository><mirrors><mirror><id>m</id>
<mirrorOf>*</mirrorOf><url>%s</url></mirror></mirrors></settings>
"""

# The program; what a shell does with URL, its own path at the origin.
USUAL = {
    "curl": ("curl", "curl -sS $URL"),
    "openssl": ("openssl",
                "printf 'GET /openssl HTTP/1.1\\r\\nHost: %s\\r\\n"
                "Connection: close\\r\\n\\r\\n' $HOST | openssl s_client "
                "-quiet -verify_return_error -connect $HOST"),
    "wget": ("wget", "wget -qO- $URL"),
    "git": ("git", "git ls-remote $URL"),
    "node": ("node", "node -e \"fetch('$URL').then(r => r.text())"
                     ".then(console.log)\""),
    "node-https": ("node", "node -e \"require('https').get('$URL', "
                           "r => r.pipe(process.stdout))\""),
    "npm": ("npm", "npm view left-pad --registry $URL/"),
    "python": ("python3", "python3 -c \"import urllib.request as u; "
                          "print(u.urlopen('$URL').read())\""),
    "requests": ("python3", "python3 -c \"import requests; "
                            "print(requests.get('$URL').text)\""),
    "httpx": ("python3", "python3 -c \"import httpx; "
                         "print(httpx.get('$URL').text)\""),
    "ruby": ("ruby", "ruby -rnet/http -e \"puts Net::HTTP.get("
                     "URI('$URL'))\""),
    "perl": ("perl", "perl -MLWP::UserAgent -e 'my $r = LWP::UserAgent->new"
                     "->get($ENV{URL}); print $r->status_line, "
                     "$r->content'"),
    # T17: by the user that apt would drop to, if there were another one.
    "apt": ("apt-get", "mkdir -p /tmp/apt/lists/partial && echo \"deb "
                       "[trusted=yes] $URL ./\" >/tmp/apt/list && apt-get "
                       "-o Dir::Etc::SourceList=/tmp/apt/list "
                       "-o Dir::Etc::SourceParts=- "
                       "-o Dir::State=/tmp/apt -o Dir::Cache=/tmp/apt "
                       "-o Debug::NoLocking=1 update"),
}
LARGE = {
    "pip": ("pip3", "pip3 download --no-deps --no-cache-dir --disable-pip-"
                    "version-check -d /tmp/pip -i $URL left-pad"),
    "axios": ("node", "node -e \"require('axios').get('$URL')"
                      ".then(r => console.log(r.data))\""),
    "undici": ("node", "node -e \"require('undici').request('$URL')"
                       ".then(r => r.body.text()).then(console.log)\""),
    "yarn": ("node", "node_modules/.bin/yarn --registry $URL info left-pad"),
    # T03 T04 T05: by the variable, and by the store alone.
    "java": ("java", "java Get.java $URL"),
    "java-bare": ("java", "env -u JAVA_TOOL_OPTIONS java Get.java $URL"),
    "maven": ("mvn", "printf \"$MAVEN\" $URL >/tmp/settings.xml; mvn -B "
                     "-s /tmp/settings.xml org.none:none:1:run"),
    # T10 T13: by the files alone.
    "go": ("go", "env -u SSL_CERT_FILE -u SSL_CERT_DIR GOCACHE=/tmp/go "
                 "GO111MODULE=off go run get.go $URL"),
    "cargo": ("cargo", "mkdir -p /tmp/c/src /tmp/c/.cargo && printf \"$CARGO\""
                       " $URL >/tmp/c/.cargo/config.toml && echo \"$TOML\" "
                       ">/tmp/c/Cargo.toml && touch /tmp/c/src/lib.rs && "
                       "cd /tmp/c && CARGO_HOME=/tmp/cargo cargo fetch"),
    "aws": ("aws", "aws s3api list-buckets --no-sign-request "
                   "--endpoint-url $URL/"),
    # T16: by a policy file.
    "chromium": ("chromium", "chromium --headless --no-sandbox --disable-gpu "
                             "--user-data-dir=/tmp/chromium --dump-dom $URL"),
}


def serve(peer):
    while True:
        head, _ = receive_head(peer)
        if not head:
            return
        path = head.split()[1].decode().split("?")[0]
        answer(peer, PAGES.get(path, b"hello\n"), b"Content-Type: text/html\r\n"
               if path.startswith(("/chromium", "/pip")) else b"")


class Trust(World):
    def put(self, name, text):
        with open(os.path.join(self.workspace, name), "w",
                  encoding="utf-8") as out:
            out.write(text)

    def fetch_by(self, programs):
        origin = self.origin(serve=serve)
        host = f"api.test:{origin.port}"
        script = ["export HOME=/tmp HOST=" + host]
        self.put("Get.java", JAVA)
        self.put("get.go", GO)
        for name, text in (("CARGO", CARGO), ("TOML", TOML),
                           ("MAVEN", MAVEN)):
            self.put(name, text)
            script.append(f"export {name}=\"$(cat {name})\"")
        for name, (_, command) in programs.items():
            script.append(f"(export URL=https://{host}/{name}; timeout 100 sh "
                          f"-c \"$(cat {name}.sh)\") >{name}.out 2>&1 "
                          f"</dev/null || true; echo == {name}; "
                          f"cat {name}.out")
            self.put(name + ".sh", command)
        self.put("all.sh", "\n".join(script))
        code, out, err = self.run_box(
            [self.rule("o", "api.test", origin, access="any")],
            "sh", "all.sh")
        self.assertEqual(code, 0, err)
        fetched = {(row["object"].split("/")[1], row["status"])
                   for row in self.rows("kind = 'http'")}
        for name in programs:
            with self.subTest(name):
                self.assertIn((name, 200), fetched, out)

    def test_apt_over_clear_http_is_judged_and_works(self):
        # T17
        origin = self.origin(tls=False, serve=serve)
        code, out, err = self.run_box(
            [self.rule("o", "api.test", origin, ca=False)], "sh", "-c",
            USUAL["apt"][1].replace(
                "$URL", "http://api.test:%d/apt" % origin.port))
        self.assertIn(("/apt/InRelease", 200), [
            (row["object"], row["status"])
            for row in self.rows("kind = 'http'")], out + err)

    def lacking(self, programs):
        return [program for program, _ in programs.values()
                if shutil.which(program, path="/usr/bin:/bin") is None]

    def test_what_most_people_run(self):
        # T01 T02 T07 T09 T11 T17: no variable names a proxy, none is needed.
        self.assertEqual(self.lacking(USUAL), [])
        self.fetch_by(USUAL)

    @unittest.skipUnless(FULL, "large packages: with EXEAT_FULL=1 only")
    def test_what_has_a_store_of_its_own(self):
        self.assertEqual(self.lacking(LARGE), [])
        self.install("axios", "undici", "yarn")
        self.fetch_by(LARGE)

    def install(self, *packages):
        cache = os.path.join(self.folder, "npm")
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--cache", cache,
             *packages], cwd=self.workspace, capture_output=True, text=True,
            timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_store_that_a_java_brings_is_covered(self):
        # T04: as a tarball or an image lays it.
        code, out, err = self.run_box(
            [], "od", "-An", "-tx1", "-N4",
            "/opt/java/jre/lib/security/cacerts", prefix=(
                "unshare", "-rm", "sh", "-c",
                "mount -t tmpfs none /opt && mkdir -p "
                "/opt/java/jre/lib/security && echo none "
                ">/opt/java/jre/lib/security/cacerts && exec \"$@\"", "sh"))
        self.assertEqual((code, out.split()), (0, ["fe", "ed", "fe", "ed"]),
                         err)

    def test_the_authority_lies_where_browsers_look(self):
        out = self.box([], "import os\n"
                       "print(open('/etc/chromium/policies/managed/"
                       "exeat.json').read())\n"
                       "print(open('/etc/ssl/certs/java/cacerts', 'rb')"
                       ".read(4).hex())")
        policy, magic = out.splitlines()
        certificate, = json.loads(policy)["CACertificates"]
        self.assertEqual(base64.b64decode(certificate)[0], 0x30)
        self.assertEqual(magic, "feedfeed")


if __name__ == "__main__":
    become_ordinary()
    unittest.main()
