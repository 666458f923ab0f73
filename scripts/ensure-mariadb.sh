#!/bin/sh
# Makes sure that Debian's MariaDB programs are present, for the private server of `make run-distributed` and of the tests. Only
# the core packages are taken: they hold the programs and neither start nor configure a server of the system.
set -eu
# Debian keeps the server's program where an ordinary user's PATH does not look.
PATH="$PATH:/usr/sbin:/usr/local/sbin"
if command -v mariadbd >/dev/null && command -v mariadb-install-db >/dev/null; then
  exit 0
fi
fail() {
  echo "MariaDB is missing and could not be installed: $1." >&2
  echo "Install mariadbd and mariadb-install-db (Debian: mariadb-server-core and mariadb-client-core) and try again." >&2
  exit 1
}
command -v apt-get >/dev/null || fail "this system has no apt-get"
as_root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || fail "that needs root, and there is no sudo"
  as_root="sudo"
fi
echo "Installing MariaDB's programs (mariadb-server-core, mariadb-client-core) with apt-get …" >&2
$as_root apt-get update -qq >&2 || fail "apt-get update failed"
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
  mariadb-server-core mariadb-client-core >&2 || fail "apt-get install failed"
