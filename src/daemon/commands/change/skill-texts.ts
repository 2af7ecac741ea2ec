import { hunksOf } from '../../../base/text/text-diff.ts'
import { isOfUpstream } from '../../../sync/model/skill.ts'
import type { Skill, SkillFile, UpstreamSkill } from '../../../sync/model/skill.ts'
import { Damaged } from '../../../sync/model/sync-error.ts'
import { lifecycleLines, lifecycleOf } from '../../../sync/skill/lifecycle.ts'
import { storedSkill } from '../../../sync/store/skills/stored-path.ts'
import type { Store } from '../../../sync/store/store.ts'
import { printableText } from '../../runtime/log/log-line.ts'

/** The limit above which a SKILL.md is reported, but not compared line by line. */
const MOST_BYTES = 2 ** 20

/** The texts of skill versions in the store. */
export class SkillTexts {
  readonly #store: Store | undefined
  #known: Promise<ReadonlyMap<string, Skill>> | undefined

  constructor(store: Store | undefined) {
    this.#store = store
  }

  /**
   * The lines of a unified diff from one version's SKILL.md to another's, or one line with the reason why there is
   * none.
   */
  async diff(from: string, to: string): Promise<string[]> {
    const before = await this.#textOf(from)
    if (typeof before !== 'string') return [`(${before.why})`]
    const after = await this.#textOf(to)
    return typeof after === 'string' ? diffLines(before, after) : [`(${after.why})`]
  }

  /** The lines of a version's SKILL.md as added ones, or one line with the reason why there are none. */
  async added(to: string): Promise<string[]> {
    const text = await this.#textOf(to)
    if (typeof text !== 'string') return [`(${text.why})`]
    return text
      .replace(/\n$/, '')
      .split('\n')
      .map((line) => `+${printableText(line)}`)
  }

  /** The SKILL.md of a version; empty if it cannot be read, which a comparison then says. */
  async documentOf(digest: string | undefined): Promise<string> {
    const text = digest === undefined ? '' : await this.#textOf(digest)
    return typeof text === 'string' ? text : ''
  }

  /** The skill with this digest, of any snapshot in the store that has it. */
  async skill(digest: string): Promise<Skill | undefined> {
    this.#known ??= this.#index()
    return (await this.#known).get(digest)
  }

  /** The lines of what the two versions declare differently about their lifecycle; a missing version declares nothing. */
  async lifecycleDiff(from: string | undefined, to: string | undefined): Promise<string[]> {
    const [before, after] = [await this.#lifecycleLines(from), await this.#lifecycleLines(to)]
    return [
      ...before.filter((line) => !after.includes(line)).map((line) => `-${line}`),
      ...after.filter((line) => !before.includes(line)).map((line) => `+${line}`),
    ]
  }

  async #lifecycleLines(digest: string | undefined): Promise<readonly string[]> {
    const skill = digest === undefined ? undefined : await this.skill(digest)
    return lifecycleLines(lifecycleOf(skill)).map(printableText)
  }

  async #textOf(digest: string): Promise<string | { readonly why: string }> {
    const skill = await this.skill(digest)
    const file = skill?.files.find(({ path }) => path === 'SKILL.md')
    if (skill === undefined || file === undefined) return { why: `the store does not have ${digest}` }
    if (file.size > MOST_BYTES) return { why: `SKILL.md of ${digest} has ${file.size} bytes, over ${MOST_BYTES}` }
    return this.#read(skill, file)
  }

  async #read(skill: Skill, file: SkillFile): Promise<string | { readonly why: string }> {
    if (isOfUpstream(skill)) return this.#readUpstream(skill, file)
    try {
      return (await this.#store?.skills.read(storedSkill(skill), file))?.toString('utf8') ?? ''
    } catch (error) {
      if (error instanceof Damaged) return { why: error.message }
      throw error
    }
  }

  async #readUpstream({ upstream }: UpstreamSkill, file: SkillFile): Promise<string | { readonly why: string }> {
    const kept = await this.#store?.upstreams.read(upstream.source, file)
    if (kept?.kind === 'whole') return Buffer.from(kept.bytes).toString('utf8')
    return { why: `the store does not have SKILL.md of a skill of "${upstream.source}": no client has read it` }
  }

  /** A lock identifies a version by its digest alone; its files are found through a snapshot that contains it. */
  async #index(): Promise<ReadonlyMap<string, Skill>> {
    const known = new Map<string, Skill>()
    for (const digest of (await this.#store?.snapshots.digests()) ?? []) {
      const snapshot = await this.#store?.snapshots.readWhole(digest)
      for (const skill of snapshot?.skills ?? []) if (skill.digest !== undefined) known.set(skill.digest, skill)
    }
    return known
  }
}

async function diffLines(before: string, after: string): Promise<string[]> {
  const hunks = await hunksOf(before, after)
  if (hunks === undefined) return ['(the two SKILL.md have too little in common to be compared by line)']
  if (hunks.length === 0) return ['(SKILL.md is the same; other files differ)']
  return hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) =>
    [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`].concat(lines.map(printableText)),
  )
}
