#!/bin/sh
# Puts grpcurl into .toolchain/bin, built from its Go module. Debian's Go is installed when there is none; this version is the last that
# Debian 12's Go 1.19 builds.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
[ ! -x "$root/.toolchain/bin/grpcurl" ] || exit 0
"$root/scripts/ensure-programs.sh" go:golang-go
GOBIN="$root/.toolchain/bin" go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.8.9
