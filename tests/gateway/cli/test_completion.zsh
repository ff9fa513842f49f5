#!/bin/zsh -f
# The completion of the command line, asked as zsh asks it.
setopt noequals
exeat=$EXEAT_BUILD/exeat
failed=0
answer=()

# What the shell's own functions would take.
compadd() { shift; answer=("$@") }
_files() { answer=(FILES) }
_normal() { answer=(NORMAL $words $CURRENT) }
words=($exeat x) CURRENT=2
source ${0:A:h}/../../../deploy/completion/exeat.zsh

# expect WORDS... == COMPLETIONS: the last of the words is being typed.
expect() {
	local -i at=${argv[(i)==]}
	local wanted

	words=($exeat "${(@)argv[1, at - 1]}")
	CURRENT=$#words
	answer=()
	_exeat
	for wanted in "${(@)argv[at + 1, -1]}"; do
		(( ${answer[(Ie)$wanted]} )) && continue
		print "$words: no $wanted in $answer"
		failed=1
	done
}

expect '' == run audit policy credential doctor
expect audit '' == query summary verify hold release
expect audit query '' == q10 q12 q19
expect audit --o == --older-than
expect audit export --format '' == jsonl csv ocsf ecs cef
expect policy '' == check compare explain replay set suggest
expect run --po == --policy
expect run --files '' == direct discard
expect run --policy '' == FILES
expect run -- ls -l == NORMAL ls -l 2
expect help '' == credential

folder=$(mktemp -d)
export XDG_STATE_HOME=$folder
mkdir -m 700 $folder/exeat
$EXEAT_BUILD/audit_fill $folder/exeat/audit.db a 3 >/dev/null || failed=1
expect audit summary '' == run-a1 run-a2 run-a3
rm -rf $folder

exit $failed
