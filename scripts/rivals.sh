#!/usr/bin/env bash
# Measures kselect beside the rivals that can be had here, in one run a config and in turns (peers/rivals.py). What a
# registry has is installed by pip into a virtual environment of its own; a rival that cannot be installed is named and
# left out. Nothing of theirs is kept in the tree. Records have the versions; OUT/rivals.txt has those of all packages.
#
# Usage: scripts/rivals.sh [OPTION]... OUT [CONFIG]...
#   CONFIG            default: the goal's shapes, orders, types and serving sizes; on a CPU configs/cpu_goal.json
#   --device cuda|cpu default: cuda if there is a GPU
#   --with CHECKOUT   installs a rival from a checkout of its repository, such as FlagGems; may be repeated
#   --checkout NAME=DIR  compiles a rival from its sources: rtopk, bits-knn, raft; may be repeated
#   --call NAME=MODULE:FUNCTION  a rival that is a function of yours (docs/guide/board.md); may be repeated
#   --no-install      takes the rivals that PYTHON can import, for a machine without a network
#   --filter GLOB     only cells that match, as `kselect run --filter` takes it
#   --seconds N       begins no further problem of a config after so long
#   --patience N      a call of a rival may take so many seconds; one that takes longer costs the rival the problem
#   --own-first       kselect measures all of a config before the rivals, in one process
#   --rivals NAMES    only these, by commas
#   --no-knn          leaves out the k-NN searches
#   --plan            says what would be installed and measured, and stops
# Environment: KSELECT_BINARY (a program that is built), PYTHON (python3), RIVALS_VENV (OUT/venv), PACKAGES (instead of
#   the list below), RIVALS_ARCH (compile --checkout for this GPU, such as sm_90)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
say() { printf '== %s\n' "$*" >&2; }

device='' knn=yes plan=no install=yes
checkouts=() compiled=() passed=() configs=()
while [[ ${1:-} == --* ]]; do
  case $1 in
    --device) device=${2:?--device needs cuda or cpu}; shift ;;
    --with) checkouts+=("$(realpath -e "${2:?--with needs a checkout}")"); shift ;;
    --checkout)
      # Python runs in the root.
      [[ ${2:?--checkout needs NAME=DIR} == *=* ]] || { echo "rivals.sh: --checkout $2 is not NAME=DIR" >&2; exit 2; }
      compiled+=(--checkout "${2%%=*}=$(realpath -m "${2#*=}")")
      shift ;;
    --call | --filter | --seconds | --patience | --rivals) passed+=("$1" "${2:?$1 needs a value}"); shift ;;
    --own-first) passed+=("$1") ;;
    --no-install) install=no ;;
    --no-knn) knn=no ;;
    --plan) plan=yes ;;
    *) echo "rivals.sh: $1 is no option" >&2; usage ;;
  esac
  shift
done
[ $# -ge 1 ] || usage
out=$(realpath -m "$1")
shift
if [ -z "$device" ]; then
  device=cpu
  if command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; then device=cuda; fi
fi
case $device in
  cuda)
    packages=${PACKAGES:-torch triton libraft-cu13 flashinfer-python quack-kernels flag-gems cupy-cuda13x faiss-gpu}
    default=(goal goal_largest goal_orders goal_types goal_shapes goal_libraries serving serving_ragged) ;;
  cpu)
    packages=${PACKAGES:-torch faiss-cpu}
    default=(cpu_goal) ;;
  *) echo "rivals.sh: --device is cuda or cpu, not $device" >&2; exit 2 ;;
esac
for config in "$@"; do configs+=("$(realpath -e "$config")"); done
[ ${#configs[@]} -gt 0 ] || configs=("${default[@]/%/.json}")
[ $# -gt 0 ] || configs=("${configs[@]/#/$root/configs/}")
venv=${RIVALS_VENV:-$out/venv}

if [ "$plan" = yes ]; then
  echo "device: $device"
  if [ "$install" = yes ]; then
    echo "packages, into $venv: $packages"
  else
    echo "nothing is installed; rivals are those that ${PYTHON:-python3} can import"
  fi
  for checkout in "${checkouts[@]}"; do echo "from a checkout: $checkout"; done
  for checkout in "${compiled[@]}"; do [ "$checkout" = --checkout ] || echo "compiled from a checkout: $checkout"; done
  for config in "${configs[@]}"; do echo "config: $config -> $out/$(basename "$config" .json)_rivals"; done
  [ "$knn" = no ] || echo "k-NN: $out/knn"
  exit 0
fi

mkdir -p "$out"
python=$venv/bin/python
install_rivals() {
  [ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/pip" install --quiet -r "$root/plots/requirements.txt"
  local package
  for package in $packages "${checkouts[@]}"; do
    say "installing $package"
    "$venv/bin/pip" install --quiet "$package" 2>"$out/pip.log" ||
      say "left out $package: $(grep -m1 -i error "$out/pip.log" || tail -n1 "$out/pip.log")"
  done
  rm -f "$out/pip.log"
  "$venv/bin/pip" freeze >"$out/rivals.txt"
}

take_what_is_there() {
  python=${PYTHON:-python3}
  "$python" -c 'import numpy' || { echo "rivals.sh: $python has no numpy; --no-install takes what is there" >&2; exit 3; }
  "$python" -m pip freeze >"$out/rivals.txt" 2>/dev/null || say "$python has no pip: rivals.txt has no versions"
}

program() { # the program that measures: one that is named, else one that is built
  if [ -z "${KSELECT_BINARY:-}" ]; then
    "$root/scripts/build.sh" >&2
    KSELECT_BINARY=$root/build/release/kselect
  fi
  KSELECT_BINARY=$(realpath -e "$KSELECT_BINARY")
  export KSELECT_BINARY
}

measure_selections() {
  local config into
  for config in "${configs[@]}"; do
    into=$out/$(basename "$config" .json)_rivals
    if [ -e "$into/meta.json" ]; then say "$into is complete"; continue; fi
    say "$config"
    (cd "$root" && "$python" -m peers.rivals "$config" --out "$into" --device "$device" "${compiled[@]}" "${passed[@]}")
  done
}

measure_searches() {
  local bench config
  if [ "$device" = cuda ]; then
    for config in knn_end_to_end knn_end_to_end_784 knn_end_to_end_960; do
      "$KSELECT_BINARY" run "$root/configs/$config.json" --resume --out "$out/$config"
    done
    return
  fi
  bench=$(dirname "$KSELECT_BINARY")/bench/kselect_knn_on_host
  if [ ! -x "$bench" ]; then say "left out k-NN: $bench is not built"; return; fi
  if ! "$python" -c 'import faiss' 2>/dev/null; then say "left out k-NN: faiss is not installed"; return; fi
  (cd "$root" && "$python" -m peers.knn_on_host "$bench" --out "$out/knn")
}

if [ "$install" = yes ]; then install_rivals; else take_what_is_there; fi
program
measure_selections
[ "$knn" = no ] || measure_searches
say "done; kselect board $out --out site"
