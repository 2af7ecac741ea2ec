import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { addCheckpointBody } from '../../../../src/features/channel/witness/add-checkpoint.ts'
import { originHash } from '../../../../src/features/channel/witness/cosigned-logs.ts'
import { openCheckpoint, signCheckpoint } from '../../../../src/sync/transparency-log/checkpoint.ts'
import { LogHashes } from '../../../../src/sync/transparency-log/log-hashes.ts'
import { consistencyProof, EMPTY_ROOT, treeRoot } from '../../../../src/sync/transparency-log/merkle-tree.ts'
import type { NoteSigner } from '../../../../src/sync/transparency-log/signed-note.ts'
import { ORIGIN, signerNumber, SIGNER } from '../follow/site.ts'
import { WitnessPlace } from './witness-place.ts'

/** A log of so many entries; `fork`: from this entry on it has others. */
class Entries {
  readonly #hashes = new LogHashes()

  constructor(count: number, fork = count) {
    for (let index = 0; index < count; index += 1)
      this.#hashes.append(Buffer.from(index < fork ? `entry ${index}` : `other ${index}`))
  }

  async note(size: number, signers: readonly NoteSigner[] = [SIGNER], origin = ORIGIN): Promise<string> {
    return signCheckpoint({ origin, size, root: await treeRoot(size, this.#hashes.read) }, signers)
  }

  async proof(oldSize: number, size: number): Promise<Uint8Array[]> {
    return consistencyProof(oldSize, size, this.#hashes.read)
  }

  async body(oldSize: number, size: number): Promise<string> {
    return addCheckpointBody({ oldSize, proof: await this.proof(oldSize, size), note: await this.note(size) })
  }
}

const LOG = new Entries(300)

test('a checkpoint that continues the one before is cosigned, once it is on the disk', async () => {
  await using place = await WitnessPlace.open([SIGNER])
  const from = Math.floor(Date.now() / 1_000)

  for (const [oldSize, size] of [
    [0, 1],
    [1, 7],
    [7, 256],
    [256, 300],
    [300, 300],
  ] as const) {
    const answer = await place.post(await LOG.body(oldSize, size))
    const line = await answer.text()
    const note = await LOG.note(size)

    expect([size, answer.status]).toEqual([size, 200])
    const opened = openCheckpoint(note + line, ORIGIN, [SIGNER, place.key])
    expect(opened).toMatchObject({ size, cosigners: [place.key] })
    const seconds = Number(Buffer.from(line.trimEnd().split(' ')[2]!, 'base64').readBigUInt64BE(4))
    expect(seconds).toBeGreaterThanOrEqual(from)
    expect(seconds).toBeLessThanOrEqual(Date.now() / 1_000)
    const stored = await readFile(join(place.state, 'logs', `${originHash(ORIGIN)}.cosigned`), 'utf8')
    expect(stored).toBe(note + line)
    const shown = await fetch(`${place.url}${originHash(ORIGIN)}/checkpoint`)
    expect([shown.status, await shown.text()]).toEqual([200, stored])
  }
})

test('a fork, a rollback and a wrong size are refused, also after a restart', async () => {
  await using place = await WitnessPlace.open([SIGNER])
  await place.post(await LOG.body(0, 200))
  const fork = new Entries(300, 150)

  const refused = async (): Promise<void> => {
    // Another log of the same size, and a longer one.
    expect((await place.post(await fork.body(200, 200))).status).toBe(422)
    expect((await place.post(await fork.body(200, 300))).status).toBe(422)
    // Proofs of the right log for another root, and none at all.
    const wrong = addCheckpointBody({
      oldSize: 200,
      proof: await LOG.proof(200, 300),
      note: await fork.note(300),
    })
    expect((await place.post(wrong)).status).toBe(422)
    const none = addCheckpointBody({ oldSize: 200, proof: [], note: await LOG.note(300) })
    expect((await place.post(none)).status).toBe(422)
    for (const oldSize of [0, 100, 201]) {
      const conflict = await place.post(await LOG.body(oldSize, 300))
      expect([conflict.status, conflict.headers.get('content-type'), await conflict.text()]).toEqual([
        409,
        'text/x.tlog.size',
        '200\n',
      ])
    }
    // A rollback names the size of the cosigned one, and is shorter.
    const back = addCheckpointBody({ oldSize: 200, proof: [], note: await LOG.note(150) })
    expect((await place.post(back)).status).toBe(400)
    expect((await place.post(await LOG.body(150, 150))).status).toBe(409)
  }
  await refused()
  await place.stop()
  await place.start()
  await refused()

  expect((await place.post(await LOG.body(200, 300))).status).toBe(200)
  expect(place.lines.filter((line) => line.includes('"not-cosigned"') && line.includes('"warn"')).length).toBe(2)
  expect(place.lines.filter((line) => line.includes('"cosigned"')).join('')).toContain(ORIGIN)
})

test('of requests for one log at once, one is cosigned at each size', async () => {
  await using place = await WitnessPlace.open([SIGNER])
  await place.post(await LOG.body(0, 10))
  const forks = await Promise.all(
    Array.from({ length: 12 }, async (_, index) => new Entries(300, 12 + index).body(10, 20 + index)),
  )

  const answers = await Promise.all(forks.map(async (body) => place.post(body)))

  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toEqual([200])
  expect(statuses.filter((status) => status === 409).length).toBe(11)
})

test('each log has a state of its own, and an unknown one is none', async () => {
  const other = signerNumber(2, 'other.example.com/log')
  await using place = await WitnessPlace.open([SIGNER, other])
  await place.post(await LOG.body(0, 200))

  const note = await LOG.note(5, [other], other.name)
  const first = await place.post(addCheckpointBody({ oldSize: 0, proof: [], note }))
  const stranger = signerNumber(3, 'stranger.example.com/log')
  const unknown = await LOG.note(5, [stranger], stranger.name)
  const refused = await place.post(addCheckpointBody({ oldSize: 0, proof: [], note: unknown }))

  expect([first.status, refused.status]).toEqual([200, 404])
  expect((await fetch(`${place.url}${originHash(stranger.name)}/checkpoint`)).status).toBe(404)
  expect((await fetch(`${place.url}checkpoint`)).status).toBe(404)
})

test('a log without entries is cosigned with the root of the empty tree alone', async () => {
  await using place = await WitnessPlace.open([SIGNER])
  const empty = (root: Uint8Array): string =>
    addCheckpointBody({ oldSize: 0, proof: [], note: signCheckpoint({ origin: ORIGIN, size: 0, root }, [SIGNER]) })

  expect((await place.post(empty(Buffer.alloc(32)))).status).toBe(422)
  expect((await place.post(empty(EMPTY_ROOT))).status).toBe(200)
  // No proof belongs to the empty tree.
  const proof = [Buffer.alloc(32)]
  expect((await place.post(addCheckpointBody({ oldSize: 0, proof, note: await LOG.note(3) }))).status).toBe(422)
  expect((await place.post(await LOG.body(0, 3))).status).toBe(200)
})

test('one of several keys of a log is enough, and an invalid signature of a known one is refused', async () => {
  const second = signerNumber(2)
  await using place = await WitnessPlace.open([SIGNER, second])
  const [first, both] = [await LOG.note(3, [second]), await LOG.note(3, [SIGNER, second])]

  expect((await place.post(addCheckpointBody({ oldSize: 0, proof: [], note: first }))).status).toBe(200)
  const broken = both.replace(/(channel \S{30})./, (all, start: string) => `${start}${all.endsWith('A') ? 'B' : 'A'}`)
  expect((await place.post(addCheckpointBody({ oldSize: 3, proof: [], note: broken }))).status).toBe(403)
  const unsigned = await LOG.note(3, [signerNumber(3)])
  expect((await place.post(addCheckpointBody({ oldSize: 3, proof: [], note: unsigned }))).status).toBe(403)
})

const NOTE = await LOG.note(3)

test.each([
  ['nothing', ''],
  ['no blank line', 'old 0\n'],
  ['another word', `new 0\n\n${NOTE}`],
  ['no size', `old \n\n${NOTE}`],
  ['a size with a leading zero', `old 00\n\n${NOTE}`],
  ['a negative size', `old -1\n\n${NOTE}`],
  ['a size of 2^53', `old 9007199254740992\n\n${NOTE}`],
  ['a size with a space', `old 0 \n\n${NOTE}`],
  ['a carriage return', `old 0\r\n\n${NOTE}`],
  ['a proof line that is no hash', `old 0\nAAAA\n\n${NOTE}`],
  ['a proof line in another base64', `old 0\n${'-'.repeat(43)}=\n\n${NOTE}`],
  ['64 proof lines', `old 0\n${`${Buffer.alloc(32).toString('base64')}\n`.repeat(64)}\n${NOTE}`],
  ['bytes that are no UTF-8', Buffer.from([0x6f, 0xff, 0x0a, 0x0a])],
])('a request with %s answers 400, and cosigns nothing', async (_, body) => {
  await using place = await WitnessPlace.open([SIGNER])

  expect((await place.post(body)).status).toBe(400)
  expect(await readdir(join(place.state, 'logs'))).toEqual([])
})

test('a body over the limit is not read, and other requests are refused', async () => {
  await using place = await WitnessPlace.open([SIGNER])

  expect((await place.post(`old 0\n\n${'x'.repeat(100_000)}`)).status).toBe(413)
  expect((await fetch(`${place.url}add-checkpoint`)).status).toBe(405)
  const page = { origin: 'https://page.example' }
  const body = await LOG.body(0, 3)
  expect((await fetch(`${place.url}add-checkpoint`, { method: 'POST', body, headers: page })).status).toBe(403)
})

test('a damaged state is never a new log: the request fails, and nothing is cosigned', async () => {
  await using place = await WitnessPlace.open([SIGNER])
  await place.post(await LOG.body(0, 200))
  const file = join(place.state, 'logs', `${originHash(ORIGIN)}.cosigned`)
  const stored = await readFile(file, 'utf8')

  for (const damage of ['', stored.slice(0, 40), stored.replace('\n200\n', '\n100\n')]) {
    await writeFile(file, damage)
    expect((await place.post(await LOG.body(0, 300))).status).toBe(500)
    expect((await place.post(await LOG.body(200, 300))).status).toBe(500)
  }
  await writeFile(file, stored)
  expect((await place.post(await LOG.body(200, 300))).status).toBe(200)
})
