#!/bin/sh
# Prints random passwords for compose.yaml. Run it once, and keep the output: the database keeps the passwords of its first start.
set -eu
password() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
for name in AUTH_DATABASE CATALOG_DATABASE LEDGER_DATABASE METERING_DATABASE INFERENCE_DATABASE MIGRATIONS_DATABASE REDIS; do
  echo "${name}_PASSWORD=$(password)"
done
