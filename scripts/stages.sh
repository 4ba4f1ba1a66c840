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

# yardstick: the processor seconds in which this machine compiles one fixed source. ccache takes no part.
yardstick() {
  local TIMEFORMAT='%U' source='#include <regex>
    bool of_digits(const std::string& text) { return std::regex_match(text, std::regex("[0-9]+")); }'
  { time g++ -std=c++20 -O1 -x c++ -c -o /dev/null - <<<"$source"; } 2>&1
}

# limit_objects FACTOR BUILD: limits the processor time of each object (cmake/timed.sh). It is counted in yardsticks,
# because processors differ, and because a cache answers for any number of the other objects.
limit_objects() {
  local unit slow
  unit=$(yardstick)
  slow=$(awk -v unit="$unit" -v factor="$1" '$1 > factor * unit { printf "%s (%d s) ", $2, $1 }' "$2/object_times.txt")
  [ -z "$slow" ] || passed_limit "objects took more than $1 times the $unit s of a yardstick (docs/decisions/build_times.md): $slow"
}

# say_slowest BUILD: prints the ten slowest objects.
say_slowest() {
  say "slowest objects of $1 (processor seconds)"
  # Not head, which leaves before it has read all: sort then dies of SIGPIPE, and the script with it.
  sort -rn "$1/object_times.txt" | sed -n 1,10p
}
