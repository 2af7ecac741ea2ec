import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { PERSON } from './fast-import.ts'
import type { Content, RawEntry } from './repository.ts'

export type ObjectType = 'blob' | 'tree' | 'commit' | 'tag'

/** The paths of a commit, each with the mode and the id of its entry. */
export type Files = ReadonlyMap<string, Omit<RawEntry, 'name'>>

/** The objects of a bare repository, written as `git hash-object --literally` writes them, without a process for each. */
export class LooseObjects {
  readonly #folder: string
  readonly #format: string

  constructor(folder: string, format: string) {
    this.#folder = join(folder, 'objects')
    this.#format = format
  }

  /** The id of an object that need not be there. */
  idOf(type: ObjectType, bytes: string | Uint8Array): string {
    return createHash(this.#format).update(headOf(type, bytes)).update(bytes).digest('hex')
  }

  /** Writes an object of exactly these bytes, unless it is there as a loose one. Returns its id. */
  write(type: ObjectType, bytes: string | Uint8Array): string {
    const id = this.idOf(type, bytes)
    const folder = join(this.#folder, id.slice(0, 2))
    const file = join(folder, id.slice(2))
    if (existsSync(file)) return id
    mkdirSync(folder, { recursive: true })
    const whole = Buffer.concat([Buffer.from(headOf(type, bytes)), Buffer.from(bytes)])
    replaceFile(file, deflateSync(whole, { level: 1 }), 0o444)
    return id
  }

  /** The files after changes to those before, as a commit makes them. Writes the new ones. */
  changed(before: Files, changes: Readonly<Record<string, Content | null>>): Files {
    const after = new Map(before)
    for (const path of Object.keys(changes)) removeBelow(after, path)
    for (const [path, content] of Object.entries(changes)) {
      if (content === null) continue
      removeBelow(after, path)
      for (const folder of foldersOf(path)) after.delete(folder)
      after.set(path, this.#entryOf(content))
    }
    return after
  }

  #entryOf(content: Content): Omit<RawEntry, 'name'> {
    if (typeof content === 'string' || content instanceof Uint8Array) return this.#fileOf('100644', content)
    if ('executable' in content) return this.#fileOf('100755', content.executable)
    if ('link' in content) return this.#fileOf('120000', content.link)
    return { mode: '160000', id: content.submodule }
  }

  #fileOf(mode: string, bytes: string | Uint8Array): Omit<RawEntry, 'name'> {
    return { mode, id: this.write('blob', bytes) }
  }

  /** Writes the trees of a commit that `known` does not have, and adds them to it. Returns the id of the root. */
  writeTrees(files: Files, known: Set<string>): string {
    const entries: RawEntry[] = []
    const folders = new Map<string, Map<string, Omit<RawEntry, 'name'>>>()
    for (const [path, entry] of files) {
      const [name = '', ...rest] = path.split('/')
      if (rest.length === 0) entries.push({ name, ...entry })
      else folders.set(name, (folders.get(name) ?? new Map()).set(rest.join('/'), entry))
    }
    for (const [name, inner] of folders) entries.push({ mode: '40000', name, id: this.writeTrees(inner, known) })
    const bytes = treeOf(entries.toSorted((one, other) => Buffer.compare(sortKeyOf(one), sortKeyOf(other))))
    const id = this.idOf('tree', bytes)
    if (!known.has(id)) known.add(this.write('tree', bytes))
    return id
  }
}

/** The text of a commit. */
export function commitOf(tree: string, parent: string | undefined, message: string, seconds: number): string {
  const person = `${PERSON.name} <${PERSON.email}> ${seconds} +0000`
  const from = parent === undefined ? '' : `parent ${parent}\n`
  return `tree ${tree}\n${from}author ${person}\ncommitter ${person}\n\n${message}`
}

/** The bytes of a tree of these entries, in this order. */
export function treeOf(entries: readonly RawEntry[]): Buffer {
  return Buffer.concat(
    entries.flatMap(({ mode, name, id }) => [
      Buffer.from(`${mode} `),
      Buffer.from(name),
      Buffer.from([0]),
      Buffer.from(id, 'hex'),
    ]),
  )
}

export function isId(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text)
}

/** Sets a ref of the repository in this folder. */
export function writeRef(folder: string, ref: string, id: string): void {
  const file = join(folder, ref)
  mkdirSync(dirname(file), { recursive: true })
  replaceFile(file, `${id}\n`)
}

/** Puts a file in its place whole: git may read it at any time. */
function replaceFile(file: string, bytes: string | Uint8Array, mode = 0o644): void {
  writeFileSync(`${file}.lock`, bytes, { mode })
  renameSync(`${file}.lock`, file)
}

function headOf(type: ObjectType, bytes: string | Uint8Array): string {
  return `${type} ${Buffer.byteLength(bytes)}\0`
}

/** Git sorts a folder as if its name ended with a slash. */
function sortKeyOf({ mode, name }: RawEntry): Buffer {
  return Buffer.concat([Buffer.from(name), Buffer.from(mode === '40000' ? '/' : '')])
}

function removeBelow(files: Map<string, unknown>, path: string): void {
  for (const other of files.keys()) {
    if (other === path || other.startsWith(`${path}/`)) files.delete(other)
  }
}

function foldersOf(path: string): string[] {
  const names = path.split('/')
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'))
}
