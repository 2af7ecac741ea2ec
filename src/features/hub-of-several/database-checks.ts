import { readDatabaseUrl } from '../../daemon/access/open-shared.ts'
import { verdicts } from '../../daemon/cli/check.ts'
import type { Check, CheckResult, Ground } from '../../daemon/cli/check.ts'
import { secretNameOf } from '../../daemon/config/auth.ts'
import type { SecretReference } from '../../daemon/config/auth.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { FoundSchema } from '../../sync/postgres/schema-version.ts'

/** Checks the database of a hub of several processes: if it can be reached, and if its schema fits. */
export function databaseChecks({ config: { postgres }, environment, redactor }: Ground): Check[] {
  if (postgres === undefined) return []
  const read = async (): Promise<string> => readDatabaseUrl(postgres.url, environment, redactor)
  return [{ name: 'database', subject: SUBJECT, look: async () => [await databaseChecked(postgres.url, read)] }]
}

const SUBJECT = 'store.postgres'

async function databaseChecked(reference: SecretReference, read: () => Promise<string>): Promise<CheckResult> {
  const { fail } = verdicts('database', SUBJECT)
  try {
    const { PostgresDatabase } = await import('../../sync/postgres/postgres-database.ts')
    await using database = PostgresDatabase.at({ url: await read(), times: TIMES, connections: 1 })
    const [row] = await database.query('reach the database', "SELECT current_setting('server_version_num') AS number")
    return resultOf(Math.floor(Number(row?.['number']) / 10_000), await database.schema())
  } catch (error) {
    if (!(error instanceof SyncError || error instanceof OperatorError)) throw error
    return fail(error.message, `Correct the address in the ${secretNameOf(reference)}, or start the server`)
  }
}

function resultOf(major: number, { version, fits }: FoundSchema): CheckResult {
  const { ok, warn, fail } = verdicts('database', SUBJECT)
  if (fits === 'later') return fail(`its schema has version ${version}, which this program does not know`, 'Update it')
  if (fits === 'earlier')
    return warn(
      version === 0 ? 'it has no schema yet' : `its schema has version ${version}, and this program brings a later one`,
      'The daemon makes it if its role may; otherwise an administrator runs `skillsyncd store migrate`',
    )
  if (major < LEAST_MAJOR)
    return warn(`it is PostgreSQL ${major}`, `Upgrade it: version ${LEAST_MAJOR} is the earliest that is tested`)
  return ok(`PostgreSQL ${major}, schema of version ${version}`)
}

const LEAST_MAJOR = 15

const TIMES = { connectMs: 5_000, statementMs: 5_000 }
