#!/bin/sh
# Installs the Codex CLI in .toolchain/codex. It is not in package.json, because its binary is too large to be part of every installation.
set -eu
version=0.171.0
root=$(cd "$(dirname "$0")/../.." && pwd)
folder="$root/.toolchain/codex"
[ "$(cat "$folder/version" 2>/dev/null)" != "$version" ] || exit 0
case "$(uname -m)" in
  x86_64) platform=linux-x64 ;;
  aarch64 | arm64) platform=linux-arm64 ;;
  *) echo "There is no Codex CLI for $(uname -m)." >&2; exit 1 ;;
esac
part=$(mktemp -d)
trap 'rm -rf "$part"' EXIT
(cd "$part" && npm pack --silent "@openai/codex@$version-$platform" >/dev/null) || { echo "The Codex CLI could not be downloaded from npm." >&2; exit 1; }
# Leaves out its code-mode host and its voices, which are just as large and which no test uses.
tar -xzf "$part"/*.tgz -C "$part" --strip-components=3 --wildcards 'package/vendor/*' --exclude '*/codex-code-mode-host' --exclude '*/voice'
rm -rf "$folder" "$part"/*.tgz
mkdir -p "$root/.toolchain"
echo "$version" >"$part/version"
cp -r "$part" "$folder"
chmod 755 "$folder"
