import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Generation } from '../../model/generation.ts'
import type { SkillFile } from '../../model/skill.ts'
import type { Snapshot } from '../../model/snapshot.ts'
import { unlessAbsent, cannot } from '../files/disk-error.ts'
import { fileNamesIn } from '../files/state-folder.ts'
import { readVerified } from '../files/verified-file.ts'
import { parseGeneration } from '../generation-store.ts'
import { sha256Of } from '../objects/object-rows.ts'
import { isDigest, type StoredSkill } from '../skills/stored-path.ts'

/** A snapshot of an earlier version: its own bytes, those of its parts, and what they say. */
export interface EarlierSnapshot {
  readonly objects: readonly Uint8Array[]
  readonly snapshot: Snapshot
}

/** A link to the folder `<digest>/<name>` of a skill. */
export interface EarlierLink {
  readonly name: string
  readonly folder: string
}

/**
 * The state folder of formats 1 and 2, which had each thing as a file: `skills/<digest>/<name>/…`, `docs/<digest>/…`,
 * `snapshots/<digest>.json` and `.part`, `generations/<n>.json`. Reads only, and gives out no bytes that are damaged.
 */
export class EarlierState {
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  /** The generations that can be read, newest first. The file `current` had the number of the served one. */
  async generations(): Promise<readonly Generation[]> {
    const names = await fileNamesIn(join(this.#root, 'generations'))
    const numbers = names.flatMap((name) => /^([1-9]\d*)\.json$/.exec(name)?.[1] ?? []).map(Number)
    const pointed = Number(await this.#textOf('current'))
    const generations: Generation[] = []
    for (const number of numbers.toSorted((a, b) => b - a)) {
      // A newer one was written and never published.
      if (Number.isSafeInteger(pointed) && pointed > 0 && number > pointed) continue
      const text = await this.#textOf(join('generations', `${number}.json`))
      const generation = text === undefined ? undefined : parseGeneration(text, number)
      if (generation !== undefined) generations.push(generation)
    }
    return generations
  }

  /** The digests of all snapshots. */
  async snapshots(): Promise<readonly string[]> {
    const names = await fileNamesIn(join(this.#root, 'snapshots'))
    return names.flatMap((name) => (name.endsWith('.json') ? [name.slice(0, -'.json'.length)] : [])).filter(isDigest)
  }

  /** `undefined` if the snapshot, or a part of it, is damaged or gone. */
  async snapshot(digest: string): Promise<EarlierSnapshot | undefined> {
    const head = await this.#object(`${digest}.json`, digest)
    if (head === undefined) return undefined
    const { parts = [], skills = [], ...rest } = JSON.parse(head.toString('utf8'))
    const objects: Uint8Array[] = []
    const all: Snapshot['skills'][number][] = [...skills]
    for (const part of parts) {
      const bytes = await this.#object(`${part}.part`, part)
      if (bytes === undefined) return undefined
      objects.push(bytes)
      all.push(...JSON.parse(bytes.toString('utf8')))
    }
    return { objects: [...objects, head], snapshot: { ...rest, skills: all } }
  }

  /** `undefined` if the file is damaged or gone. */
  async file(skill: StoredSkill, file: SkillFile): Promise<Buffer | undefined> {
    const path = join(this.#root, skill.place, skill.digest, skill.folderName, file.path)
    const read = await readVerified(path, file)
    return Buffer.isBuffer(read) ? read : undefined
  }

  /** The links that agents' folders lead to. A migration that was killed may have switched them already. */
  async links(): Promise<readonly EarlierLink[]> {
    const links: EarlierLink[] = []
    for (const name of await fileNamesIn(join(this.#root, 'links'))) {
      const path = join(this.#root, 'links', name)
      const found = await unlessAbsent(lstat(path)).catch(cannot(`read the attributes of "${path}"`))
      if (found?.isSymbolicLink() !== true) continue
      const target = await readlink(path).catch(cannot(`read the link "${path}"`))
      const [, folder] = /^\.\.\/(?:skills|checkouts)\/([0-9a-f]{64}\/.+)$/.exec(target) ?? []
      if (folder !== undefined) links.push({ name, folder })
    }
    return links
  }

  /** The bytes of all files that a migration reads. Links are not followed. */
  async size(): Promise<number> {
    let bytes = 0
    for (const folder of ['skills', 'docs', 'snapshots', 'generations']) bytes += await sizeOf(join(this.#root, folder))
    return bytes
  }

  async #object(name: string, digest: string): Promise<Buffer | undefined> {
    const path = join(this.#root, 'snapshots', name)
    const bytes = await unlessAbsent(readFile(path)).catch(cannot(`read "${path}"`))
    return bytes !== undefined && sha256Of(bytes) === digest ? bytes : undefined
  }

  async #textOf(name: string): Promise<string | undefined> {
    const path = join(this.#root, name)
    return unlessAbsent(readFile(path, 'utf8')).catch(cannot(`read "${path}"`))
  }
}

async function sizeOf(folder: string): Promise<number> {
  const listing = unlessAbsent(readdir(folder, { recursive: true, withFileTypes: true }))
  const entries = (await listing.catch(cannot(`list "${folder}"`))) ?? []
  let bytes = 0
  for (const { parentPath, name } of entries.filter((entry) => entry.isFile()))
    bytes += (await lstat(join(parentPath, name)).catch(cannot(`read the attributes of "${name}"`))).size
  return bytes
}
