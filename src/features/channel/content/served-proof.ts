import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import { canonicalJson } from '../../../base/canonical-json.ts'
import { parseJson } from '../../../base/json-value.ts'
import { digestOf } from '../../../sync/model/digest.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import type { HubSource } from '../../../sync/model/snapshot.ts'
import { entryProofOf, loggedEntry } from '../../../sync/store/channel-entry.ts'
import type { ChannelEntry, EntryProof } from '../../../sync/store/channel-entry.ts'
import { sha256Of } from '../../../sync/store/objects/object-rows.ts'
import type { Digest } from '../../../sync/store/objects/object-store.ts'
import type { NoteVerifier } from '../../../sync/transparency-log/signed-note.ts'
import { encodeProof, openProof, parseProof, ProofRefusedError } from '../../../sync/transparency-log/tlog-proof.ts'
import { parseHead, parseList, parseSkills, parseSource } from './channel-schema.ts'
import type { DigestList, PublishedSource } from './channel-schema.ts'

/** A skill of a channel, by the source at its hub and the path in that source. */
export interface SkillPlace {
  readonly source: string
  readonly path: string
}

/**
 * Writes the proof of what a channel served: the proof of the entry, and the objects from the entry down to these skills,
 * or all of them. Equal content gives equal text. Throws `ProofRefusedError` if a skill is not there, or if it is too much.
 */
export async function proveServed(
  proof: EntryProof,
  skills: readonly SkillPlace[] | undefined,
  read: (digest: Digest) => Promise<Uint8Array>,
): Promise<string> {
  const all = new Map<Digest, string>()
  let bytes = 0
  const keep = async (digest: Digest): Promise<Uint8Array> => {
    const object = await read(digest)
    if (!all.has(digest)) bytes += object.length
    if (skills === undefined && bytes > MOST_PROOF_BYTES / 2) throw tooLarge()
    // A follower can have it from a hub that writes other JSON than this program.
    if (!isUtf8(object)) throw new ProofRefusedError(`the object ${digest} is no text`)
    all.set(digest, Buffer.from(object).toString('utf8'))
    return object
  }
  const onPath = new Set<Digest>()
  const missing = new Set(skills?.map(keyOf))
  for await (const { source, skill, path } of findInChannel(loggedEntry(proof).head, keep)) {
    if (skill === undefined || !missing.delete(keyOf({ source: source.source, path: skill.path }))) continue
    for (const digest of path) onPath.add(digest)
  }
  const [absent] = missing
  if (absent !== undefined) throw new ProofRefusedError(`the channel has no skill "${absent}"`)
  const objects = [...all].flatMap(([digest, text]) => (skills === undefined || onPath.has(digest) ? [text] : []))
  const named = skills && [
    ...new Map(skills.map(({ source, path }) => [keyOf({ source, path }), { source, path }])).values(),
  ]
  const text = canonicalJson({ format: FORMAT, proof: encodeProof(proof), skills: named, objects })
  if (Buffer.byteLength(text) > MOST_PROOF_BYTES) throw tooLarge()
  return text
}

function tooLarge(): ProofRefusedError {
  return new ProofRefusedError(`it would have over ${MOST_PROOF_BYTES} bytes; name the skills that it is to show`)
}

/** A skill as a proof shows it. */
export interface ShownSkill extends SkillPlace, Pick<Skill, 'name' | 'standing' | 'digest' | 'files'> {}

/** The content that a proof shows. */
export interface ShownChannel {
  /** The name of the log. */
  readonly log: string
  /** The keys that have signed the checkpoint, of those that were given. */
  readonly signers: readonly NoteVerifier[]
  readonly index: number
  /** The number of entries of the log. */
  readonly size: number
  readonly entry: ChannelEntry
  /** True if these are all skills of the entry. */
  readonly isWhole: boolean
  /** The sources of the skills. */
  readonly sources: readonly HubSource[]
  readonly skills: readonly ShownSkill[]
}

/**
 * Checks the text of a proof with nothing but public keys of the log: its signature, the place of the entry in the log, and
 * each digest on the way from the entry to the skills. Throws `ProofRefusedError`.
 */
export async function checkServed(text: string, verifiers: readonly NoteVerifier[]): Promise<ShownChannel> {
  const file = fileIn(text)
  const proof = entryProofOf(parseProof(file.proof))
  const log = verifiers[0]?.name ?? ''
  const { size, signers } = openProof(proof, proof.extra, log, verifiers)
  const entry = loggedEntry(proof)
  const found = await foundIn(entry.head, file)
  return { log, signers, index: proof.index, size, entry, isWhole: file.skills === undefined, ...found }
}

async function foundIn(head: Digest, file: ProofFile): Promise<Pick<ShownChannel, 'sources' | 'skills'>> {
  const objects = new Map(file.objects.map((text) => [sha256Of(Buffer.from(text)), text]))
  const used = new Set<Digest>()
  const read = async (digest: Digest): Promise<Uint8Array | undefined> => {
    const object = objects.get(digest)
    if (object !== undefined) used.add(digest)
    else if (file.skills === undefined) throw new ProofRefusedError(`it lacks the object ${digest}`)
    return object === undefined ? undefined : Buffer.from(object)
  }
  const wanted = file.skills && new Set(file.skills.map(keyOf))
  const sources = new Map<string, HubSource>()
  const skills = new Map<string, ShownSkill>()
  for await (const { source, skill } of findInChannel(head, read)) {
    const place = { source: source.source, path: skill?.path ?? '' }
    if (wanted !== undefined && (skill === undefined || !wanted.has(keyOf(place)))) continue
    sources.set(place.source, hubSource(source))
    if (skill === undefined) continue
    if (skills.has(keyOf(place))) throw new ProofRefusedError(`it has the skill "${keyOf(place)}" twice`)
    skills.set(keyOf(place), shown(place, skill))
  }
  const missing = file.skills?.find((place) => !skills.has(keyOf(place)))
  if (missing !== undefined) throw new ProofRefusedError(`it does not show the skill "${keyOf(missing)}" that it names`)
  if (used.size !== file.objects.length) throw new ProofRefusedError('it has an object that its entry does not lead to')
  return { sources: [...sources.values()], skills: [...skills.values()] }
}

function shown(place: SkillPlace, { name, standing, digest, files }: Skill): ShownSkill {
  if (digest !== undefined && digest !== digestOf(files))
    throw new ProofRefusedError(`the digest of the skill "${keyOf(place)}" is not that of its files`)
  return { ...place, name, standing, digest, files }
}

function hubSource({ source, url, ref, commit, tag, signers }: FoundInChannel['source']): HubSource {
  return { source, url, ref, commit, ...(tag !== undefined && { tag }), ...(signers !== undefined && { signers }) }
}

function keyOf({ source, path }: SkillPlace): string {
  return path === '' ? source : `${source}/${path}`
}

/** The checkpoint in a text: it is one itself, a tlog-proof, or a proof of what was served. Throws `ProofRefusedError`. */
export function checkpointIn(text: string): string {
  if (text.startsWith('{')) return parseProof(fileIn(text).proof).checkpoint
  return text.startsWith('c2sp.org/tlog-proof') ? parseProof(text).checkpoint : text
}

type ProofFile = z.infer<typeof FILE>

function fileIn(text: string): ProofFile {
  if (text.length > MOST_PROOF_BYTES) throw new ProofRefusedError(`it has over ${MOST_PROOF_BYTES} bytes`)
  const value = FILE.safeParse(parseJson(text)).data
  if (value !== undefined) return value
  throw new ProofRefusedError('it is no proof of this version')
}

const FORMAT = 'skillsyncd-proof@v1'

const FILE = z.object({
  format: z.literal(FORMAT),
  proof: z.string(),
  /** Absent if all skills are shown. */
  skills: z
    .array(z.object({ source: z.string(), path: z.string() }))
    .min(1)
    .optional(),
  /** The texts of the objects; their digests say which they are. */
  objects: z.array(z.string()),
})

/** The most bytes of a proof: room for some ten thousand skills. */
export const MOST_PROOF_BYTES = 2 ** 24

/** A source of a channel, or one of its skills, with the objects from the head down to it. */
interface FoundInChannel {
  readonly source: PublishedSource
  /** `undefined` for the source itself, which comes before its skills. */
  readonly skill: Skill | undefined
  readonly path: readonly Digest[]
}

/** Returns the bytes of an object, which have this digest; `undefined` for one that is passed over. */
type ReadOrSkip = (digest: Digest) => Promise<Uint8Array | undefined>

/**
 * Finds the sources of a head and their skills, without those below objects that are passed over. Throws `ProofRefusedError` if
 * an object has another form, or if more is named than any channel has.
 */
async function* findInChannel(head: Digest, read: ReadOrSkip): AsyncGenerator<FoundInChannel> {
  const bytes = await read(head)
  if (bytes === undefined) throw new ProofRefusedError('the object that the entry names is not there')
  const counter = new Counter()
  const walk: Walk = { read, count: (more) => counter.add(more), lists: new Map() }
  for await (const { digest, bytes: own, path } of itemsOf(expected(parseHead(bytes), 'head').sources, [head], walk)) {
    const source = expected(parseSource(own), 'source')
    const below = [...path, digest]
    yield { source, skill: undefined, path: below }
    for await (const list of itemsOf(source.skills, below, walk)) {
      // One list can be that of many sources.
      const skills = walk.lists.get(list.digest) ?? expected(parseSkills(list.bytes), 'list of skills')
      walk.lists.set(list.digest, skills)
      walk.count(skills.length)
      for (const skill of skills) yield { source, skill, path: [...list.path, list.digest] }
    }
  }
}

interface Walk {
  readonly read: ReadOrSkip
  readonly count: (more: number) => void
  readonly lists: Map<Digest, readonly Skill[]>
}

class Counter {
  #left = MOST_NAMED

  add(more: number): void {
    this.#left -= more
    if (this.#left < 0) throw new ProofRefusedError(`it names over ${MOST_NAMED} objects and skills`)
  }
}

interface FoundItem {
  readonly digest: Digest
  readonly bytes: Uint8Array
  /** The objects above it. */
  readonly path: readonly Digest[]
}

async function* itemsOf(list: DigestList, path: readonly Digest[], walk: Walk): AsyncGenerator<FoundItem> {
  if (path.length > MOST_LEVELS) throw new ProofRefusedError('it has lists in lists')
  const named = 'items' in list ? list.items : list.lists
  walk.count(named.length)
  for (const digest of named) {
    const bytes = await walk.read(digest)
    if (bytes === undefined) continue
    if ('items' in list) yield { digest, bytes, path }
    else yield* itemsOf(expected(parseList(bytes), 'list'), [...path, digest], walk)
  }
}

function expected<Value>(value: Value | undefined, kind: string): Value {
  if (value !== undefined) return value
  throw new ProofRefusedError(`an object that must be a ${kind} has another form`)
}

/** Five levels of lists for the sources, as many for the skills, and the objects between them. */
const MOST_LEVELS = 12

/** One object can be named many times, so they are counted as often. */
const MOST_NAMED = 1_000_000
