import { answerParent } from './child.ts'
import { listenOf } from './serve-clients.ts'
import { Honest, KINDS, bearing, initializeOf, legacyOf, sessionOn } from './shares-clients.ts'
import { Wire, openWires } from './wire.ts'

// The third of three clients, in a process of its own, with one token. As a hostile one it takes what it can get, all the time: sessions,
// streams, searches of many words, batches of completions, lists, large files, on a hundred connections, and it hangs up on others. As an
// honest one it asks for what the other two do, as they do. Started with the address, a URI to listen to and one of a large file.

const [, , url = '', uri = '', large = ''] = process.argv
const TOKEN = 'mallory'

/** On how many connections each is asked for, one after another. */
const AT_ONCE = { sessions: 8, searches: 70, batches: 4, lists: 8, files: 8, hangUps: 8 }
const BATCH = 100

const attack = { isOn: false }
let running: Promise<unknown> = Promise.resolve()

async function attackAll(): Promise<void> {
  const [wire] = await openWires(url, 1)
  const session = await sessionOn(wire, url, TOKEN)
  wire?.[Symbol.dispose]()
  const asking = (method: string, params: object): Buffer => legacyOf(url, TOKEN, session, { method, params })
  const ref = { type: 'ref/resource', uri: 'skill://{+path}' }
  const completion = { method: 'completion/complete', params: { ref, argument: { name: 'path', value: '' } } }
  const batch = legacyOf(
    url,
    TOKEN,
    session,
    Array.from({ length: BATCH }, () => completion),
  )
  const search = asking('tools/call', { name: 'search_skills', arguments: { query: MANY_WORDS } })
  const list = asking('tools/call', { name: 'list_skills', arguments: {} })
  await Promise.all([
    onWires(AT_ONCE.sessions, initializeOf(url, TOKEN)),
    onWires(AT_ONCE.searches, search),
    onWires(AT_ONCE.batches, batch),
    onWires(AT_ONCE.lists, list),
    onWires(AT_ONCE.files, asking('resources/read', { uri: large })),
    ...Array.from({ length: AT_ONCE.hangUps }, async () => hangUp(batch)),
    takeStreams(),
  ])
}

/** Near to words that many skills have, and none itself: the dearest there is. */
const MANY_WORDS = Array.from(
  { length: 24 },
  (_, index) => `ba${'bcdfghklmnpr'[index % 12] ?? ''}${'aeiou'[index % 5] ?? ''}`,
).join(' ')

async function onWires(count: number, request: Buffer): Promise<void> {
  await Promise.all((await openWires(url, count)).map(async (wire) => repeat(wire, request)))
}

async function repeat(wire: Wire, request: Buffer): Promise<void> {
  using _held = wire
  while (attack.isOn) {
    const answer = await wire.exchange(request)
    if (answer.toString('latin1', 9, 12) === '200') continue
    // A client that is refused asks again as soon as that may help: without any pause it measures how fast refusals are.
    await pause(10)
  }
}

/** Asks, and leaves before there is an answer. */
async function hangUp(request: Buffer): Promise<void> {
  while (attack.isOn) {
    using wire = await Wire.open(url)
    void wire.exchange(request).catch(() => {})
    await pause(5)
  }
}

/** Each on a connection of its own; one that is refused is tried again. */
async function takeStreams(): Promise<void> {
  const held: Wire[] = []
  while (attack.isOn) {
    const wire = await Wire.open(url)
    held.push(wire)
    // The answer to a stream has no end.
    void wire.exchange(bearing(TOKEN, listenOf(url, held.length, uri))).catch(() => {})
    await pause(5)
  }
  for (const wire of held) wire[Symbol.dispose]()
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms))
}

async function askLikeOthers(name: string | undefined): Promise<void> {
  using honest = await Honest.open(url, TOKEN, uri)
  const kind = KINDS.find((one) => one === name)
  if (kind !== undefined) await honest.ask(kind, () => attack.isOn)
}

answerParent({
  hostile: () => begin(attackAll),
  honest: ([kind]) => begin(async () => askLikeOthers(kind)),
  end: async () => {
    attack.isOn = false
    await running
  },
})

function begin(run: () => Promise<void>): void {
  attack.isOn = true
  running = run()
}
