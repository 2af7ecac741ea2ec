import { lstat, open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { SerialQueue } from '../../../base/async/serial-queue.ts'
import { foldersAbove } from '../../../base/paths.ts'
import type { DigestedFile } from '../../model/digest.ts'
import { removeAll, syncFolder, temporaryIn } from '../files/atomic.ts'
import { cannot, isDiskError, unlessAbsent } from '../files/disk-error.ts'
import { fileNamesIn, makeFolder } from '../files/state-folder.ts'
import type { StateFolder } from '../files/state-folder.ts'
import { problemOf as contentProblemOf } from '../files/verified-file.ts'
import type { FileDamage, SkillStore } from '../skills/skill-store.ts'
import { calledOf, isDigest } from '../skills/stored-path.ts'
import type { StoredSkill } from '../skills/stored-path.ts'
import { strangersIn } from './strangers.ts'

/**
 * Skill versions as folders, `checkouts/<digest>/<name>/…`, for whom a path is needed: agents and gates. A checkout is
 * made from the store when it is requested, and never read to serve a client. Files are read-only against an agent's
 * accidental write. Folders stay 0755: otherwise only root could move or remove one, and an agent could not leave its
 * caches.
 */
export class Checkouts {
  readonly #state: StateFolder
  readonly #skills: SkillStore
  readonly #queue = new SerialQueue()
  /** The number of open holds, by the digest of the checkout. */
  readonly #held = new Map<string, number>()

  constructor(state: StateFolder, skills: SkillStore) {
    this.#state = state
    this.#skills = skills
  }

  /** True if there is a checkout, intact or not. */
  async has({ digest }: StoredSkill): Promise<boolean> {
    const path = this.#state.at('checkouts', digest)
    return (await unlessAbsent(lstat(path)).catch(cannot(`read the attributes of "${path}"`))) !== undefined
  }

  /** Returns the absolute path of a skill's checkout, which need not exist. */
  pathOf({ digest, folderName }: StoredSkill): string {
    return join(this.#state.at('checkouts', digest), folderName)
  }

  /** Makes the skill's checkout if it is absent, and again if it was edited. Returns its absolute path. */
  async ensure(skill: StoredSkill): Promise<string> {
    return this.#queue.next(async () => {
      if ((await this.damageIn(skill)).length > 0) await this.#make(skill)
      return this.pathOf(skill)
    })
  }

  /** Starts a hold: until it is disposed, no collection removes the checkouts of these skills. */
  hold(skills: Iterable<StoredSkill>): Disposable {
    using holds = new DisposableStack()
    for (const { digest } of skills) {
      this.#held.set(digest, this.#holdsOf(digest) + 1)
      holds.defer(() => this.#release(digest))
    }
    return holds.move()
  }

  /** Returns the foreign entries of a checkout: what an agent left there. */
  async strangersIn(skill: StoredSkill): Promise<readonly string[]> {
    this.#skills.expectStorable(skill)
    return strangersIn(this.#state.at('checkouts', skill.digest), skill)
  }

  /** Returns the files that are not as stored; all of them if there is no checkout. */
  async damageIn(skill: StoredSkill): Promise<readonly FileDamage[]> {
    // Before anything is opened: an upstream chose the paths.
    this.#skills.expectStorable(skill)
    const damage: FileDamage[] = []
    for (const file of skill.files) {
      const problem = await checkoutProblemOf(join(this.pathOf(skill), file.path), file)
      if (problem !== undefined) damage.push({ path: file.path, problem })
    }
    return damage
  }

  /** Removes the checkouts of other skills that are not held, and returns how many there were. */
  async keepOnly(digests: ReadonlySet<string>): Promise<number> {
    return this.#queue.next(async () => {
      let removed = 0
      for (const name of await fileNamesIn(this.#state.at('checkouts'))) {
        if (!isDigest(name) || digests.has(name) || this.#holdsOf(name) > 0) continue
        await this.#remove(name)
        removed += 1
      }
      return removed
    })
  }

  #holdsOf(digest: string): number {
    return this.#held.get(digest) ?? 0
  }

  #release(digest: string): void {
    const left = this.#holdsOf(digest) - 1
    if (left > 0) this.#held.set(digest, left)
    else this.#held.delete(digest)
  }

  async #make(skill: StoredSkill): Promise<void> {
    const draft = temporaryIn(this.#state.at('checkouts'))
    try {
      await this.#write(skill, join(draft, skill.folderName))
      await this.#place(skill, draft)
    } finally {
      await removeAll(draft)
    }
  }

  async #write(skill: StoredSkill, folder: string): Promise<void> {
    const folders = new Set(skill.files.flatMap(({ path }) => [...foldersAbove(path)]))
    makeFolder(folder, 0o755)
    for (const path of [...folders].toSorted()) makeFolder(join(folder, path), 0o755)
    for (const file of skill.files) {
      const bytes = await this.#skills.read(skill, file)
      await writeReadOnly(join(folder, file.path), bytes, file).catch(cannot(`check out "${file.path}"`))
    }
  }

  /** Another process may have made the same checkout meanwhile. */
  async #place(skill: StoredSkill, draft: string): Promise<void> {
    const target = this.#state.at('checkouts', skill.digest)
    const attempt = `check out the ${calledOf(skill)}`
    while (!(await hasMoved(draft, target).catch(cannot(attempt)))) {
      if ((await this.damageIn(skill)).length === 0) return
      await this.#remove(skill.digest)
    }
    await syncFolder(dirname(target))
  }

  /** Moved first: no reader finds it half removed. */
  async #remove(name: string): Promise<void> {
    const aside = await this.#state.setAside(this.#state.at('checkouts', name))
    if (aside !== undefined) await removeAll(aside)
  }
}

/** Returns false if there is something at the target. */
async function hasMoved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (error) {
    if (isDiskError(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) return false
    throw error
  }
}

/** Writes a new file that its owner cannot write to by accident, regardless of the umask. */
async function writeReadOnly(path: string, bytes: Uint8Array, file: DigestedFile): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.writeFile(bytes)
    await handle.chmod(modeOf(file))
  } finally {
    await handle.close()
  }
}

/** Returns why the file is not as it was checked out; `undefined` if it is. */
async function checkoutProblemOf(path: string, file: DigestedFile): Promise<string | undefined> {
  return (await contentProblemOf(path, file)) ?? modeProblem(path, file)
}

async function modeProblem(path: string, file: DigestedFile): Promise<string | undefined> {
  const found = await unlessAbsent(lstat(path)).catch(cannot(`read the attributes of "${path}"`))
  const mode = (found?.mode ?? 0) & 0o777
  return mode === modeOf(file) ? undefined : `its mode is ${mode.toString(8)}, not ${modeOf(file).toString(8)}`
}

function modeOf({ executable }: DigestedFile): number {
  return executable ? 0o555 : 0o444
}
