import { answerParent } from './child.ts'
import { Wire, openWires } from './wire.ts'
import { listenOf } from './serve-clients.ts'
import { bearing, initializeOf, legacyOf } from './shares-clients.ts'

// A client that takes what it can get with one token, in a process of its own: sessions, streams, searches at once, and batches of
// completions, one after another and all the time. Started with the address, and a
// URI to listen to.

const [, , url = '', uri = ''] = process.argv
const TOKEN = 'mallory'

/** Sessions are opened by this many, and as many searches are asked for at once. */
const SESSIONS_AT_ONCE = 8
const SEARCHES_AT_ONCE = 70
const BATCH = 100

const attack = { isOn: false }
const sent = { sessions: 0, streams: 0, searches: 0, batches: 0, refused: 0 }
let running: Promise<unknown> = Promise.resolve()

async function run(): Promise<void> {
  const [first] = await openWires(url, 1)
  const session = await sessionOf(first)
  first?.[Symbol.dispose]()
  const search = legacyOf(url, TOKEN, session, {
    method: 'tools/call',
    params: { name: 'search_skills', arguments: { query: 'generation number of this' } },
  })
  const completion = {
    method: 'completion/complete',
    params: { ref: { type: 'ref/resource', uri: 'skill://{+path}' }, argument: { name: 'path', value: '' } },
  }
  const batch = legacyOf(
    url,
    TOKEN,
    session,
    Array.from({ length: BATCH }, () => completion),
  )
  await Promise.all([
    ...(await openWires(url, SESSIONS_AT_ONCE)).map((wire) =>
      repeat(wire, initializeOf(url, TOKEN), () => (sent.sessions += 1)),
    ),
    ...(await openWires(url, SEARCHES_AT_ONCE)).map((wire) => repeat(wire, search, () => (sent.searches += 1))),
    ...(await openWires(url, 4)).map((wire) => repeat(wire, batch, () => (sent.batches += 1))),
    takeStreams(uri),
  ])
}

async function repeat(wire: Wire, request: Buffer, count: () => void): Promise<void> {
  using _held = wire
  while (attack.isOn) {
    const answer = await wire.exchange(request)
    count()
    if (answer.toString('latin1', 9, 12) === '200') continue
    sent.refused += 1
    // A client that is refused asks again as soon as that may help: without any pause it measures how fast refusals are.
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Each on a connection of its own; one that is refused is tried again. */
async function takeStreams(first: string): Promise<void> {
  const held: Wire[] = []
  while (attack.isOn) {
    const wire = await Wire.open(url)
    held.push(wire)
    // The answer to a stream has no end.
    void wire.exchange(bearing(TOKEN, listenOf(url, held.length, first))).catch(() => {})
    sent.streams += 1
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  for (const wire of held) wire[Symbol.dispose]()
}

async function sessionOf(wire: Wire | undefined): Promise<string> {
  const answer = await wire?.exchange(initializeOf(url, TOKEN))
  return /mcp-session-id: (\S+)/i.exec(answer?.toString() ?? '')?.[1] ?? ''
}

answerParent({
  begin: () => {
    attack.isOn = true
    running = run()
  },
  end: async () => {
    attack.isOn = false
    await running
    return sent
  },
})
