import { ignoreAbort } from '../../base/async/abort-error.ts'
import type { TraceContext } from '../../base/trace-context.ts'
import type { NotNow, ReadContent, StoredLocation, UnreadContent } from '../../serve/content.ts'
import type { Registry } from '../../serve/registry.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { SkillFile, UpstreamSkill } from '../../sync/model/skill.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { Damaged, SyncError } from '../../sync/model/sync-error.ts'
import { storedOf } from '../../sync/store/skills/stored-path.ts'
import type { DaemonContext } from '../runtime/context.ts'

export interface StoreContentReaderParts extends Pick<DaemonContext, 'store' | 'log'> {
  readonly registry: Registry
  readonly puller: {
    /** Marks a stored file of the source as damaged. Returns true if that was not known yet. */
    markDamaged(source: SourceId): boolean
    /** Pulls the source, because the client that requested the file found the damage. */
    request(source: SourceId, trigger: 'call'): Promise<unknown>
  }
  /** Repairs what only a later ring serves. Calls back for each source that it begins with. */
  readonly repairRings: (isDamaged: (snapshot: Snapshot) => boolean, onBegin: (source: SourceId) => void) => void
  /** Reads the files of skills of other MCP servers. */
  readonly readUpstream: (skill: UpstreamSkill, file: SkillFile, trace?: TraceContext) => ReturnType<ReadContent>
}

/** Reads the files of the store for clients. */
export class StoreContentReader {
  readonly #parts: StoreContentReaderParts

  constructor(parts: StoreContentReaderParts) {
    this.#parts = parts
  }

  /** Reads and verifies the bytes. A damaged file is fetched again. */
  async read(kept: StoredLocation, file: SkillFile, trace?: TraceContext): Promise<Uint8Array | UnreadContent> {
    if (isOfUpstream(kept)) return this.#parts.readUpstream(kept, file, trace)
    try {
      return await readStored(kept, file, this.#parts)
    } catch (error) {
      if (!(error instanceof Damaged)) throw error
      this.#mend(kept, error)
      return undefined
    }
  }

  /** A stored file is damaged: its sources are pulled as if nothing were known of them. */
  #mend(kept: StoredLocation, error: SyncError): void {
    const what = 'kind' in kept ? {} : { skill: kept.path }
    const { registry, puller, repairRings, log } = this.#parts
    const report = (source: SourceId): void => log.warn('content-damaged', { source, ...what, message: error.message })
    repairRings((snapshot) => holds(snapshot, kept), report)
    for (const snapshot of registry.catalog.snapshots) {
      const { source } = snapshot
      if (!holds(snapshot, kept) || !puller.markDamaged(source)) continue
      report(source)
      // The client is not kept waiting; the outcome is reported like any other.
      void puller.request(source, 'call').catch(ignoreAbort)
    }
  }
}

/** Reads and verifies the bytes. Throws `Damaged`; a temporary disk error is logged. */
export async function readStored(
  kept: StoredLocation,
  file: SkillFile,
  { store, log }: Pick<DaemonContext, 'store' | 'log'>,
): Promise<Uint8Array | NotNow> {
  try {
    const bytes = await store.skills.read(storedOf(kept), file)
    log.recovery('content-not-read', '')
    return bytes
  } catch (error) {
    if (!(error instanceof SyncError) || error instanceof Damaged) throw error
    log.failure('warn', 'content-not-read', { source: '', code: error.code, message: error.message })
    return 'not-now'
  }
}

function holds({ skills, docs }: Snapshot, kept: StoredLocation): boolean {
  return ('kind' in kept ? [docs] : skills).some((found) => found?.digest === kept.digest)
}
