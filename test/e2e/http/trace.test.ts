import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ask } from '../../serve/http/ask.ts'
import { META, modernHeaders } from '../../support/clients/peer.ts'
import { Home } from '../../support/process/program.ts'
import type { Program } from '../../support/process/program.ts'
import { World } from '../world.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanOf = (digit: string): string => digit.repeat(16)
const traced = (digit: string): string => `00-${TRACE_ID}-${spanOf(digit)}-01`
const DOCUMENT = 'skill://hub/team/alpha/SKILL.md'

/** A hub, and a daemon that mirrors it: what a client first wants of that one is asked of the hub. */
class Chain implements AsyncDisposable {
  readonly #hub: World
  readonly #home: Home
  readonly #first: Program
  readonly #second: Program
  readonly #origin: string

  private constructor(hub: World, home: Home, first: Program, second: Program, origin: string) {
    this.#hub = hub
    this.#home = home
    this.#first = first
    this.#second = second
    this.#origin = origin
  }

  static async open(): Promise<Chain> {
    const hub = await World.create()
    await hub.synced()
    const first = hub.home.start('start')
    const home = await Home.create()
    await home.configure({ hub: [`mcp: ${await first.line()}`, 'approval: none', 'every: 1h'] })
    const second = home.start('start')
    const url = await second.line()
    await second.said((line) => line.includes('"source-updated"'))
    return new Chain(hub, home, first, second, new URL(url).origin)
  }

  /** Reads the document of the only skill, at the second. */
  async read(meta: object, headers: Readonly<Record<string, string>> = {}): Promise<number | undefined> {
    const params = { uri: DOCUMENT, _meta: { ...META, ...meta } }
    const { status } = await ask(this.#origin, '/mcp', {
      method: 'POST',
      headers: { ...modernHeaders('resources/read', params), ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params }),
    })
    return status
  }

  /** All that both wrote down of reads, and of what else. Ends them: what they remember is on the disk then. */
  async ended() {
    const ends = [await this.#second.stop(), await this.#first.stop()]
    const [ofFirst, ofSecond] = [await recordOf(this.#hub.home), await recordOf(this.#home)]
    return {
      ofFirst: readsIn(ofFirst),
      ofSecond: readsIn(ofSecond),
      everything: JSON.stringify([ends, ofFirst, ofSecond]),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#home[Symbol.asyncDispose]()
    await this.#hub[Symbol.asyncDispose]()
  }
}

async function recordOf({ state }: Home): Promise<string> {
  const folder = join(state, 'audit')
  const names = await readdir(folder)
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('')
}

/** Of the document: the trace and the span that stand with each read. */
function readsIn(record: string): readonly (readonly [unknown, unknown])[] {
  const events = record.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  return events
    .filter(({ asked, of }) => asked === 'resources/read' && String(of).endsWith('alpha/SKILL.md'))
    .map(({ trace_id: trace, span_id: span }) => [trace, span] as const)
}

test('the trace of a read stands with it in the record, here and at the hub that was asked on its behalf', async () => {
  await using chain = await Chain.open()

  const status = await chain.read({ traceparent: traced('1'), tracestate: 'a=b' }, { traceparent: traced('2') })

  const { ofFirst, ofSecond } = await chain.ended()
  expect(status).toBe(200)
  expect(ofSecond).toEqual([[TRACE_ID, spanOf('1')]])
  expect(ofFirst).toEqual([[TRACE_ID, spanOf('1')]])
})

test('the headers count where the message says nothing, and who is not in a trace is put into none', async () => {
  await using chain = await Chain.open()

  await chain.read({})
  await chain.read({}, { traceparent: traced('3') })

  const { ofFirst, ofSecond } = await chain.ended()
  expect(ofFirst).toEqual([[undefined, undefined]])
  // The second was not asked for: it was there by then.
  expect(ofSecond).toEqual([
    [undefined, undefined],
    [TRACE_ID, spanOf('3')],
  ])
})

test('what is no trace, and baggage in any case, goes nowhere, and the read is answered', async () => {
  await using chain = await Chain.open()
  const baggage = 'user=canary-user'
  const hostile = [
    `00-${TRACE_ID}-${spanOf('0')}-01`,
    'canary\u001b[31m',
    5,
    { canary: 1 },
    [traced('4')],
    'canary'.repeat(2_000),
  ]

  const statuses = []
  for (const traceparent of hostile) statuses.push(await chain.read({ traceparent, tracestate: 'canary=1', baggage }))
  statuses.push(await chain.read({}, { traceparent: 'canary', tracestate: 'canary=1', baggage }))

  const { ofFirst, ofSecond, everything } = await chain.ended()
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect([...ofFirst, ...ofSecond]).toEqual(Array.from({ length: 8 }, () => [undefined, undefined]))
  expect(everything).not.toContain('canary')
})
