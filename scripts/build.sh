#!/bin/sh
# Compiles into dist.next and swaps it with dist when it is complete, so that a running instance never sees half a build. Run by `npm run build`.
set -eu
cd "$(dirname "$0")/.."
rm -rf dist.next dist.old
mkdir dist.next
# TypeScript follows `imports` of package.json from dist to the sources only when it compiles into dist itself.
node -p '
  const sources = ([name, built]) => [name, [built.replace("./dist/", "../").replace(/js$/, "ts")]];
  const paths = Object.fromEntries(Object.entries(require("./package.json").imports).map(sources));
  JSON.stringify({ extends: "../tsconfig.build.json", compilerOptions: { outDir: ".", paths } })' > dist.next/tsconfig.json
tsc -p dist.next/tsconfig.json
rm dist.next/tsconfig.json
vite build --config console/vite.config.ts --logLevel warn --outDir ../dist.next/console-app
touch dist.next/.built
[ ! -e dist ] || mv dist dist.old
mv dist.next dist
rm -rf dist.old
