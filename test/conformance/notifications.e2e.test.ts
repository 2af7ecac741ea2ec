import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { HttpServer } from '../../src/serve/site/server.ts'
import { META, eventsOf, hear, legacyHttp, modernHeaders, stdio } from '../support/clients/peer.ts'
import type { Heard } from '../support/clients/peer.ts'
import { Repository } from '../support/git/repository.ts'
import type { Content } from '../support/git/repository.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'
import { KINDS, contentOf, digestOf, everyPeer, openPeer, openScene, resultOf } from './peers.ts'
import type { Scene } from './peers.ts'

const LEGACY = ['LH', 'LS'] as const
const MODERN = ['M', 'MS'] as const

let scene: Scene

beforeAll(async () => {
  scene = await openScene()
})

afterAll(() => scene[Symbol.asyncDispose]())

test.each(LEGACY)('a subscriber hears once of the file it subscribed to, and of no other (%s)', async (kind) => {
  await using peer = await openPeer(kind, scene.served)
  const uri = scene.uri('pdf-processing', 'crlf.md')
  const heard = await peer.subscribe([marker()])
  const subscribed = resultOf(await peer.call('resources/subscribe', { uri }))

  await change('pdf-processing/crlf.md', 'pdf-processing/bom.md')
  await heard.next(isUpdateOf(uri))
  await change(MARKER)

  expect(subscribed).toEqual({})
  expect(await heardBeforeMarker(heard)).toEqual([`updated ${uri}`])
})

test.each(LEGACY)('after unsubscribing nothing more is heard of the file (%s)', async (kind) => {
  await using peer = await openPeer(kind, scene.served)
  const uri = scene.uri('pdf-processing', 'crlf.md')
  const witness = scene.uri('pdf-processing', 'bom.md')
  const heard = await peer.subscribe([uri, witness, marker()])

  const unsubscribed = resultOf(await peer.call('resources/unsubscribe', { uri }))
  await change('pdf-processing/crlf.md', 'pdf-processing/bom.md')
  await heard.next(isUpdateOf(witness))
  await change(MARKER)

  expect(unsubscribed).toEqual({})
  expect(await heardBeforeMarker(heard)).toEqual([`updated ${witness}`])
})

test('the acknowledgement comes first, carries the id of the request and names the supported kinds only', async () => {
  const uri = scene.uri('pdf-processing', 'crlf.md')
  const filter = { resourceSubscriptions: [uri], resourcesListChanged: true, toolsListChanged: true }
  await using heard = await listen(scene.served, 'the-listener', filter)

  const first = await heard.next(() => true)

  expect(first).toEqual({
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: {
      notifications: { resourceSubscriptions: [uri], resourcesListChanged: true },
      _meta: { [SUBSCRIPTION_ID]: 'the-listener' },
    },
  })
})

test.each(MODERN)('who listens for one file hears of no list, though a skill came (%s)', async (kind) => {
  await using peer = await openPeer(kind, scene.served)
  const uri = scene.uri('pdf-processing', 'crlf.md')
  await using heard = await peer.subscribe([uri])

  await commit({ [`skills/c098-${kind.toLowerCase()}/SKILL.md`]: skillText(`c098-${kind.toLowerCase()}`) })
  await change('pdf-processing/crlf.md')
  await heard.next(nth(1, isUpdateOf(uri)))
  await change('pdf-processing/crlf.md')
  await heard.next(nth(2, isUpdateOf(uri)))

  const [acknowledged, ...updates] = heard.messages
  expect(updates.map(told)).toEqual([`updated ${uri}`, `updated ${uri}`])
  expect(new Set(updates.map(subscriptionIdOf))).toEqual(new Set([subscriptionIdOf(acknowledged)]))
  expect(subscriptionIdOf(acknowledged)).toBeDefined()
})

test.each(KINDS)(
  'a listener for lists hears once of a skill that came, and once of one that went (%s)',
  async (kind) => {
    await using peer = await openPeer(kind, scene.served)
    await using heard = await peer.subscribe([marker()], { list: true })
    const path = 'skills/come-and-gone/SKILL.md'

    await commit({ [path]: skillText('come-and-gone') })
    await heard.next(nth(1, isListChange))
    await commit({ [path]: null })
    await heard.next(nth(2, isListChange))
    await change(MARKER)

    expect(await heardBeforeMarker(heard)).toEqual(['list_changed', 'list_changed'])
  },
)

test.each(KINDS)('what is asked for on an update is of the new commit (%s)', async (kind) => {
  await using peer = await openPeer(kind, scene.served)
  const uri = scene.uri('git-workflow')
  await using heard = await peer.subscribe([uri])

  for (let round = 1; round <= 5; round += 1) {
    const bytes = Buffer.from(skillText('git-workflow', `round ${round} of ${kind}`))
    const committed = commit({ 'skills/git-workflow/SKILL.md': bytes })
    await heard.next(nth(round, isUpdateOf(uri)))
    const [got, read] = await Promise.all([peer.call('skills/get', { uri }), peer.call('resources/read', { uri })])

    expect(resultOf(got).skill.resources).toEqual([{ uri, digest: digestOf(bytes), size: bytes.length }])
    expect(resultOf(got).skill.frontmatter.description).toBe(`round ${round} of ${kind}`)
    expect(contentOf(read).bytes).toEqual(bytes)
    await committed
  }
})

test.each(KINDS)('a subscriber to the root of a skill hears of a change below it (%s)', async (kind) => {
  await using peer = await openPeer(kind, scene.served)
  const root = scene.root('pdf-processing')
  await using heard = await peer.subscribe([root])

  await change('pdf-processing/templates/regional/eu.md')

  const update = await heard.next(isUpdate)
  expect(update.params.uri).toBe(root)
})

test.each(KINDS)('a subscriber to a file hears that it is gone, and then does not find it (%s)', async (kind) => {
  await using peer = await openPeer(kind, scene.served)
  const path = `pdf-processing/notes/gone-${kind}.md`
  const uri = scene.uri('pdf-processing', `notes/gone-${kind}.md`)
  const came = await peer.subscribe([scene.root('pdf-processing')])
  await change(path)
  await came.next(isUpdate)
  await using heard = await peer.subscribe([uri])

  await commit({ [`skills/${path}`]: null })
  await heard.next(isUpdateOf(uri))

  const read = await peer.call('resources/read', { uri })
  expect(read.error).toMatchObject({ code: peer.era === 'modern' ? -32602 : -32002, data: { uri } })
  await came[Symbol.asyncDispose]()
})

test('a daemon that stops answers the listen request, then closes its stream', async () => {
  await using daemon = await serveFiles({ 'skills/alpha/SKILL.md': skillText('alpha') })
  await using heard = await listen(daemon.served, 'the-listener', { resourceSubscriptions: [ALPHA] })
  await heard.next(() => true)

  await daemon.served.http[Symbol.asyncDispose]()
  await ended(heard)

  expect(answersOf(heard)).toMatchObject([answerTo('the-listener')])
  expect(heard.messages.at(-1)).toMatchObject(answerTo('the-listener'))
})

test('over stdio: a process that is told to stop answers the listen request, then closes its end', async () => {
  await using daemon = await serveFiles({ 'skills/alpha/SKILL.md': skillText('alpha') })
  await using peer = await stdio(['--config', daemon.served.configFile], 'modern')
  const heard = await peer.subscribe([ALPHA])

  peer.process.kill('SIGTERM')
  await ended(heard)

  const id = subscriptionIdOf(heard.messages[0])
  expect(id).toBeDefined()
  expect(answersOf(heard)).toMatchObject([answerTo(id)])
  expect(heard.messages.at(-1)).toMatchObject(answerTo(id))
  expect(await exitStatusOf(peer.process)).toBe(0)
})

test('five hundred streams that were opened and closed leave nothing behind', async () => {
  await using daemon = await serveFiles({ 'skills/alpha/SKILL.md': skillText('alpha') })
  const { http } = daemon.served
  const filter = { resourceSubscriptions: [ALPHA, 'skill://fx'], resourcesListChanged: true }

  const opened = await Promise.all(Array.from({ length: 500 }, (_, id) => listen(daemon.served, id, filter)))
  const most = http.counts()
  for (const heard of opened) await heard[Symbol.asyncDispose]()
  await untilCounted(daemon.served, { streams: 0, subscribedUris: 0 })

  expect(most).toMatchObject({ streams: 500, subscribedUris: 2 })
  expect(http.counts()).toEqual({ sessions: 0, streams: 0, subscribedUris: 0 })
})

test('a session has one stream at a time, and each message is on it once', async () => {
  await using session = await legacyHttp(scene.served.url)
  const uri = scene.uri('pdf-processing', 'crlf.md')
  const first = await session.subscribe([uri, marker()])

  const response = await openStream(scene.served, session.session)
  const heard = hear(eventsOf(response), async () => {})
  await expect(first.next(() => false)).rejects.toThrow('The stream ended; it brought []')
  await change('pdf-processing/crlf.md')
  await change(MARKER)

  expect(await heardBeforeMarker(heard)).toEqual([`updated ${uri}`])
})

test('what happened while a session had no stream is told when it opens one, each URI once', async () => {
  await using session = await legacyHttp(scene.served.url)
  const uris = [scene.uri('pdf-processing', 'crlf.md'), scene.uri('pdf-processing', 'bom.md')]
  for (const uri of [...uris, marker()]) resultOf(await session.call('resources/subscribe', { uri }))

  await change('pdf-processing/crlf.md')
  await change('pdf-processing/crlf.md', 'pdf-processing/bom.md')
  const heard = await session.subscribe([])
  await change(MARKER)

  expect(await heardBeforeMarker(heard)).toEqual(uris.map((uri) => `updated ${uri}`))
})

test('a session whose stream broke hears on its next one of what happened in between', async () => {
  await using session = await legacyHttp(scene.served.url)
  const uri = scene.uri('pdf-processing', 'crlf.md')
  for (const wanted of [uri, marker()]) resultOf(await session.call('resources/subscribe', { uri: wanted }))
  const open = scene.served.http.counts().streams
  const broken = new AbortController()
  await openStream(scene.served, session.session, broken.signal)
  broken.abort()
  await untilCounted(scene.served, { streams: open })

  await change('pdf-processing/crlf.md')
  const heard = await session.subscribe([])
  await change(MARKER)

  expect(await heardBeforeMarker(heard)).toEqual([`updated ${uri}`])
})

test.each(KINDS)('a subscriber is told of a resource under the URI that it wrote itself (%s)', async (kind) => {
  await using peer = await openPeer(kind, scene.served)
  const written = [`${scene.root('pdf-processing')}/notes/a b.md`, `${scene.root('pdf-processing')}/notes/`]
  await using heard = await peer.subscribe([marker(), ...written])

  await change('pdf-processing/notes/a b.md')
  for (const uri of written) await heard.next(isUpdateOf(uri))
  await change(MARKER)

  expect((await heardBeforeMarker(heard)).toSorted()).toEqual(written.map((uri) => `updated ${uri}`).toSorted())
})

test.each(MODERN)('a URI that is not served is not acknowledged, the others are (%s)', async (kind) => {
  await using peer = await openPeer(kind, scene.served)
  const uri = scene.uri('git-workflow')

  await using heard = await peer.subscribe([scene.uri('nowhere'), uri, 'https://example.com/'])

  const acknowledged = await heard.next(() => true)
  expect(acknowledged.params.notifications).toEqual({ resourceSubscriptions: [uri] })
})

test.each(MODERN)(
  'a listener of whose wishes none is honoured is acknowledged and answered at once (%s)',
  async (kind) => {
    await using peer = await openPeer(kind, scene.served)

    await using heard = await peer.subscribe([scene.uri('nowhere')])

    const acknowledged = await heard.next(() => true)
    expect(acknowledged.params.notifications).toEqual({})
    const answer = await heard.next((message) => 'result' in message)
    expect(answer.id).toBe(subscriptionIdOf(acknowledged))
  },
)

test.each(KINDS)(
  'a subscriber to a folder hears of it once for all that changed below, at any depth (%s)',
  async (kind) => {
    await using peer = await openPeer(kind, scene.served)
    const folders = [scene.uri('pdf-processing', 'templates'), scene.root('acme'), scene.prefix.slice(0, -1)]
    const elsewhere = scene.uri('pdf-processing', 'notes')
    await using heard = await peer.subscribe([marker(), ...folders, elsewhere])

    await change(
      'pdf-processing/templates/invoice.md',
      'pdf-processing/templates/regional/eu.md',
      'acme/billing/refunds/examples/email.md',
    )
    for (const uri of folders) await heard.next(isUpdateOf(uri))
    await change(MARKER)

    expect((await heardBeforeMarker(heard)).toSorted()).toEqual(folders.map((uri) => `updated ${uri}`).toSorted())
  },
)

test('of thirty pushes in one sync every client hears of each changed URI once, and of no unchanged one', async () => {
  await using daemon = await serveFiles(contentsOf([...FILES, 'skills/gamma/SKILL.md', WITNESS_FILE, MARKER_FILE]))
  await using peers = await everyPeer(daemon.served)
  const wanted = [...FILES, WITNESS_FILE, MARKER_FILE].map(servedUri)
  const listeners = await Promise.all(peers.all.map((peer) => peer.subscribe(wanted, { list: true })))
  const contents = new Map(Object.entries(contentsOf(FILES)))

  const thirtyPushes = fc.array(PUSH, { minLength: 30, maxLength: 30 })
  const law = fc.asyncProperty(thirtyPushes, async (pushes) => {
    const before = new Map(contents)
    const known = listeners.map(({ messages }) => messages.length)
    for (const files of pushes) {
      for (const [file, content] of Object.entries(files)) contents.set(file, content)
      await daemon.repository.commit({ ...files, [WITNESS_FILE]: unlikeAnyOther() })
    }
    await daemon.served.sync()
    await Promise.all(listeners.map((heard, index) => heard.next(after(known[index]!, heard, isUpdateOf(WITNESS)))))
    await daemon.repository.commit({ [MARKER_FILE]: unlikeAnyOther() })
    await daemon.served.sync()
    await Promise.all(listeners.map((heard, index) => heard.next(after(known[index]!, heard, isUpdateOf(END)))))

    const changed = FILES.filter((file) => contents.get(file) !== before.get(file))
    const list = changed.some((file) => file.endsWith('/SKILL.md')) ? ['list_changed'] : []
    const expected = [...list, ...[...changed.map(servedUri), WITNESS, END].map((uri) => `updated ${uri}`)]
    for (const [index, { messages }] of listeners.entries()) {
      expect(messages.slice(known[index]).map(told).toSorted()).toEqual(expected.toSorted())
    }
  })
  await fc.assert(law, { numRuns: 5, endOnFailure: true })
})

const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId'
const ALPHA = 'skill://fx/alpha/SKILL.md'

/** A file of FX whose change is the last thing that a test makes, and that its subscribers must hear of. */
const MARKER = 'outer/inner/data.md'

function marker(): string {
  return scene.uri('outer', 'inner/data.md')
}

/** Gives files of FX, named from `skills/`, other bytes in one commit, and has them served. */
async function change(...paths: readonly string[]): Promise<void> {
  await commit(Object.fromEntries(paths.map((path) => [`skills/${path}`, unlikeAnyOther()])))
}

async function commit(files: Readonly<Record<string, Content | null>>): Promise<void> {
  await scene.fixture.repository.commit(files)
  await scene.served.sync()
}

let written = 0

function unlikeAnyOther(): string {
  written += 1
  return `content ${written}\n`
}

function skillText(name: string, description = 'Comes and goes'): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n# ${name}\n`
}

/** Everything that a subscriber was told before it was told of the marker, which it is waited for; in order. */
async function heardBeforeMarker(heard: Heard): Promise<string[]> {
  const last = await heard.next(isUpdateOf(marker()))
  return heard.messages.slice(0, heard.messages.indexOf(last)).filter(isNews).map(told)
}

/** A message as one line: `updated URI`, `list_changed`. */
function told({ method, params }: Message): string {
  const what = String(method).replace('notifications/resources/', '')
  return params?.uri === undefined ? what : `${what} ${params.uri}`
}

// oxlint-disable-next-line typescript/no-explicit-any -- what is on the wire has no type
type Message = any

function isNews({ method }: Message): boolean {
  return method !== 'notifications/subscriptions/acknowledged'
}

function isUpdate({ method }: Message): boolean {
  return method === 'notifications/resources/updated'
}

function isUpdateOf(uri: string): (message: Message) => boolean {
  return (message) => isUpdate(message) && message.params.uri === uri
}

function isListChange({ method }: Message): boolean {
  return method === 'notifications/resources/list_changed'
}

/** Accepts the message that is number `count` of those that the predicate accepts. */
function nth(count: number, accepts: (message: Message) => boolean): (message: Message) => boolean {
  let accepted = 0
  return (message) => {
    if (accepts(message)) accepted += 1
    return accepted === count
  }
}

/** Accepts what came after the first so many messages. */
function after(count: number, heard: Heard, accepts: (message: Message) => boolean): (message: Message) => boolean {
  return (message) => accepts(message) && heard.messages.indexOf(message) >= count
}

function subscriptionIdOf(message: Message): unknown {
  return message.params._meta[SUBSCRIPTION_ID]
}

/** Opens a listen stream of the modern era under an id and with a filter of one's own. */
async function listen({ url }: Served, id: string | number, notifications: object): Promise<Heard> {
  const stop = new AbortController()
  const method = 'subscriptions/listen'
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: { notifications, _meta: META } })
  const headers = modernHeaders(method, {})
  const response = await fetch(url, { method: 'POST', headers, body, signal: stop.signal })
  return hear(eventsOf(response), async () => stop.abort())
}

/** Asks for a stream of a session, as the one that a peer opens by itself. */
async function openStream({ url }: Served, session: string, signal?: AbortSignal): Promise<Response> {
  const headers = { accept: 'text/event-stream', 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
  return fetch(url, { headers, ...(signal !== undefined && { signal }) })
}

/** Resolves when the stream of a listener has ended. */
async function ended(heard: Heard): Promise<void> {
  await expect(heard.next(() => false)).rejects.toThrow('The stream ended')
}

function answersOf({ messages }: Heard): Message[] {
  return messages.filter((message) => 'result' in message)
}

function answerTo(id: unknown): Message {
  return { id, result: { _meta: { [SUBSCRIPTION_ID]: id } } }
}

async function exitStatusOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return child.exitCode
}

/** Both ends of every stream are in this process, so that the loop has to go round and no time has to pass. */
async function untilCounted({ http }: Served, counts: Partial<ReturnType<HttpServer['counts']>>): Promise<void> {
  const isReached = (): boolean =>
    Object.entries(counts).every(([key, count]) => count === new Map(Object.entries(http.counts())).get(key))
  for (let turns = 0; turns < 100_000 && !isReached(); turns += 1) await turn()
  expect(http.counts()).toMatchObject(counts)
}

/** A daemon of its own for a small repository, with its skills in `skills`. */
async function serveFiles(
  files: Readonly<Record<string, string>>,
): Promise<{ readonly repository: Repository; readonly served: Served } & AsyncDisposable> {
  const repository = await Repository.create()
  await repository.commit(files)
  const served = await serve(repository, { source: ['root: skills'] })
  return {
    repository,
    served,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
    },
  }
}

/** The files that random pushes change: of three skills, one of them inside another. */
const FILES = ['alpha', 'beta', 'beta/inner'].flatMap((skill) =>
  ['SKILL.md', 'one.md', 'deep/two.md', 'deep/deeper/three.md'].map((path) => `skills/${skill}/${path}`),
)

/** Changed by every push, and by the one after all others. */
const WITNESS_FILE = 'skills/gamma/witness.md'
const MARKER_FILE = 'skills/gamma/marker.md'
const WITNESS = servedUri(WITNESS_FILE)
const END = servedUri(MARKER_FILE)

function servedUri(file: string): string {
  return `skill://fx/${file.slice('skills/'.length)}`
}

/** A few files, each with one of three contents: so some pushes undo what others did. */
const PUSH = fc
  .array(fc.record({ file: fc.constantFrom(...FILES), variant: fc.nat(2) }), { maxLength: 4 })
  .map((changes) => Object.fromEntries(changes.map(({ file, variant }) => [file, contentFor(file, variant)])))

function contentsOf(files: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(files.map((file) => [file, contentFor(file, 0)]))
}

function contentFor(file: string, variant: number): string {
  const name = /([^/]+)\/SKILL\.md$/.exec(file)?.[1]
  return name === undefined ? `${file} ${variant}\n` : skillText(name, `Variant ${variant}`)
}
