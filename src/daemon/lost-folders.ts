import type { SourceId } from '../sync/model/source-id.ts'
import { isOfUpstream } from '../sync/model/skill.ts'
import type { Snapshot } from '../sync/model/snapshot.ts'
import type { Store } from '../sync/store/store.ts'

/**
 * Whether the folder of something that is served is gone from the store. Each look at a source asks that; whether the files in it
 * are what they were is seen by whoever reads them.
 */
export class LostFolders {
  readonly #store: Store
  /** What was there when it was looked for last: to look again is of no use where nothing came or went since. */
  readonly #found = new Map<SourceId, Found>()

  constructor(store: Store) {
    this.#store = store
  }

  async hasLost(snapshot: Snapshot): Promise<boolean> {
    const { skills } = this.#store
    const [inSkills, inDocs] = [await skills.mark('skills'), await skills.mark('docs')]
    const found = this.#found.get(snapshot.source)
    if (found?.snapshot === snapshot && found.inSkills === inSkills && found.inDocs === inDocs) return false
    if (await this.#isLacking(snapshot)) return true
    this.#found.set(snapshot.source, { snapshot, inSkills, inDocs })
    return false
  }

  async #isLacking({ skills, docs }: Snapshot): Promise<boolean> {
    const { skills: store } = this.#store
    const kept = skills.filter((skill) => skill.standing !== 'withheld' && !isOfUpstream(skill))
    const there = new Set(await store.digests())
    if (kept.some(({ digest }) => digest !== undefined && !there.has(digest))) return true
    return docs !== undefined && !(await store.digests('docs')).includes(docs.digest)
  }
}

interface Found {
  readonly snapshot: Snapshot
  readonly inSkills: string | undefined
  readonly inDocs: string | undefined
}
