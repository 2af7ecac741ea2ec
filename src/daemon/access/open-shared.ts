import { isIP } from 'node:net'
import { isLoopback } from '../../base/host-name.ts'
import type { SharedStore } from '../../sync/postgres/shared-store.ts'
import { readSecret, secretNameOf } from '../config/auth.ts'
import type { SecretReference } from '../config/auth.ts'
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import type { Redactor } from '../runtime/log/redactor.ts'
import { OperatorError } from '../runtime/operator-error.ts'

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
  return (await import('../../sync/postgres/shared-store.ts')).SharedStore.at({ url })
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

/** Returns why an address of a database cannot be used; `undefined` if it can. The text has no part of the address. */
export function refusalOfUrl(text: string): string | undefined {
  const url = parsed(text)
  if (url === undefined) return 'it is not of the form postgres://USER:PASSWORD@HOST/NAME'
  const { searchParams: query } = url
  if ([...query.keys()].some((key) => !PARAMETERS.has(key)))
    return `it has a parameter that is not supported; supported are ${[...PARAMETERS].join(', ')}`
  const twice = [...PARAMETERS].find((key) => query.getAll(key).length > 1)
  if (twice !== undefined) return `it has ${twice} twice`
  const host = query.get('host') ?? hostOf(url)
  // The client would take the host of PGHOST then.
  if (host === '') return 'it has no host; name localhost, or the folder of a socket as in ?host=/run/postgresql'
  if (host.includes(',')) return 'it names several hosts; name one that leads to the primary server'
  const mode = query.get('sslmode')
  if (mode === null)
    return isOnThisMachine(host) ? undefined : `to another machine it needs an sslmode: ${SSL_MODES_IN_WORDS}`
  // The client compares the certificate with "localhost" then.
  if (mode === 'verify-full' && isIP(host) !== 0)
    return 'verify-full needs the name of the host that its certificate has'
  return SSL_MODES.has(mode) ? undefined : `it has an sslmode that is not supported; write ${SSL_MODES_IN_WORDS}`
}

/** Returns the password of an address, as it is written and as it is meant. */
function passwordsInUrl(text: string): readonly string[] {
  const url = parsed(text)
  if (url === undefined) return []
  const written = [url.password, ...url.searchParams.getAll('password')]
  return [...new Set(written.flatMap((one) => [one, decoded(one)]))].filter((one) => one !== '')
}

/** The host may be in the query, as the folder of a socket is. `URL` takes no user without a host. */
function parsed(text: string): URL | undefined {
  if (!/^postgres(?:ql)?:\/\//.test(text)) return undefined
  return URL.parse(text) ?? URL.parse(text.replace(/^(\w+:\/\/[^/?#]*@)(?=[/?#]|$)/, `$1${NO_HOST}`)) ?? undefined
}

const NO_HOST = 'none.invalid'

function hostOf({ hostname }: URL): string {
  return hostname === NO_HOST ? '' : decoded(hostname.replaceAll(/^\[|\]$/g, ''))
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A path is the folder of a socket. */
function isOnThisMachine(host: string): boolean {
  return host.startsWith('/') || isLoopback(host)
}

/**
 * `require` and `verify-ca` mean `verify-full` in this version of the client, and less than that in the next one, and in
 * libpq. So only names with one meaning are taken.
 */
const SSL_MODES: ReadonlySet<string> = new Set(['verify-full', 'no-verify', 'disable'])
const SSL_MODES_IN_WORDS =
  'verify-full; no-verify for a certificate that is not checked; or disable for a connection in clear'

/** The client would take any other for an option of its own, such as a limit of time. */
const PARAMETERS: ReadonlySet<string> = new Set([
  'host',
  'port',
  'user',
  'password',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
])
