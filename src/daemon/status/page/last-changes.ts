import { commitWords } from '../../../serve/page/format.ts'
import type { ContentMoment } from '../../../serve/page/page-data.ts'
import type { Generation } from '../../../sync/model/generation.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { Store } from '../../../sync/store/store.ts'

/** The changes of the skills of one source. */
export interface LastChanges {
  readonly source: SourceId
  /** Every served skill of the source is in one of them, and in one more for each earlier change. Newest first. */
  readonly moments: readonly (ContentMoment & { readonly paths: readonly string[] })[]
}

/**
 * Returns since when each skill has the content that it has now, and its changes before, as far back as the last 500 generations that are kept.
 * What happened between two generations is not known: a source may have moved by several commits.
 */
export async function lastChangesOf(store: Store): Promise<LastChanges[]> {
  const [served, ...earlier] = await generationsOf(store)
  if (served === undefined) return []
  const all: LastChanges[] = []
  for (const { source } of served.sources) {
    const moments = await momentsOf(source, [served, ...earlier], store)
    all.push({ source, moments })
  }
  return all
}

/** Returns the served generation and those before it, up to the first that cannot be read. Newest first. */
async function generationsOf(store: Store): Promise<Generation[]> {
  const served = (await store.generations.current())?.number ?? 0
  const generations: Generation[] = []
  for (const number of await store.generations.numbers()) {
    if (generations.length === MOST_GENERATIONS) break
    if (number > served) continue
    const generation = await store.generations.read(number)
    if (generation === undefined) break
    generations.push(generation)
  }
  return generations
}

/** Each can have a snapshot of its own to read. */
const MOST_GENERATIONS = 500

type Moment = LastChanges['moments'][number]

async function momentsOf(source: SourceId, generations: readonly Generation[], store: Store): Promise<Moment[]> {
  const heldIn = ({ sources }: Generation): string | undefined =>
    sources.find((held) => held.source === source)?.snapshot
  const [first, ...earlier] = generations
  const current = first && (await readHeld(heldIn(first), store))
  if (first === undefined || current === undefined) return []
  const moments: Moment[] = []
  // The oldest generation so far of those with equal content of the source.
  let since: Since = { generation: first, held: current }
  const paths = [...current.digests.keys()]
  const end = (paths: readonly string[] = [], change: Change): void => {
    if (paths.length > 0) moments.push({ ...momentIn(since, change), paths })
  }
  for (const generation of earlier) {
    const digest = heldIn(generation)
    const held = digest === since.held.digest ? since.held : await readHeld(digest, store)
    // A snapshot that cannot be read says nothing of what was before.
    if (digest !== undefined && held === undefined) break
    const { digests } = since.held
    const parts = Object.groupBy(paths, (path) => (digests.has(path) ? changeOf(path, held, since.held) : 'none'))
    for (const change of ['source-added', 'added', 'changed'] as const) end(parts[change], change)
    if (held === undefined) return moments
    since = { generation, held }
  }
  const oldest = paths.filter((path) => since.held.digests.has(path))
  end(oldest, since.generation.number === 1 ? 'source-added' : 'unknown')
  return moments
}

type Change = 'source-added' | 'added' | 'changed' | 'unknown'

/** Compares a skill with what was before. `before`: `undefined` if nothing of the source was. */
function changeOf(path: string, before: Held | undefined, after: Held): Exclude<Change, 'unknown'> | 'none' {
  if (before === undefined) return 'source-added'
  const digest = before.digests.get(path)
  if (digest === undefined) return 'added'
  return digest === after.digests.get(path) ? 'none' : 'changed'
}

interface Since {
  readonly generation: Generation
  readonly held: Held
}

/** The part of a snapshot that is compared. */
interface Held {
  readonly digest: string
  /** The digest of each skill that it serves, by path. */
  readonly digests: ReadonlyMap<string, string>
  readonly commit: ContentMoment['commit']
}

/** `undefined` if there is no snapshot, or it is damaged. */
async function readHeld(digest: string | undefined, store: Store): Promise<Held | undefined> {
  const snapshot = digest === undefined ? undefined : await store.snapshots.readWhole(digest)
  if (digest === undefined || snapshot === undefined) return undefined
  const served = snapshot.skills.flatMap(({ path, standing, digest: of }) =>
    standing === 'withheld' || of === undefined ? [] : [[path, of] as const],
  )
  return { digest, digests: new Map(served), commit: commitIn(snapshot) }
}

function commitIn(snapshot: Snapshot): ContentMoment['commit'] {
  const words = commitWords(snapshot)
  return words && { id: snapshot.revision.commit, ...words }
}

function momentIn(
  { generation: { createdAt: at, number: generation }, held: { commit } }: Since,
  change: Change,
): ContentMoment {
  // The first commit of a source that this hub had says nothing of one of its skills.
  if (change === 'source-added') return { at, generation, change: 'added', isFirst: true }
  return { at, generation, change, ...(change !== 'unknown' && commit !== undefined && { commit }) }
}

/** The rules by which the page shows the last changes of one source. */
export interface MomentRules {
  /** True if the page may show the author and the message of this commit. */
  readonly isCommitShown: (id: string) => boolean
  /** The time at which the content of a skill was approved, if it had to be. */
  readonly approvedAt: (path: string) => string | undefined
}

/** Returns the moments by `momentKeyOf`, as the page may show them, each with those before it. */
export function shownMoments(
  all: readonly LastChanges[],
  rulesOf: (source: SourceId) => MomentRules | undefined,
): ReadonlyMap<string, ContentMoment> {
  const shown = new Map<string, ContentMoment & { readonly earlier: ContentMoment[] }>()
  for (const { source, moments } of all) {
    const rules = rulesOf(source)
    if (rules === undefined) continue
    for (const { paths, commit, ...moment } of moments) {
      const isShown = commit !== undefined && rules.isCommitShown(commit.id)
      const plain: ContentMoment = isShown ? { ...moment, commit } : moment
      for (const path of paths) {
        const key = `${source}/${path}`
        const last = shown.get(key)
        if (last === undefined) shown.set(key, { ...atApproval(plain, rules.approvedAt(path)), earlier: [] })
        else if (last.earlier.length < MOST_EARLIER) last.earlier.push(plain)
      }
    }
  }
  return shown
}

const MOST_EARLIER = 20

/** Before its approval, content waits. */
function atApproval(moment: ContentMoment, approvedAt: string | undefined): ContentMoment {
  return approvedAt === undefined || approvedAt <= moment.at
    ? moment
    : { at: approvedAt, generation: moment.generation, change: 'approved' }
}
