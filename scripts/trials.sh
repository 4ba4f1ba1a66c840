#!/usr/bin/env bash
# Does the verdict hold on this machine? Measures the noise floor, then a program against itself and, if
# one is given, against a slower one, TRIALS times each; writes one line a trial to OUT/trials.csv.
# Usage: scripts/trials.sh PROGRAM CONFIG OUT [TRIALS [SLOWER_PROGRAM]]
# ROUNDS (environment) is the number of turns of each side, MAX_ROUNDS where they end if inconclusive.
set -euo pipefail
program=$1 config=$2 out=$3 trials=${4:-20} slower=${5:-}
rounds=${ROUNDS:-15} most=${MAX_ROUNDS:-60}
mkdir -p "$out"
"$program" noise "$config" --rounds "$rounds" --out "$out/floor" >"$out/floor.txt" 2>/dev/null
echo "trial,new,exit_code,verdict" >"$out/trials.csv"
trial() { # NAME NUMBER NEW
  local directory=$out/$1-$2 code=0
  "$program" ab "$program" "$3" "$config" --rounds "$rounds" --max-rounds "$most" \
    --out "$directory" --noise "$out/floor/noise.json" >"$out/$1-$2.txt" 2>/dev/null || code=$?
  echo "$2,$1,$code,\"$(head -n 1 "$out/$1-$2.txt")\"" | tee -a "$out/trials.csv"
}
for number in $(seq "$trials"); do
  trial same "$number" "$program"
  [ -z "$slower" ] || trial slower "$number" "$slower"
done
