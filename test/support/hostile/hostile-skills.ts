import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { parse } from 'yaml'

/** An entry as it is listed. Typed loosely, since an override can make anything of it. */
export interface Entry {
  readonly uri: any
  readonly frontmatter: any
  readonly resources: any
  readonly [more: string]: any
}

/** A file of a skill on offer. */
export interface OfferedFile {
  readonly uri: string
  /** Below the skill, nothing encoded. */
  readonly path: string
  readonly bytes: Buffer
}

/** A skill with its files, in the order that they were given in. */
export interface OfferedSkill {
  readonly entry: Entry
  readonly root: string
  readonly files: readonly OfferedFile[]
  readonly isListed: boolean
}

type Bytes = string | Uint8Array

/** The skills that are served, by the URI of their SKILL.md as a plain string: none is too wrong to be served. */
export class SkillsOnOffer {
  readonly #skills = new Map<string, OfferedSkill>()
  readonly #entries: unknown[] = []
  readonly #resources = new Map<string, Buffer | readonly unknown[]>()

  /** Serves a skill, with the entry that is true of its files but for what is overridden; `undefined` there leaves a field out. */
  set(uri: string, files: Readonly<Record<string, Bytes>>, override: Readonly<Record<string, unknown>> = {}): void {
    const root = uri.slice(0, uri.lastIndexOf('/'))
    const offered = Object.entries(files).map(([path, bytes]) => offeredFile(root, path, bytes))
    const document = offered.find((file) => file.uri === uri)
    const entry = { uri, frontmatter: frontmatterOf(document), resources: offered.map(promiseOf), ...override }
    this.#skills.set(uri, { entry, root, files: offered, isListed: true })
  }

  delete(uri: string): void {
    this.#skills.delete(uri)
  }

  /** Leaves a skill out of every listing; whoever knows its URI is answered as before. */
  unlist(uri: string): void {
    this.#skills.set(uri, { ...this.#skillAt(uri), isListed: false })
  }

  /** The entry of a skill that was set, as it is listed. */
  entryOf(uri: string): Entry {
    return this.#skillAt(uri).entry
  }

  /** Adds anything to the listings, verbatim. `skills/get` answers with it where its `uri` is asked for. */
  addEntry(entry: unknown): void {
    this.#entries.push(entry)
  }

  /** Serves a resource that is in no list, in place of a file that is: its bytes, or the `contents` of a read, verbatim. */
  setResource(uri: string, what: Bytes | { readonly contents: readonly unknown[] }): void {
    const isBytes = typeof what === 'string' || what instanceof Uint8Array
    this.#resources.set(uri, isBytes ? bufferOf(what) : what.contents)
  }

  deleteResource(uri: string): void {
    this.#resources.delete(uri)
  }

  get listed(): readonly OfferedSkill[] {
    return this.all.filter(({ isListed }) => isListed)
  }

  /** What was added to the listings besides skills. */
  get added(): readonly unknown[] {
    return this.#entries
  }

  /** Unlisted ones too. */
  get all(): readonly OfferedSkill[] {
    return [...this.#skills.values()]
  }

  /** What `skills/get` answers with. */
  find(uri: unknown): unknown {
    return this.all.find(({ entry }) => entry.uri === uri)?.entry ?? this.#added(uri)
  }

  /** The `contents` of a read; undefined where nothing is there. */
  contentsOf(uri: unknown): readonly unknown[] | undefined {
    const files = this.all.flatMap((skill) => skill.files)
    const there = this.#resources.get(String(uri)) ?? files.find((file) => file.uri === uri)?.bytes
    return Buffer.isBuffer(there) ? [contentOf(String(uri), there)] : there
  }

  #added(uri: unknown): unknown {
    return this.#entries.find((entry) => uri !== undefined && Object(entry).uri === uri)
  }

  #skillAt(uri: string): OfferedSkill {
    const skill = this.#skills.get(uri)
    if (skill === undefined) throw new Error(`No skill was set at ${uri}`)
    return skill
  }
}

/** One content of a read: text where the bytes are UTF-8, and a blob where they are not. */
export function contentOf(uri: string, bytes: Buffer): object {
  const content = isUtf8(bytes) ? { text: bytes.toString() } : { blob: bytes.toString('base64') }
  return { uri, mimeType: mimeTypeOf(uri, bytes), ...content }
}

export function mimeTypeOf(uri: string, bytes: Buffer): string {
  if (uri.endsWith('.md')) return 'text/markdown'
  return isUtf8(bytes) ? 'text/plain' : 'application/octet-stream'
}

export function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

function promiseOf({ uri, bytes }: OfferedFile): object {
  return { uri, digest: digestOf(bytes), size: bytes.length }
}

function offeredFile(root: string, path: string, bytes: Bytes): OfferedFile {
  return { uri: `${root}/${path.split('/').map(encodeURIComponent).join('/')}`, path, bytes: bufferOf(bytes) }
}

function bufferOf(bytes: Bytes): Buffer {
  return typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Empty where there is no block of it. */
function frontmatterOf(document: OfferedFile | undefined): unknown {
  const [, yaml] = /^\uFEFF?---\r?\n(.*?)^---\r?$/ms.exec(document?.bytes.toString() ?? '') ?? []
  return yaml === undefined ? {} : parse(yaml)
}
