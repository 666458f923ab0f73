#!/bin/sh
# Run once by the MariaDB image: creates a schema for each service, a user who may read and write the rows of that schema only, and a user who
# may change all schemas.
set -eu
sql() { mariadb -uroot -p"$MARIADB_ROOT_PASSWORD"; }
for name in auth catalog ledger metering inference; do
  password=$(printenv "$(echo "$name" | tr a-z A-Z)_DATABASE_PASSWORD")
  sql <<SQL
CREATE DATABASE IF NOT EXISTS tollgate_$name CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE USER IF NOT EXISTS 'tollgate_$name'@'%' IDENTIFIED BY '$password';
GRANT SELECT, INSERT, UPDATE, DELETE ON \`tollgate\\_$name\`.* TO 'tollgate_$name'@'%';
SQL
done
sql <<SQL
CREATE USER IF NOT EXISTS 'tollgate_migrations'@'%' IDENTIFIED BY '$MIGRATIONS_DATABASE_PASSWORD';
GRANT ALL PRIVILEGES ON \`tollgate\\_%\`.* TO 'tollgate_migrations'@'%';
SQL
