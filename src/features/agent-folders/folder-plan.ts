import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { idsOf } from '../../daemon/config/config.ts'
import { whyNotUsed } from '../../daemon/runtime/disk-error-text.ts'
import { isDiskError, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { digestsOf, foundAt } from './agent-folder.ts'
import type { AgentFolderEntry } from './agent-folder.ts'
import { wantedOf } from './link-context.ts'
import type { ServedLinks } from './link-context.ts'
import { isNameIn } from './link-record.ts'
import type { LinkEntry, LinkedSkill, LinkFilter } from './link-record.ts'
import type { Linkable } from './linkable-skills.ts'
import { choiceOf } from './name-choice.ts'
import type { NameHolderOf } from './name-choice.ts'
import { strayEntry } from './orphan-links.ts'
import type { LeftoverLinks } from './remainder.ts'

/** The desired content of one agent's folder. */
export interface WantedLinks {
  readonly folder: string
  readonly only: LinkFilter | undefined
  readonly copies: boolean
  /** The remainder of an entry whose skill is no longer served. Absent: nothing remains. */
  readonly remainderOf?: (linked: LinkedSkill) => LeftoverLinks
}

/** The steps that bring one agent's folder to the desired content. Making the plan changes nothing. */
export interface FolderPlan extends WantedLinks {
  readonly steps: readonly PlanStep[]
}

/** The step for one name. */
export type PlanStep =
  /** Already as desired. */
  | { readonly kind: 'kept'; readonly name: string; readonly skill: Linkable }
  /** Absent, or outdated: `found` says which. */
  | {
      readonly kind: 'put'
      readonly name: string
      readonly skill: Linkable
      readonly linked: LinkedSkill
      readonly found: Exclude<AgentFolderEntry, { kind: 'foreign' }>
    }
  /** Stands for a skill that is no longer served. */
  | {
      readonly kind: 'remove'
      readonly name: string
      readonly linked: LinkedSkill | undefined
      readonly entry: LinkEntry
      /** True if the name stays recorded for the skill. */
      readonly isReserved: boolean
    }
  /** The content at the path is not ours. */
  | { readonly kind: 'foreign'; readonly name: string; readonly skill: Linkable; readonly what: string }
  /** The name stands for another skill. */
  | { readonly kind: 'clash'; readonly name: string; readonly skill: Linkable; readonly by: LinkedSkill }

/** Ends work on the entries of folders, and hears of each entry. */
export interface WorkControl {
  readonly signal: AbortSignal
  readonly onEntry?: () => void
}

/** Throws if the work is to end. */
export function nextEntry(pace: WorkControl | undefined): void {
  pace?.signal.throwIfAborted()
  pace?.onEntry?.()
}

/** Compares one folder with its desired content. */
export async function planOf(wanted: WantedLinks, state: ServedLinks, pace?: WorkControl): Promise<FolderPlan> {
  const { folder, only } = wanted
  const { config, links } = state
  const entries = links.folders.get(folder)?.entries ?? new Map<string, LinkEntry>()
  const { chosen, clashes } = choiceOf(wantedOf(state, only), idsOf(config), holdersFor(wanted, state))
  const steps: PlanStep[] = await departuresOf(wanted, state)
  const outgoing = new Set(steps.map(({ name }) => name))
  for (const { skill, linked } of chosen) {
    nextEntry(pace)
    const { name } = skill
    const entry = entries.get(name)
    const known = entry ?? strayEntry(name, state.store.links)
    const found = await foundAt(join(folder, name), known, config.limits.skill).catch(unseenEntry)
    if (found.kind === 'foreign') steps.push({ kind: 'foreign', name, skill, what: found.what })
    else if (outgoing.has(name)) steps.push({ kind: 'put', name, skill, linked, found: { kind: 'absent' } })
    else if (entry !== undefined && isAsWanted({ found, entry, skill }, wanted, state))
      steps.push({ kind: 'kept', name, skill })
    else steps.push({ kind: 'put', name, skill, linked, found })
  }
  for (const { skill, by } of clashes) steps.push({ kind: 'clash', name: skill.name, skill, by })
  return { ...wanted, steps }
}

/** The entries whose skills are no longer served, as far as something of them is to go. */
async function departuresOf({ folder, remainderOf }: WantedLinks, { links, meant }: ServedLinks): Promise<PlanStep[]> {
  const steps: PlanStep[] = []
  for (const [name, entry] of links.folders.get(folder)?.entries ?? []) {
    const linked = links.skills.get(name)
    if (linked !== undefined && meant.of(name, linked) !== undefined) continue
    const remainder = (linked && remainderOf?.(linked)) ?? 'nothing'
    const isReserved = remainder === 'name'
    if (remainder === 'content' || (isReserved && (await isAbsent(join(folder, name))))) continue
    steps.push({ kind: 'remove', name, linked, entry, isReserved })
  }
  return steps
}

/** False for a path that cannot be examined: the removal reports the reason. */
async function isAbsent(path: string): Promise<boolean> {
  try {
    return (await unlessAbsent(lstat(path))) === undefined
  } catch (error) {
    if (isDiskError(error)) return false
    throw error
  }
}

/**
 * A name that is only in this folder, and stands for a skill that is no longer served, is free if nothing of it is to remain: the plan removes it.
 * While another folder has the name, no other skill gets it: that skill would turn up there unrequested.
 */
function holdersFor({ folder, remainderOf }: WantedLinks, { links, meant }: ServedLinks): NameHolderOf {
  const isReserved = (linked: LinkedSkill): boolean => (remainderOf?.(linked) ?? 'nothing') !== 'nothing'
  const others = [...links.folders].filter(([path]) => path !== folder)
  const isElsewhere = isNameIn(others.map(([, other]) => other))
  return (name) => {
    const linked = links.skills.get(name)
    const skill = linked && meant.of(name, linked)
    if (linked === undefined || (skill === undefined && !isElsewhere(name) && !isReserved(linked))) return undefined
    return { ...linked, skill }
  }
}

/** A process that cannot examine the path must not put anything there either. */
function unseenEntry(error: unknown): AgentFolderEntry {
  if (!isDiskError(error)) throw error
  return { kind: 'foreign', what: `it cannot be read, ${whyNotUsed(error)}` }
}

function isAsWanted(
  { found, entry, skill }: { readonly found: AgentFolderEntry; readonly entry: LinkEntry; readonly skill: Linkable },
  { copies }: WantedLinks,
  { store }: ServedLinks,
): boolean {
  if (!copies) return found.kind === 'link' && found.target === store.links.pathOf(skill.name)
  if (found.kind !== 'copy') return false
  const { whole, used } = digestsOf(skill)
  // For a used copy, only the recorded digest shows the version of the files that Python rewrites.
  return found.digests.includes(whole) || (found.digests.includes(used) && entry.digests.includes(whole))
}
