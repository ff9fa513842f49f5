# Completion of exeat's command line for bash.
#
# Nothing is listed twice: commands, options and questions come from the help
# and the answers of the exeat that is completed.

# The commands of a help text: the first words of its indented lines.
_exeat_commands() {
	"$1" help 2>/dev/null |
		sed -n '/^First steps/q; s/^  \([a-z][a-z]*\) .*/\1/p'
}

# What stands behind a command in the usage lines of its help.
_exeat_subcommands() {
	"$1" "$2" --help 2>/dev/null |
		sed -n "s/^\(usage:\| *\) *exeat $2 \([a-z|]*\).*/\2/p" |
		tr '|' '\n' | sort -u
}

_exeat_options() {
	"$1" "$2" --help 2>/dev/null |
		grep -oE '(^|[[ ,|])(--[a-z][a-z-]*|-[a-zA-Z])\b' |
		grep -oE -- '--?[a-zA-Z][a-z-]*' | sort -u
}

_exeat_questions() {
	"$1" audit query 2>/dev/null | sed -n 's/^\(q[0-9]*\) .*/\1/p'
}

# Runs that go on, by name.
_exeat_running() {
	"$1" ps --json 2>/dev/null | grep -oE 'run-[a-z0-9]+' | sort -u
}

# Runs that an audit knows, the last first.
_exeat_recorded() {
	"$1" audit query --json "${@:2}" 'SELECT uid FROM sandbox
		ORDER BY started_us DESC LIMIT 100' 2>/dev/null |
		grep -oE 'run-[a-z0-9]+'
}

# The words that may stand here, one a line; nothing means: a file.
_exeat_words() {
	local exeat=$1 word=$2 place=$3
	local command=${4-} sub=${5-} previous=${6-}

	if [ "$place" -eq 1 ]; then
		_exeat_commands "$exeat"
		return
	fi
	case $word in
	-*)
		_exeat_options "$exeat" "$command"
		return
		;;
	esac
	# Behind an option that takes a file, a file.
	case $previous in
	--audit | --policy | --workspace | --credentials | --html | --anchor | \
		--result | --task)
		return
		;;
	--run)
		_exeat_recorded "$exeat"
		return
		;;
	--format)
		printf '%s\n' jsonl csv ocsf ecs cef
		return
		;;
	--files)
		printf '%s\n' overlay discard direct
		return
		;;
	esac
	case $command/$place in
	audit/2 | policy/2 | credential/2) _exeat_subcommands "$exeat" \
		"$command" ;;
	help/2) _exeat_commands "$exeat" ;;
	exec/2 | stop/2 | pause/2 | resume/2) _exeat_running "$exeat" ;;
	diff/2 | apply/2 | discard/2 | snapshot/2) _exeat_recorded "$exeat" ;;
	audit/*)
		case $sub in
		query) _exeat_questions "$exeat" ;;
		summary | timeline | report | hold | release) _exeat_recorded \
			"$exeat" ;;
		esac
		;;
	policy/3) [ "$sub" != set ] || _exeat_running "$exeat" ;;
	esac
}

_exeat() {
	local word=${COMP_WORDS[COMP_CWORD]} i words

	# What runs in the sandbox completes as it would outside.
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "${COMP_WORDS[i]}" = -- ]; then
			if declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
			fi
			return
		fi
	done
	mapfile -t words < <(_exeat_words "$1" "$word" "$COMP_CWORD" \
		"${COMP_WORDS[1]}" "${COMP_WORDS[2]-}" \
		"${COMP_WORDS[COMP_CWORD - 1]}")
	mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$word")
}

complete -o default -F _exeat exeat
