#!/usr/bin/env bash
# Tests whether verdicts can be trusted on this machine. Measures the noise floor, then compares a program
# TRIALS times with itself and, if given, TRIALS times with a slower one.
# Usage: scripts/trials.sh [--runs] PROGRAM CONFIG OUT [TRIALS [SLOWER_PROGRAM]]
#   without --runs   a trial is `kselect ab`: ROUNDS turns of each program, one process after another, and up
#                    to MAX_ROUNDS if the verdict is inconclusive. Use it for noisy CPU times.
#   --runs           a trial is `kselect compare` of two runs, one process each: a run with the next run of
#                    the same program, or with a run of the slower one. Faster; use it for steady times.
# Writes OUT/trials.csv (a line a trial), verdicts.txt (all verdicts, with every cell), noise.json,
# noise.txt, and base.json and slower.json (the meta data of both programs). A trial must exit with code 0
# for the same program and 1 for the slower one; if any does not, this script exits 1.
# ROUNDS (environment) is also the number of turns of each side in the measurement of the noise floor.
set -euo pipefail
as_runs=
if [ "${1:-}" = --runs ]; then
  as_runs=yes
  shift
fi
if [ $# -lt 3 ]; then
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
fi
program=$(realpath "$1") config=$2 out=$3 trials=${4:-20}
slower=${5:+$(realpath "$5")}
rounds=${ROUNDS:-$([ -n "$as_runs" ] && echo 10 || echo 15)} most=${MAX_ROUNDS:-60}
if [ -e "$out/trials.csv" ]; then
  echo "$out/trials.csv exists; give another OUT" >&2
  exit 2
fi
mkdir -p "$out/runs"

must() { # LOG COMMAND...: if the command fails, prints its last error line and ends the trials
  local log=$1 code=0
  shift
  "$@" >"$log" 2>"$log.err" || code=$?
  # Code 1: some cells failed. Their records and the verdict say why.
  [ "$code" -le 1 ] && return
  echo "failed with exit code $code: $*: $(tail -n 1 "$log.err")" >&2
  exit 2
}

measure() { # NAME PROGRAM: one run of a program, in $out/runs/NAME
  must "$out/runs/$1.txt" "$2" run "$config" --out "$out/runs/$1"
}

judge() { # KIND NUMBER WANTED_CODE COMMAND...: records one trial's verdict
  local kind=$1 number=$2 wanted=$3 code=0 text=$out/runs/$1-$2.verdict named
  shift 3
  "$@" --all --noise "$out/noise.json" >"$text" 2>"$text.err" || code=$?
  { echo "== $kind $number: exit code $code" && cat "$text"; } >>"$out/verdicts.txt"
  # Columns of the table are two spaces apart; the sixth is the algorithm.
  named=$(awk -F '  +' '$1 == "regression" { print $6 }' "$text" | sort | paste -sd' ' -)
  echo "$number,$kind,$code,\"$(head -n 1 "$text")\",$named" | tee -a "$out/trials.csv"
  [ "$code" != "$wanted" ] || right[$kind]=$((right[$kind] + 1))
}

in_turns() { # KIND NUMBER WANTED_CODE NEW
  judge "$1" "$2" "$3" "$program" ab "$program" "$4" "$config" --rounds "$rounds" \
    --max-rounds "$most" --out "$out/runs/$1-$2"
}

compared() { # KIND NUMBER WANTED_CODE BASE NEW
  judge "$1" "$2" "$3" "$program" compare "$out/runs/$4" "$out/runs/$5"
}

declare -A right=([same]=0 [slower]=0)
measure warm-up "$program" # warms up clocks and drivers; the run is not used
must "$out/runs/floor.txt" "$program" noise "$config" --rounds "$rounds" --out "$out/runs/floor"
cp "$out/runs/floor.txt" "$out/noise.txt"
cp "$out/runs/floor/noise.json" "$out/noise.json"
echo "trial,new,exit_code,verdict,slower" >"$out/trials.csv"
if [ -z "$as_runs" ]; then
  for number in $(seq "$trials"); do
    in_turns same "$number" 0 "$program"
    [ -z "$slower" ] || in_turns slower "$number" 1 "$slower"
  done
  last=$out/runs/same-$trials/base/meta.json slow=$out/runs/slower-$trials/new/meta.json
else
  measure base-1 "$program"
  for number in $(seq "$trials"); do
    # The slower program runs between two runs of the base, so drift favours neither comparison.
    if [ -n "$slower" ]; then
      measure "slower-$number" "$slower"
      compared slower "$number" 1 "base-$number" "slower-$number"
    fi
    measure "base-$((number + 1))" "$program"
    compared same "$number" 0 "base-$number" "base-$((number + 1))"
  done
  last=$out/runs/base-1/meta.json slow=$out/runs/slower-1/meta.json
fi
cp "$last" "$out/base.json"
[ -z "$slower" ] || cp "$slow" "$out/slower.json"
echo "${right[same]} of $trials right where nothing changed"
[ -z "$slower" ] || echo "${right[slower]} of $trials right where the program is slower"
[ "${right[same]}" = "$trials" ] && { [ -z "$slower" ] || [ "${right[slower]}" = "$trials" ]; }
