#!/usr/bin/env bash
# Splits a list of Spanish words into a dictionary and queries, for configs/barrientos_spanish.json. The dictionary has
# the 51,589 words of Barrientos 2011, a sample at even distances; all other words are the queries, in an order that is
# not the alphabet's, so that the first of them are a fair sample.
#
# Usage: scripts/words.sh WORDS OUT     writes OUT/spanish.txt and OUT/spanish-queries.txt
#   WORDS  one a line, UTF-8, such as /usr/share/dict/spanish of Debian's package wspanish
set -euo pipefail
if [ $# -ne 2 ]; then
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
fi
words=$1 out=$2 take=51589
if [ ! -f "$words" ]; then
  echo "words.sh: there is no word list $words" >&2
  exit 2
fi
lines=$(wc -l < "$words")
if [ "$lines" -le "$take" ]; then
  echo "words.sh: $words has $lines words; more than $take are needed" >&2
  exit 2
fi
mkdir -p "$out"
awk -v have="$lines" -v take=$take -v chosen="$out/spanish.txt" '
  int(NR * take / have) > int((NR - 1) * take / have) { print > chosen; next }
  { print (NR * 618033) % 1000003 "\t" $0 }' "$words" |
  LC_ALL=C sort -n | cut -f 2 > "$out/spanish-queries.txt"
