# complete.bash ROOT PROGRAM WORD...: prints what completion offers for the last word.
root=$1
program=$2
shift 2
source "$root/tools/completion/packwright.bash"
COMP_WORDS=("$program" "$@")
COMP_CWORD=$#
_packwright "$program" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
