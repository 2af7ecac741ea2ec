import { createHash } from 'node:crypto'
import { inflateSync } from 'node:zlib'
import { packet } from '../../../src/base/pkt-line.ts'
import { readCommand, readUploadRequest } from '../../../src/features/marketplace/git/fetch-request.ts'
import { fetchAnswer, packBody } from '../../../src/features/marketplace/git/upload-pack.ts'
import type { FetchAnswer, ProtocolVersion } from '../../../src/features/marketplace/git/upload-pack.ts'
import type { MarketplaceRevision } from '../../../src/features/marketplace/marketplace-revision.ts'
import type { ServedMarketplace } from '../../../src/features/marketplace/marketplaces.ts'

/** The objects that a commit leads to, by a reading of git's formats that shares nothing with the program. */
export interface Reachable {
  readonly all: ReadonlySet<string>
  /** The ids of the files, by their paths. */
  readonly files: ReadonlyMap<string, string>
}

/** Follows the commit of a revision to all that it leads to. Throws if an object is not there. */
export function reachableIn({ tip, objects }: MarketplaceRevision): Reachable {
  const all = new Set<string>([tip])
  const files = new Map<string, string>()
  const bytesOf = (id: string): Buffer => {
    const object = objects.get(id)
    if (object === undefined || 'file' in object) throw new Error(`${id} is no tree or commit of the revision`)
    return object.bytes
  }
  const follow = (id: string, path: string): void => {
    all.add(id)
    for (const entry of entriesIn(bytesOf(id))) {
      const below = path === '' ? entry.name : `${path}/${entry.name}`
      if (entry.mode === '40000') follow(entry.id, below)
      else {
        all.add(entry.id)
        files.set(below, entry.id)
      }
    }
  }
  follow(/^tree ([0-9a-f]{40})\n/.exec(bytesOf(tip).toString())?.[1] ?? '', '')
  return { all, files }
}

function* entriesIn(tree: Buffer): Generator<{ readonly mode: string; readonly name: string; readonly id: string }> {
  for (let at = 0; at < tree.length;) {
    const nul = tree.indexOf(0, at)
    const [mode = '', name = ''] = tree.toString('utf8', at, nul).split(/ (.*)/s)
    yield { mode, name, id: tree.toString('hex', nul + 1, nul + 21) }
    at = nul + 21
  }
}

/** The id of a text as a git blob. */
export function blobId(text: string): string {
  const bytes = Buffer.from(text)
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}

/** What a client of git is answered that wants one object and has some commits. */
export function fetched(
  served: ServedMarketplace,
  version: ProtocolVersion,
  want: string,
  haves: readonly string[] = [],
): FetchAnswer {
  const lines = [...haves.map((id) => `have ${id}`), 'done'].map((text) => packet(`${text}\n`))
  if (version === 0) {
    const body = Buffer.concat([packet(`want ${want} side-band-64k\n`), Buffer.from('0000'), ...lines])
    return fetchAnswer(served, readUploadRequest(body), version)
  }
  const head = [packet('command=fetch\n'), Buffer.from('0001'), packet(`want ${want}\n`)]
  const command = readCommand(Buffer.concat([...head, ...lines, Buffer.from('0000')]))
  if (command.name !== 'fetch') throw new Error('The request is no fetch')
  return fetchAnswer(served, command.fetch, version)
}

/** Returns the ids of the objects in the pack of an answer. Throws where the pack is not whole. */
export async function packedObjects(served: ServedMarketplace, answer: FetchAnswer): Promise<ReadonlySet<string>> {
  if (answer.send === undefined) return new Set()
  await using open = await served.open()
  const pieces: Buffer[] = []
  for await (const piece of packBody(open, answer.send, false)) pieces.push(Buffer.from(piece))
  const pack = Buffer.concat(pieces)
  const [content, trailer] = [pack.subarray(0, -20), pack.subarray(-20)]
  if (!createHash('sha1').update(content).digest().equals(trailer)) throw new Error('The pack has another digest')
  const ids = new Set<string>()
  let at = 12
  for (let count = pack.readUInt32BE(8); count > 0; count -= 1) {
    const type = TYPES[(content.readUInt8(at) >> 4) & 7] ?? ''
    while (content.readUInt8(at) >= 0x80) at += 1
    const { buffer, engine } = inflateSync(content.subarray(at + 1), { info: true }) as unknown as Inflated
    ids.add(createHash('sha1').update(`${type} ${buffer.length}\0`).update(buffer).digest('hex'))
    at += 1 + engine.bytesWritten
  }
  if (at !== content.length) throw new Error('The pack has more than its objects')
  return ids
}

const TYPES: readonly (string | undefined)[] = [undefined, 'commit', 'tree', 'blob']

/** The result of zlib with `info`, which its types lack. */
interface Inflated {
  readonly buffer: Buffer
  readonly engine: { readonly bytesWritten: number }
}
