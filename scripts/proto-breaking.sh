#!/bin/sh
# Compares the protobuf files with those of the last release tag; says so aloud when there is none yet.
set -eu
cd "$(dirname "$0")/.."
tag=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)
if [ -z "$tag" ]; then
  echo 'proto: no release tag yet, so nothing to compare with'
  exit 0
fi
cd proto
exec npx --no-install buf breaking . --against "../.git#tag=$tag,subdir=proto"
