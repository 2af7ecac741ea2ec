import { expect, test } from 'vitest'
import { KINDS, contentOf, digestOf, everyPeer, resultOf } from '../conformance/peers.ts'
import type { Entry } from '../conformance/peers.ts'
import type { Peer } from '../support/clients/peer.ts'
import { Repository } from '../support/git/repository.ts'
import { serve, type Served } from '../support/served.ts'
import { skillText } from './read-back.ts'

const ROOT = 'skill://fx/moving'
const DOCUMENT = `${ROOT}/SKILL.md`

test.each(KINDS)(
  'what was listed before the generation switched is read as it is now or not found, and a re-get fits what is read (%s)',
  async (kind) => {
    await using scene = await Scene.open()
    const peer = scene.peers.of(kind)
    await scene.push()
    const listed = await untilListed(peer)
    const heard = await peer.subscribe([`${ROOT}/data.txt`])

    await scene.push()
    await heard.next((message) => message.params?.uri === `${ROOT}/data.txt`)

    const [entry] = listed
    expect(scene.roundOf(entry!)).toBe(1)
    // Each second commit has the third file, so that it is gone now.
    expect(entry?.resources.map(({ uri }) => uri)).toContain(`${ROOT}/odd.txt`)
    for (const { uri } of entry!.resources) expect(await scene.roundRead(peer, uri, entry!)).toBe(2)
    const again = await scene.get(peer)
    expect(scene.roundOf(again)).toBe(2)
    for (const { uri, digest, size } of again.resources) {
      const { bytes } = contentOf(await peer.call('resources/read', { uri }))
      expect([digestOf(bytes), bytes.length]).toEqual([digest, size])
    }
  },
)

test('clients of every kind that get and read without a pause meet one commit in each answer, and none goes back', async () => {
  await using scene = await Scene.open()
  await scene.push()
  for (const peer of scene.peers.all) await untilListed(peer)

  const readers = scene.peers.all.map((peer) => readOn(scene, peer))
  for (let round = 2; round <= ROUNDS; round += 1) await scene.push()
  scene.isOver = true

  for (const reads of await Promise.all(readers)) expect(reads).toBeGreaterThan(0)
  for (const peer of scene.peers.all) expect(scene.roundOf(await untilLast(scene, peer))).toBe(ROUNDS)
})

const ROUNDS = 12

/** Gets the entry and reads each of its files, over and over. How many reads there were. */
async function readOn(scene: Scene, peer: Peer): Promise<number> {
  let reads = 0
  let newest = 0
  while (!scene.isOver) {
    const entry = await scene.get(peer)
    const round = scene.roundOf(entry)
    expect(round).toBeGreaterThanOrEqual(newest)
    newest = round
    for (const { uri } of entry.resources) {
      const read = await scene.roundRead(peer, uri, entry)
      reads += 1
      expect(read).toBeGreaterThanOrEqual(newest)
      if (read === round) continue
      // Not what the entry has, so it is not current any more: the one that is asked for now is as new as what was read.
      const again = scene.roundOf(await scene.get(peer))
      expect(again).toBeGreaterThanOrEqual(read)
      newest = again
      break
    }
  }
  return reads
}

/** A follower lists the first skill within its look. */
async function untilListed(peer: Peer): Promise<Entry[]> {
  for (;;) {
    const { skills } = resultOf(await peer.call('skills/list'))
    if (skills.length > 0) return skills
  }
}

/** A follower serves the last generation within its look. */
async function untilLast(scene: Scene, peer: Peer): Promise<Entry> {
  for (;;) {
    const entry = await scene.get(peer)
    if (scene.roundOf(entry) === ROUNDS) return entry
  }
}

/** A skill of which every commit changes every file, and clients of every kind. */
class Scene implements AsyncDisposable {
  readonly repository: Repository
  readonly served: Served
  readonly peers: Awaited<ReturnType<typeof everyPeer>>
  isOver = false
  /** For each digest of each file, the commit that brought it. */
  readonly #rounds = new Map<string, number>()
  #round = 0

  private constructor(repository: Repository, served: Served, peers: Awaited<ReturnType<typeof everyPeer>>) {
    this.repository = repository
    this.served = served
    this.peers = peers
  }

  static async open(): Promise<Scene> {
    const repository = await Repository.create()
    await repository.commit({ 'other/SKILL.md': 'no skill' })
    const served = await serve(repository)
    return new Scene(repository, served, await everyPeer(served))
  }

  /** Commits the next round and pulls it. */
  async push(): Promise<void> {
    this.#round += 1
    const round = this.#round
    const files = {
      'SKILL.md': skillText('moving', `license: round ${round}\n`),
      'data.txt': `data of ${round}\n`.repeat(1000 + round),
      'odd.txt': round % 2 === 1 ? `odd ${round}\n` : null,
    }
    for (const [path, text] of Object.entries(files))
      if (text !== null) this.#rounds.set(`${path} ${digestOf(Buffer.from(text))}`, round)
    const present = Object.entries(files).map(([path, text]) => [`moving/${path}`, text] as const)
    await this.repository.commit(
      Object.fromEntries(round === 1 ? present.filter(([, text]) => text !== null) : present),
    )
    await this.served.sync()
  }

  async get(peer: Peer): Promise<Entry> {
    return resultOf(await peer.call('skills/get', { uri: DOCUMENT })).skill
  }

  /** The commit that an entry is of: all of its files are of the same one, and none is missing. */
  roundOf({ resources }: Entry): number {
    const rounds = new Set(resources.map(({ uri, digest }) => this.#roundOf(uri, digest)))
    const [round = 0] = rounds
    expect([...rounds]).toEqual([round])
    expect(resources).toHaveLength(round % 2 === 1 ? 3 : 2)
    return round
  }

  /** The commit that the bytes of a file are of. One that is gone is of the next commit, which does not have it. */
  async roundRead(peer: Peer, uri: string, entry: Entry): Promise<number> {
    const reply = await peer.call('resources/read', { uri })
    if (reply.error === undefined) return this.#roundOf(uri, digestOf(contentOf(reply).bytes))
    expect([uri, reply.error.code]).toEqual([`${ROOT}/odd.txt`, peer.era === 'modern' ? -32602 : -32002])
    return this.roundOf(entry) + 1
  }

  #roundOf(uri: string, digest: string): number {
    const round = this.#rounds.get(`${uri.slice(ROOT.length + 1)} ${digest}`)
    if (round === undefined) throw new Error(`${uri} with ${digest} is of no commit`)
    return round
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.peers[Symbol.asyncDispose]()
    await this.served[Symbol.asyncDispose]()
    await this.repository[Symbol.asyncDispose]()
  }
}
