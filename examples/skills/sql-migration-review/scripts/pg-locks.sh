#!/bin/sh
# Runs a PostgreSQL migration inside a transaction that is always rolled back, and prints which locks it took.
set -eu

usage() {
  cat <<'TEXT'
Usage: pg-locks.sh --database URL MIGRATION.sql

Runs the migration on a scratch database inside one transaction, prints the locks that it held on tables
that existed before, says which of them were rewritten, and rolls back.

  --database URL      a connection string for psql; never taken from the environment, so that no run hits
                      a database by accident. Use a scratch copy: the locks are real while the run lasts
  --lock-timeout T    give up on a lock after T (default 2s)
  --help              this text

A file that controls transactions itself (BEGIN, COMMIT, ROLLBACK), that holds CONCURRENTLY or VACUUM, or that
uses psql commands (\i, \copy) cannot be tried this way: the server refuses it and nothing is changed.
Sequences that the migration advances stay advanced.

Exit status: 0 done, 1 the migration failed, 2 wrong usage.
TEXT
}

fail() {
  echo "pg-locks.sh: $1" >&2
  exit "${2:-2}"
}

database='' lock_timeout=2s file=''
while [ $# -gt 0 ]; do
  case $1 in
    --help) usage; exit 0 ;;
    --database) [ $# -ge 2 ] || fail '--database needs a value'; database=$2; shift 2 ;;
    --lock-timeout) [ $# -ge 2 ] || fail '--lock-timeout needs a value'; lock_timeout=$2; shift 2 ;;
    -*) fail "unknown option \"$1\"; see --help" ;;
    *) [ -z "$file" ] || fail 'one migration at a time'; file=$1; shift ;;
  esac
done

[ -n "$database" ] || fail '--database is missing; see --help'
[ -n "$file" ] || fail 'no migration given; see --help'
[ -r "$file" ] || fail "cannot read \"$file\""
command -v psql >/dev/null 2>&1 || fail 'psql is not installed'

# The migration is run by EXECUTE inside a function: there the server itself refuses COMMIT, so that a file which
# ends its own transaction cannot slip past the rollback.
MIGRATION_FILE=$file psql --no-psqlrc --quiet -v ON_ERROR_STOP=1 -v "lock_timeout=$lock_timeout" "$database" <<'SQL' || fail 'the migration failed; everything was rolled back' 1
\set migration `cat "$MIGRATION_FILE"`
\pset footer off
BEGIN;
SET LOCAL lock_timeout = :'lock_timeout';

CREATE TEMPORARY TABLE before_migration ON COMMIT DROP AS
  SELECT c.oid, c.oid::regclass::text AS name, pg_relation_filenode(c.oid) AS filenode, c.relkind
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'p', 'm', 'i');

CREATE FUNCTION pg_temp.run_migration(sql text) RETURNS void LANGUAGE plpgsql AS 'BEGIN EXECUTE sql; END';

\o /dev/null
SELECT pg_temp.run_migration(:'migration');
\o

\echo 'Strongest lock on each table or index that existed before:'
WITH strength(mode, rank, blocks) AS (VALUES
  ('AccessShareLock', 1, 'neither reads nor writes'),
  ('RowShareLock', 2, 'neither reads nor writes'),
  ('RowExclusiveLock', 3, 'neither reads nor writes'),
  ('ShareUpdateExclusiveLock', 4, 'schema changes and VACUUM; neither reads nor writes'),
  ('ShareLock', 5, 'writes'),
  ('ShareRowExclusiveLock', 6, 'writes'),
  ('ExclusiveLock', 7, 'writes and SELECT FOR UPDATE'),
  ('AccessExclusiveLock', 8, 'READS AND WRITES')
), held AS (
  SELECT DISTINCT ON (b.oid) b.name, b.relkind, s.mode, s.blocks, s.rank
    FROM pg_locks l
    JOIN before_migration b ON b.oid = l.relation
    JOIN strength s USING (mode)
   WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND l.granted
   ORDER BY b.oid, s.rank DESC
)
SELECT name, kind, mode AS lock, blocks
  FROM (SELECT name, CASE relkind WHEN 'i' THEN 'index' ELSE 'table' END AS kind, mode, blocks, rank FROM held
        UNION ALL SELECT '(none)', '', '', '', 0 WHERE NOT EXISTS (SELECT 1 FROM held)) shown
 ORDER BY rank DESC, name;

\echo 'Rewritten or rebuilt (the time grows with the size):'
WITH rebuilt AS (
  SELECT b.name, CASE b.relkind WHEN 'i' THEN 'index' ELSE 'table' END AS kind
    FROM before_migration b JOIN pg_class c ON c.oid = b.oid
   WHERE pg_relation_filenode(b.oid) IS DISTINCT FROM b.filenode
)
SELECT name, kind FROM rebuilt UNION ALL SELECT '(none)', '' WHERE NOT EXISTS (SELECT 1 FROM rebuilt)
 ORDER BY name;

ROLLBACK;
\echo 'Rolled back.'
SQL
