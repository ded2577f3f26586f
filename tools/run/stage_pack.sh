# Writes the file that ranks run, named by a checksum of all that is in it, so that a run that changes nothing finds
# it. $1: the libraries' directory, $2: this command, $3: the cache, $4: where directories are made on nodes, $5: the
# text of stage_unpack.sh. Prints the names of the file and of the directory. Files that no run has asked for in a day
# are removed.
set -e
umask 077
out=$3/stage
mkdir -p "$out"
t=$(mktemp "$out/XXXXXXXX")
trap 'rm -f "$t" "$t.sh"' EXIT
section() { tar -rf "$t" --sort=name --transform="s,^,$1/,S" -C "$2" -- $3; }
section lib "$1" "$(cd "$1" && ls -d libpackwright* packwright-kernels packwright 2>/dev/null || :)"
section bin "${2%/*}" "${2##*/}"
[ ! -d "$3/v1" ] || section cache "$3" v1
name=$({ echo "$4 $5"; cat "$t"; } | cksum | tr ' ' -)
d=$4/$name
n=$(($(printf '%s' "$5" | wc -l) + 3))
if [ ! -e "$out/$name.sh" ]; then
  { printf "#!/bin/sh\nd='%s' n=%s\n%s" "$d" "$n" "$5"; cat "$t"; } >"$t.sh"
  chmod 700 "$t.sh"
  mv "$t.sh" "$out/$name.sh"
fi
touch "$out/$name.sh"
find "$out" -name '*.sh' -mtime +0 -exec rm -f {} +
printf '%s\n%s\n' "$out/$name.sh" "$d"
