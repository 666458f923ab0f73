#!/bin/sh
# Prints the folder of a Node that is new enough. If the system's Node is too old or not in the PATH, installs the LTS from npm's `node` package under
# .toolchain. The minimum is 24.7: undici 8, better-sqlite3 13 and the test clients need Node 24, and the passwords of the console need Argon2, which was
# added in 24.7.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
major_min=24
major_of() { "$1" -p 'typeof require("crypto").argon2 === "function" ? process.versions.node.split(".")[0] : 0' 2>/dev/null || echo 0; }
if system=$(command -v node) && [ "$(major_of "$system")" -ge "$major_min" ]; then
  dirname "$system"
  exit 0
fi
own="$root/.toolchain/node_modules/node/bin"
if [ "$(major_of "$own/node")" -lt "$major_min" ]; then
  mkdir -p "$root/.toolchain"
  [ -f "$root/.toolchain/package.json" ] || echo '{"private":true}' > "$root/.toolchain/package.json"
  # Whether it could be installed is checked below.
  from_npm() {
    echo "Installing $1 with npm …" >&2
    npm install --prefix "$root/.toolchain" --no-save --no-audit --no-fund --loglevel=error "$1" >&2 || true
  }
  from_npm node@$major_min
  if [ "$(major_of "$own/node")" -lt "$major_min" ]; then
    # An npm that runs no install scripts leaves the wrapper package empty; the platform's own package needs no script.
    platform="node-$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m | sed 's/x86_64/x64/;s/aarch64/arm64/')"
    from_npm "$platform@$major_min"
    own="$root/.toolchain/node_modules/$platform/bin"
  fi
fi
[ "$(major_of "$own/node")" -ge "$major_min" ] || { echo "No Node $major_min or newer could be installed through npm." >&2; exit 1; }
echo "$own"
