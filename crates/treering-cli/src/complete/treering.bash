# Completions of treering for bash. The program itself is asked with every press of the Tab key.
_treering_complete() {
    # Bash breaks words at `=` and `:`. What no space separates is put together again, and cut off what is offered.
    local line=$COMP_LINE words=() at=0 index=0 part i
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        part=${COMP_WORDS[i]}
        # Behind a separator, that is the word at the cursor, and nothing of the next one is typed.
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
    # A directory or the beginning of an option's value goes on.
    if ((${#COMPREPLY[@]} > 1)) || [[ ${COMPREPLY[0]} != *[=/:] ]]; then
        compopt +o nospace 2>/dev/null
    fi
}
if ((BASH_VERSINFO[0] > 4 || BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4)); then
    complete -o nospace -o bashdefault -o nosort -F _treering_complete treering
else
    complete -o nospace -o bashdefault -F _treering_complete treering
fi
