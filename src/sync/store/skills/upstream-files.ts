import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { HiddenText } from '../../skill-md/hidden-unicode.ts'
import type { PackedFile, SkillFile } from '../../model/skill.ts'
import { isSourceId, type SourceId } from '../../model/source-id.ts'
import { removeAll, writeWhole } from '../files/atomic.ts'
import { cannot, unlessAbsent } from '../files/disk-error.ts'
import { hiddenTextIn } from './hidden-text.ts'
import { parseJson } from '../../../base/json-value.ts'
import { canonicalJson, isObject } from '../../../base/canonical-json.ts'
import { readVerified } from './skill-file.ts'
import { makeFolder, namesIn, type StateFolder } from '../files/state-folder.ts'
import { isDigest } from './stored-path.ts'

/** What the store has of a file. */
export type KeptFile =
  | { readonly kind: 'whole'; readonly bytes: Uint8Array }
  | { readonly kind: 'absent' }
  | { readonly kind: 'damaged'; readonly why: string }

/** By `declarationOf` the skill: those whose bytes were not what was declared, each with what was found. */
export type Mismatches = ReadonlyMap<string, string>
type Mismatch = readonly [declaration: string, why: string]

/** What a file was when it was read, of which its server promises nothing. */
export interface KnownRead {
  readonly sha256: string
  readonly size: number
  /** What the server said of it then. */
  readonly said: string
  /** When it was asked for, in milliseconds since 1970. */
  readonly atMs: number
  /** What was in it, of an archive: kept in its place. */
  readonly files?: readonly PackedFile[]
}

/**
 * What came from other MCP servers, apart from all else: `upstreams/<source>/files/<sha256>`, closed to writing and hashed at
 * each reading. No agent and no source is ever pointed there. For one writer; others read.
 */
export class UpstreamFiles {
  readonly #state: StateFolder
  /** What the files of each source come to, once that was measured. */
  readonly #bytes = new Map<SourceId, number>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(state: StateFolder) {
    this.#state = state
  }

  async read(source: SourceId, file: Pick<SkillFile, 'sha256' | 'size'>): Promise<KeptFile> {
    const path = this.#fileOf(source, file.sha256)
    if ((await sizeOf(path)) === undefined) return { kind: 'absent' }
    const read = await readVerified(path, { ...file, path: file.sha256, executable: false })
    return Buffer.isBuffer(read) ? { kind: 'whole', bytes: read } : { kind: 'damaged', why: read.problem }
  }

  /** Whether there is something of that name and size; only `read` tells whether it is that file. */
  async has(source: SourceId, { sha256, size }: Pick<SkillFile, 'sha256' | 'size'>): Promise<boolean> {
    return (await sizeOf(this.#fileOf(source, sha256))) === size
  }

  /** The digests of which there are files. */
  async kept(source: SourceId): Promise<ReadonlySet<string>> {
    return new Set((await namesIn(this.#state.at('upstreams', source, 'files'))).filter(isDigest))
  }

  /** Writes it, in place of whatever is there; on the disk when this returns. The caller has hashed it. */
  async keep(source: SourceId, sha256: string, bytes: Uint8Array): Promise<void> {
    makeFolder(this.#state.at('upstreams', source, 'files'), 0o700)
    const path = this.#fileOf(source, sha256)
    const replaced = await sizeOf(path)
    await writeWhole(path, bytes, 0o400)
    const known = this.#bytes.get(source)
    if (known !== undefined) this.#bytes.set(source, known + bytes.byteLength - (replaced ?? 0))
  }

  /** What the files of a source come to, as this process measured it once and counted since. */
  async bytes(source: SourceId): Promise<number> {
    const known = this.#bytes.get(source) ?? (await this.#measured(source))
    this.#bytes.set(source, known)
    return known
  }

  async #measured(source: SourceId): Promise<number> {
    const folder = this.#state.at('upstreams', source, 'files')
    let bytes = 0
    for (const name of await namesIn(folder)) bytes += (await sizeOf(join(folder, name))) ?? 0
    return bytes
  }

  /**
   * Removes the files that are not among these, which are named by source and SHA-256, and gives what they came to in bytes.
   * Those that were read to learn what they are stay: their snapshot may be about to be stored.
   */
  async keepOnly(wanted: ReadonlyMap<SourceId, ReadonlySet<string>>): Promise<number> {
    let bytes = 0
    for (const source of (await namesIn(this.#state.at('upstreams'))).filter(isSourceId)) {
      const read = new Set([...(await this.reads(source)).values()].flatMap(digestsOf))
      const isUnwanted = (name: string): boolean => wanted.get(source)?.has(name) !== true && !read.has(name)
      const folder = this.#state.at('upstreams', source, 'files')
      for (const name of await namesIn(folder)) {
        // A file that is being written has another name until it is whole.
        if (isDigest(name) && isUnwanted(name)) bytes += await removeFile(join(folder, name))
      }
    }
    // Measured anew by whoever asks next.
    this.#bytes.clear()
    return bytes
  }

  async mismatches(source: SourceId): Promise<Mismatches> {
    const path = this.#mismatchesOf(source)
    const text = await unlessAbsent(readFile(path, 'utf8')).catch(cannot(`read "${path}"`))
    const value = text === undefined ? {} : parseJson(text)
    // A file that is damaged forgets: the bytes are found wrong once more at the next reading.
    const entries = isObject(value) ? Object.entries(value) : []
    return new Map(
      entries.flatMap(([digest, why]) => (isDigest(digest) && typeof why === 'string' ? [[digest, why]] : [])),
    )
  }

  /** Remembers one more, and forgets the oldest where there are too many: it is found again at the next reading. */
  async addMismatch(source: SourceId, declaration: string, why: string): Promise<void> {
    await this.#putMismatch(source, declaration, [[declaration, why]])
  }

  /** Forgets one, so that the bytes are looked at once more. */
  async dropMismatch(source: SourceId, declaration: string): Promise<void> {
    await this.#putMismatch(source, declaration, [])
  }

  async #putMismatch(source: SourceId, declaration: string, now: readonly Mismatch[]): Promise<void> {
    const put = this.#last.then(() => this.#writeMismatch(source, declaration, now))
    // The next in turn does not ask how this one went; its own caller is told.
    this.#last = put.catch(() => {})
    await put
  }

  async #writeMismatch(source: SourceId, declaration: string, now: readonly Mismatch[]): Promise<void> {
    const others = [...(await this.mismatches(source))].filter(([other]) => other !== declaration)
    const kept = [...others, ...now].slice(-MOST_MISMATCHES)
    makeFolder(this.#state.at('upstreams', source), 0o700)
    await writeWhole(this.#mismatchesOf(source), JSON.stringify(Object.fromEntries(kept)))
  }

  /** Hidden characters that were found in files of a source, by the names of the texts. */
  async texts(source: SourceId): Promise<ReadonlyMap<string, HiddenText>> {
    const path = this.#textsOf(source)
    const text = await unlessAbsent(readFile(path, 'utf8')).catch(cannot(`read "${path}"`))
    const value = text === undefined ? {} : parseJson(text)
    // What a damaged file forgets is found once more at the next reading.
    const entries = isObject(value) ? Object.entries(value) : []
    return new Map(
      entries.flatMap(([key, found]) => {
        const hidden = hiddenTextIn(found)
        return hidden === undefined ? [] : [[key, hidden] as const]
      }),
    )
  }

  /** Remembers one more, and forgets the oldest where there are too many: they are found again at the next reading. */
  async addText(source: SourceId, key: string, hidden: HiddenText): Promise<void> {
    const added = this.#last.then(() => this.#writeText(source, key, hidden))
    // The next in turn does not ask how this one went; its own caller is told.
    this.#last = added.catch(() => {})
    await added
  }

  async #writeText(source: SourceId, key: string, hidden: HiddenText): Promise<void> {
    const others = [...(await this.texts(source))].filter(([other]) => other !== key)
    const kept = [...others, [key, hidden] as const].slice(-MOST_TEXTS)
    makeFolder(this.#state.at('upstreams', source), 0o700)
    await writeWhole(this.#textsOf(source), JSON.stringify(Object.fromEntries(kept)))
  }

  /** Files that were read to learn what they are, by URI. */
  async reads(source: SourceId): Promise<ReadonlyMap<string, KnownRead>> {
    const path = this.#readsOf(source)
    const text = await unlessAbsent(readFile(path, 'utf8')).catch(cannot(`read "${path}"`))
    const value = text === undefined ? {} : parseJson(text)
    // What a damaged file forgets is read once more.
    const entries = isObject(value) ? Object.entries(value) : []
    return new Map(entries.flatMap(([uri, read]) => (isKnownRead(read) ? [[uri, read]] : [])))
  }

  /** Remembers those alone. */
  async setReads(source: SourceId, reads: ReadonlyMap<string, KnownRead>): Promise<void> {
    makeFolder(this.#state.at('upstreams', source), 0o700)
    await writeWhole(this.#readsOf(source), canonicalJson(Object.fromEntries(reads)))
  }

  /** Removes all that came from sources that are none of these, and names them. */
  async forgetOthers(sources: ReadonlySet<string>): Promise<SourceId[]> {
    await this.#state.expectRight()
    const others = (await namesIn(this.#state.at('upstreams'))).filter((name) => !sources.has(name))
    for (const name of others) await removeAll(this.#state.at('upstreams', name))
    this.#bytes.clear()
    return others.filter(isSourceId)
  }

  #fileOf(source: SourceId, sha256: string): string {
    return this.#state.at('upstreams', source, 'files', sha256)
  }

  #readsOf(source: SourceId): string {
    return this.#state.at('upstreams', source, 'reads.json')
  }

  #textsOf(source: SourceId): string {
    return this.#state.at('upstreams', source, 'texts.json')
  }

  #mismatchesOf(source: SourceId): string {
    return this.#state.at('upstreams', source, 'mismatches.json')
  }
}

function isKnownRead(value: unknown): value is KnownRead {
  if (!isObject(value)) return false
  const { said, atMs, files } = value
  const isPacked = Array.isArray(files) && files.every((file) => isFile(file) && typeof file['path'] === 'string')
  return isFile(value) && typeof said === 'string' && typeof atMs === 'number' && (files === undefined || isPacked)
}

function isFile(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isObject(value)) return false
  const { sha256, size } = value
  return typeof sha256 === 'string' && isDigest(sha256) && Number.isSafeInteger(size)
}

function digestsOf({ sha256, files }: KnownRead): readonly string[] {
  return files === undefined ? [sha256] : files.map((file) => file.sha256)
}

async function removeFile(path: string): Promise<number> {
  const bytes = await sizeOf(path)
  await rm(path, { force: true }).catch(cannot(`remove "${path}"`))
  return bytes ?? 0
}

/** Undefined where there is none. */
async function sizeOf(path: string): Promise<number | undefined> {
  return (await unlessAbsent(stat(path)).catch(cannot(`look for "${path}"`)))?.size
}

/** Of one source. Each is a skill that was withheld for it. */
export const MOST_MISMATCHES = 1_024

/** Of one source: some 300 bytes each. */
const MOST_TEXTS = 1_024
