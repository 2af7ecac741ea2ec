import { DatabaseError, escapeIdentifier } from 'pg'
import type { PoolClient } from 'pg'
import { SyncError } from '../model/sync-error.ts'
import { MIGRATIONS } from './migrations.ts'
import type { Migration } from './migrations.ts'
import type { PostgresDatabase } from './postgres-database.ts'

/** The version of a schema. */
interface SchemaVersion {
  /** 0 for a database without the schema. */
  readonly version: number
  /** The least version that a program has to know to use it. */
  readonly compatible: number
}

/**
 * Brings the schema to the version of the last migration, each in the transaction that records it. One process migrates
 * at a time; the others wait for it. A schema that is there already is only read, so that a role that owns nothing can
 * use it. One of a later program is used if that has only added to it. Throws `store-failed` otherwise.
 */
export async function migrateDatabase(
  database: PostgresDatabase,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  let before: number | undefined
  try {
    const found = await readVersion(database)
    before = found.version
    if (before < migrations.length) await database.transact(ATTEMPT, async (client) => migrateFrom(client, migrations))
    else expectCompatible(found, migrations.length)
  } catch (error) {
    throw isDenied(error) ? deniedError(before, error) : error
  }
}

const ATTEMPT = 'bring the database to this version'

/** The schema as this program finds it. */
export interface FoundSchema {
  /** 0 if there is none. */
  readonly version: number
  /** `earlier`: a migration is due. `later`: this program is too old for it. */
  readonly fits: 'yes' | 'earlier' | 'later'
}

/** Compares the schema with this program, and changes nothing. Throws `store-failed`. */
export async function findSchema(database: PostgresDatabase): Promise<FoundSchema> {
  const { version, compatible } = await readVersion(database)
  if (compatible > MIGRATIONS.length) return { version, fits: 'later' }
  return { version, fits: version < MIGRATIONS.length ? 'earlier' : 'yes' }
}

async function readVersion(database: PostgresDatabase): Promise<SchemaVersion> {
  const there = "SELECT to_regclass('skillsyncd.migration') IS NOT NULL AS is_there"
  if ((await database.query(ATTEMPT, there))[0]?.['is_there'] !== true) return { version: 0, compatible: 0 }
  return versionIn((await database.query(ATTEMPT, VERSION))[0])
}

async function migrateFrom(client: PoolClient, migrations: readonly Migration[]): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
  // An administrator may have created it for a role that must not create another.
  const { rowCount } = await client.query("SELECT FROM pg_namespace WHERE nspname = 'skillsyncd'")
  if (rowCount === 0) await client.query('CREATE SCHEMA skillsyncd')
  await client.query(TABLE)
  // Another process may have been first.
  const found = versionIn((await client.query(VERSION)).rows[0])
  expectCompatible(found, migrations.length)
  for (const [index, { text, compatible }] of migrations.entries()) {
    if (index < found.version) continue
    await client.query(text)
    const values = [index + 1, compatible]
    await client.query('INSERT INTO skillsyncd.migration (version, compatible) VALUES ($1, $2)', values)
  }
}

function versionIn(row: Readonly<Record<string, unknown>> | undefined): SchemaVersion {
  return { version: Number(row?.['version']), compatible: Number(row?.['compatible']) }
}

function expectCompatible({ version, compatible }: SchemaVersion, known: number): void {
  if (compatible <= known) return
  throw new SyncError(
    'store-failed',
    `Cannot use the database: its schema has version ${version}, and this program knows ${known}; update it`,
  )
}

/** The role has no right to what the statement does. */
function isDenied(error: unknown): error is SyncError {
  return error instanceof SyncError && error.cause instanceof DatabaseError && error.cause.code === '42501'
}

function deniedError(before: number | undefined, cause: SyncError): SyncError {
  const is =
    before === undefined
      ? 'this role must not read its schema'
      : `${before === 0 ? 'it has no schema yet' : `its schema has version ${before}`}, and this role must not change it`
  const mend = 'an administrator runs skillsyncd store migrate --grant ROLE'
  return new SyncError('store-failed', `Cannot ${ATTEMPT}: ${is}; ${mend}`, { cause })
}

/**
 * Gives a role the rights that the processes of a hub need: they read and write rows, also in tables of later versions,
 * and change no table. To the logs of channels they only add, and they change no head. Only for the role that owns the schema.
 */
export async function grantToRole(database: PostgresDatabase, role: string): Promise<readonly string[]> {
  const grants = grantsFor(escapeIdentifier(role))
  await database.transact(`give "${role}" its rights`, async (client) => {
    for (const grant of grants) await client.query(grant)
  })
  return grants
}

function grantsFor(role: string): readonly string[] {
  return [
    `GRANT USAGE ON SCHEMA skillsyncd TO ${role}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA skillsyncd TO ${role}`,
    `REVOKE INSERT, UPDATE, DELETE ON skillsyncd.migration FROM ${role}`,
    `REVOKE UPDATE, DELETE ON skillsyncd.log_entry FROM ${role}`,
    `REVOKE UPDATE ON skillsyncd.head FROM ${role}`,
    `ALTER DEFAULT PRIVILEGES IN SCHEMA skillsyncd GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${role}`,
  ]
}

const TABLE = `
  CREATE TABLE IF NOT EXISTS skillsyncd.migration (version integer PRIMARY KEY, compatible integer NOT NULL)`

const VERSION = `
  SELECT coalesce(max(version), 0) AS version, coalesce(max(compatible), 0) AS compatible FROM skillsyncd.migration`

/** The lock of migrations: any number that no other program in this database uses. */
const MIGRATION_LOCK = 7_408_331
