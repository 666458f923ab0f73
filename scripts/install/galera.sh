#!/bin/sh
# Makes sure that a private Galera cluster can be started: MariaDB's programs as for the distributed mode, and what Galera needs in addition. Only the two
# scripts that transfer a node's data are extracted from the package mariadb-server, into .toolchain/galera, which must then be in the PATH. Installing the
# package would configure a server of the system and start it.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
"$root/scripts/install/programs.sh" /usr/lib/galera/libgalera_smm.so:galera-4 rsync:rsync ss:iproute2 lsof:lsof "$@"
folder="$root/.toolchain/galera"
if command -v wsrep_sst_rsync >/dev/null || [ -x "$folder/wsrep_sst_rsync" ]; then exit 0; fi
part=$(mktemp -d)
trap 'rm -rf "$part"' EXIT
download() { (cd "$part" && apt-get download -qq mariadb-server 2>"$part/messages"); }
as_root=""
[ "$(id -u)" -eq 0 ] || as_root="sudo"
if ! download; then
  # The package lists may be missing or out of date.
  $as_root apt-get update -qq >&2 || true
  download || { echo "The package mariadb-server could not be downloaded: $(cat "$part/messages")" >&2; exit 1; }
fi
dpkg-deb -x "$part"/mariadb-server_*.deb "$part/package"
mkdir -p "$folder"
cp "$part/package/usr/bin/wsrep_sst_common" "$folder/"
# Copied last, because its presence shows that the installation is complete.
cp "$part/package/usr/bin/wsrep_sst_rsync" "$folder/"
