# Completion of exeat's command line for fish.
#
# Nothing is listed twice: commands, options and questions come from the help
# and the answers of the exeat that is completed.

function __exeat_program
    commandline -opc | head -n 1
end

# The commands of a help text: the first words of its indented lines.
function __exeat_commands
    env (__exeat_program) help 2>/dev/null |
        sed -n '/^First steps/q; s/^  \([a-z][a-z]*\) .*/\1/p'
end

# What stands behind a command in the usage lines of its help.
function __exeat_subcommands
    env (__exeat_program) $argv[1] --help 2>/dev/null |
        sed -n "s/^\(usage:\| *\) *exeat $argv[1] \([a-z|]*\).*/\2/p" |
        tr '|' '\n' | sort -u
end

function __exeat_options
    env (__exeat_program) $argv[1] --help 2>/dev/null |
        grep -oE '(^|[[ ,|])(--[a-z][a-z-]*|-[a-zA-Z])\b' |
        grep -oE -- '--?[a-zA-Z][a-z-]*' | sort -u
end

function __exeat_running
    env (__exeat_program) ps --json 2>/dev/null | grep -oE 'run-[a-z0-9]+' |
        sort -u
end

function __exeat_recorded
    env (__exeat_program) audit query --json 'SELECT uid FROM sandbox
        ORDER BY started_us DESC LIMIT 100' 2>/dev/null |
        grep -oE 'run-[a-z0-9]+'
end

# The words that may stand here; none means: a file.
function __exeat_words
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l place (count $words)

    contains -- -- $words; and return
    if test $place -eq 1
        __exeat_commands
        return
    end
    if string match -q -- '-*' $word
        __exeat_options $words[2]
        return
    end
    switch $words[-1]
        case --audit --policy --workspace --credentials --html --anchor \
                --result --task
            return
        case --format
            printf '%s\n' jsonl csv ocsf ecs cef
            return
        case --files
            printf '%s\n' overlay discard direct
            return
    end
    switch "$words[2]/$place/$words[3]"
        case 'audit/2/*' 'policy/2/*' 'credential/2/*'
            __exeat_subcommands $words[2]
        case 'help/2/*'
            __exeat_commands
        case 'exec/2/*' 'stop/2/*' 'pause/2/*' 'resume/2/*' 'policy/3/set'
            __exeat_running
        case 'audit/*/query'
            env (__exeat_program) audit query 2>/dev/null |
                sed -n 's/^\(q[0-9]*\) .*/\1/p'
        case 'diff/2/*' 'apply/2/*' 'discard/2/*' 'snapshot/2/*' \
                'audit/*/summary' 'audit/*/timeline' 'audit/*/report' \
                'audit/*/hold' 'audit/*/release'
            __exeat_recorded
    end
end

complete -c exeat -a '(__exeat_words)'
