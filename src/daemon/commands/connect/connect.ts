import { VERSION } from '../../../serve/version.ts'
import { proxyTo } from '../../access/proxy.ts'
import type { Environment } from '../../config/environment.ts'
import { whyNotOpened } from '../../runtime/disk-error-text.ts'
import type { Redactor } from '../../runtime/log/redactor.ts'
import { readBounded } from '../../runtime/plain-file.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import type { EraClient } from './era-client.ts'
import { ProbeFetch } from './probe-fetch.ts'
import { walk, type ClientEra, type StepEnd } from './steps.ts'

/** The outcome for the client of one era at an address. */
export interface EraEnd {
  readonly era: ClientEra
  /** The package of the client. */
  readonly client: string
  /** `undefined` if the client is not installed. */
  readonly steps: readonly StepEnd[] | undefined
}

export interface ConnectOptions {
  readonly url: URL
  readonly token: string | undefined
  readonly environment: Environment
  readonly redactor: Redactor
  readonly now: () => number
  readonly signal: AbortSignal
}

/** Opens an address as a client of each era, in parallel. Each client lists, reads, verifies and subscribes. */
export async function connect(options: ConnectOptions): Promise<readonly EraEnd[]> {
  const { environment, redactor, url } = options
  const proxy = await proxyTo(url, { kind: 'variables' }, environment, redactor)
  const route = { ca: undefined, proxy }
  return Promise.all(ERAS.map(async (client) => connectAs(client, options, route)))
}

type Open = (options: { url: URL; fetch: ProbeFetch; version: string }) => Promise<EraClient | undefined>

// Each client is loaded only for this check.
const ERAS: readonly (readonly [ClientEra, string, Open])[] = [
  ['2025', '@modelcontextprotocol/sdk', async (o) => (await import('./client-2025.ts')).openClient2025(o)],
  ['2026', '@modelcontextprotocol/client', async (o) => (await import('./client-2026.ts')).openClient2026(o)],
]

async function connectAs(
  [era, name, open]: (typeof ERAS)[number],
  { url, token, now, signal }: ConnectOptions,
  route: ConstructorParameters<typeof ProbeFetch>[0]['route'],
): Promise<EraEnd> {
  const over = new AbortController()
  const within = AbortSignal.any([signal, over.signal])
  const fetch = new ProbeFetch({ url, token, route, userAgent: `skillsyncd/${VERSION}`, signal: within })
  const client = await open({ url, fetch, version: VERSION })
  if (client === undefined) return { era, client: name, steps: undefined }
  try {
    return { era, client: name, steps: await walk({ era, client, fetch, hasToken: token !== undefined, now, signal }) }
  } finally {
    // A proxy may hold back the closing request, as it held back all others.
    const farewell = client.close().catch(() => {})
    const timer = setTimeout(() => over.abort(), FAREWELL_MS)
    await Promise.race([farewell, untilAborted(within)])
    clearTimeout(timer)
    over.abort()
  }
}

const FAREWELL_MS = 2_000

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** The token of a file, or of the environment variable; `undefined` if there is neither. */
export async function tokenFor(
  file: string | undefined,
  { variable }: Pick<Environment, 'variable'>,
  redactor: Redactor,
): Promise<string | undefined> {
  const text = file === undefined ? variable(TOKEN_VARIABLE) : await textOf(file)
  const token = text?.trim()
  if (token === undefined || token === '') {
    if (file !== undefined) throw new UsageError(`--token-file "${file}" holds no token`)
    return undefined
  }
  redactor.add(token)
  return token
}

const TOKEN_VARIABLE = 'SKILLSYNCD_TOKEN'

async function textOf(file: string): Promise<string> {
  const bytes = await readBounded(file, TOKEN_BYTES).catch((error: unknown) => {
    throw new UsageError(`--token-file "${file}" cannot be read: ${whyNotOpened(error)}`, { cause: error })
  })
  if (bytes === undefined || bytes.length > TOKEN_BYTES)
    throw new UsageError(`--token-file "${file}" is not a file of a token`)
  return Buffer.from(bytes).toString('utf8')
}

const TOKEN_BYTES = 16_384
