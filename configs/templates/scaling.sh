#!/usr/bin/env bash
# Measures how exact k-NN scales over the GPUs of this machine: strong scaling (the same search on 1, 2, 4, ...
# GPUs), weak scaling (a fixed number of vectors for each GPU), and out of core (the corpus is read from its
# file during the search). OUT becomes a run with a cell a search, whose rounds are its repeats; `python -m
# plots.scaling OUT` draws it. Comparisons check the answers: several GPUs with one, and one GPU with the CPU. Products in float16
# prove every query. The older products (PRODUCT=float32) make no proofs while they are timed, since theirs are
# slow; one more search proves a sample of its selections.
#
# Usage: configs/templates/scaling.sh KSELECT OUT [DATA [DISK]]
#   DATA  folder for vectors and answers, 6 GB; default: /dev/shm (no disk) if it has room, else /tmp
#   DISK  folder on a disk: the out-of-core search is also run from there, with cold caches
# Environment: N, Q, D, K (10^7, 10^5, 128, 100), GPUS ("1 2 4 ..." up to their number), REPEATS (2),
#   LAUNCH (threads: one process with --gpus; mpi: mpirun with one process a GPU),
#   EXCHANGE (auto, host or nccl), MEMORY (MiB of host memory, 16384 for each GPU), ALGORITHM (auto), EXECUTOR (cuda),
#   PRODUCT (auto: float16 on a GPU; float32 measures the older products)
set -euo pipefail
kselect=$1 out=$2 data=${3:-} disk=${4:-}
n=${N:-10000000} q=${Q:-100000} d=${D:-128} k=${K:-100}
repeats=${REPEATS:-2} launch=${LAUNCH:-threads} memory=${MEMORY:-16384}
algorithm=${ALGORITHM:-auto} executor=${EXECUTOR:-cuda} product=${PRODUCT:-auto}
# NVLink multicast can take the GPUs of a shared machine out of service.
export NCCL_NVLS_ENABLE=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
if [ -z "$data" ]; then
  room=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1 || true)
  data=/tmp
  [ "${room:-0}" -lt $((n * d * 4 / 1024 + (1 << 20))) ] || data=/dev/shm
fi
mkdir -p "$out"
work=$(mktemp -d "$data/kselect-scaling.XXXXXX")
trap 'rm -rf "$work" "${on_disk:+${on_disk%/*}}"' EXIT
here=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true)
if [ -z "${GPUS:-}" ]; then
  GPUS=1
  for ((g = 2; g <= here; g *= 2)); do GPUS+=" $g"; done
fi
most=${GPUS##* }
begin=$SECONDS

say() { printf '%4d s  %s\n' $((SECONDS - begin)) "$*"; }
search() { # EXPERIMENT GPUS NAME OPTION...: writes the answer to NAME.{i,d}.npy
  local experiment=$1 gpus=$2 name=$work/$3
  shift 3
  local start=() ranks=(--gpus "$gpus") limit=$((memory * gpus)) prove=() record=(--record "$out")
  [ "$experiment" != warm-up ] || record=()
  [ "$executor" = cuda ] || ranks=(--ranks "$gpus")
  case $executor,$product in cuda,float32 | cuda,tf32) [ "$experiment" = proven ] || prove=(--prove none) ;; esac
  if [ "$launch" = mpi ]; then
    start=(mpirun --bind-to none --oversubscribe -n "$gpus") ranks=(--mpi) limit=$memory
  fi
  rm -rf "$name".*
  if ! timeout 150 "${start[@]}" "$kselect" knn --k "$k" --algorithm "$algorithm" \
    --executor "$executor" --product "$product" --wait-limit 100 --exchange "${EXCHANGE:-auto}" --memory-limit "$limit" \
    --indices "$name.i.npy" --distances "$name.d.npy" "${record[@]}" "${ranks[@]}" "${prove[@]}" "$@" \
    >"$name.log" 2>&1; then
    say "FAILED  $experiment on $gpus: $(tail -n 3 "$name.log")"
    failed=1
    return
  fi
  [ "$experiment" = warm-up ] || say "$experiment on $gpus: $(seconds)"
}
seconds() { # the last search's time: the last of its cell's rounds
  tail -n 1 "$out/runs.jsonl" | grep -o '"rounds":\[[^]]*\]' | head -n 1 |
    awk -F'[][,]' '{ printf "%.3f s", $(NF - 1) / 1e9 }'
}
same() { # A B ROWS: compares the first rows of two answers
  local part bytes equal=equal
  for part in i d; do
    bytes=$(($3 * k * $([ $part = i ] && echo 8 || echo 4)))
    cmp -s -i 128 -n "$bytes" "$work/$1.$part.npy" "$work/$2.$part.npy" || equal=DIFFERENT
  done
  [ $equal = equal ] || failed=1
  say "$3 answers of $1 and $2: $equal"
}

failed=0
"$kselect" generate --count "$n" --dimension "$d" --seed 1 --output "$work/base.npy" >/dev/null
"$kselect" generate --count "$q" --dimension "$d" --seed 2 --output "$work/query.npy" >/dev/null
say "$n and $q vectors generated"

# An uncounted search warms up the driver, the kernels and the file.
search warm-up "$most" warm --base "$work/base.npy" --query "$work/query.npy" --limit $((n / 10))
for g in $GPUS; do
  for ((r = 1; r <= repeats; ++r)); do
    search strong "$g" "strong$g" --base "$work/base.npy" --query "$work/query.npy"
  done
  [ "$g" = "${GPUS%% *}" ] || same "strong${GPUS%% *}" "strong$g" "$q"
done
# On all GPUs, strong and weak scaling are the same search.
for g in $GPUS; do
  [ "$g" != "$most" ] || continue
  for ((r = 1; r <= repeats; ++r)); do
    search weak "$g" "weak$g" --base "$work/base.npy" --query "$work/query.npy" \
      --limit $((n / most * g))
  done
done

if [ "$executor,$product" = cuda,float32 ]; then
  search proven "$most" proven --base "$work/base.npy" --query "$work/query.npy"
  same "strong$most" proven "$q"
fi

# The CPU answers some of the queries.
some=${TRUTH:-32}
"$kselect" generate --count "$some" --dimension "$d" --seed 2 --output "$work/some.npy" >/dev/null
timeout 100 "$kselect" knn --base "$work/base.npy" --query "$work/some.npy" --k "$k" --executor cpu \
  --memory-limit $((memory * most)) --indices "$work/cpu.i.npy" --distances "$work/cpu.d.npy" \
  >"$work/cpu.log" 2>&1 || say "FAILED  on the processor: $(tail -n 1 "$work/cpu.log")"
same "strong${GPUS%% *}" cpu "$some"

# Out of core: device memory holds only a part of a GPU's vectors, so every tile of queries reads the file
# again. With few queries reading the file limits the speed; with many queries the products do.
out_of_core() { # NAME FILE VECTORS QUERIES...
  local name=$1 file=$2 vectors=$3 queries g
  shift 3
  for queries in "$@"; do
    "$kselect" generate --count "$queries" --dimension "$d" --seed 3 --output "$work/few.npy" >/dev/null
    for g in $(printf '%s\n' 1 "$most" | sort -u); do
      [ "$name" = out-of-core ] || drop "$file"
      search "$name" "$g" "$name" --base "$file" --query "$work/few.npy" \
        --memory $((vectors * d * 4 / g * 4 / 5 / (1 << 20) + 1))
    done
  done
}
drop() { dd if="$1" iflag=nocache count=0 2>/dev/null; }
rate() { # NAME FILE: says how long reading the file alone takes
  local from to
  from=$(date +%s%N)
  dd if="$2" of=/dev/null bs=16M 2>/dev/null
  to=$(date +%s%N)
  say "$1: the file alone takes $(((to - from) / 1000000)) ms"
}
rate out-of-core "$work/base.npy"
out_of_core out-of-core "$work/base.npy" "$n" $((q / 100)) $((q / 10)) $((q / 4))
if [ -n "$disk" ]; then
  on_disk=$(mktemp -d "$disk/kselect-scaling.XXXXXX")/on-disk.npy
  "$kselect" generate --count $((n / 4)) --dimension "$d" --seed 1 --output "$on_disk" >/dev/null
  sync "$on_disk"
  drop "$on_disk"
  rate disk "$on_disk"
  out_of_core disk "$on_disk" $((n / 4)) $((q / 100)) $((q / 10))
fi
say "done: $(wc -l <"$out/runs.jsonl") searches in $out/runs.jsonl"
exit $failed
