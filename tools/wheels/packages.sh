# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# fetch_packages SUITE STATE TARGET PACKAGE...   unpacks packages of a Debian release into a directory; nothing is installed
# fetch_sources SUITE STATE TARGET PACKAGE...    and the sources that they are made of, TARGET/PACKAGE each
# STATE: a directory for what apt keeps, of one architecture: the machine's, or that of MSPROBE_WHEEL_ARCHITECTURE. MSPROBE_DEBIAN names another
# mirror.

apt_of() {  # apt_of SUITE STATE
  local state=$2/$1 keys=/usr/share/keyrings/debian-archive-keyring.gpg
  apt=(-q -o "Dir::Etc=$state" -o "Dir::Etc::SourceList=$state/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State=$state"
       -o "Dir::State::Lists=$state/lists" -o "Dir::State::Status=$state/status" -o "Dir::Cache=$state" -o APT::Sandbox::User=root)
  [ -z "${MSPROBE_WHEEL_ARCHITECTURE:-}" ] || apt+=(-o "APT::Architecture=$MSPROBE_WHEEL_ARCHITECTURE" -o "APT::Architectures=$MSPROBE_WHEEL_ARCHITECTURE")
  [ ! -e "$state/updated" ] || return 0
  mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/preferences.d"
  : > "$state/status"
  local mirror=${MSPROBE_DEBIAN:-http://deb.debian.org/debian}
  printf '%s [signed-by=%s] %s %s main\n' deb $keys "$mirror" "$1" deb-src $keys "$mirror" "$1" > "$state/sources.list"
  apt-get "${apt[@]}" update
  touch "$state/updated"
}

fetch_packages() {
  local suite=$1 state target=$3
  state=$(realpath "$2")
  apt_of "$suite" "$state"
  shift 3
  mkdir -p "$target"
  local package
  for package in "$@"; do
    (cd "$state/$suite/archives" && { ls "${package}"_*.deb >/dev/null 2>&1 || apt-get "${apt[@]}" download "$package"; })
    dpkg-deb -x "$state/$suite/archives/${package}"_*.deb "$target"
  done
}

fetch_sources() {
  local suite=$1 state target=$3
  state=$(realpath "$2")
  apt_of "$suite" "$state"
  shift 3
  local package
  for package in "$@"; do
    [ ! -e "$target/$package" ] || continue
    (cd "$state/$suite/archives" && apt-get "${apt[@]}" source --download-only "$package")
    mkdir -p "$target/$package"
    tar -xf "$state/$suite/archives/${package}"_*.orig.tar.* -C "$target/$package" --strip-components 1
  done
}
