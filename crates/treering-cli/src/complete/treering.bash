# Completions of treering for bash. Every press of the Tab key asks the program itself.
_treering_complete() {
    # Bash also splits words at `=` and `:`. The pieces are joined again, and the part before the cursor's
    # piece is removed from the candidates.
    local line=$COMP_LINE words=() at=0 index=0 part i
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        part=${COMP_WORDS[i]}
        # At the cursor, only what was typed counts: after a separator that is nothing.
        [[ $i == "$COMP_CWORD" && $part != [:=]* ]] && part=$2
        if ((i > 0)) && [[ $line != [[:space:]]* ]]; then
            words[at]+=$part
        else
            at=${#words[@]}
            words[at]=$part
        fi
        line=${line#"${line%%[![:space:]]*}"}
        line=${line#"${COMP_WORDS[i]}"}
        if ((i == COMP_CWORD)); then
            index=$at
            break
        fi
    done
    local before=${words[index]%"$2"}
    local IFS=$'\013'
    COMPREPLY=($(
        _CLAP_IFS=$IFS _CLAP_COMPLETE_INDEX=$index _CLAP_COMPLETE_COMP_TYPE=$COMP_TYPE _CLAP_COMPLETE_SPACE=false \
            TREERING_COMPLETE=bash treering -- "${words[@]}" 2>/dev/null
    )) || COMPREPLY=()
    ((${#COMPREPLY[@]} == 0)) && return
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
    # No space follows a directory or an option that expects a value.
    if ((${#COMPREPLY[@]} > 1)) || [[ ${COMPREPLY[0]} != *[=/:] ]]; then
        compopt +o nospace 2>/dev/null
    fi
}
if ((BASH_VERSINFO[0] > 4 || BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4)); then
    complete -o nospace -o bashdefault -o nosort -F _treering_complete treering
else
    complete -o nospace -o bashdefault -F _treering_complete treering
fi
