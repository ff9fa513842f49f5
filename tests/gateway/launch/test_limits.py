"""What a sandbox may use, and how it ends when it wants more."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
import box
from box import Box

MIB = 1 << 20
FULL = os.environ.get("EXEAT_FULL") == "1"


def hog(mib, more=""):
    return ["python3", "-c", "import sys\n%s\nx = []\nprint('begun', flush=1)"
            "\nfor i in range(%d): x.append(bytes([1]) * (1 << 20))\n"
            "print('all of it')" % (more, mib)]


class Limits(Box):
    # launcher.md section 14, test 20
    def test_memory_of_one_process_is_limited(self):
        done = self.run_box(hog(600), limits={"memory": 128 * MIB})
        self.assertNotIn("all of it", done.out)
        self.assertNotEqual(done.code, 0)
        self.assertIn("begun", done.out)

    def test_memory_of_many_processes_is_limited_together(self):
        """Each of them is within the limit, the sum is not."""
        script = ("import os, time\n"
                  "for i in range(8):\n"
                  "    if os.fork() == 0:\n"
                  "        x = bytes([1]) * (48 << 20)\n"
                  "        time.sleep(60)\n"
                  "time.sleep(60)\n")
        done = self.run_box(["python3", "-c", script],
                            limits={"memory": 192 * MIB})
        self.assertEqual((done.code, done.result["end"]), (137, "oom"),
                         done.err)
        self.assertIn("memory limit", done.err)

    def test_shared_memory_counts_too(self):
        script = ("import mmap, time\n"
                  "x = mmap.mmap(-1, 400 << 20)\n"
                  "for i in range(0, 400 << 20, 4096): x[i] = 1\n"
                  "time.sleep(60)\n")
        done = self.run_box(["python3", "-c", script],
                            limits={"memory": 128 * MIB})
        self.assertEqual((done.code, done.result["end"]), (137, "oom"),
                         done.err)

    def test_a_reservation_is_not_memory(self):
        done = self.run_box(
            ["python3", "-c", "import mmap\n"
             "mmap.mmap(-1, 8 << 30, prot=0)\nprint('reserved')"],
            limits={"memory": 256 * MIB})
        self.assert_ran(done)

    # test 19, L31
    def test_a_fork_bomb_is_bounded_and_others_go_on(self):
        bomb, pid = self.start_box(
            ["python3", "-c", "import os, time\n"
             "n = 0\n"
             "for i in range(200):\n"
             "    try:\n"
             "        if os.fork() == 0: time.sleep(1000)\n"
             "        n += 1\n"
             "    except BlockingIOError: break\n"
             "print('forks', n, flush=True)\n"
             "time.sleep(1000)"],
            limits={"pids": 40}, wall_ms=60000)
        line = bomb.stdout.readline()
        self.assertEqual(line, "forks 38\n")
        # Nobody else's processes count, and ours go on.
        self.assertEqual(subprocess.run(["true"]).returncode, 0)
        os.kill(pid, signal.SIGKILL)
        self.finish(bomb)

    # test 21
    def test_part_of_a_processor_is_what_it_gets_or_an_error(self):
        spin = ["python3", "-c",
                "import os, time\nend = time.monotonic() + 2\n"
                "while time.monotonic() < end: pass\n"
                "print(sum(os.times()[:2]))"]
        done = self.run_box(spin, limits={"cpu_thousandths": 300})
        if done.code == 0:
            self.assertLess(float(done.out), 2 * 0.3 * 1.3)
            return
        self.assertEqual(done.result["stage"], "limits")
        self.assertIn("limit.unenforceable", done.result["error"])
        self.assertIn("systemd-run", done.result["cure"])
        done = self.run_box(["true"], limits={"cpu_thousandths": 300,
                                              "best_effort": True})
        self.assert_ran(done)
        self.assertIn("limit.unenforceable", done.result["degraded"][0])

    def test_whole_processors_are_kept(self):
        done = self.run_box(
            ["python3", "-c", "import os\n"
             "print(len(os.sched_getaffinity(0)))"],
            limits={"cpu_thousandths": 1000})
        self.assert_ran(done)
        if box.WHO == "user":
            self.assertEqual(done.out, "1\n")

    # test 22
    def test_files_end_at_their_limit(self):
        done = self.run_box(
            ["python3", "-c", "import signal\n"
             "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
             "f = open('big', 'wb')\n"
             "try:\n"
             "    for i in range(8): f.write(bytes(1 << 20)); f.flush()\n"
             "except OSError as e: print(e.errno)"],
            limits={"file_bytes": 4 * MIB})
        self.assert_ran(done)
        self.assertEqual(done.out, "27\n")
        self.assertEqual(os.path.getsize(self.path("ws", "big")), 4 * MIB)

    def test_temporary_files_end_at_theirs(self):
        for place in ("/tmp", "/var/tmp", "$HOME", "/dev/shm"):
            with self.subTest(place=place):
                done = self.sh(
                    "head -c 400M /dev/zero >%s/big || echo full" % place,
                    limits={"tmp_bytes": 4 * MIB})
                self.assertIn("full", done.out)

    def test_a_direct_workspace_takes_no_limit_of_bytes(self):
        done = self.run_box(["true"], limits={"workspace_bytes": MIB})
        self.assertEqual(done.code, 125)
        self.assertIn("limit.unenforceable", done.result["error"])

    def test_idle_is_a_sandbox_that_does_nothing(self):
        began = time.monotonic()
        done = self.run_box(["sleep", "1000"], idle_ms=600, grace_ms=100)
        self.assertEqual((done.code, done.result["end"]), (124, "timeout"))
        self.assertLess(time.monotonic() - began, 60)
        busy = ["python3", "-c", "import time\n"
                "end = time.monotonic() + 1.5\n"
                "while time.monotonic() < end: pass"]
        self.assert_ran(self.run_box(busy, idle_ms=600))

    def test_grace_is_what_was_asked_for(self):
        done = self.sh("trap '' TERM; while :; do sleep 0.1; done",
                       wall_ms=300, grace_ms=300)
        self.assertEqual((done.code, done.result["end"]), (124, "timeout"))
        self.assertLess(done.result["wall_ms"], 20000)

    def test_what_was_used_stands_in_the_result(self):
        done = self.run_box(
            ["python3", "-c", "import time\nx = bytes([1]) * (100 << 20)\n"
             "end = time.monotonic() + 0.8\n"
             "while time.monotonic() < end: pass"])
        self.assert_ran(done)
        usage = done.result["usage"]
        self.assertGreater(usage["cpu_ms"], 100)
        self.assertGreater(usage["mem_peak"], 90 * MIB)
        self.assertGreaterEqual(usage["procs_peak"], 1)

    def test_no_group_is_left(self):
        # Another test's groups may stand beside ours.
        run = "groups%d" % os.getpid()
        self.assert_ran(self.run_box(["true"], run=run))
        left = [os.path.join(top, name)
                for top, names, _ in os.walk("/sys/fs/cgroup")
                for name in names if name.startswith("exeat-%s-" % run)]
        self.assertEqual(left, [])


if __name__ == "__main__":
    box.main()
