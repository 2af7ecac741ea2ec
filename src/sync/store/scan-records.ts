import { readFile } from 'node:fs/promises'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import { canonicalJson, isTime } from '../../base/canonical-json.ts'
import { isObject } from '../../base/json-object.ts'
import { parseJson } from '../../base/json-value.ts'
import type { SourceId } from '../model/source-id.ts'
import { isDiskError } from './files/disk-error.ts'
import type { StateFolder } from './files/state-folder.ts'

/** The levels of findings, the worst first (SARIF 2.1.0, 3.27.10). */
export const SARIF_LEVELS = ['error', 'warning', 'note', 'none'] as const
export type SarifLevel = (typeof SARIF_LEVELS)[number]

/** A finding of a scanner. All texts are foreign, and short. */
export interface ScanFinding {
  /** The name of the scanner. */
  readonly tool: string
  readonly rule: string
  readonly level: SarifLevel
  readonly message: string
  /** The path in the scanned folder; a place outside of it as the scanner names it; absent if it names none. */
  readonly file?: string
  /** From 1. */
  readonly line?: number
}

/** The scan of one content. The verdict on it follows from the levels of the configuration, and is not stored. */
export interface SkillScan {
  /**
   * The identity of the scanner with its options and its rules: SHA-256, 64 hex digits. Absent if the version of the
   * rules is unknown: the scan is shown, and never used in place of another one.
   */
  readonly by?: string
  /** ISO 8601, UTC. */
  readonly at: string
  /** The number of findings of each level. */
  readonly counts: Readonly<Record<SarifLevel, number>>
  /** The first of the findings, the worst first. */
  readonly findings: readonly ScanFinding[]
}

/** A commit that the scanner kept out of service, with the contents in it that were new. */
export interface JudgedCommit {
  readonly commit: string
  readonly verdict: 'hold' | 'refuse'
  /** The keys of the scanned contents by their paths in the source. */
  readonly contents: ReadonlyMap<string, string>
}

/** The scans of a source. */
export interface SourceScans {
  /** By `scanKeyOf` the content. */
  readonly scans: ReadonlyMap<string, SkillScan>
  /** The commit that was kept out at last. It counts as long as it is not served. */
  readonly judged?: JudgedCommit
}

/** The most findings that are kept of one content. */
export const MOST_FINDINGS = 10

/** The most findings that are kept of one source: some 400 bytes each. The counts of the rest stay. */
const MOST_FINDINGS_OF_SOURCE = 5_000

export const NO_SCANS: SourceScans = { scans: new Map() }

/** The key of a content among the scans of its source. */
export function scanKeyOf(kind: 'skill' | 'docs', digest: string): string {
  return kind === 'skill' ? digest : `docs-${digest}`
}

/**
 * The scans of the sources, one file `scans/<id>.json` each, which the processes of a hub share. A file that is damaged
 * counts as none: everything is scanned again.
 */
export class ScanRecords {
  readonly #state: StateFolder
  readonly #known = new Map<SourceId, SourceScans>()
  readonly #queue = new SerialQueue()
  #version = 0

  constructor(state: StateFolder) {
    this.#state = state
  }

  /** Changes with each value of `knownOf`. */
  get version(): number {
    return this.#version
  }

  /** The scans as this process last read or wrote them. */
  knownOf(id: SourceId): SourceScans {
    return this.#known.get(id) ?? NO_SCANS
  }

  async read(id: SourceId): Promise<SourceScans> {
    const text = await readFile(this.#state.at('scans', fileNameOf(id)), 'utf8').catch((error: unknown) => {
      if (isDiskError(error)) return undefined
      throw error
    })
    return this.#hold(id, (text === undefined ? undefined : parseScans(parseJson(text))) ?? NO_SCANS)
  }

  /** Replaces the scans of a source; they are on the disk when this resolves. Returns what was written. */
  async change(id: SourceId, change: (before: SourceScans) => SourceScans): Promise<SourceScans> {
    return this.#queue.next(async () => {
      const before = await this.read(id)
      const after = bounded(change(before))
      const text = textOf(after)
      if (text === textOf(before)) return before
      await this.#state.writeShared('scans', fileNameOf(id), text)
      return this.#hold(id, after)
    })
  }

  #hold(id: SourceId, scans: SourceScans): SourceScans {
    this.#known.set(id, scans)
    this.#version += 1
    return scans
  }
}

function fileNameOf(id: SourceId): string {
  return `${id}.json`
}

/** The name of the scans of a source among the small files that the processes of a hub share. */
export function scansNameOf(id: SourceId): string {
  return `scans/${fileNameOf(id)}`
}

/** Leaves out findings beyond the bound of a source, those of the last contents first. */
function bounded({ scans, ...rest }: SourceScans): SourceScans {
  let room = MOST_FINDINGS_OF_SOURCE
  const kept = [...scans].toSorted(byKey).map(([key, scan]) => {
    const findings = scan.findings.slice(0, Math.min(room, MOST_FINDINGS))
    room -= findings.length
    return [key, { ...scan, findings }] as const
  })
  return { ...rest, scans: new Map(kept) }
}

function byKey([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}

function textOf({ scans, judged }: SourceScans): string {
  return canonicalJson({
    scans: Object.fromEntries(scans),
    ...(judged !== undefined && { judged: { ...judged, contents: [...judged.contents] } }),
  })
}

function parseScans(value: unknown): SourceScans | undefined {
  if (!isObject(value) || !isObject(value['scans'])) return undefined
  const scans = Object.entries(value['scans']).flatMap(([key, scan]) => (isScan(scan) ? [[key, scan] as const] : []))
  const judged = parseJudged(value['judged'])
  return { scans: new Map(scans), ...(judged !== undefined && { judged }) }
}

function parseJudged(value: unknown): JudgedCommit | undefined {
  if (!isObject(value) || !Array.isArray(value['contents'])) return undefined
  const { commit, verdict, contents } = value
  if (typeof commit !== 'string' || (verdict !== 'hold' && verdict !== 'refuse')) return undefined
  return { commit, verdict, contents: new Map(contents.filter(isPair)) }
}

function isPair(value: unknown): value is [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((text) => typeof text === 'string')
}

function isScan(value: unknown): value is SkillScan {
  if (!isObject(value)) return false
  const { by, at, counts, findings } = value
  if (!isTime(at) || !isObject(counts) || !Array.isArray(findings)) return false
  const areCounts = SARIF_LEVELS.every((level) => Number.isSafeInteger(counts[level]))
  return (by === undefined || typeof by === 'string') && areCounts && findings.every(isFinding)
}

function isFinding(value: unknown): value is ScanFinding {
  if (!isObject(value)) return false
  const { tool, rule, level, message, file, line } = value
  const areTexts = [tool, rule, message].every((text) => typeof text === 'string')
  const isPlace = (file === undefined || typeof file === 'string') && (line === undefined || Number.isSafeInteger(line))
  return areTexts && isPlace && SARIF_LEVELS.some((known) => known === level)
}
