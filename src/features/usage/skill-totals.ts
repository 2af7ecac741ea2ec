import type { CountedUse } from './answered-use.ts'
import { OTHER } from './usage-counts.ts'

/** Skills that have figures of their own; the uses of further ones are added up as `other`. */
const MOST_SKILLS = 1_000

/** Loads, reads and failures of each skill since the start of this process. */
export interface SkillTotal {
  readonly skill: string
  readonly loads: number
  readonly reads: number
  readonly failures: number
}

/** Totals of a bounded number of skills: the first `MOST_SKILLS` that are used. */
export class SkillTotals {
  readonly #bySkill = new Map<string, { loads: number; reads: number; failures: number }>()

  add({ kind, skill }: Exclude<CountedUse, { kind: 'list' }>): void {
    const name = this.#bySkill.has(skill) || this.#bySkill.size < MOST_SKILLS ? skill : OTHER
    const total = this.#bySkill.get(name) ?? { loads: 0, reads: 0, failures: 0 }
    this.#bySkill.set(name, total)
    if (kind === 'load') total.loads += 1
    else if (kind === 'read') total.reads += 1
    else total.failures += 1
  }

  get all(): readonly SkillTotal[] {
    return Array.from(this.#bySkill, ([skill, total]) => ({ skill, ...total }))
  }
}
