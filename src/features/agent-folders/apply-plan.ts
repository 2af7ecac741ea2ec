import { constants } from 'node:fs'
import { access, mkdir, readlink, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { systemClock } from '../../base/async/clock.ts'
import { whyNotUsed } from '../../daemon/runtime/disk-error-text.ts'
import { writeAll } from '../../daemon/runtime/output-folder.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { removeAll } from '../../sync/store/files/atomic.ts'
import { isDiskError, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { makeFolders } from '../../sync/store/files/make-folders.ts'
import { storedSkill } from '../../sync/store/skills/stored-path.ts'
import { digestsOf, missingAbove, placeFolder, createLink, removeOurs, scratchIn, sweep } from './agent-folder.ts'
import type { Ours } from './agent-folder.ts'
import { nextEntry } from './folder-plan.ts'
import type { FolderPlan, WorkControl, PlanStep } from './folder-plan.ts'
import type { ServedLinks } from './link-context.ts'
import type { LinkAdded, LinkedSkill, LinkEntry, LinkRemoved, Links, NameTaken, Use } from './link-record.ts'
import { isOfOtherState, isSameUse } from './link-record.ts'
import type { Linkable } from './linkable-skills.ts'

/** The result for one name in an agent's folder. */
export interface Done {
  readonly name: string
  /** `left`: the content at the path is not ours. `clash`: the name stands for another skill. */
  readonly end: 'kept' | 'linked' | 'copied' | 'removed' | 'left' | 'clash' | 'failed'
  /** True if it replaced earlier content of ours. */
  readonly isRenewed?: boolean
  readonly skill?: Linkable
  /** The skill that the name stood for. */
  readonly linked?: LinkedSkill | undefined
  readonly why?: string
}

/** The requests to the process that writes the record. A record is on disk before the request resolves. */
export interface Recording {
  readonly put: (put: LinkAdded) => Promise<{ readonly taken: readonly NameTaken[] }>
  readonly drop: (drop: LinkRemoved) => Promise<unknown>
  /** The most entries in one request, because its length is limited. */
  readonly atOnce: number
  /** The record at this moment. */
  readonly known: () => Promise<Links>
}

type PutStep = Extract<PlanStep, { kind: 'put' }>

/** A plan, and what it is applied with. */
export interface PlanApplication {
  readonly plan: FolderPlan
  readonly uses: readonly Use[]
  readonly state: ServedLinks
  readonly recording: Recording
}

/** Applies a plan to a folder. Content is recorded before it is put there, and forgotten after it is removed. */
export async function applyPlan(application: PlanApplication, pace: WorkControl): Promise<Done[]> {
  const { plan, state } = application
  const entries = state.links.folders.get(plan.folder)?.entries.values() ?? []
  // Content that cannot be swept does no harm.
  const beforeMs = systemClock.now().getTime() - ABANDONED_MS
  await sweep(plan.folder, entries, state.config.limits.skill, beforeMs).catch(whyNot)
  const removeEntry = await removedFrom(application, pace)
  const puts = plan.steps.filter((step) => step.kind === 'put')
  const unwritable = puts.length === 0 ? undefined : await whyUnwritable(plan.folder)
  const written = unwritable === undefined ? await recordPuts(puts, application, pace) : NOTHING_WRITTEN
  const done: Done[] = [...written.clashes]
  // Nothing is recorded that cannot be placed: else each publish would write the record twice.
  if (unwritable !== undefined) done.push(...puts.map(({ name, skill }) => failureOf(name, unwritable, skill)))
  if (written.skills.length > 0) {
    const unusable = await makeFolders(plan.folder).then(() => undefined, whyNot)
    for (const recorded of written.skills) {
      nextEntry(pace)
      const { name, skill } = recorded.step
      done.push(
        unusable === undefined ? await put(recorded, application, pace.signal) : failureOf(name, unusable, skill),
      )
    }
  }
  const dropped = await takenBack(written.skills, application, pace)
  await forgetUnplaced(application, puts, done)
  const ends = done.map((end) => (dropped.has(end.name) ? failureOf(end.name, DROPPED, end.skill) : end))
  return [...plan.steps.flatMap(toldOf), ...removeEntry, ...ends]
}

const DROPPED = 'link --remove took it out meanwhile'

/**
 * Removes what was placed and is not recorded any more, and returns the names: `link --remove` found nothing there yet, and
 * dropped the record. It looks again after that, for what was placed before.
 */
async function takenBack(
  written: readonly RecordedPut[],
  { plan: { folder }, state, recording }: PlanApplication,
  { signal }: WorkControl,
): Promise<ReadonlySet<string>> {
  const names = new Set<string>()
  if (written.length === 0) return names
  const known = (await recording.known()).folders.get(folder)?.entries
  for (const { step, entry } of written) {
    if (known?.has(step.name) === true) continue
    const { name, linked } = step
    const { end } = await removeEntry(folder, { name, linked, entry }, { config: state.config, signal })
    if (end === 'removed') names.add(name)
  }
  return names
}

/** The expected result of `applyPlan`. Changes nothing. */
export function predictPlan({ copies, steps }: FolderPlan): Done[] {
  return steps.flatMap((step): Done[] => {
    if (step.kind === 'remove') return [{ name: step.name, end: 'removed', linked: step.linked }]
    if (step.kind !== 'put') return toldOf(step)
    const { name, skill, found } = step
    return [{ name, end: copies ? 'copied' : 'linked', skill, isRenewed: found.kind !== 'absent' }]
  })
}

/** Longer than the copy of one skill takes on any disk. */
const ABANDONED_MS = 3_600_000

function toldOf(step: PlanStep): Done[] {
  const { kind, name } = step
  if (kind === 'kept') return [{ name, end: 'kept', skill: step.skill }]
  if (kind === 'foreign') return [{ name, end: 'left', skill: step.skill, why: step.what }]
  return kind === 'clash' ? [clash(step.skill, step.by)] : []
}

function clash(skill: Linkable, by: LinkedSkill): Done {
  return { name: skill.name, end: 'clash', skill, linked: by }
}

function failureOf(name: string, why: string, skill?: Linkable): Done {
  return { name, end: 'failed', why, ...(skill !== undefined && { skill }) }
}

async function removedFrom({ plan, state, recording }: PlanApplication, pace: WorkControl): Promise<Done[]> {
  const { folder, steps } = plan
  const { signal } = pace
  const done: Done[] = []
  const names: string[] = []
  for (const step of steps) {
    if (step.kind !== 'remove') continue
    nextEntry(pace)
    const end = await removeEntry(folder, step, { config: state.config, signal })
    done.push(end)
    if (end.end !== 'failed' && !step.isReserved) names.push(step.name)
  }
  signal.throwIfAborted()
  if (names.length > 0) await recording.drop({ folder, uses: [], names })
  return done
}

/** Removes one of our entries. Content that replaced it stays, and is no longer ours. */
export async function removeEntry(
  folder: string,
  {
    name,
    linked,
    entry,
  }: { readonly name: string; readonly linked: LinkedSkill | undefined; readonly entry: LinkEntry },
  { config, signal }: Pick<ServedLinks, 'config'> & { readonly signal: AbortSignal },
): Promise<Done> {
  try {
    const isOurs = await removeOurs(join(folder, name), { entry, limits: config.limits.skill, signal })
    return {
      name,
      linked,
      end: isOurs ? 'removed' : 'left',
      ...(!isOurs && { why: isOfOtherState(entry) ? OF_OTHER_STATE : 'it was changed since it was put there' }),
    }
  } catch (error) {
    signal.throwIfAborted()
    return failureOf(name, whyNot(error))
  }
}

export const OF_OTHER_STATE = 'it leads into another state folder'

/** A step whose content is recorded as ours. */
interface RecordedPut {
  readonly step: PutStep
  readonly entry: LinkEntry
}

interface RecordedPuts {
  readonly skills: readonly RecordedPut[]
  readonly clashes: readonly Done[]
}

const NOTHING_WRITTEN: RecordedPuts = { skills: [], clashes: [] }

/** The reason why nothing can be put into the folder; it need not exist yet. */
async function whyUnwritable(folder: string): Promise<string | undefined> {
  const [outermost] = await missingAbove(folder)
  const there = outermost === undefined ? folder : dirname(outermost)
  return (await whyNoFolder(there)) ?? access(there, constants.W_OK).then(() => undefined, whyNot)
}

/** The reason why what is at a path is no folder. It names the path: the agent's may be a link, or below one. */
async function whyNoFolder(path: string): Promise<string | undefined> {
  const [kind, target] = await Promise.all([unlessAbsent(stat(path)), readlink(path).catch(undefinedIfNoLink)])
  if (kind?.isDirectory() === true) return undefined
  const mend = 'make that folder, or remove what is there'
  if (target === undefined) return `"${path}" is not a folder; ${mend}`
  const what = kind === undefined ? 'where there is nothing' : 'which is not a folder'
  return `"${path}" is a link to "${target}", ${what}; ${mend}`
}

function undefinedIfNoLink(error: unknown): undefined {
  if (!isDiskError(error)) throw error
}

/** True if the record says of the folder what this plan says; entries are not compared. */
export function isRecorded({ plan, uses, state }: Omit<PlanApplication, 'recording'>): boolean {
  const known = state.links.folders.get(plan.folder)
  if (known === undefined || known.copies !== plan.copies) return false
  const isSameChoice = JSON.stringify(known.only) === JSON.stringify(plan.only)
  return isSameChoice && uses.every((use) => known.uses.some((other) => isSameUse(use, other)))
}

/** Records the entries, and the use of the folder even if there is no entry. */
async function recordPuts(
  puts: readonly PutStep[],
  { plan, uses, state, recording }: PlanApplication,
  pace: WorkControl,
): Promise<RecordedPuts> {
  const made = puts.length === 0 ? [] : await missingAbove(plan.folder)
  const { folder, copies, only } = plan
  const skills: RecordedPut[] = []
  const clashes: Done[] = []
  if (puts.length === 0 && isRecorded({ plan, uses, state })) return NOTHING_WRITTEN
  const { atOnce } = recording
  for (let at = 0; at === 0 || at < puts.length; at += atOnce) {
    nextEntry(pace)
    const piece = puts.slice(at, at + atOnce).map((step) => ({ step, entry: entryOf(step, plan, state) }))
    const asked = piece.map(({ step, entry }) => ({ name: step.name, ...step.linked, ...entry }))
    const { taken } = await recording.put({ folder, uses, made, copies, only, skills: asked })
    pace.signal.throwIfAborted()
    const byName = new Map<string, LinkedSkill>(taken.map(({ name, by }) => [name, by]))
    for (const { step, entry } of piece) {
      const by = byName.get(step.name)
      if (by === undefined) skills.push({ step, entry })
      else clashes.push(clash(step.skill, by))
    }
  }
  return { skills, clashes }
}

/** Our present content stays known as ours until it is replaced. */
function entryOf({ name, skill, found }: PutStep, { copies }: FolderPlan, { store }: ServedLinks): LinkEntry {
  const targets = [found.kind === 'link' ? [found.target] : [], copies ? [] : [store.links.pathOf(name)]]
  const digests = [found.kind === 'copy' ? found.digests : [], copies ? Object.values(digestsOf(skill)) : []]
  return { targets: [...new Set(targets.flat())], digests: [...new Set(digests.flat())] }
}

async function put(
  { step, entry }: RecordedPut,
  { plan: { folder, copies }, state }: PlanApplication,
  signal: AbortSignal,
): Promise<Done> {
  const { name, skill } = step
  const path = join(folder, name)
  const ours = { entry, limits: state.config.limits.skill, signal }
  try {
    const isThere = copies
      ? await putCopy({ ...ours, path, skill }, state)
      : await createLink(path, state.store.links.pathOf(name), ours)
    if (!isThere) return { name, end: 'left', skill, why: 'another program put something there meanwhile' }
    return { name, end: copies ? 'copied' : 'linked', skill, isRenewed: step.found.kind !== 'absent' }
  } catch (error) {
    signal.throwIfAborted()
    return failureOf(name, whyNot(error), skill)
  }
}

async function forgetUnplaced(
  { plan: { folder }, state, recording }: PlanApplication,
  puts: readonly PutStep[],
  done: readonly Done[],
): Promise<void> {
  const unplaced = new Set(done.filter(({ end }) => end === 'failed' || end === 'left').map(({ name }) => name))
  // A name that was recorded before is reserved for its source.
  const known = state.links.folders.get(folder)?.entries
  const isNew = ({ name, found }: PutStep): boolean => found.kind === 'absent' && known?.has(name) !== true
  const names = puts.filter((step) => isNew(step) && unplaced.has(step.name)).map(({ name }) => name)
  if (names.length > 0) await recording.drop({ folder, uses: [], names })
}

/** Checks each file as it is read. An agent never sees a partial copy. */
async function putCopy(
  { path, skill, ...ours }: Ours & { readonly path: string; readonly skill: Linkable },
  { store }: ServedLinks,
): Promise<boolean> {
  const stored = storedSkill(skill.skill)
  const files = await Promise.all(
    stored.files.map(async (file) => ({
      path: file.path,
      executable: file.executable,
      bytes: await store.skills.read(stored, file),
    })),
  )
  const scratch = scratchIn(join(path, '..'))
  await mkdir(scratch)
  try {
    await writeAll(join(scratch, skill.name), files, ours.signal)
    return await placeFolder(path, { folder: join(scratch, skill.name), digest: skill.digest }, ours)
  } finally {
    await removeAll(scratch)
  }
}

/** The reason why a file or folder could not be used, as text. Rethrows any other error. */
export function whyNot(error: unknown): string {
  if (isDiskError(error)) return whyNotUsed(error)
  if (error instanceof SyncError) return error.message
  throw error
}
