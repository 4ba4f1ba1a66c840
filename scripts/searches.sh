#!/usr/bin/env bash
# Records Barrientos' searches in metric indexes (thesis of 2011, Fig. 3.2 to 4.5 and Table 3.1) into
# OUT/runs.jsonl: stand-ins for Images and Faces of the published sizes, and a Spanish word list if
# there is one (Debian's wspanish). Usage: scripts/searches.sh PROGRAM OUT
# Environment: EXECUTOR (cuda), COUNT (objects; 0: as published), TIMING (times of each search, 5),
# WORDS (/usr/share/dict/spanish), KEEP (a folder for objects and indexes, else a temporary one).
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
executor=${EXECUTOR:-cuda} count=${COUNT:-0} timing=${TIMING:-5} words=${WORDS:-/usr/share/dict/spanish}
work=${KEEP:-$(mktemp -d)}
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
cd "$work"
if [ -e "$out/runs.jsonl" ]; then
  echo "searches.sh: $out/runs.jsonl is there already; name another folder" >&2
  exit 6
fi

say() { printf '== %s\n' "$*"; }

index() { # INDEX SOURCE METRIC OPTION...: builds INDEX, whose queries go to SOURCE.queries
  local name=$1 source=$2 metric=$3 queries
  shift 3
  queries=${source%.*}.queries.${source##*.}
  "$program" index build --metric "$metric" --objects "$source" --hold-out 0.2 --queries "$queries" \
    --index "$name.kidx" "$@" >/dev/null
}
search() { # WHAT INDEX SOURCE OPTION...: on the GPU, or what EXECUTOR says
  local what=$1 name=$2 source=$3
  shift 3
  say "$what in $name: $*"
  "$program" index "$what" --index "$name.kidx" --queries "${source%.*}.queries.${source##*.}" \
    --timing "$timing" --prove sample --record "$out" --executor "$executor" "$@" >/dev/null
}
one_core() { # as search, on one core of the host
  local kept=$executor kept_timing=$timing
  executor=cpu timing=1
  search "$@" --threads 1
  executor=$kept timing=$kept_timing
}

"$program" index generate images --count "$count" --output images.npy
"$program" index generate faces --count "$count" --output faces.npy

# Fig. 3.2 and 4.4: list of clusters. 4.5: range queries by queries in a launch.
index lc-images images.npy euclidean --kind list_of_clusters --cluster-size 64
for k in 8 16 32; do
  search knn lc-images images.npy --k "$k"
  search knn lc-images images.npy --k "$k" --radius-rule decreasing
  one_core knn lc-images images.npy --k "$k"
done
radius=${RADIUS:-0.5}
for batch in 5 10 30 100 200 0; do
  search range lc-images images.npy --radius "$radius" --batch "$batch"
done
one_core range lc-images images.npy --radius "$radius"

# Fig. 3.3, Table 3.1 and 4.4: SSS-Index.
for alpha in 0.38 0.42 0.46 0.5 0.54 0.58 0.62 0.66; do
  index "sss$alpha-images" images.npy euclidean --kind sss --alpha "$alpha"
  for k in 8 16 32; do search knn "sss$alpha-images" images.npy --k "$k"; done
done
for k in 8 16 32; do
  search knn sss0.66-images images.npy --k "$k" --distribution pivots
  one_core knn sss0.66-images images.npy --k "$k"
done

# Fig. 4.3: the three databases.
index none-images images.npy euclidean --kind none
search knn none-images images.npy --k 8
index lc-faces faces.npy euclidean --kind list_of_clusters --cluster-size 64
index sss-faces faces.npy euclidean --kind sss --alpha 0.66
index none-faces faces.npy euclidean --kind none
for name in lc-faces sss-faces none-faces; do search knn "$name" faces.npy --k 8; done
if [ -r "$words" ]; then
  iconv -f "$(file -b --mime-encoding "$words" 2>/dev/null || echo utf-8)" -t utf-8 "$words" |
    LC_ALL=C sort -u | { [ "$count" = 0 ] && cat || sed -n "1,${count}p"; } >spanish.txt
  index lc-spanish spanish.txt levenshtein --kind list_of_clusters --cluster-size 32
  index sss-spanish spanish.txt levenshtein --kind sss --alpha 0.5
  index none-spanish spanish.txt levenshtein --kind none
  for name in lc-spanish sss-spanish none-spanish; do search knn "$name" spanish.txt --k 8; done
else
  say "no word list at $words (Debian: apt-get install wspanish): Spanish is left out"
fi
say "records: $out/runs.jsonl"
