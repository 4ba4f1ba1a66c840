# Sourced by the other scripts. It tries each dependency of needs.txt, installs missing ones if it may, and
# puts `cmake` and `python` of the project's virtual environment in front of PATH.
#
# If nothing is missing, it needs neither root nor a package manager. Folders named by CPATH, LIBRARY_PATH,
# CMAKE_PREFIX_PATH or an active conda environment are searched and passed to CMake.

# `SCRIPT --help` prints the comment that SCRIPT begins with, and does nothing else.
if [[ ${1:-} == --help || ${1:-} == -h ]] && [ "$0" != "${BASH_SOURCE[0]}" ] && [ -f "$0" ]; then
  sed -n '2,${/^#/!q;s/^# \{0,1\}//;p}' "$0"
  exit
fi

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

say() { printf '== %s\n' "$*"; }

# need PART...: makes sure that all dependencies of these parts are there. If a required one can be neither found
# nor installed, it prints the package names for the systems in needs.txt and ends the script.
need() {
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  read_needs "$@"
  see_folders
  find_missing
  if [ ${#missing[@]} -ne 0 ] && may_install; then
    install_missing
    find_missing
  fi
  say_missing
  rm -rf "$scratch"
  trap - EXIT
}

# --- the list -----------------------------------------------------------------------------------------------

# read_needs PART...: fills the arrays need_*, one element for each need.
read_needs() {
  need_name=() need_try=() need_flags=() need_optional=()
  need_debian=() need_ubuntu=() need_conda=()
  local parts name try flags debian ubuntu conda part
  while IFS='|' read -r parts name try flags debian ubuntu conda; do
    [[ $parts == '#'* || -z $name ]] && continue
    for part in "$@"; do
      [[ " ${parts#\?} " == *" $part "* ]] || continue
      if [[ $parts == '?'* ]]; then need_optional+=(yes); else need_optional+=(""); fi
      add_trimmed need_name "$name" && add_trimmed need_try "$try" && add_trimmed need_flags "$flags"
      add_trimmed need_debian "$debian" && add_trimmed need_ubuntu "$ubuntu" && add_trimmed need_conda "$conda"
      break
    done
  done <scripts/needs.txt
  [ ${#need_name[@]} -ne 0 ] || {
    echo "scripts/needs.txt lists nothing for '$*'; correct the part's name" >&2
    exit 1
  }
}

add_trimmed() { # ARRAY TEXT
  local -n array=$1
  local text=${2#"${2%%[![:space:]]*}"}
  array+=("${text%"${text##*[![:space:]]}"}")
}

# --- trying -------------------------------------------------------------------------------------------------

# Makes CMake, pkg-config and the trials of this script search the same folders, also an active conda
# environment. CMake's find_path() does not read CPATH, and its find_library() does not read LIBRARY_PATH.
see_folders() {
  local folder
  local -a named
  IFS=: read -ra named <<<"${CPATH:-}:${CPLUS_INCLUDE_PATH:-}"
  for folder in "${named[@]}"; do
    [[ $folder != */include ]] || see_folder CMAKE_PREFIX_PATH "${folder%/include}"
    see_folder CMAKE_INCLUDE_PATH "$folder"
  done
  IFS=: read -ra named <<<"${LIBRARY_PATH:-}"
  for folder in "${named[@]}"; do see_folder CMAKE_LIBRARY_PATH "$folder"; done
  see_folder CMAKE_PREFIX_PATH "${CONDA_PREFIX:-}"
  search=()
  IFS=: read -ra named <<<"${CMAKE_PREFIX_PATH:-}"
  for folder in "${named[@]}"; do
    [ -n "$folder" ] || continue
    search+=("-I$folder/include" "-L$folder/lib" "-Wl,-rpath-link,$folder/lib")
    see_folder PKG_CONFIG_PATH "$folder/lib/pkgconfig"
    see_folder PKG_CONFIG_PATH "$folder/share/pkgconfig"
  done
}

# see_folder VARIABLE FOLDER: appends FOLDER to the exported, colon-separated VARIABLE unless it is in there.
see_folder() {
  [[ -z $2 || ":${!1:-}:" == *":$2:"* ]] || export "$1=${!1:+${!1}:}$2"
}

# Sets `missing` to the numbers of unmet needs and `compiler` to the compiler that tried the libraries. Sets
# `untried` if libraries could not be tried because there is no compiler.
find_missing() {
  local number libraries=()
  missing=() compiler='' untried=''
  for number in "${!need_name[@]}"; do
    if [[ ${need_try[number]} != '$ '* ]]; then
      libraries+=("$number")
    elif ! eval "${need_try[number]#'$ '}" >/dev/null 2>&1 </dev/null; then
      missing+=("$number")
    fi
  done
  # First all at once, which usually succeeds; if not, one by one to find the missing ones.
  if [ ${#libraries[@]} -eq 0 ] || link_libraries "${libraries[@]}"; then return; fi
  for number in "${libraries[@]}"; do
    link_libraries "$number" || missing+=("$number")
    [ -n "$compiler" ] || untried=yes
  done
}

# link_libraries NUMBER...: succeeds if the headers of these needs are found and their libraries link. The
# headers are only preprocessed, because compiling them takes seconds.
link_libraries() {
  local number word headers program='' flags=()
  [ -n "$compiler" ] || find_compiler 2>/dev/null || return 1
  for number in "$@"; do
    headers=${need_try[number]}
    while [[ $headers =~ ^\ *(<[a-zA-Z0-9_/.-]+>)(.*)$ ]]; do
      program+="#include ${BASH_REMATCH[1]}"$'\n'
      headers=${BASH_REMATCH[2]}
    done
    [ -z "$headers" ] || program+="#if !($headers)"$'\n#error "too old"\n#endif\n'
    for word in ${need_flags[number]}; do
      if [[ $word == pkg:* ]]; then
        word=$(pkg-config --cflags --libs "${word#pkg:}" 2>/dev/null) || return 1
      fi
      flags+=($word)
    done
  done
  compiles "$compiler" "$program" -E "${flags[@]}" &&
    compiles "$compiler" 'int main() {}' -Wl,--no-as-needed "${flags[@]}"
}

compiles() { # COMPILER PROGRAM FLAG...
  $1 -std=c++20 -x c++ - -x none -o "$scratch/program" "${search[@]}" "${@:3}" <<<"$2" >/dev/null 2>&1
}

# Sets `compiler` to the first C++ compiler that is new enough and has OpenMP. If CXX is set, only that is
# tried; otherwise CMake's default, then versioned names.
find_compiler() {
  local program='#include <omp.h>
    #include <span>
    #if defined(__clang__) ? __clang_major__ < 16 : __GNUC__ < 12
    #error "older than what compiles kselect"
    #endif
    int main() { return omp_get_max_threads() < 1; }'
  for compiler in ${CXX:-c++ g++ clang++ g++-{14,13,12} clang++-{19,18,17,16}}; do
    if compiles "$compiler" "$program" -fopenmp; then
      [ "$compiler" = c++ ] || export CXX=$compiler
      return
    fi
  done
  compiler=
  return 1
}

link_fuzzer() {
  clang++ -fsanitize=fuzzer,address -x c++ - -o "$scratch/fuzzer" <<<'
    extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, decltype(sizeof 0)) { return 0; }'
}

find_mpi() {
  command -v mpiexec && mpicxx -E -include mpi.h -x c++ /dev/null
}

find_chromium() {
  local name
  for name in chromium-headless-shell chromium google-chrome chrome; do
    ! command -v "$name" || return 0
  done
  return 1
}

# --- installing ---------------------------------------------------------------------------------------------

# Succeeds if packages may be installed here. Sets `system` to the needs.txt column for this system, and `as_root`
# to the prefix of commands that need root. KSELECT_OS_RELEASE is for tests.
may_install() {
  as_root=()
  system=$(. "${KSELECT_OS_RELEASE:-/etc/os-release}" 2>/dev/null && echo "${ID:-}")
  [[ $system == debian || $system == ubuntu ]] && command -v apt-get >/dev/null || return 1
  [ "$(id -u)" -ne 0 ] || return 0
  command -v sudo >/dev/null || return 1
  as_root=(sudo)
  # Only on a terminal can a user be asked for a password.
  sudo -n true 2>/dev/null || { [ -t 0 ] && [ -t 2 ] && sudo -v; }
}

# Installs the missing packages. Optional ones are installed one by one, because a system may lack some of them.
install_missing() {
  local number packages required=()
  local -n names=need_$system
  for number in "${missing[@]}"; do
    [[ -n ${need_optional[number]} || ${names[number]} == -* ]] || required+=(${names[number]})
  done
  say "installing with apt what was not found"
  with_apt update || echo "apt-get update failed; trying with the lists that are there" >&2
  [ ${#required[@]} -eq 0 ] || install_with_apt "${required[@]}" || true  # say_missing reports failures
  for number in "${missing[@]}"; do
    [[ -z ${need_optional[number]} || ${names[number]} == -* ]] || install_with_apt ${names[number]} || true
  done
}

install_with_apt() { # PACKAGE...
  say "installing with apt: $*"
  with_apt install -y --no-install-recommends "$@" >/dev/null
}

with_apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@"; }

# --- saying -------------------------------------------------------------------------------------------------

# Prints the missing needs. Ends the script if a required one is among them.
say_missing() {
  local number required=() optional=()
  for number in "${missing[@]}"; do
    if [ -n "${need_optional[number]}" ]; then optional+=("$number"); else required+=("$number"); fi
  done
  if [ ${#optional[@]} -ne 0 ]; then
    say "not found, and done without: $(joined "${optional[@]}")"
  fi
  [ ${#required[@]} -ne 0 ] || return 0
  {
    echo "missing: $(joined "${required[@]}")"
    say_names need_debian "Debian 12:    apt-get install" "${required[@]}"
    say_names need_ubuntu "Ubuntu 24.04: apt-get install" "${required[@]}"
    say_names need_conda "conda:        conda install -c conda-forge" "${required[@]}"
    [ -z "$untried" ] || echo "  (libraries can be tried only once there is a compiler)"
    echo "  Elsewhere: folders with include/ and lib/ in CMAKE_PREFIX_PATH are looked through, and CPATH."
  } >&2
  exit 1
}

joined() { # NUMBER...
  local number text=
  for number in "$@"; do text+="${text:+, }${need_name[number]}"; done
  printf %s "$text"
}

say_names() { # ARRAY COMMAND NUMBER...
  local -n listed=$1
  local number packages='' others=''
  for number in "${@:3}"; do
    if [[ ${listed[number]} == -* ]]; then
      others+="; not there: ${need_name[number]}${listed[number]#-}"
    else
      packages+=" ${listed[number]}"
    fi
  done
  echo "  $2$packages$others"
}

# --- Python -------------------------------------------------------------------------------------------------

# python_environment REQUIREMENTS...: makes .venv and installs these files' packages, unless it already has them.
python_environment() {
  local stamp=.venv/requirements.stamp wanted
  wanted=$(cat "$@" | sha256sum)
  if [ ! -x .venv/bin/python ]; then
    say "making the virtual environment .venv"
    python3 -m venv .venv
    rm -f "$stamp"
  fi
  if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
    say "installing with pip into .venv: $(grep -hv '^#' "$@" | tr '\n' ' ')"
    local args=() file
    for file in "$@"; do args+=(-r "$file"); done
    .venv/bin/python -m pip install -q --disable-pip-version-check "${args[@]}"
    echo "$wanted" >"$stamp"
  fi
  export PATH="$root/.venv/bin:$PATH"
}
