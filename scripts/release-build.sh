#!/bin/sh
# Prints the folder with the build of a commit or tag, from which tests upgrade. It is built under .toolchain/releases on first use. The default is the newest
# release (a tag v…) or, before the first release, the newest commit of main.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
in_root() { git -C "$root" "$@"; }
release=${1:-$(in_root describe --tags --match 'v*' --abbrev=0 2>/dev/null || in_root merge-base HEAD main 2>/dev/null || echo HEAD)}
commit=$(in_root rev-parse --verify "$release^{commit}")
folder="$root/.toolchain/releases/$commit"
if [ ! -f "$folder/dist/.built" ]; then
  PATH="$("$root/scripts/node-path.sh"):$PATH"
  rm -rf "$folder"
  mkdir -p "$folder"
  in_root archive "$commit" | tar -x -C "$folder"
  # If it has the same packages, they need not be installed again.
  if cmp -s "$root/package-lock.json" "$folder/package-lock.json"; then ln -s "$root/node_modules" "$folder/node_modules"
  else (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2); fi
  (cd "$folder" && npm run -s generate && BUILD_COMMIT="$commit" npm run -s build) >&2
fi
echo "$folder"
