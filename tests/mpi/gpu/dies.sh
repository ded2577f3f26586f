#!/bin/sh
# A job of which one rank is killed must end soon, with a failure, and deliver nothing that a dead process has sent.
#
# usage: dies.sh launcher… (the command line of a job of the program `dies`)
out=$(timeout 60 "$@" 2>&1)
rc=$?
echo "$out"
case $rc in
77) exit 77 ;;
0) echo "the job has ended as if nothing had happened"; exit 1 ;;
124) echo "the job hangs"; exit 1 ;;
esac
case $out in
*"has been received"*) exit 1 ;;
esac
