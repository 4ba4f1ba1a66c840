#!/usr/bin/env bash
# A compiler launcher: runs the compiler and appends "SECONDS OBJECT" to a file, the processor time it took.
# Usage: timed.sh FILE COMPILER OPTION... -o OBJECT ...
log=$1
shift
TIMEFORMAT='%U %S'
exec 3>&1 4>&2
taken=$({ time "$@" >&3 2>&4; } 2>&1)
code=$?
object=
while [ $# -gt 1 ]; do
  [ "$1" != -o ] || object=$2
  shift
done
awk -v object="$object" '{ printf "%.1f %s\n", $1 + $2, object }' <<<"$taken" >>"$log"
exit $code
