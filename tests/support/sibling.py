#!/usr/bin/python3 -I
"""sibling - stands in for exeat-gateway, exeat-launch or exeat-audit.

Copied under one of those names beside a copy of exeat, it speaks that
program's part as far as a test needs, by the word in the file NAME.does.
Every frame is packed here by hand from schema/PROTOCOL.md, so that the two
sides of a channel do not share their mistakes.
"""
import json
import os
import signal
import socket
import struct
import sys

ORDER_LAYER, ORDER_BEGIN, ORDER_STOP = 0x0101, 0x0102, 0x0103
REINS_GO = 0x0901
ORDER_READY, ORDER_FAILED, ORDER_TALLY = 0x0181, 0x0182, 0x0183
AUDIT_RUN, AUDIT_PRODUCER, AUDIT_POLICY = 0x0301, 0x0302, 0x0303
AUDIT_END, AUDIT_STATE, AUDIT_CLOSED = 0x0305, 0x0382, 0x0383


def block(text):
    raw = text.encode()
    return struct.pack(">H", len(raw)) + raw


def take_block(body):
    (length,) = struct.unpack_from(">H", body)
    return body[2 : 2 + length], body[2 + length :]


def send(sock, kind, body=b""):
    sock.send(struct.pack(">H", kind) + body)


def receive(sock):
    """(type, body, descriptors), or None at the end."""
    sock.setblocking(True)
    packet, fds, _, _ = socket.recv_fds(sock, 65536, 8)
    if not packet:
        return None
    return struct.unpack_from(">H", packet)[0], packet[2:], fds


def note(folder, text):
    with open(os.path.join(folder, "notes"), "a") as out:
        out.write(text + "\n")


def gateway(folder, does):
    parent = socket.socket(fileno=3)
    if does == "exit":
        sys.exit(3)
    if does == "mute":
        signal.pause()
    while True:
        frame = receive(parent)
        if frame is None:
            note(folder, "gateway saw its parent leave")
            sys.exit(0)
        kind, body, fds = frame
        if kind == ORDER_LAYER:
            name, rest = take_block(body)
            text = os.pread(fds[0], 1 << 20, 0).decode()
            note(folder, "layer %s %s %s" % (name.decode(), rest.hex(), text))
        elif kind == ORDER_BEGIN and does == "refuse":
            send(parent, ORDER_FAILED, block("no certificate") + block("x"))
            sys.exit(0)
        elif kind == ORDER_BEGIN and does == "escape":
            send(parent, ORDER_FAILED, block("\x1b[2Jno") + block(""))
            sys.exit(0)
        elif kind == ORDER_BEGIN and does == "nonsense":
            send(parent, 0x0777)
        elif kind == ORDER_BEGIN:
            send(parent, ORDER_READY)
            if does == "die-later":
                # The launcher's first word says that the command runs.
                handoff = socket.socket(fileno=4)
                handoff.setblocking(True)
                handoff.recv(16)
                sys.exit(0)
        elif kind == ORDER_STOP:
            if does != "no-tally":
                send(parent, ORDER_TALLY, struct.pack(">6Q", *range(6)))
            sys.exit(0)


def launcher(folder, does):
    plan = json.loads(os.pread(3, 1 << 20, 0))
    note(folder, "plan " + json.dumps(plan))
    handoff = socket.socket(fileno=4)
    if does == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if does == "silent":
        sys.exit(125)
    if receive(socket.socket(fileno=6)) != (REINS_GO, b"", []):
        sys.exit(125)
    note(folder, "go")
    if does == "wait":
        wanted = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
        signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
        handoff.send(b"\0\0")
        note(folder, "launcher waits as %d" % os.getpid())
        number = int(signal.sigwait(wanted))
        note(folder, "launcher got %d" % number)
        while number == signal.SIGINT:
            number = int(signal.sigwait(wanted))
            note(folder, "launcher got %d" % number)
        end(128 + number, "signaled", number)
    if does == "descriptors":
        note(folder, "launcher 0 to 2: " + " ".join(
            os.readlink("/proc/self/fd/%d" % fd) for fd in range(3)))
        does = "0"
    end(int(does or "0"), "exited", None)


def end(code, word, number):
    os.write(5, json.dumps({"end": word, "code": code, "signal": number,
                            "wall_ms": 1}).encode())
    sys.exit(code)


def audit(folder, does):
    ready = os.fdopen(3, "wb", buffering=0)
    database = sys.argv[1]
    if does == "cannot":
        ready.write(b"cannot open it: the disk is read-only\n")
        sys.exit(1)
    if does == "exit":
        sys.exit(1)
    here = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # A path may be longer than an address: go by the folder's descriptor.
    above = os.open(os.path.dirname(database), os.O_PATH | os.O_DIRECTORY)
    here.bind("/proc/self/fd/%d/%s.sock" % (above, os.path.basename(database)))
    here.listen()
    ready.write(b"R")
    ready.close()
    parent, _ = here.accept()
    os.unlink(database + ".sock")
    while True:
        frame = receive(parent)
        if frame is None:
            note(folder, "audit saw its parent leave")
            sys.exit(0)
        kind, body, fds = frame
        if kind == AUDIT_RUN:
            name, _ = take_block(body[1:])
            note(folder, "run " + name.decode())
            if does == "die":
                sys.exit(0)
            if does != "mute":
                send(parent, AUDIT_STATE,
                     b"\0" if does == "closed" else b"\1")
        elif kind == AUDIT_POLICY:
            note(folder, "policy " + body[:32].hex())
        elif kind == AUDIT_END:
            word, _ = take_block(body[8:])
            code = struct.unpack_from(">q", body)[0]
            note(folder, "end %d %s" % (code, word.decode()))
            if does == "no-close":
                sys.exit(0)
            send(parent, AUDIT_CLOSED, struct.pack(">4Q", 1, 9, 12, 3))


def main():
    name = os.path.basename(sys.argv[0])
    folder = os.path.dirname(os.path.abspath(__file__))
    try:
        with open(os.path.join(folder, name + ".does")) as source:
            does = source.read().strip()
    except FileNotFoundError:
        does = ""
    if name == "exeat-audit":
        audit(folder, does)
    elif name == "exeat-launch":
        launcher(folder, does)
    else:
        gateway(folder, does)


main()
