# Sourced by test.sh and demo.sh: times the stages of a script and checks the time limits that CI enforces.

stage_names=() stage_seconds=()
stage_name='' stage_begin=0

# stage NAME: ends the current stage and begins this one.
stage() {
  end_stage
  stage_name=$1 stage_begin=$SECONDS
  say "$1"
}

end_stage() {
  [ -n "$stage_name" ] || return 0
  stage_names+=("$stage_name") stage_seconds+=($((SECONDS - stage_begin)))
  stage_name=
}

# say_stages: prints the time of each stage and their sum.
say_stages() {
  end_stage
  local i sum=0
  say "time of each stage"
  for i in "${!stage_names[@]}"; do
    printf '%6d s  %s\n' "${stage_seconds[i]}" "${stage_names[i]}"
    sum=$((sum + stage_seconds[i]))
  done
  printf '%6d s  in all\n' "$sum"
}

# An exceeded limit is an error in CI (CI=true). Elsewhere it is a warning, because the machine may be busy.
passed_limit() { # MESSAGE
  say "too slow: $1"
  [ "${CI:-}" != true ] || exit 1
}

# limit_seconds LIMIT WHAT: limits the time of the script until now.
limit_seconds() {
  [ "$SECONDS" -le "$1" ] || passed_limit "$2 took $SECONDS s; the limit is $1 s (docs/decisions/build_times.md)"
}

# limit_objects PERCENT BUILD: limits the processor time of each object (cmake/timed.sh) to a share of that of all,
# because processors differ. A build of few objects, the rest being cached or up to date, has no limit.
limit_objects() {
  local slow
  slow=$(awk -v limit="$1" '{ all += $1; time[$2] = $1 }
    END { for (o in time) if (NR >= 100 && 100 * time[o] > limit * all) printf "%s (%d s of %d) ", o, time[o], all }' \
    "$2/object_times.txt")
  [ -z "$slow" ] || passed_limit "objects took more than $1 % of their build's processor time: $slow"
}

# say_slowest BUILD: prints the ten slowest objects.
say_slowest() {
  say "slowest objects of $1 (processor seconds)"
  # Not head, which leaves before it has read all: sort then dies of SIGPIPE, and the script with it.
  sort -rn "$1/object_times.txt" | sed -n 1,10p
}
