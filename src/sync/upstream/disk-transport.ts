import fs from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expandRef, getConfig, listBranches, listTags, resolveRef } from 'isomorphic-git'
import { isObjectId, type ObjectId } from '../model/revision.ts'
import { SyncError } from '../model/sync-error.ts'
import type { GitTransport } from './git.ts'
import type { Place } from './git-messages.ts'
import { peelObject } from './git-tree.ts'
import { prefixOf, type Ref } from './ref-rules.ts'
import type { Reach } from './upstream.ts'

/** A repository on this disk: bare, or with a work tree. Nothing is written to it. */
export class DiskTransport implements GitTransport {
  readonly #path: string
  readonly #reach: Reach

  constructor(url: string, reach: Reach) {
    this.#path = fileURLToPath(url)
    this.#reach = reach
  }

  async list(patterns: readonly string[]): Promise<readonly Ref[]> {
    const gitdir = await this.#open()
    const names = await this.#read(() => Promise.all(patterns.map((pattern) => namesOf(gitdir, pattern))))
    const refs = await Promise.all(names.flat().map((name) => this.#ref(gitdir, name)))
    return refs.filter((ref) => ref !== undefined)
  }

  /** Only of the one that was chosen: each takes a worker. */
  async peel(ref: Ref, signal: AbortSignal): Promise<Ref> {
    // A branch is a commit by git's own rule; anything else has to be looked at.
    if (ref.name === 'HEAD' || ref.name.startsWith('refs/heads/')) return ref
    const commit = await peelObject({ kind: 'disk', folder: await this.#open() }, ref.id, this.#reach, signal)
    return commit === undefined || commit === ref.id ? ref : { ...ref, peeled: commit }
  }

  async isEmpty(): Promise<boolean> {
    const gitdir = await this.#open()
    const names = await this.#read(() => Promise.all([listBranches({ fs, gitdir }), listTags({ fs, gitdir })]))
    return names.flat().length === 0
  }

  async locate(): Promise<Place> {
    return { kind: 'disk', folder: await this.#open() }
  }

  forget(): void {}

  async #ref(gitdir: string, name: string): Promise<Ref | undefined> {
    const id = await this.#read(() => idOf(gitdir, name))
    if (id === undefined) return undefined
    if (name !== 'HEAD') return { name, id }
    const target = await this.#read(() => resolveRef({ fs, gitdir, ref: name, depth: 2 }))
    return target.startsWith('refs/') ? { name, id, target } : { name, id }
  }

  /** The folder with the objects and refs, once it is clear that both can be read. */
  async #open(): Promise<string> {
    const gitdir = await folderOf(this.#path)
    if (gitdir === undefined) {
      throw new SyncError('repository-not-found', `Cannot read "${this.#path}": there is no git repository`)
    }
    const need = await this.#read(() => unmetNeed(gitdir))
    if (need !== undefined) throw new SyncError('unsupported', `Cannot read "${this.#path}": ${need}`)
    return gitdir
  }

  async #read<T>(what: () => Promise<T>): Promise<T> {
    return what().catch((cause: unknown) => {
      throw new SyncError('source-unreachable', `Cannot read "${this.#path}"`, { cause })
    })
  }
}

/** Only tags are ever asked for by a prefix. */
async function namesOf(gitdir: string, pattern: string): Promise<string[]> {
  if (!pattern.endsWith('*')) return [pattern]
  const tags = await listTags({ fs, gitdir })
  return tags.map((tag) => `refs/tags/${tag}`).filter((name) => name.startsWith(prefixOf(pattern)))
}

async function idOf(gitdir: string, ref: string): Promise<ObjectId | undefined> {
  // A name is part of a path here, so one that is no name of git's is never looked for.
  if (!REF_NAME.test(ref)) return undefined
  try {
    // Both try other places when a name is not found as it stands.
    if ((await expandRef({ fs, gitdir, ref })) !== ref) return undefined
    const id = await resolveRef({ fs, gitdir, ref })
    return isObjectId(id) ? id : undefined
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'NotFoundError') return undefined
    throw cause
  }
}

/** Of `git check-ref-format`, what matters to a path. */
const REF_NAME = /^(?!.*(?:\.\.|\/\/|\/\.|\.lock(?:\/|$)))[^\p{Cc} ~^:?*[\\]+(?<![/.])$/u

async function folderOf(path: string): Promise<string | undefined> {
  for (const folder of [join(path, '.git'), path]) {
    if ((await isThere(join(folder, 'HEAD'))) && (await isThere(join(folder, 'objects')))) return folder
  }
  // A submodule's work tree, or a second one, says where its repository is.
  const link = /^gitdir: (.+)$/m.exec(await textOf(join(path, '.git')))?.[1]
  const folder = link === undefined ? undefined : resolve(path, link)
  return folder !== undefined && (await isThere(join(folder, 'HEAD'))) ? folder : undefined
}

/** What of a repository cannot be read without the git program. */
async function unmetNeed(gitdir: string): Promise<string | undefined> {
  if ((await textOf(join(gitdir, 'objects/info/alternates'))).trim() !== '') {
    return 'it borrows objects of another repository (objects/info/alternates)'
  }
  if (await isThere(join(gitdir, 'commondir'))) return 'it is a second work tree; name the one that it belongs to'
  const format = await settingOf(gitdir, 'extensions.objectformat', 'sha1')
  if (format !== 'sha1') return `its ids are ${format}, this version reads sha1 alone`
  const refs = await settingOf(gitdir, 'extensions.refstorage', 'files')
  return refs === 'files' ? undefined : `its refs are kept as "${refs}"`
}

async function settingOf(gitdir: string, path: string, otherwise: string): Promise<string> {
  const value: unknown = await getConfig({ fs, gitdir, path })
  return typeof value === 'string' ? value : otherwise
}

async function isThere(path: string): Promise<boolean> {
  return (await unlessAbsent(stat(path), path)) !== undefined
}

async function textOf(path: string): Promise<string> {
  return (await unlessAbsent(readFile(path, 'utf8'), path)) ?? ''
}

/** Undefined where there is nothing. A repository that we may not look into is not one that is gone. */
async function unlessAbsent<Value>(looking: Promise<Value>, path: string): Promise<Value | undefined> {
  return looking.catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new SyncError('source-unreachable', `Cannot look at "${path}": ${String(code)}`, { cause })
  })
}
