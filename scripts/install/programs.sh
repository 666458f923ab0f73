#!/bin/sh
# Makes sure that programs, or files given by their whole path, are present. Installs Debian's packages for those that are not:
#
#   programs.sh program:package …
#
# For MariaDB, name only the core packages: they contain the programs, and neither configure nor start a server of the system.
set -eu
# Debian installs servers' programs in folders that are not in an ordinary user's PATH.
PATH="$PATH:/usr/sbin:/usr/local/sbin"
packages=""
for pair in "$@"; do
  case "$pair" in
    /*) [ -e "${pair%%:*}" ] ;;
    *) command -v "${pair%%:*}" >/dev/null ;;
  esac || packages="$packages ${pair#*:}"
done
[ -n "$packages" ] || exit 0
fail() {
  echo "Programs are missing and could not be installed: $1." >&2
  echo "Install these packages (named as Debian names them) and try again:$packages" >&2
  exit 1
}
command -v apt-get >/dev/null || fail "this system has no apt-get"
as_root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || fail "that needs root, and there is no sudo"
  as_root="sudo"
fi
echo "Installing$packages with apt-get …" >&2
$as_root apt-get update -qq >&2 || fail "apt-get update failed"
# shellcheck disable=SC2086 # Several packages are several words.
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $packages >&2 || fail "apt-get install failed"
