import type { SourceDecision } from '../../sync/model/decisions/decisions.ts'
import { isObjectId, type ObjectId, type Revision } from '../../sync/model/revision.ts'
import type { ServedSource } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Source } from '../../sync/model/source.ts'
import type { Store } from '../../sync/store/store.ts'
import { OperatorError } from '../runtime/operator-error.ts'

/** The target of a rollback: a whole generation, or one source at a commit. */
export type RollbackTarget =
  | { readonly kind: 'generation'; readonly number: number }
  | { readonly kind: 'commit'; readonly source: SourceId; readonly commit: string }

/** The content of each source in a generation, for the sources whose content differs now. */
export async function heldInGeneration(
  store: Store,
  number: number,
  currentOf: (id: SourceId) => ServedSource | undefined,
  sources: readonly Source[],
): Promise<ReadonlyMap<SourceId, ServedSource>> {
  const generation = await store.generations.read(number)
  if (generation === undefined)
    throw await unknownGeneration(store, number, await wayBackTo(number, store, currentOf, sources))
  const back = new Map<SourceId, ServedSource>()
  for (const { id } of sources) {
    const held = generation.sources.find(({ source }) => source === id)
    if (held === undefined || held.snapshot === currentOf(id)?.held.snapshot) continue
    back.set(id, { held, snapshot: await store.snapshots.read(held.snapshot) })
  }
  return back
}

/** The way back to a generation whose contents are gone: what the record knows of it. A folder and a server keep no commits. */
async function wayBackTo(
  number: number,
  store: Store,
  currentOf: (id: SourceId) => ServedSource | undefined,
  sources: readonly Source[],
): Promise<string> {
  const then = await store.generations.recordedSources(number)
  const commands: string[] = []
  for (const { id, kind } of sources) {
    const commit = then?.get(id)?.revision.commit
    if (commit === undefined || commit === currentOf(id)?.snapshot.revision.commit) continue
    const isThere = (kind !== 'directory' && kind !== 'mcp') || (await heldAtCommit(store, id, commit)) !== undefined
    if (isThere) commands.push(`skillsyncd rollback ${id} ${commit}`)
  }
  if (commands.length === 0) return 'skillsyncd log names the generations that are kept, and the commits of all'
  return `Each source at its commit of then: ${commands.slice(0, MOST_COMMANDS).join('; ')}`
}

const MOST_COMMANDS = 10

/** The error for a generation whose contents are not in the store. `fix`: the way to what the record knows of it. */
export async function unknownGeneration(store: Store | undefined, number: number, fix: string): Promise<OperatorError> {
  const numbers = ((await store?.generations.numbers()) ?? []).filter((one) => one !== number)
  const kept = numbers.length === 0 ? 'none is kept' : `kept are ${numbers.join(', ')}`
  const record = await store?.generations.records.read(number)
  if (record === undefined) return new OperatorError('unknown-generation', `There is no generation ${number}; ${kept}`)
  const message = `The contents of generation ${number} of ${record.createdAt} are gone; ${kept}`
  return new OperatorError('unknown-generation', message, { fix })
}

/** The newest stored content of a source at a commit, which may be abbreviated. */
export async function heldAtCommit(store: Store, source: SourceId, commit: string): Promise<ServedSource | undefined> {
  const found = new Map<ObjectId, ServedSource>()
  for (const number of await store.generations.numbers()) {
    const held = (await store.generations.read(number))?.sources.find((candidate) => candidate.source === source)
    const snapshot = held && (await store.snapshots.readWhole(held.snapshot))
    if (held === undefined || snapshot === undefined || !snapshot.revision.commit.startsWith(commit)) continue
    if (!found.has(snapshot.revision.commit)) found.set(snapshot.revision.commit, { held, snapshot })
  }
  if (found.size > 1)
    throw new OperatorError('ambiguous-commit', `"${commit}" can mean ${[...found.keys()].join(' or ')}`)
  return [...found.values()][0]
}

/** A commit that the store does not have is fetched by its full id. */
export function fullCommit(source: SourceId, commit: string): ObjectId {
  if (isObjectId(commit)) return commit
  throw new OperatorError(
    'unknown-commit',
    `The store has no commit of "${source}" that begins with "${commit}"; a full id is fetched, skillsyncd log shows what is kept`,
  )
}

/** The effect of a rollback on one source. */
export interface RolledBack {
  readonly source: SourceId
  readonly from: Revision | undefined
  readonly to: Revision
  /** The decision from now on. */
  readonly decision: SourceDecision
}
