import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { servingOf } from '../../src/daemon/status/page/mcp-serving.ts'
import { INITIALIZE, exchange, legacy } from '../conformance/exchange.ts'
import { TEST_SURFACE } from '../support/clients/test-surface.ts'
import { serveTextbook } from '../support/clients/textbook.ts'
import type { Textbook } from '../support/clients/textbook.ts'
import { Repository } from '../support/git/repository.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'
import { ANY_REQUEST, CORPUS } from './requests.ts'
import type { Asked } from './requests.ts'

let repository: Repository
let served: Served
let textbook: Textbook
let ours: Side
let theirs: Side

beforeAll(async () => {
  repository = await Repository.create()
  await repository.commit({
    'alpha/SKILL.md': '---\nname: alpha\ndescription: Has files\n---\n# alpha\n',
    'alpha/a b.bin': Buffer.from([0xff, 0x00]),
    'alpha/ünï.md': 'not ASCII\n',
    'alpha/empty.txt': '',
    'beta/SKILL.md': '---\nname: beta\ndescription: Has none\n---\n# beta\n',
  })
  served = await serve(repository, { surfaces: [TEST_SURFACE] })
  const serving = servingOf(served.daemon.parts.serving)
  textbook = await serveTextbook({ ...serving, surfaces: [...(serving.surfaces ?? []), TEST_SURFACE] })
  ours = await openSide(served.url)
  theirs = await openSide(textbook.url)
})

afterAll(async () => {
  await textbook[Symbol.asyncDispose]()
  await served[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
})

/** One of the two servers, with the sessions that requests name. */
interface Side {
  readonly url: string
  readonly sessions: Readonly<Record<'open' | 'ended' | 'unknown', string>>
}

async function openSide(url: string): Promise<Side> {
  const open = async (): Promise<string> => {
    const { headers } = await exchange(url, legacy('initialize', INITIALIZE))
    return headers.get('mcp-session-id') ?? ''
  }
  const sessions = { open: await open(), ended: await open(), unknown: 'never-was' }
  await exchange(url, { method: 'DELETE', headers: { 'mcp-session-id': sessions.ended } })
  return { url, sessions }
}

/** What of an answer the two must have in common. Words are for people; codes and data are compared. */
interface Said {
  readonly status: number
  readonly type: string | null
  readonly allow: string | null
  readonly namesSession: boolean
  readonly body: any
}

async function ask({ url, sessions }: Side, { method, headers, body, session }: Asked): Promise<Said> {
  const named = session === undefined ? {} : { 'mcp-session-id': sessions[session] }
  const answer = await exchange(url, {
    ...(method !== undefined && { method }),
    headers: { ...headers, ...named },
    body,
  })
  const { status, headers: given, batch, ...message } = answer
  return {
    status,
    type: given.get('content-type')?.split(';')[0] ?? null,
    allow: given.get('allow'),
    namesSession: given.has('mcp-session-id'),
    body: wordless(batch ?? message),
  }
}

function wordless(body: any): any {
  if (Array.isArray(body)) return body.map(wordless)
  return body.error === undefined ? body : { ...body, error: { ...body.error, message: typeof body.error.message } }
}

/** Where the two are meant to differ: wherever it holds it has to hold, and each has to be met. */
interface Difference {
  readonly why: string
  readonly holds: (asked: Asked, textbook: Said) => boolean
  /** What the textbook would have to be asked to say what we say. */
  readonly instead?: (asked: Asked) => Asked
  /** What we say, where the textbook says this. */
  readonly says?: (textbook: Said, asked: Asked) => Said
}

const DIFFERENCES: readonly Difference[] = [
  {
    why: 'a client that begins anew may still send the id of its old session: it is given a new one',
    holds: (asked, { body }) => asked.session !== undefined && opens(asked) && body.result === undefined,
    instead: withoutSession,
  },
  {
    why: 'a POST is answered with JSON, which is taken by whoever sends it: we refuse nobody for what they accept',
    holds: ({ method }, { status }) => method === undefined && status === 406,
    instead: (asked) => ({ ...asked, headers: { ...asked.headers, accept: 'application/json, text/event-stream' } }),
  },
  {
    why: 'an `initialize` that cannot be understood is told what is wrong with its params, under its own id',
    holds: (asked, { status, body }) =>
      methodOf(asked) === 'initialize' && status === 400 && body.error.code === -32000 && isRequest(asked),
    says: (textbook, asked) => refused(textbook, -32602, idOf(asked)),
  },
  {
    why: 'an `initialize` without an id opens nothing, and belongs to no session',
    holds: (asked, { status }) =>
      methodOf(asked) === 'initialize' && status === 202 && asked.session === undefined && isLegacy(asked),
    says: (textbook) => ({ ...refused(textbook, -32000, null), status: 400, type: 'application/json' }),
  },
  {
    why: 'the id of a session is sent once, with the answer that opens it',
    holds: (asked, { namesSession }) => namesSession && !opens(asked),
    says: (textbook) => ({ ...textbook, namesSession: false }),
  },
  {
    why: 'up to 2025-11-25 the code of an unknown resource is -32002; the SDK says what 2026-07-28 says',
    holds: (asked, { body }) =>
      isLegacy(asked) && NAMES_RESOURCE.has(methodOf(asked)) && body.error?.data?.uri !== undefined,
    says: ({ body, ...textbook }) => ({ ...textbook, body: { ...body, error: { ...body.error, code: -32002 } } }),
  },
  {
    why: 'completion is no capability before 2025-03-26',
    holds: (asked, { body }) => opens(asked) && body.result?.protocolVersion?.startsWith('2024-') === true,
    says: ({ body: { result, ...body }, ...textbook }) => {
      const { completions: _completions, ...capabilities } = result.capabilities
      return { ...textbook, body: { ...body, result: { ...result, capabilities } } }
    },
  },
  {
    why: 'that a header is missing, or names another resource, is said in words alone',
    holds: (_, { body }) => /is absent|Mcp-Name/.test(body.error?.data?.mismatch?.body ?? ''),
    says: (textbook, asked) => refused(textbook, -32020, idOf(asked)),
  },
  {
    why: 'a revision that is not served is refused with the one that is, before the form of the request',
    holds: (asked, { body }) =>
      body.error?.data?.envelope !== undefined && headerRevisionOf(asked) !== undefined && isRequest(asked),
    says: (textbook, asked) => {
      const data = { supported: ['2026-07-28'], requested: headerRevisionOf(asked) }
      return { ...textbook, body: { ...textbook.body, error: { code: -32022, message: 'string', data } } }
    },
  },
  {
    why: 'a message that is no request is refused under the id that it has all the same',
    holds: (asked, { body }) =>
      body.error?.code === -32600 && idOf(asked) !== null && typeof methodOf(asked) !== 'string',
    says: (textbook, asked) => refused(textbook, -32600, idOf(asked)),
  },
  {
    why: 'a batch is answered with a batch, of however many',
    holds: ({ body }, textbook) => Array.isArray(body) && textbook.status === 200 && !Array.isArray(textbook.body),
    says: (textbook) => ({ ...textbook, body: [textbook.body] }),
  },
  {
    why: 'JSON begins with no byte order mark (RFC 8259, 8.1)',
    holds: ({ body }) => typeof body === 'string' && body.startsWith('\u{FEFF}'),
    says: (textbook) => refused(textbook, -32700, null),
  },
]

const NAMES_RESOURCE: ReadonlySet<unknown> = new Set(['resources/read', 'resources/subscribe'])

function refused(textbook: Said, code: number, id: unknown): Said {
  return { ...textbook, body: { jsonrpc: '2.0', id, error: { code, message: 'string' } } }
}

function withoutSession({ session: _session, ...asked }: Asked): Asked {
  return asked
}

function methodOf({ body }: Asked): unknown {
  return (body as any)?.method
}

function idOf({ body }: Asked): string | number | null {
  const id = (body as any)?.id
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

/** Returns the revision that the header names, where it is none that is served without a session. */
function headerRevisionOf({ headers }: Asked): string | undefined {
  const revision = headers?.['mcp-protocol-version']
  return revision === '2026-07-28' ? undefined : revision
}

/** Whether the request says nothing of 2026-07-28 in its body, which alone decides. */
function isLegacy({ body }: Asked): boolean {
  return (body as any)?.params?._meta === undefined
}

function isRequest(asked: Asked): boolean {
  return idOf(asked) !== null
}

function opens(asked: Asked): boolean {
  return methodOf(asked) === 'initialize' && isRequest(asked)
}

const met = new Set<Difference>()

/** What we have to say: what the textbook says, but for the differences. */
async function due(asked: Asked): Promise<Said> {
  let question = asked
  let textbook = await ask(theirs, question)
  for (const difference of DIFFERENCES) {
    if (!difference.holds(asked, textbook)) continue
    met.add(difference)
    if (difference.instead !== undefined) {
      question = difference.instead(question)
      textbook = await ask(theirs, question)
    }
    if (difference.says !== undefined) textbook = difference.says(textbook, asked)
  }
  return textbook
}

test.each(CORPUS.map((asked) => [asked.title, asked] as const))('both say the same: %s', async (_, asked) => {
  expect(await ask(ours, asked)).toEqual(await due(asked))
})

test.each(DIFFERENCES.map((difference) => [difference.why, difference] as const))(
  'the corpus shows that %s',
  (_, difference) => {
    expect(met).toContain(difference)
  },
)

test('both say the same to anything', async () => {
  await fc.assert(
    fc.asyncProperty(ANY_REQUEST, async (asked) => {
      expect(await ask(ours, asked)).toEqual(await due(asked))
    }),
    // The same ones each time: other seeds are for who looks for more.
    { numRuns: 250, seed: 20_260_728 },
  )
})
