#!/usr/bin/python3 -I
"""check_inclusion KEY < PROOF: whether `exeat audit prove` tells the truth.
Written from RFC 9162 section 2.1.3.2 and C2SP signed-note; prints the row's
number.  It needs openssl, and nothing of ours."""
import base64, hashlib, json, os, struct, subprocess, sys, tempfile

def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()

def root_of(node, index, size, path):
    assert index < size, "the index is behind the tree"
    last = size - 1
    for step in map(bytes.fromhex, path):
        assert last > 0, "the path is too long"
        if index & 1 or index == last:
            node = sha(b"\1", step, node)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            node = sha(b"\1", node, step)
        index, last = index >> 1, last >> 1
    assert last == 0, "the path is too short"
    return node

def check_signature(public, signature, text):
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in "kst"]
        der = bytes.fromhex("302a300506032b6570032100") + public
        for name, data in zip(names, (der, signature, text)):
            with open(name, "wb") as file:
                file.write(data)
        subprocess.run(["openssl", "pkeyutl", "-verify", "-rawin", "-pubin",
            "-keyform", "DER", "-inkey", names[0], "-sigfile", names[1],
            "-in", names[2]], check=True, capture_output=True)

def open_note(note, key):
    name, key_id, public = key.strip().split("+", 2)
    text, line = note.split("\n\n")
    dash, signer, signed = line.split(" ")
    assert (dash, signer, line[-1]) == ("\u2014", name, "\n"), "the form"
    signed = base64.b64decode(signed[:-1], validate=True)
    assert signed[:4].hex() == key_id, "signed with another key"
    check_signature(base64.b64decode(public)[1:], signed[4:],
                    (text + "\n").encode())
    origin, size, root = text.split("\n")
    assert origin == name, "another log"
    return int(size), base64.b64decode(root, validate=True)

proof = json.load(sys.stdin)
row, block = bytes.fromhex(proof["row"]), proof["block"]
head = [block[k] for k in ("no", "first_seq", "last_seq", "first_us", "last_us")]
root = root_of(sha(b"\0", row), proof["row_index"], proof["row_count"],
               proof["row_path"])
digest = sha(b"\2", struct.pack(">5q", *head), root, bytes.fromhex(block["prev"]))
size, signed_root = open_note(proof["checkpoint"], sys.argv[1])
assert root_of(sha(b"\0", digest), head[0] - 1, size,
               proof["block_path"]) == signed_root, "not what was signed"
print(struct.unpack(">q", row[1:9])[0])
