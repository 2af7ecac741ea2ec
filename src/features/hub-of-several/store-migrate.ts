import { resolve } from 'node:path'
import { readDatabaseUrl } from '../../daemon/access/open-shared.ts'
import { configFor, printJson, printLines } from '../../daemon/cli/command.ts'
import type { Command, Context } from '../../daemon/cli/command.ts'
import type { SecretReference } from '../../daemon/config/auth.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'

export const storeMigrate: Command = {
  name: 'store migrate',
  details: `
  For a hub whose processes have a role that may not change the schema of the database (store.postgres). Run it as the
  owner of the schema, before the first process of a new version starts. The daemons may run: the changelog says of which
  versions.

  With --grant, the role gets the rights that the processes need: to read and write rows, and nothing else. The
  statements that were run are printed.
`,
  examples: ['skillsyncd store migrate', 'skillsyncd store migrate --owner owner.url --grant skillsyncd'],
  options: {
    owner: {
      type: 'string',
      value: 'FILE',
      help: 'the file with the address of the database for its owner; default: the configured address',
      offers: 'files',
    },
    grant: { type: 'string', value: 'ROLE', help: 'the role of the processes, which exists already' },
  },
  async run(context) {
    const { environment, redactor, values } = context
    const { grant } = values
    if (grant === '') throw new UsageError('--grant names no role')
    const url = await readDatabaseUrl(await placeOfUrl(context), environment, redactor)
    const { PostgresDatabase } = await import('../../sync/postgres/postgres-database.ts')
    await using database = await PostgresDatabase.open({ url })
    const granted = typeof grant === 'string' ? await database.grantTo(grant) : []
    const { version } = await database.schema()
    if (context.json) printJson(context, { version, granted })
    else printLines(context, [`The database has version ${version}`, ...granted.map((text) => `${text};`)])
    return 0
  },
}

async function placeOfUrl(context: Context): Promise<SecretReference> {
  const { owner } = context.values
  if (owner === '') throw new UsageError('--owner names no file')
  if (typeof owner === 'string') return { kind: 'file', path: resolve(owner) }
  const { postgres } = await configFor(context)
  if (postgres !== undefined) return postgres.url
  throw new UsageError('store migrate needs --owner FILE, or a configuration with store.postgres')
}
