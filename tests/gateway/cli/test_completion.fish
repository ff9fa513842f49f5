#!/usr/bin/fish
# The completion of the command line, asked of fish itself.
set -g failed 0
set -g exeat $EXEAT_BUILD/exeat
set -gx PATH $EXEAT_BUILD $PATH
source (dirname (status filename))/../../../deploy/completion/exeat.fish

# expect LINE COMPLETIONS: the end of the line is being typed.
function expect
    set -l found (complete -C $argv[1] | string replace -r '\t.*' '')
    for wanted in $argv[2..-1]
        contains -- $wanted $found; and continue
        echo "$argv[1]: no $wanted in $found"
        set -g failed 1
    end
end

expect 'exeat ' run audit policy credential doctor
expect 'exeat au' audit
expect 'exeat audit ' query summary verify hold release
expect 'exeat audit query q1' q10 q12 q19
expect 'exeat audit --o' --older-than
expect 'exeat audit export --format ' jsonl csv ocsf ecs cef
expect 'exeat policy ' check compare explain replay set suggest
expect 'exeat run --po' --policy
expect 'exeat run --files d' direct discard
expect 'exeat help cred' credential

set -l folder (mktemp -d)
set -gx XDG_STATE_HOME $folder
mkdir -m 700 $folder/exeat
audit_fill $folder/exeat/audit.db a 3 >/dev/null; or set -g failed 1
expect 'exeat audit summary ' run-a1 run-a2 run-a3
rm -rf $folder

exit $failed
