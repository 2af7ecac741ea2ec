import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { SerialQueue } from '../../../base/async/serial-queue.ts'
import { canonicalJson } from '../../../base/canonical-json.ts'
import { isObject } from '../../../base/json-object.ts'
import { parseJson } from '../../../base/json-value.ts'
import type { PackedFile, SkillFile } from '../../model/skill.ts'
import { isSourceId, type SourceId } from '../../model/source-id.ts'
import type { HiddenRun, HiddenText } from '../../skill/hidden-unicode.ts'
import { removeAll, writeWhole } from '../files/atomic.ts'
import { cannot, unlessAbsent } from '../files/disk-error.ts'
import { makeFolder, fileNamesIn, type StateFolder } from '../files/state-folder.ts'
import { readVerified } from '../files/verified-file.ts'
import { isDigest } from './stored-path.ts'

/** The stored state of a file. */
export type KeptFile =
  | { readonly kind: 'whole'; readonly bytes: Uint8Array }
  | { readonly kind: 'absent' }
  | { readonly kind: 'damaged'; readonly why: string }

/**
 * The skills whose bytes did not match their declaration: the key is `declarationOf` the skill, the value is what was
 * found.
 */
export type Mismatches = ReadonlyMap<string, string>
type Mismatch = readonly [declaration: string, why: string]

/** The result of reading a file that its server declares no digest for. */
export interface KnownRead {
  readonly sha256: string
  readonly size: number
  /** The server's statements about it at that time. */
  readonly said: string
  /** The time of the request, in milliseconds since 1970. */
  readonly atMs: number
  /** The files of an archive, which are stored instead of it. */
  readonly files?: readonly PackedFile[]
}

/**
 * The files of other MCP servers, apart from all else: `upstreams/<source>/files/<sha256>`, read-only and hashed at
 * each read. No agent and no source ever gets a path there: an agent's folder has copies. One process writes them; others
 * read.
 */
export class UpstreamFiles {
  readonly #state: StateFolder
  /** The bytes of each source's files, as soon as they are measured. */
  readonly #bytes = new Map<SourceId, number>()
  readonly #queue = new SerialQueue()

  constructor(state: StateFolder) {
    this.#state = state
  }

  async read(source: SourceId, file: Pick<SkillFile, 'sha256' | 'size'>): Promise<KeptFile> {
    const path = this.#fileOf(source, file.sha256)
    if ((await sizeOf(path)) === undefined) return { kind: 'absent' }
    const read = await readVerified(path, { ...file, path: file.sha256, executable: false })
    return Buffer.isBuffer(read) ? { kind: 'whole', bytes: read } : { kind: 'damaged', why: read.problem }
  }

  /** True if a file of that name and size exists; only `read` verifies the content. */
  async has(source: SourceId, { sha256, size }: Pick<SkillFile, 'sha256' | 'size'>): Promise<boolean> {
    return (await sizeOf(this.#fileOf(source, sha256))) === size
  }

  /** Returns the digests of the stored files. */
  async kept(source: SourceId): Promise<ReadonlySet<string>> {
    return new Set((await fileNamesIn(this.#state.at('upstreams', source, 'files'))).filter(isDigest))
  }

  /**
   * Writes a file, and replaces any existing one; it is on the disk when this returns. The caller has hashed the bytes.
   */
  async keep(source: SourceId, sha256: string, bytes: Uint8Array): Promise<void> {
    makeFolder(this.#state.at('upstreams', source, 'files'), 0o700)
    const path = this.#fileOf(source, sha256)
    const replaced = await sizeOf(path)
    await writeWhole(path, bytes, 0o400)
    const known = this.#bytes.get(source)
    if (known !== undefined) this.#bytes.set(source, known + bytes.byteLength - (replaced ?? 0))
  }

  /** Returns the total bytes of a source's files. This process measures them once and counts from then on. */
  async bytes(source: SourceId): Promise<number> {
    const known = this.#bytes.get(source) ?? (await this.#measure(source))
    this.#bytes.set(source, known)
    return known
  }

  async #measure(source: SourceId): Promise<number> {
    const folder = this.#state.at('upstreams', source, 'files')
    let bytes = 0
    for (const name of await fileNamesIn(folder)) bytes += (await sizeOf(join(folder, name))) ?? 0
    return bytes
  }

  /**
   * Removes the files that are not in `wanted`, by source and SHA-256, and returns the bytes that this freed. Files in
   * `reads` stay: their snapshot may be about to be stored.
   */
  async keepOnly(wanted: ReadonlyMap<SourceId, ReadonlySet<string>>): Promise<number> {
    let bytes = 0
    for (const source of (await fileNamesIn(this.#state.at('upstreams'))).filter(isSourceId)) {
      const read = new Set([...(await this.reads(source)).values()].flatMap(digestsOf))
      const isUnwanted = (name: string): boolean => wanted.get(source)?.has(name) !== true && !read.has(name)
      const folder = this.#state.at('upstreams', source, 'files')
      for (const name of await fileNamesIn(folder)) {
        // A file that is being written has a temporary name until it is whole.
        if (isDigest(name) && isUnwanted(name)) bytes += await removeFile(join(folder, name))
      }
    }
    // The next call of `bytes` measures again.
    this.#bytes.clear()
    return bytes
  }

  async mismatches(source: SourceId): Promise<Mismatches> {
    const path = this.#mismatchesOf(source)
    const text = await unlessAbsent(readFile(path, 'utf8')).catch(cannot(`read "${path}"`))
    const value = text === undefined ? {} : parseJson(text)
    // A damaged file counts as empty: the next read finds the mismatch again.
    const entries = isObject(value) ? Object.entries(value) : []
    return new Map(
      entries.flatMap(([digest, why]) => (isDigest(digest) && typeof why === 'string' ? [[digest, why]] : [])),
    )
  }

  /** Adds a mismatch, and drops the oldest if there are too many: the next read finds that one again. */
  async addMismatch(source: SourceId, declaration: string, why: string): Promise<void> {
    await this.#putMismatch(source, declaration, [[declaration, why]])
  }

  /** Removes a mismatch, so that the bytes are checked again. */
  async dropMismatch(source: SourceId, declaration: string): Promise<void> {
    await this.#putMismatch(source, declaration, [])
  }

  async #putMismatch(source: SourceId, declaration: string, now: readonly Mismatch[]): Promise<void> {
    await this.#queue.next(async () => this.#writeMismatch(source, declaration, now))
  }

  async #writeMismatch(source: SourceId, declaration: string, now: readonly Mismatch[]): Promise<void> {
    const others = [...(await this.mismatches(source))].filter(([other]) => other !== declaration)
    const kept = [...others, ...now].slice(-MOST_MISMATCHES)
    makeFolder(this.#state.at('upstreams', source), 0o700)
    await writeWhole(this.#mismatchesOf(source), JSON.stringify(Object.fromEntries(kept)))
  }

  /** Returns the hidden characters found in files of a source, by the key of the text. */
  async texts(source: SourceId): Promise<ReadonlyMap<string, HiddenText>> {
    const path = this.#textsOf(source)
    const text = await unlessAbsent(readFile(path, 'utf8')).catch(cannot(`read "${path}"`))
    const value = text === undefined ? {} : parseJson(text)
    // A damaged file counts as empty: the next read finds the hidden characters again.
    const entries = isObject(value) ? Object.entries(value) : []
    return new Map(
      entries.flatMap(([key, found]) => {
        const hidden = hiddenTextIn(found)
        return hidden === undefined ? [] : [[key, hidden] as const]
      }),
    )
  }

  /** Adds a finding, and drops the oldest if there are too many: the next read finds that one again. */
  async addText(source: SourceId, key: string, hidden: HiddenText): Promise<void> {
    await this.#queue.next(async () => this.#writeText(source, key, hidden))
  }

  async #writeText(source: SourceId, key: string, hidden: HiddenText): Promise<void> {
    const others = [...(await this.texts(source))].filter(([other]) => other !== key)
    const kept = [...others, [key, hidden] as const].slice(-MOST_TEXTS)
    makeFolder(this.#state.at('upstreams', source), 0o700)
    await writeWhole(this.#textsOf(source), JSON.stringify(Object.fromEntries(kept)))
  }

  /** Returns the files that were read to learn their digests, by URI. */
  async reads(source: SourceId): Promise<ReadonlyMap<string, KnownRead>> {
    const path = this.#readsOf(source)
    const text = await unlessAbsent(readFile(path, 'utf8')).catch(cannot(`read "${path}"`))
    const value = text === undefined ? {} : parseJson(text)
    // A damaged file counts as empty: its files are read again.
    const entries = isObject(value) ? Object.entries(value) : []
    return new Map(entries.flatMap(([uri, read]) => (isKnownRead(read) ? [[uri, read]] : [])))
  }

  /** Replaces the remembered reads. */
  async setReads(source: SourceId, reads: ReadonlyMap<string, KnownRead>): Promise<void> {
    makeFolder(this.#state.at('upstreams', source), 0o700)
    await writeWhole(this.#readsOf(source), canonicalJson(Object.fromEntries(reads)))
  }

  /** Removes everything from sources that are not in the set, and returns their ids. */
  async forgetOthers(sources: ReadonlySet<string>): Promise<SourceId[]> {
    await this.#state.expectRight()
    const others = (await fileNamesIn(this.#state.at('upstreams'))).filter((name) => !sources.has(name))
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

/** `undefined` if the file does not exist. */
async function sizeOf(path: string): Promise<number | undefined> {
  return (await unlessAbsent(stat(path)).catch(cannot(`read the attributes of "${path}"`)))?.size
}

/** The limit per source. Each entry is a withheld skill. */
export const MOST_MISMATCHES = 1_024

/** The limit per source: some 300 bytes each. */
const MOST_TEXTS = 1_024

/** Parses stored hidden characters; `undefined` for any other value. */
function hiddenTextIn(value: unknown): HiddenText | undefined {
  if (!isObject(value)) return undefined
  const { count, runs, deceit } = value
  if (!isCount(count) || !Array.isArray(runs) || !runs.every(isRun)) return undefined
  if (deceit === undefined) return { count, runs }
  return deceit === 'smuggled' || deceit === 'disguised' ? { count, runs, deceit } : undefined
}

function isRun(value: unknown): value is HiddenRun {
  if (!isObject(value)) return false
  const { line, column, codePoints, length } = value
  return [line, column, length].every(isCount) && Array.isArray(codePoints) && codePoints.every(isCount)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
