import type { Docs } from '../../sync/model/docs-folder.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { scanKeyOf } from '../../sync/store/scan-records.ts'
import type { SkillScan } from '../../sync/store/scan-records.ts'
import { keptIn, storedOf } from '../../sync/store/skills/stored-path.ts'
import type { Store } from '../../sync/store/store.ts'
import type { GateScanner } from './gate-config.ts'
import { withinGateTime } from './gate.ts'
import type { Gate } from './gate.ts'
import { scanFolder } from './run-scanner.ts'
import { SCANNER_PRESETS } from './scanner-presets.ts'
import { GateUnansweredError } from './unanswered.ts'

/** A content that is served, by the key of its scan. */
export interface ServedContent {
  readonly key: string
  readonly kept: Skill | Docs
}

/** A content of which the scanner gave no answer. */
export interface FailedScan {
  readonly source: string
  /** The path of the skill in its source, or `docs`. */
  readonly path: string
  readonly message: string
}

/** The means of one run. */
export interface ScanMeans {
  readonly store: Store
  readonly gate: Gate
  readonly scanner: GateScanner
  /** The identity of the scanner; `undefined` if that is unknown. */
  readonly by: string | undefined
  /** True to scan content that this scanner has scanned before. */
  readonly isFresh: boolean
}

/** The contents of these snapshots of a source that the scanner can read, each once. */
export function scannableIn(
  snapshots: readonly Snapshot[],
  { name }: Pick<GateScanner, 'name'>,
): readonly ServedContent[] {
  const { scansDocs } = SCANNER_PRESETS[name]
  const contents = snapshots
    .flatMap((snapshot) => keptIn(snapshot))
    .filter((kept) => scansDocs || !isDocs(kept))
    .flatMap((kept) => (kept.digest === undefined ? [] : [[keyOf(kept, kept.digest), kept] as const]))
  return [...new Map(contents)].map(([key, kept]) => ({ key, kept }))
}

/**
 * Scans the served content of a source, one after another. Resolves with the scans; `onEnd` gets each content that has
 * ended. What was scanned is stored even if the signal aborts. Throws `GateUnansweredError` if the scanner fails several
 * times in a row.
 */
export async function scanServed(
  source: SourceId,
  contents: readonly ServedContent[],
  means: ScanMeans,
  onEnd: (failed: FailedScan | undefined) => void,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, SkillScan>> {
  const { store, by, isFresh } = means
  const known = (await store.scans.read(source)).scans
  const scans = new Map<string, SkillScan>()
  const added = new Map<string, SkillScan>()
  let failures = 0
  try {
    for (const { key, kept } of contents) {
      signal.throwIfAborted()
      const before = known.get(key)
      if (!isFresh && by !== undefined && before?.by === by) scans.set(key, before)
      else {
        const scan = await scanOne(kept, means, signal).catch(failureIn)
        if (scan instanceof GateUnansweredError) {
          failures += 1
          if (failures === MOST_FAILURES) throw scan
          onEnd({ source, path: isDocs(kept) ? 'docs' : kept.path, message: scan.message })
          continue
        }
        failures = 0
        scans.set(key, scan)
        added.set(key, scan)
      }
      onEnd(undefined)
    }
    return scans
  } finally {
    if (added.size > 0)
      await store.scans.change(source, (now) => ({ ...now, scans: new Map([...now.scans, ...added]) }))
  }
}

/** So many failures in a row are those of the scanner, and not of what it scans. */
const MOST_FAILURES = 5

async function scanOne(kept: Skill | Docs, { store, gate, scanner, by }: ScanMeans, signal: AbortSignal) {
  const stored = storedOf(kept)
  using _held = store.checkouts.hold([stored])
  const folder = await store.checkouts.ensure(stored)
  const scan = await withinGateTime(gate, signal, (limited) => scanFolder(folder, scanner, gate, limited))
  return { ...(by !== undefined && { by }), ...scan }
}

function failureIn(error: unknown): GateUnansweredError {
  if (error instanceof GateUnansweredError) return error
  throw error
}

function keyOf(kept: Skill | Docs, digest: string): string {
  return scanKeyOf(isDocs(kept) ? 'docs' : 'skill', digest)
}

function isDocs(kept: Skill | Docs): kept is Docs {
  return 'kind' in kept
}
