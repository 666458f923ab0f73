#!/bin/sh
# Run once by the MariaDB image: creates a schema for each service, and a user with access to that schema only.
set -eu
for name in auth catalog ledger metering inference; do
  mariadb -uroot -p"$MARIADB_ROOT_PASSWORD" <<SQL
CREATE DATABASE IF NOT EXISTS tollgate_$name CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE USER IF NOT EXISTS 'tollgate_$name'@'%' IDENTIFIED BY '$DATABASE_PASSWORD';
GRANT ALL PRIVILEGES ON \`tollgate\\_$name\`.* TO 'tollgate_$name'@'%';
SQL
done
