import { SerialQueue } from '../../base/async/serial-queue.ts'
import type { DaemonCore } from '../../daemon/runtime/context.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { Reaction } from '../../daemon/runtime/reaction.ts'
import type { MassFinding, ScanProgress, ScansStatus } from '../../daemon/status/status.ts'
import type { ScannedContent } from '../../sync/model/decisions/disabled-entries.ts'
import type { ServedSource, Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { SkillScan } from '../../sync/store/scan-records.ts'
import type { GateConfig, GatedConfig, GateScanner } from './gate-config.ts'
import { withinGateTime } from './gate.ts'
import type { Gate } from './gate.ts'
import { isMassFinding, judgeScans, skillsOut } from './scan-judgement.ts'
import type { ScanJudgement } from './scan-judgement.ts'
import { countsIn, scannedPlaceText } from './scan-run.ts'
import type { RefusedSkill, ScanEnd, ScanRequest } from './scan-run.ts'
import { ScanSchedule } from './scan-schedule.ts'
import { scannableIn, scanServed } from './scan-served.ts'
import type { FailedScan, ScanMeans, ServedContent } from './scan-served.ts'
import { scannerIdentity } from './scanner-identity.ts'
import { GateUnansweredError } from './unanswered.ts'

export interface ScansParts extends DaemonCore<GatedConfig> {
  readonly served: {
    readonly current: readonly ServedSource[]
    readonly currentInRings: readonly ServedSource[]
    /** Serves the newest generation by the present decisions. */
    serveInSlices(): Promise<void>
  }
}

/** Scans what is served by the scanner of the gate: when its rules change, at set times, and when it is requested. */
export class Scans implements AsyncDisposable {
  readonly #parts: ScansParts
  readonly #queue = new SerialQueue()
  readonly #schedule: ScanSchedule | undefined
  readonly #polling: Reaction
  #isPolling = false
  #running: ScanProgress | undefined
  #last: ScansStatus['last']
  #waiting: MassFinding | undefined
  #error: string | undefined

  constructor(parts: ScansParts) {
    this.#parts = parts
    const { clock, config } = parts
    const run = async (signal: AbortSignal): Promise<void> => this.#poll(signal)
    this.#polling = new Reaction({ clock, run, againMs: () => this.#schedule?.waitMs })
    const scanner = scannerIn(config)
    if (scanner?.scanner.rescan === undefined) return
    const contents = (): readonly (SkillScan | undefined)[] => this.#servedScans(scanner.scanner)
    this.#schedule = new ScanSchedule(scanner.scanner.rescan.schedule, { clock, contents })
  }

  /** `undefined` if the gate is not a scanner. */
  get status(): ScansStatus | undefined {
    const scanner = scannerIn(this.#parts.config)?.scanner
    if (scanner === undefined) return undefined
    const next = this.#isPolling ? this.#schedule?.next : undefined
    return {
      scanner: scanner.name,
      ...(this.#running !== undefined && { running: this.#running }),
      ...(this.#last !== undefined && { last: this.#last }),
      ...(this.#error !== undefined && { error: this.#error }),
      ...(this.#waiting !== undefined && { waiting: this.#waiting }),
      ...(next !== undefined && { next: next.toISOString() }),
    }
  }

  /** Begins to scan when the rules change, and at the set times, if the configuration wants that. */
  start(): void {
    this.#isPolling = true
    this.#polling.start(this.#schedule?.waitMs)
  }

  /**
   * Scans what is served of these sources, after the runs that were requested before. Throws `bad-request` if the gate is
   * no scanner, and `scan-failed` if it gives no answer.
   */
  async scan(
    request: ScanRequest,
    onProgress: (progress: ScanProgress) => void,
    signal: AbortSignal,
  ): Promise<ScanEnd> {
    const limited = AbortSignal.any([signal, this.#polling.signal])
    return this.#queue.next(async () => {
      limited.throwIfAborted()
      return this.#scan(request, onProgress, limited).finally(() => (this.#running = undefined))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#polling[Symbol.asyncDispose]()
    await this.#queue.idle()
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { config, log, replica } = this.#parts
    const sources = config.sources.map(({ source }) => source.id)
    try {
      const isFresh = await this.#schedule?.check(async () => this.#identity(signal))
      if (isFresh === undefined || replica?.isLeading === false) return
      await this.scan({ sources, isFresh, withholdsAll: false }, () => {}, signal)
      this.#schedule?.ended()
      log.recovery('scan-failed', '')
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof SyncError || error instanceof OperatorError || error instanceof GateUnansweredError))
        throw error
      this.#error = error.message
      log.failure('warn', 'scan-failed', { source: '', code: 'scan-failed', message: error.message })
    }
  }

  async #identity(signal: AbortSignal): Promise<string | undefined> {
    const { scanner, gate } = this.#gate()
    return withinGateTime(gate, signal, async (limited) => scannerIdentity(scanner, gate, limited))
  }

  async #scan(
    { sources, isFresh, withholdsAll }: ScanRequest,
    onProgress: (progress: ScanProgress) => void,
    signal: AbortSignal,
  ): Promise<ScanEnd> {
    const { store, clock } = this.#parts
    const { scanner, gate } = this.#gate()
    const wanted = new Set(sources)
    const contents = [...this.#contents(scanner)].filter(([source]) => wanted.has(source))
    const of = contents.reduce((sum, [, { length }]) => sum + length, 0)
    let done = 0
    const failed: FailedScan[] = []
    const onEnd = (failure: FailedScan | undefined): void => {
      done += 1
      if (failure !== undefined) failed.push(failure)
      this.#running = { done, of }
      onProgress(this.#running)
    }
    this.#running = { done, of }
    onProgress(this.#running)
    const scans = new Map<SourceId, ReadonlyMap<string, SkillScan>>()
    try {
      const by = await this.#identity(signal)
      const means: ScanMeans = { store, gate, scanner, by, isFresh }
      for (const [source, ofSource] of contents)
        scans.set(source, await scanServed(source, ofSource, means, onEnd, signal))
    } catch (error) {
      if (!(error instanceof GateUnansweredError) || signal.aborted) throw error
      const message = gate.redactor.clean(`Cannot scan what is served: the scanner gave no answer: ${error.message}`)
      throw new OperatorError('scan-failed', message, { cause: error })
    }
    // What is served may have changed meanwhile. What came since was scanned by the gate.
    const judgement = judgeScans(this.#snapshots, scans, store.decisions.outOfService, scanner)
    const end = await this.#apply(judgement, scanner, withholdsAll)
    const at = clock.now().toISOString()
    const scanned = [...scans.values()].reduce((sum, { size }) => sum + size, 0)
    const counts = countsIn(scans)
    this.#last = { at, scanned, counts, failed: failed.length, refused: end.refused.length }
    this.#error = undefined
    for (const { source, path: skill, message } of failed.slice(0, MOST_LOGGED))
      this.#parts.log.warn('scan-unanswered', { source, skill, message: gate.redactor.clean(message) })
    this.#parts.log.info('scan-ended', { scanned, failed: failed.length, refused: end.refused.length, ...counts })
    return { at, scanned, counts, failed, ...end }
  }

  /** Takes refused skills out of service, and cleared ones back, as the configuration wants it. */
  async #apply(
    judgement: ScanJudgement,
    { rescan }: GateScanner,
    withholdsAll: boolean,
  ): Promise<Pick<ScanEnd, 'refused' | 'cleared' | 'waiting'>> {
    const { store, served, log, clock } = this.#parts
    const { refused, accepted, cleared, all } = judgement
    const mostPercent = rescan?.mostWithheld ?? MOST_PERCENT
    const wants = withholdsAll || rescan?.onFinding === 'withhold'
    const isWaiting = wants && !withholdsAll && isMassFinding(judgement, mostPercent)
    const withholds = wants && !isWaiting ? refused : []
    const at = clock.now().toISOString()
    if (await store.decisions.disableByScan({ withheld: withholds, cleared, at })) await served.serveInSlices()
    for (const { source, path: skill } of withholds.slice(0, MOST_LOGGED)) log.warn('scan-withheld', { source, skill })
    for (const { source, path: skill } of cleared.slice(0, MOST_LOGGED)) log.info('scan-cleared', { source, skill })
    this.#waiting = isWaiting ? { skills: skillsOut(judgement), of: all, mostPercent } : undefined
    if (this.#waiting !== undefined) log.warn('scan-waiting', { ...this.#waiting })
    else if (withholds.length === 0)
      for (const { source, path: skill } of refused.slice(0, MOST_LOGGED)) log.warn('scan-refused', { source, skill })
    const told = (skills: readonly ScannedContent[], is: RefusedSkill['is']): RefusedSkill[] =>
      skills.map((skill) => ({ skill: scannedPlaceText(skill), is }))
    return {
      refused: [...told(refused, withholds.length > 0 ? 'withheld' : 'served'), ...told(accepted, 'accepted')],
      cleared: cleared.map(scannedPlaceText),
      ...(this.#waiting !== undefined && { waiting: this.#waiting }),
    }
  }

  #gate(): { readonly scanner: GateScanner; readonly gate: Gate } {
    const { config, environment, redactor, clock } = this.#parts
    const found = scannerIn(config)
    if (found === undefined)
      throw new OperatorError('bad-request', 'Cannot scan: the configuration names no scanner; set gate.scanner')
    return { scanner: found.scanner, gate: { config: found.gate, environment, redactor, clock, isBackground: true } }
  }

  #servedScans(scanner: GateScanner): readonly (SkillScan | undefined)[] {
    const { store } = this.#parts
    return [...this.#contents(scanner)].flatMap(([source, contents]) => {
      const { scans } = store.scans.knownOf(source)
      return contents.map(({ key }) => scans.get(key))
    })
  }

  /** The snapshots that any ring serves. */
  get #snapshots(): readonly Snapshot[] {
    const { current, currentInRings } = this.#parts.served
    return [...current, ...currentInRings].map(({ snapshot }) => snapshot)
  }

  #contents(scanner: GateScanner): ReadonlyMap<SourceId, readonly ServedContent[]> {
    const bySource = Map.groupBy(this.#snapshots, ({ source }) => source)
    return new Map([...bySource].map(([source, snapshots]) => [source, scannableIn(snapshots, scanner)]))
  }
}

const MOST_LOGGED = 100
/** The share that counts for a request if the configuration has none. */
const MOST_PERCENT = 10

function scannerIn({ gate }: GatedConfig): { readonly gate: GateConfig; readonly scanner: GateScanner } | undefined {
  return gate?.asked.kind === 'scanner' ? { gate, scanner: gate.asked } : undefined
}
