#compdef exeat
# Completion of exeat's command line for zsh; installed as _exeat in a folder of
# $fpath.
#
# Nothing is listed twice: commands, options and questions come from the help
# and the answers of the exeat that is completed.

# The commands of a help text: the first words of its indented lines.
_exeat_commands() {
	$1 help 2>/dev/null |
		sed -n '/^First steps/q; s/^  \([a-z][a-z]*\) .*/\1/p'
}

# What stands behind a command in the usage lines of its help.
_exeat_subcommands() {
	$1 $2 --help 2>/dev/null |
		sed -n "s/^\(usage:\| *\) *exeat $2 \([a-z|]*\).*/\2/p" |
		tr '|' '\n' | sort -u
}

_exeat_options() {
	$1 $2 --help 2>/dev/null |
		grep -oE '(^|[[ ,|])(--[a-z][a-z-]*|-[a-zA-Z])\b' |
		grep -oE -- '--?[a-zA-Z][a-z-]*' | sort -u
}

# The words that may stand here, one a line; nothing means: a file.
_exeat_words() {
	local exeat=$1 word=$2 place=$3 command=$4 sub=$5 previous=$6

	if (( place == 2 )); then
		_exeat_commands $exeat
		return
	fi
	if [[ $word == -* ]]; then
		_exeat_options $exeat $command
		return
	fi
	case $previous in
	--audit | --policy | --workspace | --credentials | --html | \
		--anchor | --result | --task) return ;;
	--format) print -l jsonl csv ocsf ecs cef; return ;;
	--files) print -l overlay discard direct; return ;;
	esac
	case $command/$place/$sub in
	(audit|policy|credential)/3/*) _exeat_subcommands $exeat $command ;;
	help/3/*) _exeat_commands $exeat ;;
	(exec|stop|pause|resume)/3/* | policy/4/set)
		$exeat ps --json 2>/dev/null | grep -oE 'run-[a-z0-9]+' |
			sort -u ;;
	audit/*/query)
		$exeat audit query 2>/dev/null |
			sed -n 's/^\(q[0-9]*\) .*/\1/p' ;;
	(diff|apply|discard|snapshot)/3/* | \
		audit/*/(summary|timeline|report|hold|release))
		$exeat audit query --json 'SELECT uid FROM sandbox
			ORDER BY started_us DESC LIMIT 100' 2>/dev/null |
			grep -oE 'run-[a-z0-9]+' ;;
	esac
}

_exeat() {
	local -a found
	local -i dashes=${words[(i)--]}

	# What runs in the sandbox completes as it would outside.
	if (( dashes > 2 && dashes < CURRENT )); then
		shift dashes words
		(( CURRENT -= dashes ))
		_normal
		return
	fi
	found=(${(f)"$(_exeat_words $words[1] "$words[CURRENT]" $CURRENT \
		"$words[2]" "$words[3]" "$words[CURRENT - 1]")"})
	if (( $#found )); then
		compadd -- $found
	else
		_files
	fi
}

_exeat "$@"
