import { countOf } from '../../../base/text/plural.ts'
import { VERSION } from '../../../serve/version.ts'
import { proxyTo } from '../../access/proxy.ts'
import type { Environment } from '../../config/environment.ts'
import type { Redactor } from '../../runtime/log/redactor.ts'
import { causeOf, NoStream, TooLate } from './causes.ts'
import type { FailureCause } from './causes.ts'
import type { ClientFile, EraClient, ListedSkill } from './era-client.ts'
import { ProbeFetch } from './probe-fetch.ts'

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

type ClientEra = '2025' | '2026'

/** The steps that a client takes, in this order. `stream`: the first bytes of the stream of notifications. */
type StepName = 'open' | 'list' | 'read' | 'subscribe' | 'stream' | 'unsubscribe'

/** The outcome of one step. */
interface StepEnd {
  readonly step: StepName
  readonly verdict: 'ok' | 'warn' | 'fail'
  readonly ms: number
  readonly message: string
  readonly fix?: string
}

interface Walk {
  readonly era: ClientEra
  readonly client: EraClient
  readonly fetch: ProbeFetch
  readonly hasToken: boolean
  readonly now: () => number
  readonly signal: AbortSignal
}

/** Takes a client through all steps. Stops early if the client cannot open the address, or lists no skill. */
async function walk(one: Walk): Promise<readonly StepEnd[]> {
  const { era, client } = one
  const steps = new Steps(one)
  const opened = await steps.take('open', async (signal) => `revision ${await client.open(signal)}`)
  if (opened === undefined) return steps.ends
  const skills = await steps.take('list', async (signal) => client.list(signal), listedText)
  const [skill] = skills ?? []
  if (skills === undefined || skill === undefined) return steps.ends
  const files = filesOf(skills)
  await steps.take('read', async (signal) => readAll(client, files, signal))
  const subscribed = await steps.take('subscribe', async (signal) => {
    await client.subscribe(skill.uri, signal)
    return era === '2026' ? 'the stream is open and the subscription acknowledged' : `to ${skill.uri}`
  })
  if (era === '2025') await steps.take('stream', async (signal) => streamOf(one.fetch, signal))
  if (subscribed === undefined) return steps.ends
  await steps.take('unsubscribe', async (signal) => {
    await client.unsubscribe(skill.uri, signal)
    return 'done'
  })
  return steps.ends
}

/**
 * The timeout of each step in milliseconds. A stream begins at once, or with the comment that a server sends every 15
 * seconds.
 */
const MOST_MS: Readonly<Record<StepName, number>> = {
  open: 10_000,
  list: 60_000,
  read: 30_000,
  subscribe: 10_000,
  stream: 20_000,
  unsubscribe: 10_000,
}

class Steps {
  readonly ends: StepEnd[] = []
  readonly #walk: Walk

  constructor(one: Walk) {
    this.#walk = one
  }

  /** Takes a step and resolves with its result; `undefined` if the step failed. */
  async take<Result>(
    step: StepName,
    go: (signal: AbortSignal) => Promise<Result>,
    textOf: (result: Result) => FailureCause | string = String,
  ): Promise<Result | undefined> {
    const { signal, now } = this.#walk
    const over = new AbortController()
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      const error = new TooLate(`nothing came within ${MOST_MS[step] / 1000} s`)
      late.reject(error)
      over.abort(error)
    }, MOST_MS[step])
    const abort = (): void => late.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    const began = now()
    this.#walk.fetch.refusal = undefined
    try {
      const result = await Promise.race([go(AbortSignal.any([signal, over.signal])), late.promise])
      this.#end(step, 'ok', began, textOf(result))
      return result
    } catch (error) {
      signal.throwIfAborted()
      this.#end(step, 'fail', began, causeOf(step, error, this.#walk))
      return undefined
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
  }

  #end(step: StepName, verdict: 'ok' | 'fail', began: number, said: FailureCause | string): void {
    const ms = Math.round(this.#walk.now() - began)
    if (typeof said === 'string') this.ends.push({ step, verdict, ms, message: said })
    else this.ends.push({ step, verdict: verdict === 'ok' ? 'warn' : 'fail', ms, ...said })
  }
}

function listedText(skills: readonly ListedSkill[]): FailureCause | string {
  if (skills.length > 0) return countOf(skills.length, 'skill')
  return {
    message: 'no skill is listed',
    fix: 'skillsyncd status shows the reason; a token of a pack sees only that pack',
  }
}

/** A few files of a few skills: the others take the same path. */
function filesOf(skills: readonly ListedSkill[]): readonly (readonly [ListedSkill, ClientFile])[] {
  return skills
    .slice(0, MOST_SKILLS)
    .flatMap((skill) => skill.files.map((file) => [skill, file] as const))
    .slice(0, MOST_FILES)
}

const MOST_SKILLS = 5
const MOST_FILES = 20

async function readAll(client: EraClient, files: ReturnType<typeof filesOf>, signal: AbortSignal): Promise<string> {
  for (const [skill, file] of files) await client.read(skill, file, signal)
  const bytes = files.reduce((sum, [, { size }]) => sum + size, 0)
  return `${countOf(files.length, 'file')}, ${bytes} bytes, with the listed digests`
}

async function streamOf({ stream }: ProbeFetch, signal: AbortSignal): Promise<string> {
  const status = await stream.answered
  if (status !== 200) throw new NoStream(`the stream of notifications is refused with ${status}`)
  const flows = await stream.flowed
  signal.throwIfAborted()
  if (!flows) throw new NoStream('the stream of notifications ended before any data came')
  return 'it is open, and bytes come as they are sent'
}
