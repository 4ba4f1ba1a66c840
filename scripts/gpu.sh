#!/usr/bin/env bash
# The checks that a changed kernel must pass on a machine with a GPU: the tests on the device,
# compute-sanitizer on small sizes, and the given sweeps. Usage: scripts/gpu.sh BUILD_DIR OUT_DIR [CONFIG...]
set -uo pipefail
export OMP_WAIT_POLICY=passive  # else thousands of tiny proofs leave threads spinning on every core
build=$1 out=$2
shift 2
mkdir -p "$out"
failed=0
step() { # NAME COMMAND...: runs the command, keeps its log, remembers a failure
  local name=$1 begin=$SECONDS
  shift
  if timeout "${KSELECT_STEP_SECONDS:-300}" "$@" >"$out/$name.log" 2>&1; then
    echo "ok      $name ($((SECONDS - begin)) s)"
  else
    echo "FAILED  $name ($((SECONDS - begin)) s)"
    tail -n 15 "$out/$name.log"
    failed=1
  fi
}

nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw \
  --format=csv,noheader | tee "$out/gpu.txt"
command -v nvdisasm >/dev/null && step codegen python3 "$(dirname "$0")/../tests/simt/codegen/check.py" \
  nvcc sm_90 "$out/codegen"
filter=${KSELECT_GPU_TESTS:-*on_cuda*:*Cuda*:*cuda*}
for program in battery gpu_tests tests; do
  [ -x "$build/tests/kselect_$program" ] || continue
  step "$program" "$build/tests/kselect_$program" --gtest_brief=1 --gtest_filter="$filter"
done
small='*EveryDeclaredTypePayloadAndLayout*on_cuda*:*MisalignedInputAndPitch*on_cuda*:*verbs_cuda*'
small+=':-*a_launch_that_fails*'  # the sanitizer rightly reports this launch as an error
# The fused search in its forms: vectors of bytes, rows of queries, a graph by the whole product and by half.
vectors='import numpy as np
r = np.random.default_rng(1)
np.save("bytes.npy", r.integers(0, 256, (6000, 300)).astype(np.uint8))
np.save("corpus.npy", r.standard_normal((20000, 128), dtype=np.float32))
np.save("queries.npy", r.standard_normal((700, 128), dtype=np.float32))
words = ("".join(r.choice(list("abcdefgh"), r.integers(3, 12))) for _ in range(3000))
open("words.txt", "w").write("\n".join(words) + "\n")
for name, q, n, every in ("few", 40, 60000, 3), ("many", 1500, 20000, 50):
    np.save(name + ".npy", r.standard_normal((q, n), dtype=np.float32))
    np.save(name + "-lengths.npy", np.where(np.arange(q) % every == 0, n, 60).astype(np.int32))'
searches=("bytes.npy --self --k 10" "corpus.npy queries.npy --k 100" "corpus.npy --self --k 10 --whole-product"
  "corpus.npy --self --k 10 --half-product")
search='cd "$1" && compute-sanitizer --tool "$2" --error-exitcode 9 "$3" knn $4 --executor cuda --indices neighbours.npy \
  2>&1 | tee search.log && ! grep "was not used" search.log'
# Ragged rows of which the long ones are cut, alone and beside warps that select from the short ones.
ragged='cd "$1" && compute-sanitizer --tool "$2" --error-exitcode 9 "$3" select "$4.npy" --lengths "$4-lengths.npy" --fill -1 \
  --k 20 --algorithm bms-grid --executor cuda --indices answer.npy --values values.npy'
# Groups of queries in metric indexes. At k = 100 lists become long, and the warps of a group meet to cut them. Vectors of
# 64 components and more have kernels of their own. Ranges are put in order by kernels, too.
indexes=("images.npy --metric euclidean --kind list_of_clusters=knn --walk groups --k 100"
  "queries.npy --metric euclidean --kind list_of_clusters=knn --walk groups --k 100"
  "images.npy --metric euclidean --kind sss=knn --distribution groups --k 20"
  "queries.npy --metric euclidean --kind sss=knn --distribution groups --k 20"
  "words.txt --metric levenshtein --kind list_of_clusters --cluster-size 32=knn --walk groups --k 20"
  "words.txt --metric levenshtein --kind sss --pivots 4=knn --distribution groups --k 20"
  "images.npy --metric euclidean --kind list_of_clusters=range --walk groups --share 0.1"
  "words.txt --metric levenshtein --kind sss --pivots 4=range --distribution groups --radius 3")
group='cd "$1" && "$3" index generate images --count 6000 --output images.npy &&
  "$3" index build ${5%%=*} --index "$4.kidx" --executor cpu &&
  search="${5#*=}" && compute-sanitizer --tool "$2" --error-exitcode 9 "$3" index "${search%% *}" "$4.kidx" "${5%% *}" \
    --limit 600 ${search#* } --prove sample --executor cuda'
if [ -z "${KSELECT_SKIP_SANITIZER:-}" ]; then
  for tool in memcheck racecheck synccheck initcheck; do
    for program in battery gpu_tests; do
      step "$tool-$program" compute-sanitizer --tool "$tool" --error-exitcode 9 \
        "$build/tests/kselect_$program" --gtest_brief=1 --gtest_filter="${KSELECT_SANITIZER_TESTS:-$small}"
    done
  done
  step vectors bash -c 'cd "$1" && python3 -c "$2"' vectors "$out" "$vectors"
  program=$(realpath "$build")/kselect
  for tool in memcheck racecheck synccheck; do
    for i in "${!searches[@]}"; do
      step "$tool-knn-$i" bash -o pipefail -c "$search" search "$out" "$tool" "$program" "${searches[i]}"
    done
    for i in "${!indexes[@]}"; do
      step "$tool-index-$i" bash -c "$group" group "$out" "$tool" "$program" "index-$i" "${indexes[i]}"
    done
    for rows in few many; do
      step "$tool-ragged-$rows" bash -c "$ragged" ragged "$out" "$tool" "$program" "$rows"
    done
  done
fi
# A cell that crashes must not cost other cells, and its record must name the error.
faults='! "$1/tests/kselect_planted" run "$2/../tests/planted/faults.json" --out "$3" &&
  [ "$(grep -c "\"status\":\"ok\"" "$3/runs.jsonl")" = 4 ] &&
  [ "$(grep -c cudaErrorIllegalAddress "$3/runs.jsonl")" = 4 ]'
if [ -x "$build/tests/kselect_planted" ]; then
  step faults bash -c "$faults" faults "$build" "$(dirname "$0")" "$out/faults"
fi
for config in "$@"; do
  name=$(basename "$config" .json)
  step "run-$name" "$build/kselect" run "$config" --out "$out/$name" --resume
  sed -n '/distribution/,$p' "$out/run-$name.log"
done
exit $failed
