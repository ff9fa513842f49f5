"""sockets - what a program without a proxy setting does, in Python.

	get URL		prints a page
	tcp HOST PORT	connects, sends a line and wants one back
	udp HOST PORT	sends a datagram and wants one back
	dns HOST	asks a resolver for a name no rule allows

Exit status 1, and what happened on the last line, when it did not work.
"""
import socket
import struct
import sys
import urllib.request


def get(url):
    with urllib.request.urlopen(url, timeout=20) as page:
        print(page.read().decode())


def tcp(host, port):
    with socket.create_connection((host, int(port)), timeout=10) as peer:
        peer.sendall(b"GET / HTTP/1.0\r\n\r\n")
        head = peer.recv(4096)
    if not head:
        raise OSError("closed without a word")
    if b" 403 " in head.split(b"\r\n")[0]:
        raise OSError(head.split(b"\r\n")[0].decode())


def udp(host, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.settimeout(10)
        peer.connect((host, int(port)))
        peer.send(b"data")
        peer.recv(1)


def dns(host):
    question = b"\6secret\7collect\7example\3net\0" + struct.pack(">HH", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.settimeout(10)
        peer.connect((host, 53))
        peer.send(struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + question)
        answer = peer.recv(4096)
    code = answer[3] & 15
    if code != 0:
        raise OSError("answer code %d" % code)


try:
    {"get": get, "tcp": tcp, "udp": udp, "dns": dns}[sys.argv[1]](*sys.argv[2:])
except OSError as error:
    print(error)
    sys.exit(1)
