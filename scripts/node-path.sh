#!/bin/sh
# Prints the folder of a Node that is new enough. If the system's Node is too old or not in the PATH, installs the LTS from npm's `node` package under
# .toolchain, and uses it from then on. The minimum is 24.7: undici 8, better-sqlite3 13 and the test clients need Node 24, and the passwords of the
# console need Argon2, which was added in 24.7.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
major_min=24
modules="$root/.toolchain/node_modules"
platform="node-$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m | sed 's/x86_64/x64/;s/aarch64/arm64/')"
major_of() { "$1" -p 'typeof require("crypto").argon2 === "function" ? process.versions.node.split(".")[0] : 0' 2>/dev/null || echo 0; }
# Every check runs Node once, so the Node that an earlier call installed is checked first.
find_in() { for bin in "$@"; do if [ "$(major_of "$bin/node")" -ge "$major_min" ]; then echo "$bin"; exit 0; fi; done; }
find_in "$modules/node/bin" "$modules/$platform/bin"
if system=$(command -v node); then find_in "$(dirname "$system")"; fi
mkdir -p "$root/.toolchain"
[ -f "$root/.toolchain/package.json" ] || echo '{"private":true}' > "$root/.toolchain/package.json"
# An npm that runs no install scripts leaves the wrapper package empty; the platform's own package needs no script.
for package in node "$platform"; do
  echo "Installing $package@$major_min with npm …" >&2
  # Whether it could be installed is checked next.
  npm install --prefix "$root/.toolchain" --no-save --no-audit --no-fund --loglevel=error "$package@$major_min" >&2 || true
  find_in "$modules/$package/bin"
done
echo "No Node $major_min or newer could be installed through npm." >&2
exit 1
