#!/usr/bin/env bash
# A compiler launcher: runs the compiler and appends "SECONDS OBJECT" to a file, the processor time it took. What ptxas
# tells of kernels (-Xptxas -v) is kept beside the object, as OBJECT.ptxas, and not printed.
# Usage: timed.sh FILE COMPILER OPTION... -o OBJECT ...
log=$1
shift
object=
for option; do
  [ "${before:-}" != -o ] || object=$option
  before=$option
done
said=$object.said
TIMEFORMAT='%U %S'
exec 3>&1
taken=$({ time "$@" >&3 2>"$said"; } 2>&1)
code=$?
ptxas='^(ptxas info|    [0-9]+ bytes stack frame)'
grep -vE "$ptxas" "$said" >&2
if grep -qE "$ptxas" "$said"; then mv "$said" "$object.ptxas"; else rm -f "$said"; fi
awk -v object="$object" '{ printf "%.1f %s\n", $1 + $2, object }' <<<"$taken" >>"$log"
exit $code
