import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Quorum } from '../../../../src/features/channel/publish/cosigned-head.ts'
import type { RemoteWitness } from '../../../../src/features/channel/witness/remote-witness.ts'
import { openCheckpoint } from '../../../../src/sync/transparency-log/checkpoint.ts'
import { cosignatureLine, signerOf, verifierText } from '../../../../src/sync/transparency-log/signed-note.ts'
import { PLAIN_WAY } from '../../../../src/sync/upstream/http/host-access.ts'
import { FETCH_LIMITS } from '../../../../src/sync/upstream/upstream.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { portOf } from '../../../sync/upstream/front.ts'
import { Follower } from '../follow/follower.ts'
import { ORIGIN, SIGNER, signerNumber, skillNamed, startFileServer } from '../follow/site.ts'
import { WitnessPlace, witnessNumber } from '../witness/witness-place.ts'
import { Hub, skillsOf } from './hub.ts'
import type { Content } from './hub.ts'

const FIRST: Content = { a: [skillNamed('one', 'first')] }
const SECOND: Content = { a: [skillNamed('one', 'second')] }
const THIRD: Content = { a: [skillNamed('one', 'third'), skillNamed('two')] }

function quorumOf(
  enough: number,
  places: readonly { readonly url: string; readonly key: RemoteWitness['key'] }[],
): Quorum {
  const witnesses = places.map(({ url, key }) => ({ url, key, way: async () => PLAIN_WAY }))
  return { witnesses, enough, limits: FETCH_LIMITS, whyNot: () => undefined }
}

/** A hub whose log these witnesses cosign. */
async function witnessedHub(quorum: Quorum): Promise<Hub> {
  const hub = await Hub.create()
  hub.quorum = quorum
  await hub.reopen()
  return hub
}

async function checkpointOf(hub: Hub): Promise<string | undefined> {
  const bytes = await hub.read('checkpoint')
  return bytes && Buffer.from(bytes).toString()
}

test('what is served over HTTP and in a folder has the cosignatures of all witnesses that answer', async () => {
  await using one = await WitnessPlace.open([SIGNER], 1)
  await using two = await WitnessPlace.open([SIGNER], 2)
  await using hub = await witnessedHub(quorumOf(2, [one, two]))
  await using folder = await temporaryFolder()
  const to = join(folder.path, 'channel')
  await using server = await startFileServer(hub.read)
  const followed = { witnesses: [one, two].map(({ key }) => verifierText(key)), quorum: 2 }
  await using near = await Follower.open({ place: to, ...followed })
  await using far = await Follower.open({ place: server.url, ...followed })

  for (const content of [FIRST, SECOND, THIRD]) {
    await hub.serve(content)
    await hub.publish(to)
    await near.updated()
    await far.updated()
    expect(await near.skills()).toEqual(skillsOf(content))
    expect(await far.skills()).toEqual(skillsOf(content))
  }
  const note = await checkpointOf(hub)
  expect(await readFile(join(to, 'checkpoint'), 'utf8')).toBe(note)
  expect(openCheckpoint(note!, ORIGIN, [SIGNER, one.key, two.key]).cosigners.length).toBe(2)
  expect(await far.pull()).toMatchObject({ kind: 'unchanged' })
  expect(server.requests.at(-1)).toMatchObject({ path: 'checkpoint', status: 304 })
})

test('with too few cosignatures the state before stays served, also after a restart, until there are enough', async () => {
  await using witness = await WitnessPlace.open([SIGNER])
  await using hub = await witnessedHub(quorumOf(1, [witness]))
  await using folder = await temporaryFolder()
  const to = join(folder.path, 'channel')
  await hub.serve(FIRST)
  await hub.publish(to)
  await using server = await startFileServer(hub.read)
  const keys = { witnesses: [verifierText(witness.key)], quorum: 1 }
  await using follower = await Follower.open({ place: server.url, ...keys })
  await follower.updated()
  const before = await checkpointOf(hub)
  await witness.stop()

  await hub.serve(SECOND)
  await expect(hub.publish(to)).rejects.toMatchObject({
    code: 'log-unwitnessed',
    message: expect.stringContaining(
      `0 of 1 witnesses have cosigned it, and \`quorum\` is 1. Cannot reach "${witness.url}"`,
    ),
  })
  expect(await checkpointOf(hub)).toBe(before)
  expect(await readFile(join(to, 'checkpoint'), 'utf8')).toBe(before)
  // The entry that no witness has seen is not shown.
  expect(await hub.read('tile/entries/000.p/2')).toBeUndefined()
  expect(await hub.read('tile/0/000.p/2')).toBeUndefined()
  expect(await hub.read('changes/1')).toBeUndefined()
  await hub.reopen()
  expect(await checkpointOf(hub)).toBeUndefined()
  await hub.serve(SECOND)
  await expect(hub.publish()).rejects.toMatchObject({ code: 'log-unwitnessed' })
  expect(await checkpointOf(hub)).toBe(before)
  await using late = await Follower.open({ place: server.url, ...keys })
  await late.updated()
  expect(await late.skills()).toEqual(skillsOf(FIRST))
  // What is served must survive a collection, and so must what waits.
  const kept = await hub.publisher.keptSince(new Date('2100-01-01'))
  expect(new Set(kept.map(({ head }) => head)).size).toBe(2)

  await witness.start()
  expect(await hub.publish(to)).toMatchObject({ entries: 2, isNew: true })
  await follower.updated()
  expect(await follower.skills()).toEqual(skillsOf(SECOND))
  expect(await readFile(join(to, 'checkpoint'), 'utf8')).toBe(await checkpointOf(hub))
})

test('a witness that has seen less, or more than the hub remembers, gets the proof that it needs', async () => {
  await using one = await WitnessPlace.open([SIGNER], 1)
  await using two = await WitnessPlace.open([SIGNER], 2)
  await using hub = await witnessedHub(quorumOf(1, [one, two]))
  for (const content of [FIRST, SECOND, THIRD]) {
    if (content === SECOND) await two.stop()
    await hub.serve(content)
    await hub.publish()
  }
  await two.start()
  hub.quorum = quorumOf(2, [one, two])
  await hub.reopen()

  await hub.serve(THIRD)
  await hub.publish()

  expect(openCheckpoint((await checkpointOf(hub))!, ORIGIN, [SIGNER, one.key, two.key])).toMatchObject({
    size: 3,
    cosigners: { length: 2 },
  })
})

test('after a restart an unchanged log is served without asking its witnesses', async () => {
  await using witness = await WitnessPlace.open([SIGNER])
  await using hub = await witnessedHub(quorumOf(1, [witness]))
  await hub.serve(FIRST)
  await hub.publish()
  const before = await checkpointOf(hub)
  await witness.stop()

  await hub.reopen()
  await hub.serve(FIRST)
  await hub.publish()

  expect(await checkpointOf(hub)).toBe(before)
})

test('a change of the keys of the hub keeps the cosignatures, and a change of its witnesses asks for others', async () => {
  await using one = await WitnessPlace.open([SIGNER, signerNumber(2)], 1)
  await using two = await WitnessPlace.open([SIGNER, signerNumber(2)], 2)
  await using hub = await witnessedHub(quorumOf(1, [one]))
  await hub.serve(FIRST)
  await hub.publish()

  hub.signers = [signerNumber(2)]
  await hub.publish()
  expect(one.lines.filter((line) => line.includes('"cosigned"')).length).toBe(1)
  expect(openCheckpoint((await checkpointOf(hub))!, ORIGIN, [signerNumber(2), one.key]).cosigners).toEqual([one.key])

  hub.quorum = quorumOf(1, [two])
  await hub.reopen()
  await hub.serve(FIRST)
  await hub.publish()
  const opened = openCheckpoint((await checkpointOf(hub))!, ORIGIN, [signerNumber(2), one.key, two.key])
  expect(opened.cosigners).toEqual([two.key])
})

test('a hub that once had witnesses does not go back to what they cosigned then', async () => {
  await using witness = await WitnessPlace.open([SIGNER])
  await using hub = await witnessedHub(quorumOf(1, [witness]))
  await hub.serve(FIRST)
  await hub.publish()
  hub.quorum = quorumOf(0, [])
  await hub.reopen()
  await hub.serve(SECOND)
  await hub.publish()
  hub.quorum = quorumOf(1, [witness])
  await hub.reopen()
  await witness.stop()

  await hub.serve(THIRD)
  await expect(hub.publish()).rejects.toMatchObject({ code: 'log-unwitnessed' })

  expect(await checkpointOf(hub)).toBeUndefined()
})

test('without the network no witness is asked', async () => {
  await using witness = await WitnessPlace.open([SIGNER])
  await using hub = await witnessedHub({ ...quorumOf(1, [witness]), whyNot: () => '--offline forbids network access' })
  await hub.serve(FIRST)

  await expect(hub.publish()).rejects.toMatchObject({ message: expect.stringContaining('--offline') })
  expect(witness.lines).toEqual([])
})

/** Answers in place of a witness. */
type BadWitness = (request: IncomingMessage, response: ServerResponse, body: string) => void

async function startBadWitness(answer: BadWitness): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => answer(request, response, Buffer.concat(chunks).toString()))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${portOf(server)}/`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

const BAD = witnessNumber(9)
const textIn = (body: string): string => body.split('\n\n')[1] ?? ''
const lineFor = (text: string): string => cosignatureLine(`${text}\n`, BAD, new Date())
const sized = { 'content-type': 'text/x.tlog.size' }

test.each<[string, RegExp, BadWitness]>([
  ['an error', /it answers 500/, (_, response) => response.writeHead(500).end('oops')],
  ['404', /does not know this log/, (_, response) => response.writeHead(404).end()],
  ['403', /another public key for this log/, (_, response) => response.writeHead(403).end()],
  ['422', /does not continue/, (_, response) => response.writeHead(422).end()],
  ['nothing', /no known key has signed it|wrong form/, (_, response) => response.end('')],
  [
    'the page of a portal',
    /a web page/,
    (_, response) =>
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html>sign in</html>'),
  ],
  ['the text of a portal', /of its answer/, (_, response) => response.end('please sign in\n')],
  [
    'a redirect',
    /its redirect \(307\) is refused/,
    (_, response) => response.writeHead(307, { location: '/elsewhere' }).end(),
  ],
  [
    'an endless body',
    /has over 32768 bytes/,
    (_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(2 ** 14)));
      }
      response.on('drain', more)
      more()
    },
  ],
  [
    'a cosignature of another key',
    /no known key/,
    (_, response, body) => {
      const other = signerOf(BAD.name, Buffer.alloc(32, 77), 'cosignature')
      response.end(cosignatureLine(`${textIn(body)}\n`, other, new Date()))
    },
  ],
  ['a cosignature of another text', /is invalid/, (_, response) => response.end(lineFor('other\n1\nAAAA'))],
  [
    'a cosignature of a longer text',
    /of another text/,
    (_, response, body) => {
      const middle = 'more\n'
      const text = `${textIn(body)}\n\n${middle}`
      response.end(`${middle}\n${cosignatureLine(text, BAD, new Date())}`)
    },
  ],
  ['a conflict without a size', /409 without the size/, (_, response) => response.writeHead(409, sized).end('many\n')],
  ['a conflict in another type', /409 without the size/, (_, response) => response.writeHead(409).end('0\n')],
  [
    'a conflict with a huge number',
    /409 without the size/,
    (_, response) => response.writeHead(409, sized).end(`${'9'.repeat(400)}\n`),
  ],
  [
    'more entries than there are',
    /has cosigned 5000 entries of this log, which has 1 here/,
    (_, response) => response.writeHead(409, sized).end('5000\n'),
  ],
  [
    'a conflict again and again',
    /names the size 1 after 1/,
    (_, response) => response.writeHead(409, sized).end('1\n'),
  ],
])('a witness that answers with %s brings no cosignature, and the problem says why', async (_, why, answer) => {
  await using bad = await startBadWitness(answer)
  await using good = await WitnessPlace.open([SIGNER])
  await using hub = await witnessedHub(quorumOf(2, [good, { url: bad.url, key: BAD }]))
  await hub.serve(FIRST)

  await expect(hub.publish()).rejects.toMatchObject({
    code: 'log-unwitnessed',
    message: expect.stringMatching(new RegExp(`1 of 2 witnesses have cosigned it.*${why.source}`)),
  })
  expect(await checkpointOf(hub)).toBeUndefined()

  // The same witness does no harm if the other one is enough.
  hub.quorum = quorumOf(1, [good, { url: bad.url, key: BAD }])
  await hub.reopen()
  await hub.serve(FIRST)
  await hub.publish()
  expect(openCheckpoint((await checkpointOf(hub))!, ORIGIN, [SIGNER, good.key, BAD]).cosigners).toEqual([good.key])
})

test('a witness that never answers is given up, and with enough others soon', async () => {
  await using bad = await startBadWitness(() => {})
  await using good = await WitnessPlace.open([SIGNER])
  const limits = { connectMs: 200, idleMs: 200, totalMs: 400 }
  const places = [good, { url: bad.url, key: BAD }]
  await using hub = await witnessedHub({ ...quorumOf(2, places), limits })
  await hub.serve(FIRST)

  await expect(hub.publish()).rejects.toMatchObject({ message: expect.stringContaining('no answer within 200 ms') })

  // The limits alone would take much longer than this test may.
  hub.quorum = { ...quorumOf(1, places), limits: { connectMs: 3_600_000, idleMs: 3_600_000, totalMs: 3_600_000 } }
  await hub.reopen()
  await hub.serve(SECOND)
  await hub.publish()
  expect(await checkpointOf(hub)).toContain(good.key.name)
})

test('lines of unknown keys in an answer are left out', async () => {
  const stranger = witnessNumber(50)
  await using bad = await startBadWitness((_, response, body) =>
    response.end(`${cosignatureLine(`${textIn(body)}\n`, stranger, new Date())}${lineFor(textIn(body))}`),
  )
  await using hub = await witnessedHub(quorumOf(1, [{ url: bad.url, key: BAD }]))
  await hub.serve(FIRST)
  await hub.publish()

  const note = (await checkpointOf(hub))!
  expect(note).not.toContain(stranger.name)
  expect(openCheckpoint(note, ORIGIN, [SIGNER, BAD]).cosigners).toEqual([BAD])
})

test('a damaged file with the cosigned head is as none', async () => {
  await using witness = await WitnessPlace.open([SIGNER])
  await using hub = await witnessedHub(quorumOf(1, [witness]))
  await hub.serve(FIRST)
  await hub.publish()
  const file = hub.store.folder.at('logs', 'channel.checkpoint')
  const stored = await readFile(file, 'utf8')

  for (const damage of ['', 'nonsense', stored.slice(0, -20), stored.replace(/(w1 \S{40})../, '$1xx')]) {
    await hub.reopen()
    await writeFile(file, damage)
    await hub.serve(FIRST)
    await hub.publish()
    expect(openCheckpoint((await checkpointOf(hub))!, ORIGIN, [SIGNER, witness.key]).cosigners).toEqual([witness.key])
  }
})

test('two hubs with one key are found out: the witness cosigns one log, and no follower takes the other', async () => {
  await using witness = await WitnessPlace.open([SIGNER])
  await using one = await witnessedHub(quorumOf(1, [witness]))
  await using two = await witnessedHub(quorumOf(1, [witness]))
  await one.serve(FIRST)
  await one.publish()
  // The second one begins with the same log, as a copy of the state folder does.
  await mkdir(join(two.logFile, '..'), { recursive: true })
  await writeFile(two.logFile, await readFile(one.logFile))
  await two.reopen()

  await one.serve(SECOND)
  await one.publish()
  await two.serve(THIRD)
  await expect(two.publish()).rejects.toMatchObject({
    code: 'log-unwitnessed',
    message: expect.stringMatching(/answers 422|answers 403/),
  })
  expect(await checkpointOf(two)).toBeUndefined()
})
