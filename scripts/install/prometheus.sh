#!/bin/sh
# Makes sure that Prometheus and promtool are present. They are extracted from Debian's package into .toolchain/bin: installing the package would
# configure a server of the system and start it, and needs a dozen other packages for its web pages.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
folder="$root/.toolchain/bin"
if command -v promtool >/dev/null && command -v prometheus >/dev/null; then exit 0; fi
if [ -x "$folder/prometheus" ]; then exit 0; fi
part=$(mktemp -d)
trap 'rm -rf "$part"' EXIT
download() { (cd "$part" && apt-get download -qq prometheus 2>"$part/messages"); }
as_root=""
[ "$(id -u)" -eq 0 ] || as_root="sudo"
if ! download; then
  # The package lists may be missing or out of date.
  $as_root apt-get update -qq >&2 || true
  download || { echo "The package prometheus could not be downloaded: $(cat "$part/messages")" >&2; exit 1; }
fi
dpkg-deb -x "$part"/prometheus_*.deb "$part/package"
mkdir -p "$folder"
cp "$part/package/usr/bin/promtool" "$folder/"
# Copied last, because its presence shows that the installation is complete.
cp "$part/package/usr/bin/prometheus" "$folder/"
