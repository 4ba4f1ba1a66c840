#!/usr/bin/env bash
# Runs the experiments of Barrientos 2011 with metric indexes: Fig. 3.2, 3.3, 4.3 to 4.5, Table 3.1, and what
# Sec. 3.2 and Chapter 5 say without a figure. Each search writes one record to OUT/runs.jsonl;
# `python -m plots.older_searches OUT` makes cells of them, which `python -m plots.index_searches OUT` draws. Fig. 4.1 and 4.2 are the sweep configs/barrientos_fig4.json,
# on the vectors of the same Faces. Needs no network.
#
# Usage: scripts/barrientos.sh KSELECT OUT [EXECUTOR [QUERIES [COUNT]]]
#   EXECUTOR  cuda (default), or fiber, which counts work instead of measuring time
#   QUERIES   queries of each search; 0 (default) takes all. Give few on fibers: records say how many
#   COUNT     vectors of each generated database; default 120000
# Environment:
#   PROVE       queries whose answer is proven against all distances: sample (default, 16), all or none. With
#               `all` the proofs take longer than the searches, and the load that a record notes is theirs
#   TIMING      timed searches of a record, after one that is not timed; default 11
#   SEQUENTIAL  queries of a search by one thread; default 500. Times are compared by the query
#   STEPS       some of: build knn alpha range sequential batch; default all. `build` comes first
#   WORDS       Spanish words, one a line, UTF-8; default: the list of Debian's package wspanish
#   KSELECT_MNIST  MNIST's image file, an additional database
set -euo pipefail
if [ $# -lt 2 ] || [ $# -gt 5 ]; then
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
fi
kselect=$1 out=$2 executor=${3:-cuda} queries=${4:-0} count=${5:-120000}
prove=${PROVE:-sample} timing=${TIMING:-11} few=${SEQUENTIAL:-500}
steps=" ${STEPS:-build knn alpha range sequential batch} "
words=${WORDS:-/usr/share/dict/spanish}
# The thesis' dictionary has 51,589 words.
dictionary=51589
if [ -n "${WORDS:-}" ] && [ ! -f "$words" ]; then
  echo "barrientos.sh: there is no word list $words" >&2
  exit 2
fi
[ "$executor" = cuda ] || timing=1
if [ "$queries" != 0 ] && [ "$queries" -lt "$few" ]; then few=$queries; fi
data=$out/data
mkdir -p "$data"

step() { [[ $steps == *" $1 "* ]]; }
index() { "$kselect" index "$@"; }
build() { # METRIC NAME KIND [OPTION...]: of the objects of the database, NAME up to the first hyphen
  local metric=$1 name=$2 kind=$3 database=${2%%-*}
  shift 3
  if [ "$metric" = levenshtein ]; then
    index build --metric "$metric" --objects "$data/$database.txt" --kind "$kind" --executor cpu \
      --index "$data/$name.kidx" "$@"
  else # 80 % indexed, 20 % held out as queries
    index build --metric "$metric" --objects "$data/$database.npy" --kind "$kind" --executor cpu \
      --index "$data/$name.kidx" --hold-out 0.2 --queries "$data/$database-queries.npy" "$@"
  fi
}
search_on() { # EXECUTOR QUERIES TIMING WHAT NAME [OPTION...]
  local where=$1 limit=$2 times=$3 what=$4 name=$5
  shift 5
  index "$what" --index "$data/$name.kidx" --queries "$(ls "$data/${name%%-*}-queries."*)" \
    --limit "$limit" --prove "$prove" --timing "$times" --record "$out" --executor "$where" "$@"
}
search() { search_on "$executor" "$queries" "$timing" "$@"; }
sequential() { search_on cpu "$few" 5 "$@" --threads 1; }

# The dictionary is a sample of the words, at even distances. The others are the queries, in an order that is not
# the alphabet's, so that the first of them are a fair sample.
split_words() {
  local lines
  lines=$(wc -l < "$words")
  if [ "$lines" -le "$dictionary" ]; then
    echo "barrientos.sh: $words has $lines words; more than $dictionary are needed" >&2
    exit 2
  fi
  awk -v have="$lines" -v take=$dictionary -v chosen="$data/spanish.txt" '
    int(NR * take / have) > int((NR - 1) * take / have) { print > chosen; next }
    { print (NR * 618033) % 1000003 "\t" $0 }' "$words" |
    LC_ALL=C sort -n | cut -f 2 > "$data/spanish-queries.txt"
}

build_all() {
  index generate images --count "$count" --output "$data/images.npy"
  index generate faces --count "$count" --output "$data/faces.npy"
  # The thesis' parameters (Sec. 4.2): clusters of 64, for Spanish of 32; alpha 0.66 for Images, one pivot, and
  # 0.5 for Spanish, 64 pivots. It names none for Faces. It takes the fastest and finds one pivot best on a GPU
  # (Chapter 5), so Faces has one.
  build euclidean images-lc list_of_clusters --cluster-size 64
  build euclidean images-sss sss --alpha 0.66
  build euclidean faces-lc list_of_clusters --cluster-size 64
  build euclidean faces-sss sss --alpha 0.66 --pivots 1
  # The other form of the list (Sec. 2.1.3), which the thesis describes and does not measure.
  build euclidean images-ball list_of_clusters --cluster-radius 1.33
  for alpha in 0.3 0.35 0.4 0.45 0.5 0.55 0.6; do # Fig. 3.3
    build euclidean "images-sss$alpha" sss --alpha "$alpha"
  done
  if [ -f "$words" ]; then
    split_words
    build levenshtein spanish-lc list_of_clusters --cluster-size 32
    build levenshtein spanish-sss sss --alpha 0.5 --pivots 64
  fi
  if [ -n "${KSELECT_MNIST:-}" ]; then
    for kind in "lc list_of_clusters --cluster-size 64" "sss sss --alpha 0.66"; do
      read -r -a options <<< "$kind"
      index build --metric euclidean --objects "$KSELECT_MNIST" --executor cpu --hold-out 0.2 \
        --queries "$data/mnist-queries.npy" --index "$data/mnist-${options[0]}.kidx" --kind "${options[@]:1}"
    done
  fi
}

# Range queries of the databases that have some in the thesis, by list of clusters and SSS-Index.
ranges() { # SEARCH
  local run=$1 name radius share
  for name in images-lc images-sss; do
    for share in 0.0001 0.001 0.01; do "$run" range "$name" --share "$share"; done
  done
  [ -f "$data/spanish-lc.kidx" ] || return 0
  for name in spanish-lc spanish-sss; do
    for radius in 1 2 3; do "$run" range "$name" --radius "$radius"; done
  done
}

if step build; then build_all; fi
databases=()
for database in images faces spanish mnist; do
  [ ! -f "$data/$database-lc.kidx" ] || databases+=("$database")
done
is_of_tables() { [ "$1" = images ] || [ "$1" = spanish ]; } # what Fig. 3.2, 4.4 and Table 3.1 are about

if step knn; then
  for k in 8 16 32; do
    search knn images-ball --k "$k" # Sec. 2.1.3
    for database in "${databases[@]}"; do
      search knn "$database-lc" --k "$k" # Fig. 4.3
      search knn "$database-sss" --k "$k"
      search knn "$database-lc" --k "$k" --exhaustive
      is_of_tables "$database" || continue
      search knn "$database-lc" --k "$k" --radius-rule decreasing # Fig. 3.2
      search knn "$database-sss" --k "$k" --distribution pivots   # Table 3.1
    done
  done
fi
if step alpha; then # Fig. 3.3; 0.66 is among the others
  for alpha in 0.3 0.35 0.4 0.45 0.5 0.55 0.6; do search knn "images-sss$alpha" --k 8; done
fi
if step range; then
  ranges search
  for share in 0.0001 0.001 0.01; do search range images-ball --share "$share"; done
fi
[ "$executor" != fiber ] || exit 0
if step sequential; then # Fig. 4.4, Chapter 5
  ranges sequential
  for k in 8 16 32; do
    for database in "${databases[@]}"; do
      is_of_tables "$database" || continue
      sequential knn "$database-lc" --k "$k"
      sequential knn "$database-sss" --k "$k"
    done
  done
fi
if step batch; then # Fig. 4.5; all in one launch is among the range queries
  for batch in 5 10 20 30 50 100 200 500 1000; do
    search range images-lc --share 0.001 --batch "$batch"
  done
fi
