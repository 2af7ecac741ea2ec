import fs from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { join, parse, resolve } from 'node:path'
import { getConfig } from 'isomorphic-git'
import { SyncError } from '../model/sync-error.ts'
import { DiskRefs } from './disk-refs.ts'
import type { GitReach } from './git-reach.ts'
import { peelObject } from './git-tree.ts'
import type { GitTransport, ObjectLocation } from './objects/git-transport.ts'
import { prefixOf, type Ref } from './objects/ref-rules.ts'

/** A local repository that our own reader and isomorphic-git support. Nothing is written to it. */
export class DiskTransport implements GitTransport {
  readonly #folder: string
  readonly #reach: GitReach
  readonly #isByIsomorphic: boolean

  /** `isByIsomorphic`: isomorphic-git reads the objects, and only the refs are read by our own reader. */
  constructor(folder: string, reach: GitReach, isByIsomorphic: boolean) {
    this.#folder = folder
    this.#reach = reach
    this.#isByIsomorphic = isByIsomorphic
  }

  async list(patterns: readonly string[]): Promise<readonly Ref[]> {
    const refs = new DiskRefs(this.#folder)
    return this.#read(async () => {
      const found = await Promise.all(patterns.map((pattern) => refsOf(refs, pattern)))
      return found.flat()
    })
  }

  /** Peels only the chosen ref, because each peel takes a worker. */
  async peel(ref: Ref, signal: AbortSignal): Promise<Ref> {
    // git allows only commits in branches; any other ref must be read.
    if (ref.name === 'HEAD' || ref.name.startsWith('refs/heads/')) return ref
    const commit = await peelObject(await this.locate(), ref.id, this.#reach, signal)
    return commit === undefined || commit === ref.id ? ref : { ...ref, peeled: commit }
  }

  async isEmpty(): Promise<boolean> {
    const refs = new DiskRefs(this.#folder)
    const found = await this.#read(() => Promise.all([refs.refsBelow('refs/heads/'), refs.refsBelow('refs/tags/')]))
    return found.flat().length === 0
  }

  async locate(): Promise<ObjectLocation> {
    const repository = { kind: 'disk', folder: this.#folder } as const
    return this.#isByIsomorphic ? { kind: 'isomorphic', repository } : repository
  }

  forget(): void {}

  async #read<T>(what: () => Promise<T>): Promise<T> {
    return readable(this.#folder, what)
  }
}

/** Returns the refs of a pattern. Only tags are ever requested by prefix. */
async function refsOf(refs: DiskRefs, pattern: string): Promise<readonly Ref[]> {
  if (pattern.endsWith('*')) return refs.refsBelow('refs/tags/', prefixOf(pattern))
  const found = await refs.ref(pattern)
  return found === undefined ? [] : [found]
}

/** Returns the folder with the objects and refs of the repository at a path. */
export async function repositoryAt(path: string): Promise<string> {
  const folder = await folderOf(path)
  if (folder !== undefined) return folder
  const found = await unlessAbsent(stat(path), path)
  const [why, fix] =
    found === undefined
      ? ['not found', 'Check the path']
      : found.isDirectory()
        ? ['there is no git repository', plainFolderFix(path)]
        : ['not a directory', fileFix(path)]
  throw new SyncError('repository-not-found', `Cannot read "${path}": ${why}`, { fix })
}

function fileFix(path: string): string {
  const { dir, base } = parse(path)
  return /^skill\.md$/i.test(base) ? `Name the folder of the skill in its place: ${dir}` : 'Name a folder'
}

async function readable<T>(folder: string, what: () => Promise<T>): Promise<T> {
  return what().catch((cause: unknown) => {
    throw new SyncError('source-unreachable', `Cannot read "${folder}"`, { cause })
  })
}

async function folderOf(path: string): Promise<string | undefined> {
  for (const folder of [join(path, '.git'), path]) {
    if ((await isThere(join(folder, 'HEAD'))) && (await isThere(join(folder, 'objects')))) return folder
  }
  // The `.git` file of a submodule or of a linked work tree names its repository.
  const link = /^gitdir: (.+)$/m.exec(await textOf(join(path, '.git')))?.[1]
  const folder = link === undefined ? undefined : resolve(path, link)
  return folder !== undefined && (await isThere(join(folder, 'HEAD'))) ? folder : undefined
}

/** Returns the feature of a repository that needs the git program; `undefined` if there is none. */
export async function unmetNeed(gitdir: string): Promise<string | undefined> {
  if ((await textOf(join(gitdir, 'objects/info/alternates'))).trim() !== '') {
    return 'it borrows objects of another repository (objects/info/alternates)'
  }
  if (await isThere(join(gitdir, 'commondir'))) return 'it is a second work tree'
  const format = await settingOf(gitdir, 'extensions.objectformat', 'sha1')
  if (format !== 'sha1') return `its ids are ${format}, this version reads only sha1`
  const refs = await settingOf(gitdir, 'extensions.refstorage', 'files')
  return refs === 'files' ? undefined : `its refs are kept as "${refs}"`
}

async function settingOf(gitdir: string, path: string, otherwise: string): Promise<string> {
  const value: unknown = await readable(gitdir, () => getConfig({ fs, gitdir, path }))
  return typeof value === 'string' ? value : otherwise
}

async function isThere(path: string): Promise<boolean> {
  return (await unlessAbsent(stat(path), path)) !== undefined
}

/** The beginning of a file; empty for what is no file. All that is read so has one line, and a pipe would never answer. */
async function textOf(path: string): Promise<string> {
  if ((await unlessAbsent(stat(path), path))?.isFile() !== true) return ''
  await using file = await unlessAbsent(open(path), path)
  const { buffer, bytesRead } = (await file?.read(Buffer.alloc(MOST_BYTES))) ?? {
    buffer: Buffer.alloc(0),
    bytesRead: 0,
  }
  return buffer.toString('utf8', 0, bytesRead)
}

/** Longer than every path. */
const MOST_BYTES = 8_192

/** `undefined` if nothing exists there. An unreadable repository is an error, because it still exists. */
async function unlessAbsent<Value>(looking: Promise<Value>, path: string): Promise<Value | undefined> {
  return looking.catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new SyncError('source-unreachable', `Cannot read "${path}": ${String(code)}`, { cause })
  })
}

function plainFolderFix(path: string): string {
  const entry = `path: ${JSON.stringify(path)}`
  return `For a folder without git write \`${entry}\` in place of \`url\`; skillsyncd add FOLDER writes such an entry`
}
