#!/bin/sh
# Makes the passwords of both roles and the addresses with them, in ./secrets.
set -eu
cd "$(dirname "$0")"
mkdir -m 700 secrets
for role in owner hub; do
  password=$(openssl rand -hex 24)
  printf '%s\n' "$password" >"secrets/$role.password"
  printf 'postgres://%s:%s@database/hub?sslmode=disable\n' "$role" "$password" >"secrets/$role.url"
done
# The users of the containers read them through mounts. Other users of this machine cannot enter the folder.
chmod 644 secrets/*
