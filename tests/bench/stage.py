"""stage - the namespaces, origins and processes that the measures run on.

Everything happens in namespaces of our own: user, network, mount and process
ids.  So no privilege is needed, nothing of the machine's network is touched,
and what was started ends with the last process of the stage.

    client ---- origin          the direct way
    client ---- proxy           a proxy under test listens here
                proxy ---- origin

exeat runs in the proxy's namespace and its sandbox takes the client's place.
"""
import ctypes
import json
import os
import resource
import select
import shutil
import subprocess
import tempfile
import time

UID_OF_ROOT = 12345  # whom we become when root starts us
DIRECT, PROXY, BEHIND = '10.77.1.2', '10.77.2.2', '10.77.3.2'
PORT_WEB, PORT_SHORT, PORT_STAY, PORT_ENDLESS = 7443, 7001, 7002, 7003
WEB, RAW = 'web.bench.example', 'raw.bench.example'
PATIENCE_S = 20
PYTHON = '/usr/bin/python3'  # root's own may be closed to others


def inside(command):
    """command, as an ordinary user in namespaces of its own."""
    uid, gid, front = os.getuid(), os.getgid(), []
    if uid == 0:
        uid = int(os.environ.get('SUDO_UID') or UID_OF_ROOT)
        gid = int(os.environ.get('SUDO_GID') or UID_OF_ROOT)
        front = ['setpriv', '--reuid', str(uid), '--regid', str(gid),
                 '--clear-groups', '--']
    return front + [
        'unshare', '--user', '--map-user', str(uid), '--map-group', str(gid),
        '--keep-caps', '--net', '--mount', '--pid', '--fork', '--kill-child',
        '--mount-proc', '--', *command]


def may_enter():
    return subprocess.run(inside(['true'])).returncode == 0


def enter(argv, marker):
    """Starts this program again in there."""
    command = inside([PYTHON, '-I', *argv, marker])
    os.execvp(command[0], command)


class Stage:
    """One stage; close() ends all it started."""

    def __init__(self, build):
        self.build = os.path.realpath(build)
        self.folder = tempfile.mkdtemp(prefix='exeat-bench-')
        self.started, self.spaces = [], {}
        # The writer of an audit outlives its run; it is ours to see end.
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        for name in ('workspace', 'home', 'state'):
            os.mkdir(self.path(name), 0o700)
        shutil.copy(os.path.join(self.build, 'bench_load'),
                    self.path('workspace'))
        self.environment = {
            'PATH': '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
            'HOME': self.path('home'), 'XDG_STATE_HOME': self.path('state'),
            'XDG_CONFIG_HOME': self.path('home'), 'LANG': 'C.UTF-8'}

    def path(self, name):
        return os.path.join(self.folder, name)

    def close(self):
        for process in reversed(self.started):
            if process.poll() is None:
                process.terminate()
        for process in self.started:
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- processes ----

    def within(self, space, command, plain=True):
        """command, run in a namespace; plain: without our capabilities."""
        front = []
        if space is not None:
            front = ['nsenter', f'--net=/proc/{self.spaces[space]}/ns/net',
                     '--']
        if plain:
            front += ['setpriv', '--inh-caps=-all', '--ambient-caps=-all',
                      '--']
        return front + command

    def start(self, space, command, **options):
        process = subprocess.Popen(
            self.within(space, command), env=self.environment,
            cwd=self.folder, **options)
        self.started.append(process)
        return process

    def do(self, space, *command):
        subprocess.run(self.within(space, list(command), plain=False),
                       env=self.environment, check=True, cwd=self.folder,
                       stdout=subprocess.DEVNULL)

    # ---- the network ----

    def network(self):
        for name in ('client', 'proxy', 'origin'):
            holder = subprocess.Popen(
                ['unshare', '--net', 'sh', '-c', 'echo ready; exec cat'],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.started.append(holder)
            if holder.stdout.readline() != b'ready\n':
                raise RuntimeError('no network namespace can be made')
            self.spaces[name] = holder.pid
            self.do(name, 'ip', 'link', 'set', 'lo', 'up')
        self.join('client', 'origin', '10.77.1')
        self.join('client', 'proxy', '10.77.2')
        self.join('proxy', 'origin', '10.77.3')

    def join(self, one, other, net):
        """A veth pair: .1 is one's end, .2 the other's."""
        self.do(None, 'ip', 'link', 'add', other, 'netns',
                str(self.spaces[one]), 'type', 'veth', 'peer', 'name', one,
                'netns', str(self.spaces[other]))
        for space, link, end in ((one, other, 1), (other, one, 2)):
            self.do(space, 'ip', 'addr', 'add', f'{net}.{end}/24', 'dev', link)
            self.do(space, 'ip', 'link', 'set', link, 'up')

    # ---- the origins ----

    def origins(self):
        self.certificates()
        with open(self.path('nginx.conf'), 'w') as conf:
            conf.write(f'''
pid {self.path('nginx.pid')};
error_log {self.path('nginx.log')};
daemon off;
worker_processes 1;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    client_body_temp_path {self.path('body')};
    proxy_temp_path {self.path('proxied')};
    fastcgi_temp_path {self.path('fastcgi')};
    uwsgi_temp_path {self.path('uwsgi')};
    scgi_temp_path {self.path('scgi')};
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    server {{
        listen 0.0.0.0:{PORT_WEB} ssl backlog=4096;
        ssl_certificate {self.path('web.pem')};
        ssl_certificate_key {self.path('web.key')};
        ssl_session_cache shared:web:4m;
        location = /1k {{ return 200 "{'x' * 1024}"; }}
    }}
}}''')
        self.start('origin', ['nginx', '-c', self.path('nginx.conf')],
                   stderr=subprocess.DEVNULL)
        self.listens('origin', DIRECT, PORT_WEB)
        raw = self.start('origin', [
            os.path.join(self.build, 'bench_origin'), '0.0.0.0',
            str(PORT_SHORT), str(PORT_ENDLESS)], stdout=subprocess.PIPE)
        if raw.stdout.readline() != b'ready\n':
            raise RuntimeError('the raw origin does not start')

    def certificates(self):
        def openssl(*words):
            subprocess.run(['openssl', *words], check=True, cwd=self.folder,
                           stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256',
               '-nodes']
        openssl('req', '-x509', *key, '-days', '2', '-subj', '/CN=bench CA',
                '-keyout', 'ca.key', '-out', 'ca.pem',
                '-addext', 'keyUsage=critical,keyCertSign')
        openssl('req', *key, '-subj', '/CN=origin', '-keyout', 'web.key',
                '-out', 'web.csr')
        with open(self.path('web.ext'), 'w') as ext:
            ext.write(f'subjectAltName=DNS:{WEB}\n'
                      'extendedKeyUsage=serverAuth\n')
        openssl('x509', '-req', '-in', 'web.csr', '-CA', 'ca.pem', '-CAkey',
                'ca.key', '-days', '2', '-extfile', 'web.ext', '-out',
                'web.pem')

    def listens(self, space, address, port):
        """Waits until somebody takes connections there."""
        probe = ('import socket,sys; s=socket.socket(); s.settimeout(1);'
                 'sys.exit(s.connect_ex((sys.argv[1], int(sys.argv[2]))))')
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if subprocess.run(self.within(space, [
                    PYTHON, '-I', '-c', probe, address, str(port)],
                    plain=False)).returncode == 0:
                return
        raise RuntimeError(f'nobody listens on {address}:{port}')

    # ---- what is measured ----

    def policy(self):
        """Both ways through the gateway, as rules; the file's path."""
        where = {'resolve': BEHIND, 'private': True}
        rules = [
            {'id': 'raw', 'host': [RAW], 'tls': 'passthrough',
             'port': [PORT_SHORT, PORT_STAY, PORT_ENDLESS], 'access': 'any',
             **where},
            {'id': 'web', 'host': [WEB], 'port': [PORT_WEB],
             'methods': ['GET', 'HEAD'], 'path': ['/1k', '/static/**'],
             'upstream_ca': self.path('ca.pem'), **where},
        ]
        with open(self.path('policy.json'), 'w') as out:
            json.dump({'version': 1, 'name': 'bench', 'rules': rules}, out)
        return self.path('policy.json')

    def exeat(self, command, *options):
        return [os.path.join(self.build, 'exeat'), 'run', '--quiet',
                '--policy', self.path('policy.json'), '--workspace',
                self.path('workspace'), *options, '--', *command]

    def loader(self, space):
        return Loader(self, space, [os.path.join(self.build, 'bench_load')])

    def loader_in_sandbox(self):
        return Loader(self, 'proxy', self.exeat(
            [self.path('workspace/bench_load')]))

    def sslsplit(self):
        """A peer: TLS taken apart, no HTTP judged, nothing written down.

        In its mode for HTTP it closes after each answer; this one keeps.
        """
        process = self.start('proxy', [
            'sslsplit', '-k', self.path('ca.key'), '-c', self.path('ca.pem'),
            'ssl', PROXY, str(PORT_WEB), BEHIND, str(PORT_WEB)],
            stderr=subprocess.DEVNULL)
        self.listens('client', PROXY, PORT_WEB)
        return process


class Loader:
    """bench_load, somewhere: takes orders and gives what they measured."""

    def __init__(self, stage, space, command):
        self.process = stage.start(space, command, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)

    def order(self, mode, address='-', port='-', name='-', connections=0,
              ms=0):
        self.process.stdin.write(
            f'{mode} {address} {port} {name} {connections} {ms}\n')
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [],
                                    ms / 1000 + PATIENCE_S)
        line = self.process.stdout.readline() if ready else ''
        if not line:
            raise RuntimeError(f'the loader gave no answer to {mode}')
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)


def processes(name):
    """Ids of the processes of this stage with that name."""
    found = []
    for entry in os.listdir('/proc'):
        if not entry.isdigit():
            continue
        try:
            with open(f'/proc/{entry}/comm') as comm:
                if comm.read().strip() == name:
                    found.append(int(entry))
        except OSError:
            pass  # it has ended
    return found


def cpu_us(name):
    """Time on a processor that these processes have had, all threads."""
    total = 0
    for pid in processes(name):
        for thread in os.listdir(f'/proc/{pid}/task'):
            with open(f'/proc/{pid}/task/{thread}/schedstat') as stat:
                total += int(stat.read().split()[0])
    return total / 1000


def memory_kib(name):
    """Proportional set size: memory that is shared counts by its share."""
    total = 0
    for pid in processes(name):
        with open(f'/proc/{pid}/smaps_rollup') as rollup:
            total += sum(int(line.split()[1]) for line in rollup
                         if line.startswith('Pss:'))
    return total
