#!/bin/sh
# Compiles into dist.next and swaps it with dist when it is complete, so that a running instance never sees half a build. Run by `npm run build`.
set -eu
cd "$(dirname "$0")/.."
rm -rf dist.next dist.old
tsc -p tsconfig.build.json --outDir dist.next
vite build --config console/vite.config.ts --logLevel warn --outDir ../dist.next/console-app
touch dist.next/.built
[ ! -e dist ] || mv dist dist.old
mv dist.next dist
rm -rf dist.old
