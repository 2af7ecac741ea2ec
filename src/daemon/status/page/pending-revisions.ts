import { resultWithin } from '../../../base/async/wait-at-most.ts'
import { matcher } from '../../../base/globs.ts'
import { commitWords } from '../../../serve/page/format.ts'
import type { PendingChange, PendingContent, PendingRevision } from '../../../serve/page/page-data.ts'
import type { PluginSkill } from '../../../sync/model/changes/plugin-changes.ts'
import { withoutTexts } from '../../../sync/model/changes/skill-review.ts'
import { disabledIn, withoutDisabledDocs } from '../../../sync/model/decisions/disabled-matches.ts'
import type { OutOfService } from '../../../sync/model/decisions/out-of-service.ts'
import type { ObjectId, Revision } from '../../../sync/model/revision.ts'
import type { ServedSource, Snapshot } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { ConfiguredSource } from '../../config/config.ts'
import type { DaemonContext } from '../../runtime/context.ts'
import type { PendingSides } from '../changes/comparison.ts'
import { isBelowGlobs } from './page-diagnostics.ts'

export interface PendingParts extends Pick<DaemonContext, 'store' | 'clock'> {
  /** The revision of a source that waits for approval. */
  readonly undecided: (id: SourceId) => Revision | undefined
  readonly servedOf: (id: SourceId) => ServedSource | undefined
  /** Fetches one commit into the store. It is not served. */
  readonly take: (id: SourceId, commit: ObjectId, signal: AbortSignal) => Promise<ServedSource>
  /** Compares two stored snapshots in a thread; `undefined` if that fails or takes too long. */
  readonly compare: (sides: PendingSides) => Promise<PendingChange | undefined>
  /** Removes secrets and paths of this machine. */
  readonly clean: (text: string) => string
}

/** The inputs of one answer. The answer is reused as long as they are the same. */
interface Inputs {
  readonly revision: Revision
  /** The digest of the served snapshot. */
  readonly served: string | undefined
  readonly outOfService: OutOfService
  readonly withText: boolean
}

interface Answer {
  readonly inputs: Inputs
  readonly content: Promise<PendingContent | { readonly error: string }>
  /** Its result: the content, or the time of the failure on the monotonic clock. `undefined` while it runs. */
  end?: 'content' | { readonly failedAtMs: number }
}

/**
 * The revisions that wait for approval, each compared with what is served. Most are held before anything of them is
 * fetched, so the first request for a revision fetches it, and all others share the answer.
 */
export class PendingRevisions implements AsyncDisposable {
  readonly #parts: PendingParts
  /** The last answer for each source: all that run or failed, and the last few with content. */
  readonly #answers = new Map<SourceId, Answer>()
  /** Each until its answer has ended. */
  readonly #running = new Set<Promise<void>>()
  readonly #end = new AbortController()

  constructor(parts: PendingParts) {
    this.#parts = parts
  }

  /** `withText`: true if readers may see the lines of skills that changed. */
  async of(configured: ConfiguredSource, withText: boolean): Promise<PendingRevision | undefined> {
    const { source } = configured
    const revision = this.#parts.undecided(source.id)
    if (revision === undefined) return undefined
    const { clock, store } = this.#parts
    const inputs: Inputs = {
      revision,
      served: this.#parts.servedOf(source.id)?.held.snapshot,
      outOfService: store.decisions.outOfService,
      withText,
    }
    const answer = this.#knownFor(source.id, inputs) ?? this.#begin(configured, inputs)
    const content = (await resultWithin(PATIENCE_MS, answer.content, clock)) ?? 'fetching'
    return { source: source.id, id: revision.tag ?? revision.commit, ref: revision.ref, content }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort()
    await Promise.all(this.#running)
  }

  /** A failure is the answer until it may be tried again. */
  #knownFor(id: SourceId, inputs: Inputs): Answer | undefined {
    const known = this.#answers.get(id)
    if (known === undefined || !isSame(known.inputs, inputs)) return undefined
    const failedAtMs = typeof known.end === 'object' ? known.end.failedAtMs : Number.POSITIVE_INFINITY
    return this.#parts.clock.monotonicMs() - failedAtMs >= RETRY_MS ? undefined : known
  }

  #begin(configured: ConfiguredSource, inputs: Inputs): Answer {
    const { id } = configured.source
    this.#answers.delete(id)
    const answer: Answer = { inputs, content: this.#contentOf(configured, inputs) }
    this.#answers.set(id, answer)
    const end = this.#noteEnd(id, answer)
    this.#running.add(end)
    // It does not reject.
    void end.finally(() => this.#running.delete(end))
    return answer
  }

  /** A bug in the program ends the request that met it, and is not kept for others. */
  async #noteEnd(id: SourceId, answer: Answer): Promise<void> {
    try {
      const isFailed = 'error' in (await answer.content)
      answer.end = isFailed ? { failedAtMs: this.#parts.clock.monotonicMs() } : 'content'
      this.#forgetOldest()
    } catch {
      if (this.#answers.get(id) === answer) this.#answers.delete(id)
    }
  }

  #forgetOldest(): void {
    const full = [...this.#answers].filter(([, { end }]) => end === 'content')
    for (const [id] of full.slice(0, Math.max(full.length - MOST_CONTENTS, 0))) this.#answers.delete(id)
  }

  async #contentOf(
    { source }: ConfiguredSource,
    { revision, outOfService, withText }: Inputs,
  ): Promise<PendingContent | { readonly error: string }> {
    const { take, servedOf, compare, clean } = this.#parts
    try {
      const { held, snapshot } = await take(source.id, revision.commit, this.#end.signal)
      const served = servedOf(source.id)
      const change = await compare({ source: source.id, withText, from: served?.held.snapshot, to: held.snapshot })
      if (change === undefined) return { error: 'It takes too long to compare it with what is served.' }
      const isUnlisted = isBelowGlobs(matcher(source.unlisted))
      const snapshots = [snapshot, ...(served === undefined ? [] : [served.snapshot])]
      const isDisabled = disabledAt(snapshots, outOfService)
      const { docs } = change
      const areDocsShown = source.unlisted.length === 0 && snapshots.every((one) => isWholeOf(one, outOfService))
      return {
        change: {
          ...withoutUnlisted(change, isUnlisted, isDisabled),
          docs: docs === undefined || areDocsShown ? docs : { ...docs, notes: [], files: [] },
        },
        isWithoutText: !withText,
        // The candidate was fetched by its commit id alone.
        words: withText
          ? commitWords({ ...snapshot, revision: { ...snapshot.revision, ref: revision.ref } })
          : undefined,
      }
    } catch (error) {
      if (error instanceof SyncError) return { error: clean(error.message) }
      throw error
    }
  }
}

/** A reader waits this long; the fetch goes on. */
const PATIENCE_MS = 8_000
/** A failed fetch is not repeated earlier, however many readers ask. */
const RETRY_MS = 60_000
/** Each can be some megabytes long. */
const MOST_CONTENTS = 8

function isSame(a: Inputs, b: Inputs): boolean {
  const isSameRevision = a.revision.commit === b.revision.commit && a.revision.tag === b.revision.tag
  return (
    isSameRevision &&
    a.revision.ref === b.revision.ref &&
    a.served === b.served &&
    a.outOfService === b.outOfService &&
    a.withText === b.withText
  )
}

function disabledAt(snapshots: readonly Snapshot[], outOfService: OutOfService): (path: string) => boolean {
  const matches = snapshots.map((snapshot) => disabledIn(snapshot, outOfService))
  return (path) => matches.some((match) => match.has(path))
}

/** True if nothing of the snapshot is disabled: a docs folder can hold skills, and copies of them. */
function isWholeOf(snapshot: Snapshot, outOfService: OutOfService): boolean {
  return disabledIn(snapshot, outOfService).size === 0 && withoutDisabledDocs(snapshot, outOfService) === snapshot
}

/** Names no unlisted skill, and shows no text of a disabled one. */
function withoutUnlisted(
  change: PendingChange,
  isUnlisted: (path: string) => boolean,
  isDisabled: (path: string) => boolean,
): PendingChange {
  const named = change.skills.filter(({ path }) => !isUnlisted(path))
  const isListed = (skill: PluginSkill): boolean => skill.isUnlisted !== true && !isUnlisted(skill.path)
  return {
    ...change,
    skills: named.map((skill) => (isDisabled(skill.path) ? withoutTexts(skill) : skill)),
    plugins: change.plugins.flatMap((plugin) => {
      const [gains, loses] = [plugin.gains.filter(isListed), plugin.loses.filter(isListed)]
      return plugin.change === 'changed' && gains.length + loses.length === 0 ? [] : [{ ...plugin, gains, loses }]
    }),
    unnamed: change.unnamed + change.skills.length - named.length,
  }
}
