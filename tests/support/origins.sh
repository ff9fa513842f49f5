# origins - servers on loopback that stand for the world.  Sourced by scripts.
#
#	origins_start FOLDER	nginx over TLS and clear, git behind it; sets
#				ORIGIN_TLS, ORIGIN_CLEAR (ports), ORIGIN_CA
#	origins_stop FOLDER
#
# Everything is made in FOLDER: a certificate authority that lives for this
# test, a repository to clone, the servers' logs.  The names are all below
# example.test, which no resolver knows.

origins_certificates() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-days 2 -subj '/CN=a test authority' -keyout "$1/ca.key" \
		-out "$1/ca.pem" -addext 'keyUsage=critical,keyCertSign' \
		2>/dev/null
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-subj '/CN=origin' -keyout "$1/origin.key" \
		-out "$1/origin.csr" 2>/dev/null
	printf '%s\n' 'subjectAltName=DNS:*.example.test' \
		'extendedKeyUsage=serverAuth' >"$1/origin.ext"
	openssl x509 -req -in "$1/origin.csr" -CA "$1/ca.pem" \
		-CAkey "$1/ca.key" -days 2 -extfile "$1/origin.ext" \
		-out "$1/origin.pem" 2>/dev/null
}

origins_repository() {
	git init -q --bare "$1/git/demo.git"
	git init -q -b main "$1/seed"
	printf 'cloned through the gateway\n' >"$1/seed/README"
	git -C "$1/seed" add README
	git -C "$1/seed" -c user.name=Origin -c user.email=origin@example.test \
		commit -q -m 'A first file'
	git -C "$1/seed" push -q "$1/git/demo.git" main
	git -C "$1/git/demo.git" symbolic-ref HEAD refs/heads/main
}

# Two ports that were free a moment ago.
origins_ports() {
	python3 -I - <<'PYTHON'
import socket
a, b = socket.socket(), socket.socket()
a.bind(("127.0.0.1", 0))
b.bind(("127.0.0.1", 0))
print(a.getsockname()[1], b.getsockname()[1])
PYTHON
}

origins_configuration() {
	cat >"$1/nginx.conf" <<CONF
pid $1/nginx.pid;
error_log $1/error.log;
worker_processes 1;
events { worker_connections 2048; }
http {
	access_log $1/access.log;
	client_body_temp_path $1/body;
	proxy_temp_path $1/proxy;
	fastcgi_temp_path $1/fastcgi;
	uwsgi_temp_path $1/uwsgi;
	scgi_temp_path $1/scgi;
	client_max_body_size 0;
	server {
		listen 127.0.0.1:$ORIGIN_TLS ssl;
		listen 127.0.0.1:$ORIGIN_CLEAR;
		ssl_certificate $1/origin.pem;
		ssl_certificate_key $1/origin.key;
		root $1/www;
		location /echo { return 200 "\$request_method \$uri\n"; }
		location ~ ^/git(/.*) {
			fastcgi_pass unix:$1/git.sock;
			fastcgi_param SCRIPT_FILENAME $(git --exec-path)/git-http-backend;
			fastcgi_param GIT_PROJECT_ROOT $1/git;
			fastcgi_param GIT_HTTP_EXPORT_ALL 1;
			fastcgi_param PATH_INFO \$1;
			fastcgi_param QUERY_STRING \$query_string;
			fastcgi_param REQUEST_METHOD \$request_method;
			fastcgi_param CONTENT_TYPE \$content_type;
			fastcgi_param CONTENT_LENGTH \$content_length;
			fastcgi_param REMOTE_ADDR \$remote_addr;
			fastcgi_param HTTP_CONTENT_ENCODING \$http_content_encoding;
		}
	}
}
CONF
}

# fcgiwrap takes the socket it is given, so nobody waits for it to appear.
origins_git() {
	python3 -I - "$1/git.sock" <<'PYTHON' &
import os
import socket
import sys
door = socket.socket(socket.AF_UNIX)
door.bind(sys.argv[1])
door.listen(64)
os.dup2(door.fileno(), 0)
os.execv("/usr/sbin/fcgiwrap", ["fcgiwrap"])
PYTHON
	echo $! >"$1/git.pid"
}

origins_start() {
	mkdir -p "$1/git" "$1/www"
	printf 'hello from the origin\n' >"$1/www/hello.txt"
	origins_certificates "$1"
	origins_repository "$1"
	read -r ORIGIN_TLS ORIGIN_CLEAR <<PORTS
$(origins_ports)
PORTS
	ORIGIN_CA=$1/ca.pem
	origins_configuration "$1"
	origins_git "$1"
	# It returns when its master listens.
	PATH=$PATH:/usr/sbin nginx -c "$1/nginx.conf" 2>/dev/null
}

origins_stop() {
	for pid in "$1/nginx.pid" "$1/git.pid"; do
		[ ! -s "$pid" ] || kill "$(cat "$pid")" 2>/dev/null || true
	done
}
