import { readSecret, secretNameOf } from '../../daemon/config/auth.ts'
import type { SecretReference } from '../../daemon/config/auth.ts'
import type { Config } from '../../daemon/config/config.ts'
import type { Environment } from '../../daemon/config/environment.ts'
import type { Redactor } from '../../daemon/runtime/log/redactor.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { passwordsInUrl, refusalOfUrl } from './database-url.ts'
import type { SharedStore } from './postgres/shared-store.ts'

/**
 * The store that the processes of the hub share; `undefined` for a hub of one process. Connects to nothing. Throws
 * `credentials-rejected` if the address cannot be read, and `bad-config` if it cannot be used.
 */
export async function sharedStoreOf(
  { postgres }: Pick<Config, 'postgres'>,
  environment: Environment,
  redactor: Redactor,
): Promise<SharedStore | undefined> {
  if (postgres === undefined) return undefined
  const url = await readDatabaseUrl(postgres.url, environment, redactor)
  // Few hubs have a database, and its client takes long to load.
  return (await import('./postgres/shared-store.ts')).SharedStore.at({ url })
}

/** Reads the address of a database. The redactor receives it first, and the password in it by itself. */
export async function readDatabaseUrl(
  reference: SecretReference,
  environment: Environment,
  redactor: Redactor,
): Promise<string> {
  const text = (await readSecret(reference, environment, redactor)).trim()
  for (const password of passwordsInUrl(text)) redactor.add(password)
  const refusal = refusalOfUrl(text)
  if (refusal === undefined) return text
  const name = secretNameOf(reference)
  throw new OperatorError('bad-config', `Cannot use the ${name} as the address of the database: ${refusal}`)
}
