# Sourced by demo.sh and test.sh: installs what is missing, says what it installs, and leaves
# `cmake` and `python` of the project's own virtual environment in front of PATH.
#
# Packages come from apt (as root, or through sudo) and pip. A user without either can install the
# listed packages once by other means; nothing else here needs rights.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

say() { printf '== %s\n' "$*"; }

apt_packages=(
  g++ git ninja-build pkg-config ccache python3-venv
  libfmt-dev nlohmann-json3-dev libcli11-dev zlib1g-dev libxxhash-dev librandom123-dev
  libopenblas-dev libhdf5-dev libboost-context-dev libhwy-dev
)

# install_missing PACKAGE...: installs those that dpkg does not know as installed.
install_missing() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
      missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "missing packages, and neither root nor sudo: apt-get install ${missing[*]}" >&2
      exit 1
    }
    as_root=(sudo)
  fi
  say "installing with apt: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# python_environment REQUIREMENTS...: .venv with exactly those files installed; quick if unchanged.
python_environment() {
  local stamp=.venv/requirements.stamp wanted
  wanted=$(cat "$@" | sha256sum)
  if [ ! -x .venv/bin/python ]; then
    say "making the virtual environment .venv"
    /usr/bin/python3 -m venv .venv
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
