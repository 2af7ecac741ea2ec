import { readlink, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { SyncError } from '../../model/sync-error.ts'
import { isSkillName } from '../../skill/skill-name.ts'
import { isTemporary, syncFolder, temporaryIn } from '../files/atomic.ts'
import { cannot, unlessAbsent } from '../files/disk-error.ts'
import { fileNamesIn, type StateFolder } from '../files/state-folder.ts'
import type { StoredSkill } from './stored-path.ts'

/**
 * The links `links/<name>`, each to the served version of a skill. A link in an agent's folder points here and never
 * changes; this link is switched atomically. A reader finds the old version or the new one, whole.
 */
export class SkillLinks {
  readonly #state: StateFolder

  constructor(state: StateFolder) {
    this.#state = state
  }

  /** Returns the target for a link in an agent's folder. It need not exist. */
  pathOf(name: string): string {
    return this.#state.at('links', name)
  }

  /** Points each name to its skill and removes all other names. The change is on the disk when this returns. */
  async follow(wanted: ReadonlyMap<string, StoredSkill>): Promise<void> {
    await this.#state.expectRight()
    const folder = this.#state.at('links')
    const there = (await fileNamesIn(folder)).filter((name) => !isTemporary(name))
    let isMoved = false
    for (const [name, skill] of wanted) if (await this.#lead(name, skill)) isMoved = true
    for (const name of there.filter((each) => !wanted.has(each))) {
      await rm(join(folder, name), { force: true }).catch(cannot(`remove "${this.pathOf(name)}"`))
      isMoved = true
    }
    if (isMoved) await syncFolder(folder)
  }

  /** Returns true if the link has changed. */
  async #lead(name: string, { digest, folderName }: StoredSkill): Promise<boolean> {
    if (!isSkillName(name)) throw new SyncError('store-failed', `Cannot link ${JSON.stringify(name)}: it is not a name`)
    const path = this.pathOf(name)
    // Relative: the state folder can be moved, or a service can see it at another path.
    const target = join('..', 'checkouts', digest, folderName)
    const before = await unlessAbsent(readlink(path)).catch(cannot(`read the link "${path}"`))
    if (before === target) return false
    const temporary = temporaryIn(this.#state.at('links'))
    await symlink(target, temporary)
      .then(() => rename(temporary, path))
      .catch(cannot(`switch the link "${path}"`))
    return true
  }
}
