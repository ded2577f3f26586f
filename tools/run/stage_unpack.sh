# What the file does on a node, in the shell, since nothing of Packwright is there yet. Whoever comes while another
# rank unpacks waits for its lock, which ends with it, and a directory has its name only when it is whole. The
# directory above must be this user's, for others may create one of that name. d and n, set before: the directory, and
# the line at which the archive begins.
umask 077
p=${d%/*}
fail() { echo "packwright: error: $(uname -n): $d $1" >&2; exit 126; }
end() { case $0 in *.copied) rm -f "$0";; esac; }
trap end EXIT
mkdir -p "$p" 2>/dev/null
[ -d "$p" ] && [ -O "$p" ] && [ ! -L "$p" ] || fail "cannot be made: $p is no directory of this user"
touch "$p/lock" || fail 'cannot be written'
exec 9>"$p/lock"
flock 9 || fail 'cannot be locked'
[ ! -d "$d" ] || exit 0
t=$(mktemp -d "$p/XXXXXXXX") || fail 'cannot be made'
drop() { rm -rf "$t"; fail "$1"; }
tail -n "+$n" "$0" | tar -xf - -C "$t" || drop "cannot be unpacked from $0: see above"
"$t/bin/packwright" --version >/dev/null || drop 'cannot be used: nothing can be run from there'
mv -T "$t" "$d" || drop 'cannot be renamed to'
exit 0
