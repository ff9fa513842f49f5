"""The network that leads only to the gateway."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
import box
from box import Box, descendants

# Connects (or asks) and prints what came, a line each.
CLIENT = r"""
import json, socket, sys
for kind, host, port in json.loads(sys.argv[1]):
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM if kind == 'udp'
                      else socket.SOCK_STREAM)
    s.settimeout(5)
    try:
        s.connect((host, port))
        if kind == 'udp':
            s.send(b'query')
        print(s.recv(100).decode().strip())
    except OSError as e:
        print(type(e).__name__)
"""


class Network(Box):
    def ask(self, *questions, **more):
        done = self.run_box(["python3", "-c", CLIENT, json.dumps(questions)],
                            **more)
        self.assertEqual(done.code, 0, done.err)
        return done.out.split("\n")[:-1]

    def test_every_address_and_port_is_caught_as_it_was_meant(self):
        meant = [("198.51.100.7", 443), ("10.0.0.1", 22), ("8.8.8.8", 53),
                 ("169.254.169.254", 80), ("192.0.0.1", 65535),
                 ("2001:db8::7", 8443), ("fd00::1", 1), ("0.0.0.1", 9)]
        for answer, (host, port) in zip(
                self.ask(*[("tcp", h, p) for h, p in meant]), meant):
            shown = "[%s]:%d" if ":" in host else "%s:%d"
            self.assertEqual(answer, shown % (host, port))

    def test_it_works_without_a_nic_too(self):
        self.assertEqual(self.ask(("tcp", "198.51.100.7", 443),
                                  ("tcp", "2001:db8::7", 443),
                                  ("udp", "192.0.0.1", 53),
                                  network={"nic": False}),
                         ["198.51.100.7:443", "[2001:db8::7]:443", "query"])

    # D03: whatever the server's address, also a stub on loopback.
    def test_queries_to_any_server_are_answered_from_it(self):
        self.assertEqual(
            self.ask(("udp", "192.0.0.1", 53), ("udp", "198.51.100.8", 53),
                     ("udp", "127.0.0.53", 53), ("udp", "2001:db8::8", 53)),
            ["query"] * 4)

    def test_datagrams_are_caught_as_they_were_meant(self):
        meant = [("198.51.100.7", 443), ("10.0.0.1", 123), ("8.8.8.8", 5353),
                 ("192.0.0.1", 65535), ("0.0.0.1", 9), ("192.0.0.1", 1),
                 ("2001:db8::7", 443), ("fd00::1", 65535)]
        for answer, (host, port) in zip(
                self.ask(*[("udp", h, p) for h, p in meant]), meant):
            shown = "[%s]:%d" if ":" in host else "%s:%d"
            self.assertEqual(answer, shown % (host, port))

    def test_datagrams_to_the_sandbox_itself_stay_inside(self):
        self.assertEqual(
            self.ask(("udp", "127.0.0.1", 443), ("udp", "::1", 443),
                     ("udp", "192.0.0.2", 443),
                     ("udp", "fd65:7865:6174::2", 443)),
            ["ConnectionRefusedError"] * 4)

    def test_socket_inside_takes_no_datagrams_from_the_gateway(self):
        done = self.run_box(["python3", "-c", r"""
import socket
thieves = []
for host, port in (("0.0.0.0", 8443), ("::", 8444), ("198.51.100.7", 8445)):
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET,
                      socket.SOCK_DGRAM)
    s.bind((host, port))
    thieves.append(s)
for host, port in (("198.51.100.7", 8443), ("2001:db8::7", 8444),
                   ("198.51.100.7", 8445)):
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET,
                      socket.SOCK_DGRAM)
    s.settimeout(30)
    s.connect((host, port))
    s.send(b"x")
    print(s.recv(99).decode())
for address in (("127.0.0.1", 65535), ("0.0.0.0", 65535)):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for option in (socket.SO_REUSEPORT, socket.SO_REUSEADDR):
        s.setsockopt(socket.SOL_SOCKET, option, 1)
    try:
        s.bind(address)
        print("stolen")
    except OSError as e:
        print(e.errno)
"""])
        self.assertEqual(done.out.split(),
                         ["198.51.100.7:8443", "[2001:db8::7]:8444",
                          "198.51.100.7:8445", "98", "98"], done.err)

    # D10, D13
    def test_loopback_and_our_own_address_stay_inside(self):
        done = self.run_box(["python3", "-c", r"""
import socket
for host in ("127.0.0.1", "::1", "192.0.0.2", "fd65:7865:6174::2",
             "127.9.9.9"):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    s = socket.socket(family)
    s.bind((host, 8080))
    s.listen()
    c = socket.create_connection((host, 8080))
    print(s.accept()[1][0], c.getpeername()[0])
# Nobody listens: refused, and not the gateway's.
try:
    socket.create_connection(("127.0.0.1", 81))
except OSError as e:
    print(type(e).__name__)
"""])
        self.assertEqual(done.out.split("\n")[-2], "ConnectionRefusedError",
                         done.err)
        self.assertEqual(len(done.out.split("\n")), 7)

    # B30: a listener inside does not steal what is meant for outside.
    def test_a_listener_inside_takes_nothing_from_the_gateway(self):
        done = self.run_box(["python3", "-c", r"""
import socket
thieves = []
for host, port in (("0.0.0.0", 8443), ("::", 8444), ("198.51.100.7", 8445)):
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    s.bind((host, port))
    s.listen()
    thieves.append(s)
for host, port in (("198.51.100.7", 8443), ("2001:db8::7", 8444),
                   ("198.51.100.7", 8445)):
    print(socket.create_connection((host, port), 5).recv(99).decode().strip())
for address in (("127.0.0.1", 65535), ("0.0.0.0", 65535)):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        s.bind(address)
        s.listen()
        print("stolen")
    except OSError as e:
        print(e.errno)
"""])
        self.assertEqual(done.out.split(),
                         ["198.51.100.7:8443", "[2001:db8::7]:8444",
                          "198.51.100.7:8445", "98", "98"], done.err)

    def test_foreign_addresses_do_not_answer_a_ping(self):
        done = self.run_box(["python3", "-c", r"""
import socket
for family, proto, host, packet in (
        (socket.AF_INET, 1, "198.51.100.7", b"\x08\0\0\0\0\0\0\x01"),
        (socket.AF_INET6, 58, "2001:db8::7", b"\x80\0\0\0\0\0\0\x01"),
        (socket.AF_INET, 1, "127.0.0.1", b"\x08\0\0\0\0\0\0\x01")):
    s = socket.socket(family, socket.SOCK_DGRAM, proto)
    s.settimeout(0.5)
    try:
        s.sendto(packet, (host, 0))
        s.recv(100)
        print("answered")
    except OSError as e:
        print("silent")
"""])
        self.assertEqual(done.out.split(), ["silent", "silent", "answered"],
                         done.err)
        self.assertEqual(done.result["packets_refused"],
                         {"pings": 2, "multicast": 0, "others": 0})

    def test_group_is_refused_to_who_sends(self):
        done = self.run_box(["python3", "-c", r"""
import socket
for host in ("224.0.0.251", "239.255.255.250", "ff0e::fb"):
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET,
                      socket.SOCK_DGRAM)
    try:
        s.sendto(b"x", (host, 5353))
        print("sent")
    except OSError as e:
        print(e.errno)
"""])
        # The kernel may not yet have an address to send from in IPv6.
        self.assertIn(done.out.split(), (["1", "1", "1"], ["1", "1", "99"]),
                      done.err)
        self.assertEqual(done.result["packets_refused"],
                         {"pings": 0, "multicast": done.out.count("1\n"),
                          "others": 0})

    # B02, B04
    def test_the_rules_cannot_be_touched_and_nothing_else_leads_out(self):
        done = self.sh("nft flush ruleset; ip link del eth0; ip route flush "
                       "table main; ip addr flush dev eth0; ip -br link; "
                       "exec 3<>/dev/tcp/198.51.100.7/443 && cat <&3")
        self.assertIn("198.51.100.7:443", done.out)
        self.assertIn("eth0", done.out)

    def test_a_nested_namespace_leads_nowhere(self):
        done = self.sh("unshare -Urn bash -c 'exec 3<>/dev/tcp/"
                       "198.51.100.7/443 && cat <&3'; ip -br a",
                       nested=True)
        self.assertNotIn("198.51.100.7:443", done.out)
        self.assertIn("unreachable", done.err)

    def test_two_sandboxes_have_two_networks(self):
        process, _ = self.start_box(
            ["python3", "-c", "import socket, time; "
             "s = socket.create_server(('192.0.0.2', 8000)); "
             "open('ready', 'w').close(); time.sleep(100)"])
        self.wait_for(lambda: self.exists("ws", "ready"))
        self.assertEqual(self.ask(("tcp", "192.0.0.2", 8000)),
                         ["ConnectionRefusedError"])
        process.kill()
        self.finish(process)


def host_state():
    """Everything of the host that a launch could have left behind."""
    commands = (["ip", "-o", "link"], ["ip", "-o", "addr"],
                ["ip", "route", "show", "table", "all"],
                ["ip", "-6", "route", "show", "table", "all"], ["ip", "rule"],
                ["nft", "list", "ruleset"], ["cat", "/proc/self/mountinfo"],
                ["cat", "/proc/sys/net/ipv4/ip_unprivileged_port_start"],
                ["cat", "/proc/sys/user/max_user_namespaces"],
                ["cat", "/proc/sys/kernel/hostname"])
    return [subprocess.run(c, capture_output=True, text=True).stdout
            for c in commands]


class Host(Box):
    # L35
    def test_nothing_on_the_host_changes(self):
        before = host_state()
        self.assert_ran(self.sh("true"))
        process, pid = self.start_box(["bash", "-c",
                                       "echo > ready; sleep 100"])
        self.wait_for(lambda: self.exists("ws", "ready"))
        self.assertEqual(host_state(), before)
        below = descendants(pid)
        os.kill(pid, 9)
        self.finish(process)
        self.wait_for(lambda: not any(os.path.exists("/proc/%d" % p)
                                      for p in below))
        self.assertEqual(host_state(), before)


if __name__ == "__main__":
    box.main()
