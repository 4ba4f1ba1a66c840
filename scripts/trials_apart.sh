#!/usr/bin/env bash
# Measures how far two runs of one program differ if they take no turns: TRIALS pairs of runs, one after another.
# From the second quarter of the pairs on, busy programs share the processors with the second run of each pair: one,
# then two, then four for each two of the machine's threads.
# Usage: scripts/trials_apart.sh PROGRAM CONFIG OUT [TRIALS]
# Writes OUT/base-1, OUT/new-1, ... (runs), OUT/trials.csv (a line a pair: the busy programs, the largest ratio of two
# medians, the exit code and the first line of `kselect compare`) and OUT/meta.json (one run's environment).
# JUDGE (environment) is the program that compares (default: PROGRAM). No pair may be a regression; if one is, this
# script exits 1.
set -euo pipefail
if [ $# -lt 3 ]; then
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
fi
program=$(realpath "$1") config=$2 out=$3 trials=${4:-20}
judge=$(realpath "${JUDGE:-$program}")
if [ -e "$out/trials.csv" ]; then
  echo "$out/trials.csv exists; give another OUT" >&2
  exit 2
fi
mkdir -p "$out"
busy=()
stop_busy() {
  [ ${#busy[@]} -eq 0 ] || kill "${busy[@]}" 2>/dev/null || true
  busy=()
}
trap stop_busy EXIT

measure() { # NAME
  local code=0
  "$program" run "$config" --out "$out/$1" >/dev/null 2>"$out/log" || code=$?
  # Code 1: some cells failed. Their records say why.
  [ "$code" -le 1 ] || { tail -n 1 "$out/log" >&2 && exit 2; }
  rm -f "$out/$1/.lock"
}

threads=$(nproc) regressions=0
echo "trial,busy_programs,largest_change,exit_code,verdict" >"$out/trials.csv"
for number in $(seq "$trials"); do
  load=$((4 * (number - 1) / trials)) # 0 to 3: the quarter of the trials
  programs=$((load == 0 ? 0 : threads * (1 << (load - 1)) / 2))
  measure "base-$number"
  for _ in $(seq "$programs"); do
    while :; do :; done &
    busy+=($!)
  done
  measure "new-$number"
  stop_busy
  code=0
  "$judge" compare "$out/base-$number" "$out/new-$number" --all >"$out/log" 2>&1 || code=$?
  most=$(grep -Eo '^(regression|inconclusive|same|improvement) +[+-][0-9.]+' "$out/log" | awk '{ print $2 }' |
    sort -g | tail -n 1)
  echo "$number,$programs,$most %,$code,\"$(head -n 1 "$out/log")\"" | tee -a "$out/trials.csv"
  [ "$code" != 1 ] || regressions=$((regressions + 1))
done
cp "$out/base-1/meta.json" "$out/meta.json"
rm -f "$out/log"
echo "$regressions of $trials pairs of one program would be a regression"
[ "$regressions" = 0 ]
