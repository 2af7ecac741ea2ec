#!/bin/sh
# The image of PostgreSQL runs this once, for a new data folder: the role of the processes, which owns nothing.
set -eu
psql --set=ON_ERROR_STOP=1 --set=password="$(cat /run/secrets/hub_password)" \
  --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE hub LOGIN PASSWORD :'password';
SQL
