#!/bin/bash
# main_job - Exeat's main job on real input, end to end.
#
#	main_job.sh BIN		BIN: the folder with exeat and its siblings
#
# As an ordinary user: local origins, a policy of @npm, @apt and the origin,
# one sandbox that does what main_job/job.sh does, then what the audit says.
# Which registry and mirror there are is asked of this machine; what does not
# answer is skipped, and said so.
set -euo pipefail

bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
. "$here/../support/origins.sh"

if [ "$(id -u)" -eq 0 ]; then
	echo 'main_job: not as root: it shows what an ordinary user can do' >&2
	exit 77
fi

folder=$(mktemp -d)
on_exit() {
	origins_stop "$folder"
	chmod -R u+w "$folder" 2>/dev/null || true
	rm -rf "$folder"
}
trap on_exit EXIT

# An account without a home of its own gets one here.
if [ ! -w "${HOME:-/nonexistent}" ]; then
	export HOME=$folder/home
	mkdir "$HOME"
fi
export XDG_STATE_HOME=$folder/state XDG_CONFIG_HOME=$folder/config

origins_start "$folder"
mkdir "$folder/workspace"
cp "$here"/main_job/* "$folder/workspace"

answers() {
	curl -sS -o /dev/null --max-time 20 "$1" 2>/dev/null
}

# A mirror of the house may have a private address: whoever set this machine
# up has chosen it.
rules=()
options=(--env "ORIGIN=https://git.example.test:$ORIGIN_TLS"
	--env "CLEAR=$ORIGIN_CLEAR")

registry=$(npm config get registry 2>/dev/null || true)
if [ -n "$registry" ] && answers "$registry"; then
	rules+=('{ "id": "packages", "host": ["@npm"], "private": true },')
	options+=(--env HAVE_NPM=1 --env "npm_config_registry=$registry")
fi
read -r uri suite < <(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' \
	'Created-By: Packages' 2>/dev/null || true) || true
if [ -n "${uri:-}" ] && answers "${uri%/}/dists/$suite/InRelease"; then
	rules+=('{ "id": "mirror", "host": ["@apt"], "private": true },')
	options+=(--env HAVE_APT=1 --env "APT_URI=${uri%/}"
		--env "APT_SUITE=$suite")
fi

cat >"$folder/policy.json" <<POLICY
{
  "version": 1,
  "name": "main-job",
  "rules": [
    ${rules[*]:-}
    { "id": "origin", "host": ["git.example.test"],
      "port": [$ORIGIN_TLS, $ORIGIN_CLEAR], "resolve": "127.0.0.1",
      "private": true, "upstream_ca": "$ORIGIN_CA" }
  ]
}
POLICY

echo "The policy:"
sed 's/^/  /' "$folder/policy.json"
echo
code=0
"$bin/exeat" run --policy "$folder/policy.json" \
	--workspace "$folder/workspace" --result "$folder/result.json" \
	--timeout 5m "${options[@]}" -- bash "$folder/workspace/job.sh" ||
	code=$?

echo
echo 'What the audit says:'
"$bin/exeat" audit summary || code=1
echo
# What git fetches with is a POST that only reads.
if grep '"POST ' "$folder/access.log" | grep -qv '/git-upload-pack HTTP'; then
	echo 'main_job: a POST reached the origin' >&2
	code=1
fi
if [ $code -ne 0 ]; then
	echo "main_job: FAILED with $code" >&2
	sed 's/^/  result: /' "$folder/result.json" >&2
	exit 1
fi
echo 'The main job went as it should.'
