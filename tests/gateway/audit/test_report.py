#!/usr/bin/python3 -I
"""exeat audit report: what stands on the page, and what can never stand there.

With EXEAT_FULL=1 the page is also opened by a real browser.
"""
import contextlib
import html.parser
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

BUILD = os.environ["EXEAT_BUILD"]
EXEAT = os.path.join(BUILD, "exeat")
FILL = os.path.join(BUILD, "audit_fill")
HOSTILE = "/\"><script>alert(1)</script><img src=//x.test/a onerror=b>'\u202e\x1b"
VOID = {"meta", "rect", "line", "br"}


class Page(html.parser.HTMLParser):
    """The elements of a page, its text, and whether they are well nested."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open, self.links = set(), [], [], []
        self.values = {}
        self.feed(text)
        self.close()
        assert self.open == [], self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            self.values.setdefault(name, []).append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def audit(path, *words):
    return subprocess.run([EXEAT, "audit", *words, "--audit", path],
                          capture_output=True, text=True, timeout=120,
                          check=False)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="exeat-test-report-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "audit.db")

    def fill(self, rows):
        subprocess.run([FILL, self.path, "a", str(rows)], check=True,
                       timeout=120, stdout=subprocess.DEVNULL)

    def report(self, *words):
        done = audit(self.path, "report", "--html", "-", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return Page(done.stdout)

    def change(self, sql, *values):
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            db.execute(sql, values)
            db.commit()

    def test_a_run_without_a_refusal_is_clean(self):
        self.fill(4)
        page = self.report("run-a1")
        self.assertIn("Clean All that was asked for was allowed", page.text)
        self.assertIn("The record is as it was written", page.text)

    def test_refusals_are_counted_as_in_the_summary(self):
        self.fill(110)
        summary = json.loads(
            audit(self.path, "summary", "run-a1", "--json").stdout)
        run, = summary["run"]
        page = self.report("run-a1")
        self.assertIn("Look at this", page.text)
        self.assertIn(f"requests {run['requests']:,} refused "
                      f"{run['refused']:,} ", page.text)
        self.assertIn(f"{run['refused']} attempts were refused", page.text)
        self.assertIn("No rule of the policy allows this", page.text)

    def test_all_runs_are_on_one_page(self):
        self.fill(10)
        page = self.report("--since", "365000d")
        for uid in ("run-a1", "run-a2", "run-a3"):
            self.assertIn(uid, page.text)

    def test_a_changed_record_is_told_first(self):
        self.fill(30)
        self.change("UPDATE event SET bytes_out = 1 WHERE seq = 7")
        page = self.report("run-a1")
        self.assertIn("The record was changed", page.text)
        self.assertNotIn("Clean", page.text)
        self.assertIn("The record is not as it was written", page.text)

    def test_an_alarm_is_an_alarm(self):
        self.fill(10)
        self.change("UPDATE event SET kind = 17, verdict = 2, reason = 16 "
                    "WHERE seq = 5")
        self.assertIn("1 alarm", self.report("run-a1").text)

    def test_what_a_sandbox_chose_is_only_text(self):
        self.fill(10)
        self.change("UPDATE event SET object = ?, verb = ?", HOSTILE, HOSTILE)
        self.change("UPDATE dst SET host = ? || id", HOSTILE)
        self.change("UPDATE rule SET name = ? || id", HOSTILE)
        self.change("UPDATE sandbox SET labels = json_object('command', "
                    "json_array(?)), owner = ?", HOSTILE, HOSTILE)
        page = self.report("run-a1")
        self.assertIn("<script>alert(1)</script>", page.text)
        self.assertIn("\\u202e\\x1b", page.text)
        self.assertLessEqual(page.tags & {"script", "img", "iframe", "object",
                                          "link", "form", "base"}, set())
        self.assertTrue(all(link.startswith("#")
                            for link in page.values["href"]))
        self.assertIsNone(page.values.get("src"))
        self.assertIn("default-src 'none'; style-src 'unsafe-inline'",
                      page.values["content"])

    def test_the_page_is_the_owners_and_follows_no_link(self):
        self.fill(4)
        file = os.path.join(self.folder, "page.html")
        done = audit(self.path, "report", "--html", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
        self.assertIn(": clean", done.stdout)
        link = os.path.join(self.folder, "link.html")
        os.symlink(file, link)
        done = audit(self.path, "report", "--html", link)
        self.assertEqual(done.returncode, 125)
        self.assertIn("cannot write", done.stderr)

    def test_what_is_missing_is_told(self):
        self.fill(4)
        for words, code, text in (
                ((), 125, "--html FILE"),
                (("run-none", "--html", "-"), 1, "no run"),
                (("--html", "/nowhere/x.html"), 125, "cannot write")):
            done = audit(self.path, "report", *words)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(text, done.stderr)

    @unittest.skipUnless(os.environ.get("EXEAT_FULL"),
                         "a browser is started with EXEAT_FULL=1 only")
    def test_a_browser_shows_it_without_a_word_of_complaint(self):
        self.fill(110)
        file = os.path.join(self.folder, "page.html")
        done = audit(self.path, "report", "--html", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        for size in ("1280,1600", "390,1600"):
            shot = os.path.join(self.folder, "shot.png")
            done = subprocess.run(
                ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                 "--enable-logging=stderr", f"--window-size={size}",
                 f"--user-data-dir={self.folder}/profile",
                 f"--screenshot={shot}", f"file://{file}"],
                capture_output=True, text=True, timeout=120, check=True)
            self.assertNotIn("CONSOLE", done.stderr)
            self.assertGreater(os.stat(shot).st_size, 20000)


if __name__ == "__main__":
    unittest.main()
