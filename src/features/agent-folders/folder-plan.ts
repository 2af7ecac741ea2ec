import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { idsOf } from '../../daemon/config/config.ts'
import { whyNotUsed } from '../../daemon/runtime/disk-error-text.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { isDiskError, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { digestsOf, foundAt, strayEntry } from './agent-folder.ts'
import type { AgentFolderEntry } from './agent-folder.ts'
import { wantedOf } from './link-context.ts'
import type { ServedLinks } from './link-context.ts'
import { isNameIn } from './link-record.ts'
import type { LinkedSkill, LinkEntry, LinkFilter } from './link-record.ts'
import type { Linkable } from './linkable-skills.ts'
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

/** The skills that get the names in one folder. */
interface NameChoice {
  /** One for each name. */
  readonly chosen: readonly Chosen[]
  /** The skills whose name stands for another skill with other content. A skill with the same content is no clash. */
  readonly clashes: readonly { readonly skill: Linkable; readonly by: LinkedSkill }[]
}

/** A skill, and the recorded place that its name stands for. If the skill has moved, that is its earlier place. */
interface Chosen {
  readonly skill: Linkable
  readonly linked: LinkedSkill
}

/** The skill that a name stands for now, if that keeps other skills from getting the name. */
type NameHolderOf = (name: string) => (LinkedSkill & { readonly skill: Linkable | undefined }) | undefined

/**
 * Agents identify a skill by its name, so one of several skills with one name is chosen. The skill that already has the
 * name keeps it, so a source that gains a skill displaces none. Else the first one gets it, in the order of the sources
 * and then of the paths; skills that are named after their folders come last.
 */
function choiceOf(wanted: readonly Linkable[], order: readonly SourceId[], holderOf: NameHolderOf): NameChoice {
  const chosen = new Map<string, Chosen>()
  const clashes: { skill: Linkable; by: LinkedSkill }[] = []
  for (const skill of inOrder(wanted, order)) {
    const own: LinkedSkill = { source: skill.source, path: skill.skill.path }
    const holder = holderOf(skill.name)
    const first = chosen.get(skill.name)
    const other = first?.skill ?? holder?.skill
    if (other !== undefined && other !== skill && other.digest === skill.digest) continue
    if (first !== undefined) clashes.push({ skill, by: first.linked })
    else if (holder === undefined) chosen.set(skill.name, { skill, linked: own })
    else if (holder.skill === skill) chosen.set(skill.name, { skill, linked: placeOf(holder) })
    else clashes.push({ skill, by: placeOf(holder) })
  }
  return { chosen: [...chosen.values()], clashes }
}

function placeOf({ source, path }: LinkedSkill): LinkedSkill {
  return { source, path }
}

function inOrder(skills: readonly Linkable[], order: readonly SourceId[]): Linkable[] {
  const rank = new Map(order.map((source, at) => [source, at]))
  const rankOf = ({ source }: Linkable): number => rank.get(source) ?? order.length
  const isOfFolder = ({ uri }: Linkable): number => (uri === undefined ? 1 : 0)
  return skills.toSorted((a, b) => isOfFolder(a) - isOfFolder(b) || rankOf(a) - rankOf(b))
}
