#!/bin/bash
# The completion of the command line, asked as bash asks it.
set -uo pipefail

here=$(dirname "$(readlink -f "$0")")
exeat=$EXEAT_BUILD/exeat
. "$here/../../../deploy/completion/exeat.bash"

failed=0

# expect WORDS... -- COMPLETIONS: the last of the words is being typed.
expect() {
	COMP_WORDS=()
	while [ "$1" != == ]; do
		COMP_WORDS+=("$1")
		shift
	done
	shift
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	COMPREPLY=()
	_exeat "$exeat"
	for word; do
		case " ${COMPREPLY[*]} " in
		*" $word "*) ;;
		*)
			echo "${COMP_WORDS[*]}: no $word in ${COMPREPLY[*]}"
			failed=1
			;;
		esac
	done
	if [ $# -eq 0 ] && [ ${#COMPREPLY[@]} -gt 0 ]; then
		echo "${COMP_WORDS[*]}: ${COMPREPLY[*]}"
		failed=1
	fi
}

expect exeat '' == run audit policy credential doctor
expect exeat au == audit
expect exeat nothing ==
expect exeat audit '' == query summary verify hold release
expect exeat audit query q1 == q10 q12 q19
expect exeat audit --o == --older-than
expect exeat audit export --format '' == jsonl csv ocsf ecs cef
expect exeat policy '' == check compare explain replay set suggest
expect exeat run --po == --policy
expect exeat run --files d == direct discard
expect exeat run --policy '' ==
expect exeat run -- l ==
expect exeat help cred == credential

# Every command has options, or the list of them is read wrongly.
for command in $(_exeat_commands "$exeat"); do
	case $command in
	help | version) continue ;;
	esac
	if [ -z "$(_exeat_options "$exeat" "$command")" ] &&
		! "$exeat" "$command" --help | grep -q "^usage: exeat $command"
	then
		echo "$command: its help is not read"
		failed=1
	fi
done

# A run that an audit knows is offered by name.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
XDG_STATE_HOME=$folder
export XDG_STATE_HOME
mkdir -m 700 "$folder/exeat"
"$EXEAT_BUILD/audit_fill" "$folder/exeat/audit.db" a 3 >/dev/null || failed=1
expect exeat audit summary '' == run-a1 run-a2 run-a3

exit $failed
