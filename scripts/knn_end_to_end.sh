#!/usr/bin/env bash
# Measures where the time of exact k-NN goes on one GPU, from vectors on the device to ordered neighbours:
# distances, selection by `auto`, proving and ordering the answer. Each search runs with float32 and with TF32.
# Records go to OUT/knn_end_to_end.jsonl, one line a search, each with the measured memory ceilings;
# `python -m plots.knn_end_to_end OUT` makes the table and the figure. Selections are proven in the first
# repeat, which is not counted. Some float32 answers are compared with the CPU's.
#
# Usage: scripts/knn_end_to_end.sh KSELECT OUT [DATA]
#   DATA  folder for vectors and answers, 5 GB; default: /dev/shm (no disk) if it has room, else /tmp
# Environment: ROWS ("n:Q:d:k ..."), REPEATS (21, the first not counted), ALGORITHM (auto),
#   TRUTH (queries of each search that the CPU also answers: 8; 0 for none)
set -euo pipefail
kselect=$1 out=$2 data=${3:-}
if [ -z "$data" ]; then
  room=$(df --output=avail -BG /dev/shm 2>/dev/null | tr -dc 0-9 || true)
  data=/tmp
  [ "${room:-0}" -lt 6 ] || data=/dev/shm
fi
rows=${ROWS:-10000:10000:784:10 100000:10000:128:100 1000000:10000:128:10 1000000:10000:128:100
  1000000:100:960:100 32768:8192:128:256}
repeats=${REPEATS:-21} algorithm=${ALGORITHM:-auto} truth=${TRUTH:-8}
mkdir -p "$out"
work=$(mktemp -d "$data/kselect-knn.XXXXXX")
trap 'rm -rf "$work"' EXIT
begin=$SECONDS
failed=0

say() { printf '%4d s  %s\n' $((SECONDS - begin)) "$*"; }
vectors() { # SEED COUNT DIMENSION: prints a file's name; files of one seed begin with the same vectors
  local file=$work/$1-$2-$3.npy
  [ -e "$file" ] || "$kselect" generate --seed "$1" --count "$2" --dimension "$3" --output "$file" >/dev/null
  printf '%s' "$file"
}
search() { # NAME OPTION...: writes the answer to NAME.{i,d}.npy
  local name=$work/$1
  shift
  timeout 100 "$kselect" knn --k "$k" --base "$base" --indices "$name.i.npy" --distances "$name.d.npy" "$@" \
    >"$name.log" 2>&1
}
measure() { # NAME OPTION...: searches, timed, and keeps the record
  local name=$1
  shift
  if ! search "$name" --query "$query" --executor cuda --algorithm "$algorithm" --timing "$repeats" \
    --sum-by-warp --record "$work/$name.json" "$@"; then
    say "FAILED  $shape, $name: $(tail -n 3 "$work/$name.log")"
    failed=1
    return
  fi
  # JSON strings contain no raw line ends, so joining the lines is safe.
  { tr '\n' ' ' <"$work/$name.json" && echo; } >>"$out/knn_end_to_end.jsonl"
  say "$shape, $name: $(grep '^medians' "$work/$name.log")"
}
check() { # compares the first distances of the float32 answer with the CPU's, bit by bit
  local some=$truth
  [ "$some" -le "$q" ] || some=$q
  if search truth --query "$(vectors 2 "$some" "$d")" --executor cpu &&
    cmp -s -i 128 -n $((some * k * 4)) "$work/float32.d.npy" "$work/truth.d.npy"; then
    say "$shape: $some answers equal the processor's"
  else
    say "FAILED  $shape: the processor's $some answers DIFFER $(tail -n 1 "$work/truth.log")"
    failed=1
  fi
}

: >"$out/knn_end_to_end.jsonl"
for row in $rows; do
  IFS=: read -r n q d k <<<"$row"
  shape="n = $n, Q = $q, d = $d, k = $k"
  base=$(vectors 1 "$n" "$d") query=$(vectors 2 "$q" "$d")
  measure float32
  [ "$truth" = 0 ] || check
  measure tf32 --tf32
done
say "done: $(wc -l <"$out/knn_end_to_end.jsonl") records in $out/knn_end_to_end.jsonl"
exit $failed
