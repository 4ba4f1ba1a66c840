#!/usr/bin/env bash
# Runs the experiments of Barrientos 2011 with metric indexes (Fig. 3.2, 3.3, 4.3 to 4.5, Table 3.1).
# Each search writes one record to OUT/runs.jsonl; `python -m plots.index_searches OUT` draws them.
# Fig. 4.1 and 4.2 are the sweep configs/barrientos_fig4.json.
#
# By default every answer is proven against all distances. The proofs take longer than the searches.
#
# Usage: scripts/barrientos.sh KSELECT OUT [EXECUTOR [QUERIES [COUNT]]]
#   EXECUTOR  cuda (default), or fiber, which counts work instead of measuring time
#   QUERIES   queries of each search; 0 (default) takes all that are held out. Give few on fibers
#   COUNT     vectors of each generated database; default 120000
# Environment: PROVE (all, sample or none), KSELECT_MNIST (MNIST's image file, an additional database)
# The Spanish dictionary is searched if Debian's package wspanish is installed.
set -euo pipefail
kselect=$1 out=$2 executor=${3:-cuda} queries=${4:-0} count=${5:-120000} prove=${PROVE:-all}
words=/usr/share/dict/spanish
mkdir -p "$out"
data=$out/data
mkdir -p "$data"

index() { "$kselect" index "$@"; }
build() { # METRIC OBJECTS NAME KIND [OPTION...]: 80 % indexed, 20 % held out
  local metric=$1 objects=$2 name=$3 kind=$4 queries=npy
  shift 4
  [ "$metric" = euclidean ] || queries=txt
  index build --metric "$metric" --objects "$objects" --kind "$kind" --executor cpu \
    --index "$data/$name.kidx" --hold-out 0.2 --queries "$data/${name%%-*}-queries.$queries" "$@"
}
search_on() { # EXECUTOR WHAT NAME [OPTION...]
  local where=$1 what=$2 name=$3
  shift 3
  index "$what" --index "$data/$name.kidx" --queries "$(ls "$data/${name%%-*}-queries."*)" \
    --limit "$queries" --prove "$prove" --record "$out" --executor "$where" "$@"
}
search() { search_on "$executor" "$@"; }
sequential() { search_on cpu "$@" --threads 1; }

index generate images --count "$count" --output "$data/images.npy"
index generate faces --count "$count" --output "$data/faces.npy"
databases=(images faces)
build euclidean "$data/images.npy" images-lc list_of_clusters --cluster-size 64
build euclidean "$data/images.npy" images-sss sss --alpha 0.66
build euclidean "$data/faces.npy" faces-lc list_of_clusters --cluster-size 64
build euclidean "$data/faces.npy" faces-sss sss --alpha 0.66
if [ -f "$words" ]; then
  cp "$words" "$data/spanish.txt"
  build levenshtein "$data/spanish.txt" spanish-lc list_of_clusters --cluster-size 32
  build levenshtein "$data/spanish.txt" spanish-sss sss --alpha 0.5
  databases+=(spanish)
fi
if [ -n "${KSELECT_MNIST:-}" ]; then
  build euclidean "$KSELECT_MNIST" mnist-lc list_of_clusters --cluster-size 64
  build euclidean "$KSELECT_MNIST" mnist-sss sss --alpha 0.66
  databases+=(mnist)
fi

for k in 8 16 32; do
  search knn images-lc --k "$k" --radius-rule decreasing            # Fig. 3.2
  search knn images-sss --k "$k" --distribution pivots              # Table 3.1
  for database in "${databases[@]}"; do                             # Fig. 4.3
    search knn "$database-lc" --k "$k"
    search knn "$database-sss" --k "$k"
    search knn "$database-lc" --k "$k" --exhaustive
  done
done
for alpha in 0.3 0.35 0.4 0.45 0.5 0.55 0.6 0.66; do                # Fig. 3.3
  build euclidean "$data/images.npy" "images-sss$alpha" sss --alpha "$alpha"
  search knn "images-sss$alpha" --k 8
done
[ "$executor" = fiber ] && exit
for name in images-lc images-sss; do                                # Fig. 4.4
  for share in 0.0001 0.001 0.01; do
    search range "$name" --share "$share"
    sequential range "$name" --share "$share"
  done
  for k in 8 16 32; do sequential knn "$name" --k "$k"; done
done
for batch in 5 10 20 30 50 100 200 500 1000 0; do                   # Fig. 4.5
  search range images-lc --share 0.001 --batch "$batch"
done
