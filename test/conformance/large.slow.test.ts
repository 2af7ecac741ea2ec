import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Repository } from '../support/git/repository.ts'
import { serve, type Served } from '../support/served.ts'
import { KINDS, contentOf, digestOf, everyPeer } from './peers.ts'
import type { Peers } from './peers.ts'

const READ = 'resources/read'
/** What all files of a skill may have together (SEP-2640). */
const MOST_BYTES = 16_777_216

const FILES = { 'text/big.txt': text(rest('text')), 'binary/big.bin': noise(rest('binary')) }

let repository: Repository
let served: Served
let peers: Peers

beforeAll(async () => {
  repository = await Repository.create()
  await repository.commit({ 'text/SKILL.md': header('text'), 'binary/SKILL.md': header('binary'), ...FILES })
  served = await serve(repository)
  peers = await everyPeer(served)
})

afterAll(async () => {
  await peers[Symbol.asyncDispose]()
  await served[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
})

test.each(KINDS.flatMap((kind) => Object.keys(FILES).map((path) => ({ kind, path }))))(
  'a file that leaves its skill no byte of the 16 MiB is read to the last one: $path ($kind)',
  async ({ kind, path }) => {
    const peer = peers.of(kind)
    const uri = `skill://fx/${path}`
    const expected = Buffer.from(FILES[path as keyof typeof FILES])
    const { result } = await peer.call('skills/get', { uri: `skill://fx/${path.split('/')[0]}/SKILL.md` })
    const { item, bytes } = contentOf(await peer.call(READ, { uri }))

    expect(result.skill.resources).toContainEqual({ uri, digest: digestOf(expected), size: expected.length })
    expect(result.skill.resources.map(({ size }: { size: number }) => size)).toSatisfy(
      (sizes: readonly number[]) => sizes.reduce((sum, size) => sum + size, 0) === MOST_BYTES,
    )
    expect([bytes.length, digestOf(bytes)]).toEqual([expected.length, digestOf(expected)])
    expect(item.text === undefined).toBe(path.endsWith('.bin'))
  },
)

function header(name: string): string {
  return `---\nname: ${name}\ndescription: Has one file of the largest size\n---\n`
}

/** What is left for the one file of the skill. */
function rest(name: string): number {
  return MOST_BYTES - Buffer.byteLength(header(name))
}

/** Text of letters, of characters that JSON escapes, and of characters of two to four bytes; cut nowhere inside of one. */
function text(size: number): string {
  const block = 'plain "quoted" \\ back\tslash\r\nü\u{20AC}\u{FEFF}\u{1F600}\n'
  const times = Math.floor(size / Buffer.byteLength(block))
  return block.repeat(times) + 'x'.repeat(size - times * Buffer.byteLength(block))
}

/** Bytes that are no UTF-8, and always the same. */
function noise(size: number): Buffer {
  const block = Buffer.concat(
    Array.from({ length: 2048 }, (_, index) => createHash('sha256').update(`${index}`).digest()),
  )
  return Buffer.alloc(size, block)
}
