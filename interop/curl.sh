#!/usr/bin/env bash
# curl, as the README of the project shows it. usage: curl.sh COMMAND...
#
# Each command in a block `console` is run against a server that COMMAND starts. What it prints has
# to be what is below it in the README.
set -uo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly documented=http://127.0.0.1:8000

main() {
    local url
    exec {output}< <(exec "$@" --http 0 2>/dev/null)
    server=$!
    trap 'kill "$server"; rm -f -- "$scratch"' EXIT
    if ! read -r -t 10 -u "$output" url; then
        echo "FAILED  curl: the server doesn't start"
        return
    fi
    check_blocks "${url%/mcp}"
}

# check_blocks ADDRESS: runs what stands in the blocks.
check_blocks() {
    local line command='' expected='' is_block=''
    while IFS= read -r line; do
        if [[ -z $is_block ]]; then
            if [[ $line == '```console' ]]; then is_block=yes; fi
        elif [[ $line == '```' ]]; then
            check "$1" "$command" "$expected"
            is_block='' command=''
        elif [[ $line == '$ '* ]]; then
            check "$1" "$command" "$expected"
            command=${line#'$ '} expected=''
        elif is_whole "$command"; then
            expected+=$line$'\n'
        else
            command+=$'\n'$line
        fi
    done <README.md
}

# is_whole COMMAND: whether it goes on in the next line: after a backslash, or within quotes.
is_whole() {
    [[ $1 != *\\ ]] && bash -n <<<"$1" 2>/dev/null
}

# check ADDRESS COMMAND EXPECTED
check() {
    [[ -n $2 ]] || return 0
    local printed name
    # In this shell, since a command may set a variable for the next one.
    eval "${2//"$documented"/"$1"}" >"$scratch" 2>&1 </dev/null
    # With a newline at the end, as a terminal shows it.
    printed=$(sed '$a\' "$scratch")
    name=$(tr -s '\\\n ' ' ' <<<"$2" | cut -c 1-90)
    if [[ $printed == "${3%$'\n'}" ]]; then
        echo "ok      curl: $name"
    else
        echo "FAILED  curl: $name: it prints ${printed//$'\n'/ | }"
    fi
}

scratch=$(mktemp)
main "$@"
