#!/bin/sh
# Installs Jaeger's all-in-one in .toolchain/bin, built from its Go module, which takes minutes. `go install` refuses a module with replace directives, so a
# module of our own requires it. This is the last version that includes the program; it needs Go 1.24.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
[ ! -x "$root/.toolchain/bin/jaeger" ] || exit 0
"$root/scripts/install/programs.sh" go:golang-go
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-mod=mod GOSUMDB=off
go mod init tollgate/jaeger 2>/dev/null
go get github.com/jaegertracing/jaeger@v1.76.0 || { echo "Jaeger could not be downloaded as a Go module; its test needs it." >&2; exit 1; }
mkdir -p "$root/.toolchain/bin"
go build -o "$root/.toolchain/bin/jaeger" github.com/jaegertracing/jaeger/cmd/all-in-one
