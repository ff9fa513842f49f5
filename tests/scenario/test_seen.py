#!/usr/bin/python3 -I
"""What a person sees of a refusal, tool by tool.

seen.txt has what each tool wrote when it was refused, with what changes from
run to run replaced.  With a path as argument that file is written instead, to
be read by a person before it takes the place of seen.txt.
"""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import World, become_ordinary  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "seen.txt")

NODE = ("fetch('%s', %s).then(async r => console.log(r.status, "
        "await r.text()), e => console.log(String(e.cause || e)))")
PYTHON = ("import urllib.request as u, urllib.error as e\n"
          "try: print(u.urlopen(u.Request('%s', method='%s')).status)\n"
          "except e.HTTPError as x: print(x.code, x.read().decode())\n"
          "except e.URLError as x: print(x)")


class Seen(World):
    def commands(self, port):
        web = "https://api.test:%d" % port
        places = [
            ("no rule for the host", "https://other.test:%d/" % port, "GET"),
            ("another port", "https://api.test:%d/" % (port ^ 1), "GET"),
            ("the method", web + "/read", "DELETE"),
            ("the path", web + "/elsewhere", "GET"),
            ("denied by name", web + "/secret", "GET"),
            ("a metadata address", "http://169.254.169.254/", "GET"),
            ("clear text", "http://api.test/read/x", "GET"),
        ]
        for what, url, method in places:
            yield what, "curl", ["curl", "-sS", "-m", "30", "-X", method, url]
            yield what, "node", ["node", "-e", NODE % (
                url, "{method: '%s'}" % method)]
            yield what, "python", ["python3", "-I", "-c",
                                   PYTHON % (url, method)]
        for what, url in (("no rule for the host", "https://other.test:%d/x.git"
                           % port), ("the path", web + "/x.git")):
            yield what, "git", ["git", "ls-remote", url]
        yield "no rule for the host", "npm", [
            "npm", "view", "x", "--registry=https://other.test:%d/" % port,
            "--fetch-retries=0"]
        yield "the path", "npm", ["npm", "view", "x",
                                  "--registry=" + web, "--fetch-retries=0"]
        yield "no rule for the host", "ssh", [
            "ssh", "-F", "/dev/null", "-o", "BatchMode=yes", "-o",
            "StrictHostKeyChecking=no", "other.test", "true"]
        yield "a host with rules for HTTP", "ssh", [
            "ssh", "-F", "/dev/null", "-o", "BatchMode=yes", "-o",
            "StrictHostKeyChecking=no", "api.test", "true"]
        yield "a host with rules for HTTP", "git over ssh", [
            "git", "ls-remote", "ssh://git@api.test/x.git"]

    def plain(self, text, port):
        """Without what another run has otherwise."""
        for pattern, word in (
                (r":%d\b" % port, ":PORT"), (r":%d\b" % (port ^ 1), ":OTHER"),
                (r'"event":"[0-9a-f]+"', '"event":"ID"'),
                (r"198\.1[89]\.\d+\.\d+|fd65:7865:6174:[0-9a-f:]+", "ADDRESS"),
                (r"/home/agent/\.npm/_logs/\S+", "LOG"),
                (r"after \d+ ms", "after MS"),
                (r"curl: \(\d+\) ", "curl: "), ("npm ERR!", "npm error")):
            text = re.sub(pattern, word, text)
        return text.strip()

    def test_every_refusal_reads_as_it_did_when_a_person_read_it(self):
        origin = self.origin()
        rules = [self.rule("api", "api.test", origin, path=["/read/**"]),
                 {"id": "no-secrets", "host": ["api.test"],
                  "port": [origin.port], "path": ["/secret"],
                  "action": "deny", "reason": "Ask Ada for what is in there."}]
        seen = []
        for what, tool, words in self.commands(origin.port):
            _, out, err = self.run_box(rules, *words, options=["--quiet"])
            text = self.plain(out + err, origin.port)
            if tool == "npm":
                # The rest differs from version to version.
                text = "\n".join(line for line in text.splitlines() if
                                 re.match(r"npm error (code|403 403) ", line))
            seen.append("== %s: %s\n%s\n" % (tool, what, text))
        text = "\n".join(seen)
        self.assertEqual(origin.heard, [])
        if WRITE:
            with open(WRITE, "w") as out:
                out.write(text)
            return
        with open(GOLDEN) as golden:
            self.assertEqual(text.splitlines(), golden.read().splitlines())


if __name__ == "__main__":
    become_ordinary()
    WRITE = sys.argv.pop() if len(sys.argv) > 1 else None
    unittest.main()
