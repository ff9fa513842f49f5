#!/usr/bin/python3 -I
"""check_consistency KEY < PROOF: whether `exeat audit prove --from` tells the
truth.  Written from RFC 9162 section 2.1.4.2 and C2SP signed-note; prints both
sizes.  It needs openssl, and nothing of ours."""
import base64
import hashlib
import json
import os
import subprocess
import sys
import tempfile


def node(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


def check_signature(public, signature, text):
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in "kst"]
        der = bytes.fromhex("302a300506032b6570032100") + public
        for name, data in zip(names, (der, signature, text)):
            with open(name, "wb") as file:
                file.write(data)
        subprocess.run(
            ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-keyform",
             "DER", "-inkey", names[0], "-sigfile", names[1], "-in",
             names[2]], check=True, capture_output=True)


def open_note(note, key):
    name, key_id, public = key.strip().split("+", 2)
    text, line = note.split("\n\n")
    dash, signer, signed = line.split(" ")
    assert (dash, signer) == ("\u2014", name), "another signer"
    signed = base64.b64decode(signed, validate=False)
    assert signed[:4].hex() == key_id, "signed with another key"
    check_signature(base64.b64decode(public)[1:], signed[4:],
                    (text + "\n").encode())
    origin, size, root = text.split("\n")
    assert origin == name, "another log"
    return int(size), base64.b64decode(root, validate=True)


proof = json.load(sys.stdin)
first, first_root = open_note(proof["from"], sys.argv[1])
second, second_root = open_note(proof["to"], sys.argv[1])
path = [bytes.fromhex(step) for step in proof["path"]]
assert 0 < first <= second, "not the earlier one"
if first == second:
    assert not path and first_root == second_root, "two of one size"
else:
    if first & (first - 1) == 0:
        path.insert(0, first_root)
    fn, sn = first - 1, second - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    assert path, "no path"
    fr = sr = path[0]
    for step in path[1:]:
        assert sn > 0, "the path is too long"
        if fn & 1 or fn == sn:
            fr, sr = node(step, fr), node(step, sr)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node(sr, step)
        fn, sn = fn >> 1, sn >> 1
    assert sn == 0, "the path is too short"
    assert (fr, sr) == (first_root, second_root), "not what was signed"
print(first, second)
