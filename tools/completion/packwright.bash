# Completion of `packwright` in bash. Commands and options are asked of the program itself (its help texts), so this
# file knows only what values look like.

_packwright_options()
{
    "$1" help "$2" 2>/dev/null | sed -n 's/^ *\(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*=\{0,1\}\).*/\2/p'
}

# The words of the environment variable that an option sets.
_packwright_words()
{
    local name=${2#--}

    "$1" env --markdown 2>/dev/null | sed -n "s/^| \`PACKWRIGHT_${name^^}\` | \([^ ]*\) .*/\1/p" | sed 's/\\|/\n/g'
}

_packwright_values()
{
    case "$2" in
    --stage) printf '%s\n' ddt tree canonical nest shape llvm llvm-opt asm cuda ptx all ;;
    --print-after) "$1" inspect --list-passes 2>/dev/null | sed -n 's/^\([a-z][a-z-]*\) .*/\1/p' ;;
    --target) printf '%s\n' x86_64-linux-gnu aarch64-linux-gnu ;;
    --gpu) printf '%s\n' sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120 ;;
    --target-cpu) printf '%s\n' native x86-64 x86-64-v2 x86-64-v3 x86-64-v4 ;;
    --jit | --log | --strategy | --stats) _packwright_words "$1" "$2" ;;
    --mpi) printf '%s\n' mpich openmpi ;;
    --pattern) printf '%s\n' halo transpose ;;
    --only) printf '%s\n' cpu gpu messages cpu,gpu ;;
    esac
}

# The words of $1 that begin with $2; an option that takes a value gets no blank behind it.
_packwright_choose()
{
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}

# What follows "--option=".
_packwright_value()
{
    case "$2" in
    --dir | --from | --cache | --cache-dir) mapfile -t COMPREPLY < <(compgen -d -- "$3") ;;
    --output | --header | --trace | --plot | --report | --model | --network) mapfile -t COMPREPLY < <(compgen -f -- "$3") ;;
    *) _packwright_choose "$(_packwright_values "$1" "$2")" "$3" ;;
    esac
}

_packwright_operand()
{
    case "$2" in
    help) _packwright_choose "$(_packwright_commands "$1") types" "$3" ;;
    cache) _packwright_choose 'list verify clear path seed' "$3" ;;
    trace) [[ $4 == 2 ]] && _packwright_choose merge "$3" || mapfile -t COMPREPLY < <(compgen -f -- "$3") ;;
    run | compare) mapfile -t COMPREPLY < <(compgen -A command -f -- "$3") ;;
    doctor | env | version) ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$3") ;;
    esac
}

_packwright_commands()
{
    "$1" help 2>/dev/null | sed -n 's/^  \([a-z]*\)  *.*/\1/p'
}

_packwright()
{
    local program=$1 word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}

    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _packwright_choose "$(_packwright_commands "$program") --help --version" "$word"
        return
    fi
    # "=" is a word of its own (COMP_WORDBREAKS).
    if [[ $word == '=' && $before == --* ]]; then
        _packwright_value "$program" "$before" ''
    elif [[ $before == '=' ]]; then
        _packwright_value "$program" "${COMP_WORDS[COMP_CWORD - 2]}" "$word"
    elif [[ $before == -o ]]; then
        _packwright_value "$program" --output "$word"
    elif [[ $word == -* ]]; then
        _packwright_choose "$(_packwright_options "$program" "$command") --help" "$word"
    else
        _packwright_operand "$program" "$command" "$word" "$COMP_CWORD"
    fi
}

complete -F _packwright -o filenames packwright
