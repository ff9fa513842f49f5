#!/usr/bin/env python3
"""check_sources - run one tool over every source file, once a change.

Lives at tests/lint/check_sources.py.

  check_sources.py TOOL BUILD      TOOL: format, tidy, analyzer or cppcheck

The files are those outside tests/ that BUILD/compile_commands.json compiles,
and for format every .c and .h of ours: tests are held to two compilers'
warnings and to the sanitizers they run under.  A file that passed is not looked at again until it,
a header of ours it includes, the tool or its settings change: BUILD/lint
remembers.  As many run at once as there are processors.  Exit status 1 when
something was found.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = ('gateway', 'policy', 'broker', 'schema', 'tests')
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
SETTINGS = {'format': ['.clang-format'], 'tidy': ['.clang-tidy'],
            'analyzer': [], 'cppcheck': ['tests/lint/cppcheck.cfg']}
PROGRAMS = {'format': 'clang-format', 'tidy': 'clang-tidy',
            'analyzer': 'gcc', 'cppcheck': 'cppcheck'}


def closure(path, known):
    """path and the headers of ours that it includes, directly or not."""
    todo, seen = [path], {}
    while todo:
        one = todo.pop()
        if one in seen:
            continue
        if one not in known:
            known[one] = one.read_bytes()
        seen[one] = known[one]
        for name in INCLUDE.findall(known[one]):
            header = ROOT / name.decode()
            if header.is_file():
                todo.append(header)
    return seen


def digest(tool, version, command, path, known):
    total = hashlib.sha256()
    total.update(('%s\0%s\0%s\0' % (tool, version, command)).encode())
    for name in SETTINGS[tool] + ['tests/lint/banned.h']:
        total.update((ROOT / name).read_bytes())
    for one, text in sorted(closure(path, known).items()):
        total.update(str(one).encode() + b'\0' + text)
    return total.hexdigest()


def command_of(tool, build, entry):
    path = entry['file']
    if tool == 'format':
        return ['clang-format', '--dry-run', '-Werror', path]
    if tool == 'tidy':
        return ['clang-tidy', '--quiet', '-p', str(build), path]
    words = [word for word in shlex.split(entry['command'])
             if os.path.basename(word) != 'ccache']
    at = words.index('-o')
    del words[at:at + 2]
    words.remove('-c')
    if tool == 'analyzer':
        # It takes what is stored in a caller's array for lost, and what was
        # taken off a list of sys/queue.h for still there; the address and
        # leak sanitizers see the real ones.
        return words[:-1] + ['-fanalyzer', '-Wno-analyzer-malloc-leak',
                             '-Wno-analyzer-use-after-free', '-S', '-o',
                             '/dev/null', path]
    wanted = [word for word in words if word.startswith(('-D', '-I'))]
    # It does not see a member filled in through a pointer, which clang-tidy
    # and gcc do, nor what ON_SCOPE_EXIT closes, which gcc and the leak
    # sanitizer do; and a static buffer is safe where nothing has threads.
    return ['cppcheck', '--quiet', '--std=c11', '--error-exitcode=1',
            '--inline-suppr', '--library=posix',
            '--library=' + str(ROOT / 'tests/lint/cppcheck.cfg'),
            '-D__%s__' % os.uname().machine,
            '--enable=warning,performance,portability',
            '--suppress=missingIncludeSystem', '--suppress=uninitvar',
            '--suppress=ctuuninitvar', '--suppress=readdirCalled',
            '--suppress=getpwuidCalled', '--suppress=resourceLeak',
            *wanted, path]


def entries(tool, build):
    if tool == 'format':
        return [{'file': str(path)} for folder in OURS
                for path in sorted((ROOT / folder).rglob('*.[ch]'))]
    with open(build / 'compile_commands.json') as source:
        found = {entry['file']: entry for entry in json.load(source)}
    return [found[name] for name in sorted(found)
            if name.startswith(str(ROOT) + '/')
            and not name.startswith(str(ROOT / 'tests') + '/')]


def main():
    tool, build = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    passed = build / 'lint' / tool
    passed.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([PROGRAMS[tool], '--version'], check=True,
                             capture_output=True, text=True).stdout
    known, due = {}, []
    for entry in entries(tool, build):
        command = command_of(tool, build, entry)
        mark = passed / digest(tool, version, command,
                               pathlib.Path(entry['file']), known)
        if not mark.exists():
            due.append((command, mark, entry))

    def look(item):
        command, mark, entry = item
        done = subprocess.run(command, cwd=entry.get('directory', ROOT),
                              capture_output=True, text=True)
        if done.returncode == 0:
            mark.touch()
        return entry['file'], done

    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, done in pool.map(look, due):
            if done.returncode != 0:
                wrong += 1
                print('%s:\n%s%s' % (name, done.stdout, done.stderr))
    print('%s: %d files looked at, %d wrong' % (tool, len(due), wrong))
    return 1 if wrong else 0


sys.exit(main())
