import { foldersAbove, joinPath } from '../../base/paths.ts'
import type { ObjectId } from '../model/revision.ts'
import type { Skill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { mayPass } from '../model/tree.ts'
import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'
import { firstDiagnostics } from './cap-diagnostics.ts'
import type { FoundLink } from './find-skills.ts'
import { contentRefusal } from './read-skill.ts'
import type { BlobContent, ResolvedCandidate } from './read-skill.ts'
import type { StaleCopies } from './stale-copies.ts'

/** The parts of a folder that this check could not read. */
export interface UnreadParts {
  /** Places in no skill. */
  readonly outside: readonly FoundLink[]
  /** The paths of skills that are links through an unreadable place. */
  readonly linked: Iterable<string>
  readonly candidates: readonly ResolvedCandidate[]
  readonly contentOf: (blob: ObjectId) => BlobContent
}

/**
 * A fault that may pass takes nothing out of service: a skill that was offered and cannot be read now stays unchanged
 * and whole, with a finding about it. Everything else is as found.
 */
export async function withUnread(
  found: readonly Skill[],
  standIns: Pick<StaleCopies, 'skills' | 'again'>,
  unread: UnreadParts,
): Promise<readonly Skill[]> {
  const reasons = new Reasons(unread)
  if (reasons.isEmpty) return found
  const readable = new Set(found.filter(({ standing }) => standing !== 'withheld').map(({ path }) => path))
  const kept = new Map<string, Skill>()
  for (const skill of standIns.skills) {
    const reason = readable.has(skill.path) ? undefined : reasons.of(skill.path)
    const again = reason && (await standIns.again(skill))
    if (reason !== undefined && again !== undefined) kept.set(skill.path, asItWas(again, reason))
  }
  return kept.size === 0 ? found : [...found.filter(({ path }) => !kept.has(path)), ...kept.values()]
}

/** The findings for unreadable places outside of skills: the first few, and the number of the rest. */
export function unreadDiagnostics({
  outside,
  contentOf,
}: Pick<UnreadParts, 'outside' | 'contentOf'>): readonly SkillDiagnostic[] {
  const findings = outside.flatMap(({ path, id }) => refusalIn(path, contentOf(id)) ?? [])
  return firstDiagnostics(findings, MOST_TOLD, (left, { path }) => {
    return { path, message: `${left} more places that cannot be read are left out` }
  })
}

/**
 * The first place for which a snapshot has earlier content, because it was unreadable. `undefined` if there is none.
 */
export function unreadPlace({
  skills,
  docsFolder,
}: Pick<Snapshot, 'skills' | 'docsFolder'>): SkillDiagnostic | undefined {
  const findings = [...skills.flatMap((skill) => skill.findings), ...(docsFolder?.findings ?? [])]
  return findings.find(({ rule }) => rule === 'not-read')
}

/** The limit on findings for places outside of skills. */
export const MOST_TOLD = 32

function asItWas(skill: Skill, { path, message }: SkillDiagnostic): Skill {
  const findings = skill.findings.filter(({ rule }) => rule !== 'not-read')
  const kept: SkillDiagnostic = { rule: 'not-read', path, message: `${message}; the skill stays as it was` }
  return { ...skill, findings: [...findings, kept] }
}

/** The reasons that may pass, for skills that could not be read. */
class Reasons {
  readonly #ofSkills = new Map<string, SkillDiagnostic>()
  /** By path; each applies to everything below it. */
  readonly #ofPlaces = new Map<string, SkillDiagnostic>()

  constructor({ outside, linked, candidates, contentOf }: UnreadParts) {
    for (const { path, id } of outside) this.#add(path, contentOf(id))
    for (const path of linked) {
      const message = 'The target of the link cannot be read'
      this.#ofSkills.set(path, { rule: 'path-refused', path, message })
    }
    for (const candidate of candidates) {
      for (const { path, id } of candidate.files) {
        const reason = this.#add(joinPath(candidate.path, path), contentOf(id))
        if (reason !== undefined) this.#ofSkills.set(candidate.path, reason)
      }
    }
  }

  get isEmpty(): boolean {
    return this.#ofSkills.size === 0 && this.#ofPlaces.size === 0
  }

  of(path: string): SkillDiagnostic | undefined {
    const at = this.#ofSkills.get(path) ?? this.#ofPlaces.get(path)
    if (at !== undefined || this.#ofPlaces.size === 0) return at
    for (const above of foldersAbove(path)) {
      const reason = this.#ofPlaces.get(above)
      if (reason !== undefined) return reason
    }
    return undefined
  }

  #add(path: string, content: BlobContent): SkillDiagnostic | undefined {
    const isPassing = content.kind === 'refused' && mayPass(content.reason)
    const reason = isPassing ? refusalIn(path, content) : undefined
    if (reason !== undefined) this.#ofPlaces.set(path, reason)
    return reason
  }
}

function refusalIn(path: string, content: BlobContent): SkillDiagnostic | undefined {
  return content.kind === 'refused' ? contentRefusal(path, content, 'limits.skill.bytes') : undefined
}
