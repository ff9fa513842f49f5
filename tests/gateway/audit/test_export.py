#!/usr/bin/python3 -I
"""exeat audit export in each format, held against what the formats say.

ocsf-1.8.0.json beside this file lists, of the published classes and objects
that Exeat writes, the attributes it may use, their types and their values.
"""
import contextlib
import csv
import io
import ipaddress
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import unittest

BUILD = os.environ["EXEAT_BUILD"]
EXEAT = os.path.join(BUILD, "exeat")
FILL = os.path.join(BUILD, "audit_fill")
HERE = os.path.dirname(os.path.abspath(__file__))
HOSTILE = 'a|b=c\\d\n"\u202e\x01 cs6=x'

ECS_CATEGORIES = {
    "api", "authentication", "configuration", "database", "driver", "email",
    "file", "host", "iam", "intrusion_detection", "library", "malware",
    "network", "package", "process", "registry", "session", "threat",
    "vulnerability", "web"}
ECS_TYPES = {
    "access", "admin", "allowed", "change", "connection", "creation",
    "deletion", "denied", "device", "end", "error", "group", "indicator",
    "info", "installation", "protocol", "start", "user"}


def audit(path, *words):
    return subprocess.run([EXEAT, "audit", *words, "--audit", path],
                          capture_output=True, timeout=120, check=False)


def add_rows(path):
    """A row of each kind with each verdict, bare and with every value."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        seq, = db.execute("SELECT max(seq) FROM event").fetchone()
        kinds = [kind for kind, in db.execute("SELECT id FROM kind")]
        detail = json.dumps({"argv": ["git", "push", HOSTILE], "pid": 7,
                             "ppid": 1, "sni": "x.example.org",
                             "sha256": "00" * 32, "cause": HOSTILE})
        for kind in kinds:
            for verdict in range(6):
                for full in (False, True):
                    seq += 1
                    db.execute(
                        "INSERT INTO event(seq, ts_us, kind, verdict, reason)"
                        " VALUES(?, ?, ?, ?, 2)",
                        (seq, 1796000000000000 + seq, kind, verdict))
                    if full:
                        db.execute(
                            "UPDATE event SET sandbox_id = 1, policy_id = 1, "
                            "rule_id = 1, flow_id = 3, req_id = x'"
                            + "0f" * 16 + "', parent_seq = 1, dst_id = 1, "
                            "dst_ip = x'20010db8000000000000000000000001', "
                            "dst_port = 443, l7 = 1, tls = -772, verb = "
                            "'POST', object = ?, status = 7, cred_id = 1, "
                            "bytes_out = 5, bytes_in = 6, dur_us = 2500, "
                            "detail = ? WHERE seq = ?", (HOSTILE, detail, seq))
        db.commit()
        return db.execute("SELECT count(*) FROM event").fetchone()[0]


class Ocsf:
    """Whether an event is one that the published schema describes."""

    def __init__(self):
        with open(os.path.join(HERE, "ocsf-1.8.0.json"),
                  encoding="utf-8") as file:
            facts = json.load(file)
        self.classes, self.objects = facts["classes"], facts["objects"]

    def problems(self, event):
        shape = self.classes[str(event["class_uid"])]
        found = list(self._object(shape, event, ""))
        if event["category_uid"] != event["class_uid"] // 1000:
            found.append("category_uid")
        if event["type_uid"] != (event["class_uid"] * 100
                                 + event["activity_id"]):
            found.append("type_uid")
        if event["metadata"]["version"] != "1.8.0":
            found.append("metadata.version")
        return found

    def _object(self, shape, value, at):
        attributes = shape["attributes"]
        for name, rule in attributes.items():
            if rule.get("required") and name not in value:
                yield f"{at}.{name} is missing"
        for name, part in value.items():
            rule = attributes.get(name)
            if rule is None:
                yield f"{at}.{name} is unknown"
                continue
            parts = part if rule.get("array") else [part]
            if not isinstance(parts, list):
                yield f"{at}.{name} is no array"
                continue
            for one in parts:
                yield from self._value(rule, one, f"{at}.{name}")
        for kind, wanted in (("at_least_one", (1, 99)), ("just_one", (1, 1))):
            names = shape.get(kind)
            there = sum(name in value for name in names or ())
            if names and not wanted[0] <= there <= wanted[1]:
                yield f"{at}: {kind} of {names}"

    def _value(self, rule, value, at):
        kind = rule["type"]
        if kind == "object":
            if not isinstance(value, dict):
                yield f"{at} is no object"
        elif kind in self.objects:
            if isinstance(value, dict):
                yield from self._object(self.objects[kind], value, at)
            else:
                yield f"{at} is no {kind}"
        elif kind in ("integer_t", "long_t", "timestamp_t", "port_t"):
            if type(value) is not int:
                yield f"{at} is no integer"
            elif "enum" in rule and value not in rule["enum"]:
                yield f"{at} is {value}"
        elif kind == "boolean_t":
            if type(value) is not bool:
                yield f"{at} is no boolean"
        elif not isinstance(value, str):
            yield f"{at} is no text"
        elif kind == "ip_t":
            ipaddress.ip_address(value)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="exeat-test-export-")
        cls.path = os.path.join(cls.folder, "audit.db")
        subprocess.run([FILL, cls.path, "a", "110"], check=True, timeout=120,
                       stdout=subprocess.DEVNULL)
        cls.rows = add_rows(cls.path)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def export(self, *words):
        done = audit(self.path, "export", *words)
        self.assertEqual((done.returncode, done.stderr), (0, b""), words)
        return done.stdout.decode()

    def test_json_lines_have_every_row(self):
        lines = [json.loads(line) for line in self.export().splitlines()]
        self.assertEqual(len(lines), self.rows)
        self.assertEqual([line["seq"] for line in lines],
                         list(range(1, self.rows + 1)))

    def test_csv_has_every_row_and_no_formula(self):
        rows = list(csv.reader(io.StringIO(self.export("--format", "csv"),
                                           newline="")))
        self.assertEqual(len(rows), self.rows + 1)
        for row in rows[1:]:
            self.assertEqual(len(row), len(rows[0]))
            for cell in row:
                self.assertNotRegex(cell, r"^[=+@]")

    def test_ocsf_events_are_what_their_classes_say(self):
        schema, classes = Ocsf(), set()
        text = self.export("--format", "ocsf")
        events = [json.loads(line) for line in text.splitlines()]
        self.assertEqual(len(events), self.rows)
        for event in events:
            classes.add(event["class_uid"])
            self.assertEqual(schema.problems(event), [], event)
        self.assertEqual(classes, {int(uid) for uid in schema.classes})
        self.assertEqual(len({event["metadata"]["uid"] for event in events}),
                         self.rows)

    def test_the_ocsf_check_finds_faults(self):
        schema = Ocsf()
        line = self.export("--format", "ocsf").splitlines()[0]
        for change in ({"severity_id": 7}, {"time": "now"}, {"colour": 1},
                       {"type_uid": 1}, {"actor": {}}):
            event = json.loads(line)
            event.update(change)
            self.assertNotEqual(schema.problems(event), [], change)

    def test_ecs_events_use_the_values_that_are_allowed(self):
        events = [json.loads(line) for line in
                  self.export("--format", "ecs").splitlines()]
        self.assertEqual(len(events), self.rows)
        for event in events:
            self.assertRegex(event["@timestamp"],
                             r"^2\d{3}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$")
            parts = event["event"]
            self.assertLessEqual(set(parts["category"]), ECS_CATEGORIES)
            self.assertLessEqual(set(parts["type"]), ECS_TYPES)
            self.assertIn(parts["kind"], ("event", "alert"))
            self.assertIn(parts["outcome"], ("success", "failure", "unknown"))
        full = [event for event in events if event["event"]["action"] == "http"
                and event["event"]["kind"] == "alert"
                and "labels" in event and "flow" in event["labels"]]
        self.assertEqual(full[-1]["http"]["request"]["method"], "POST")
        self.assertEqual(full[-1]["event"]["duration"], 2500000)
        self.assertEqual(full[-1]["destination"]["ip"], "2001:db8::1")
        self.assertEqual(full[-1]["tls"]["client"]["server_name"],
                         "x.example.org")

    def cef_fields(self, line):
        head = re.split(r"(?<!\\)\|", line, maxsplit=7)
        self.assertEqual(len(head), 8, line)
        self.assertEqual(head[:3], ["CEF:0", "Exeat", "Exeat"])
        found = re.findall(r"(\w+)=((?:\\.|[^=\\])*?)(?= \w+=|$)", head[7])
        self.assertEqual(" ".join(f"{k}={v}" for k, v in found), head[7])
        return dict(found)

    def test_cef_has_alerts_only_and_cannot_be_added_to(self):
        lines = self.export("--format", "cef").splitlines()
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            alerts, = db.execute("SELECT count(*) FROM event WHERE kind = 17 "
                                 "OR verdict = 2").fetchone()
        self.assertEqual(len(lines), alerts)
        for line in lines:
            fields = self.cef_fields(line)
            self.assertNotIn("cs6", fields, line)
            self.assertRegex(fields["externalId"], r"^[0-9a-f]{32}:\d+$")
        self.assertTrue(any(r"request=a|b\=c\\d\n" in line for line in lines))

    def test_alerts_reach_syslog_over_each_way(self):
        path = os.path.join(self.folder, "log")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as unix, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            unix.bind(path)
            udp.bind(("127.0.0.1", 0))
            for server, target in (
                    (unix, f"unix:{path}"),
                    (udp, f"udp:127.0.0.1:{udp.getsockname()[1]}")):
                server.settimeout(60)
                sender = subprocess.Popen(
                    [EXEAT, "audit", "export", "--format", "cef", "--to",
                     target, "--audit", self.path])
                first = server.recv(65536).decode()
                self.assertRegex(
                    first, r"^<10[58]>1 2\S+Z \S+ exeat - audit - CEF:0\|")
                server.close()
                sender.wait(60)

    def test_alerts_over_tcp_have_their_length_before_them(self):
        lines = self.export("--format", "cef").splitlines()
        with socket.create_server(("127.0.0.1", 0)) as server:
            sender = subprocess.Popen(
                [EXEAT, "audit", "export", "--format", "cef", "--to",
                 f"tcp:127.0.0.1:{server.getsockname()[1]}", "--audit",
                 self.path])
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as file:
                data = file.read()
        self.assertEqual(sender.wait(60), 0)
        messages = []
        while data:
            length, _, data = data.partition(b" ")
            messages.append(data[:int(length)].decode())
            data = data[int(length):]
        self.assertEqual([message.split(" - audit - ", 1)[1]
                          for message in messages], lines)

    def test_an_export_follows_the_rows_that_come(self):
        path = os.path.join(self.folder, "growing.db")
        subprocess.run([FILL, path, "a", "10"], check=True, timeout=120,
                       stdout=subprocess.DEVNULL)
        with subprocess.Popen(
                [EXEAT, "audit", "export", "-f", "--format", "ocsf",
                 "--audit", path], stdout=subprocess.PIPE) as follower:
            seqs = [json.loads(follower.stdout.readline())["metadata"]
                    ["sequence"] for _ in range(10)]
            subprocess.run([FILL, path, "b", "10"], check=True, timeout=120,
                           stdout=subprocess.DEVNULL)
            seqs += [json.loads(follower.stdout.readline())["metadata"]
                     ["sequence"] for _ in range(10)]
            follower.kill()
        self.assertEqual(seqs, list(range(1, 21)))

    def test_what_cannot_be_is_told(self):
        for words, expected in (
                (("--format", "xml"), b"jsonl, csv, ocsf, ecs or cef"),
                (("--to", "udp:127.0.0.1:9"), b"goes with --format cef"),
                (("--format", "cef", "--to", "here"), b"unix:/dev/log"),
                (("--format", "cef", "--to", "unix:/nowhere/log"),
                 b"cannot reach syslog"),
                (("--format", "cef", "--to", "tcp:127.0.0.1"),
                 b"is not HOST:PORT")):
            done = audit(self.path, "export", *words)
            self.assertEqual(done.returncode, 125, words)
            self.assertIn(expected, done.stderr)


if __name__ == "__main__":
    unittest.main()
