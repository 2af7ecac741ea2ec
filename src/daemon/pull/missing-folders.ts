import type { Clock } from '../../base/clock.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { SkillStore } from '../../sync/store/skills/skills.ts'

/**
 * Detects whether the folder of served content is gone from the store. Each pull checks that; damage inside files is
 * found when they are read.
 */
export class LostFolders {
  readonly #skills: Stored
  readonly #clock: Pick<Clock, 'now'>
  /** The state at the last check: if the marks are unchanged, another check is useless. */
  readonly #found = new Map<SourceId, Found>()

  constructor(skills: Stored, clock: Pick<Clock, 'now'>) {
    this.#skills = skills
    this.#clock = clock
  }

  async hasLost(snapshot: Snapshot): Promise<boolean> {
    const marks = [await this.#skills.mark('skills'), await this.#skills.mark('docs')]
    const text = marks.map((mark) => mark?.text ?? '').join(', ')
    const found = this.#found.get(snapshot.source)
    if (found?.snapshot === snapshot && found.marks === text) return false
    if (await this.#isLacking(snapshot)) return true
    // A removal within one clock tick of the disk after another change leaves the mark unchanged.
    const nowMs = this.#clock.now().getTime()
    const isSettled = marks.every((mark) => mark === undefined || Math.abs(nowMs - mark.changedMs) > TICK_MS)
    if (isSettled) this.#found.set(snapshot.source, { snapshot, marks: text })
    return false
  }

  async #isLacking({ skills, docs }: Snapshot): Promise<boolean> {
    const kept = skills.filter((skill) => skill.standing !== 'withheld' && !isOfUpstream(skill))
    const there = new Set(await this.#skills.digests())
    if (kept.some(({ digest }) => digest !== undefined && !there.has(digest))) return true
    return docs !== undefined && !(await this.#skills.digests('docs')).includes(docs.digest)
  }
}

type Stored = Pick<SkillStore, 'mark' | 'digests'>

/** The tick of the coarsest disks. */
const TICK_MS = 2_000

interface Found {
  readonly snapshot: Snapshot
  readonly marks: string
}
