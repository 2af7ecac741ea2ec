import { runNow } from '../../base/async/cooperative.ts'
import { configuredIn } from '../../daemon/config/config.ts'
import type { PullReport } from '../../daemon/pull/pull-report.ts'
import type { ServedCatalog } from '../../daemon/pull/served-catalog.ts'
import { contentKeyText } from '../../daemon/runtime/content-use.ts'
import type { ContentUseReader, SkillContent } from '../../daemon/runtime/content-use.ts'
import type { DaemonContext } from '../../daemon/runtime/context.ts'
import { Reaction } from '../../daemon/runtime/reaction.ts'
import type { RingStatus } from '../../daemon/status/status.ts'
import type { Registry } from '../../serve/registry.ts'
import { byPerson } from '../../sync/model/decisions/decided.ts'
import { findingDisabled } from '../../sync/model/decisions/disabled-matches.ts'
import type { Trigger } from '../../sync/model/generation.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { isAwaitingDecision, unlessSyncError } from '../../sync/model/sync-error.ts'
import { nextEligibleAt } from '../../sync/pull/rings/promotion.ts'
import type { RingCandidate, RingPromotion } from '../../sync/pull/rings/ring-contents.ts'
import { withHiddenEscaped } from '../../sync/skill/hidden-unicode.ts'
import type { RingHubConfig } from './ring-config.ts'
import { ringHoldStop, ringStatuses } from './ring-status.ts'
import type { RingStop } from './ring-status.ts'

export interface RingPromotionsParts extends Pick<DaemonContext, 'store' | 'clock' | 'log'> {
  readonly config: RingHubConfig
  readonly registry: Registry
  readonly served: ServedCatalog
  readonly report: PullReport
  /** `undefined` if no use is counted. */
  readonly usage: ContentUseReader | undefined
}

/** A request of the operator to promote now. */
export interface PromotionRequest {
  /** The sources; all if there is none. */
  readonly sources: readonly SourceId[]
  /** The ring that takes something; `undefined` for all. */
  readonly ring: string | undefined
  /** True to leave out the minimum age, and all that stops a promotion but a hold of the operator. */
  readonly isForced: boolean
  /** The person who asks. */
  readonly by?: string
}

/** Lets content pass from ring to ring when its time has come. One process of a hub does it for all. */
export class RingPromotions implements AsyncDisposable {
  readonly #parts: RingPromotionsParts
  readonly #reaction: Reaction
  /** The stops of the last look, by ring and source. */
  #stops: ReadonlyMap<string, RingStop> = new Map()

  constructor(parts: RingPromotionsParts) {
    this.#parts = parts
    const { clock, log, registry } = parts
    this.#reaction = new Reaction({
      clock,
      on: (changed) => registry.watch(changed),
      run: async () => this.#promoteDue(),
      againMs: () => this.#waitMs(),
      failures: { log, level: 'warn', event: 'promotion-failed' },
    })
  }

  /** Promotes from now on: at the time of each, and after each change of what is served. */
  start(): void {
    if (this.#parts.config.rings.length > 0) this.#reaction.start(0)
  }

  /** Promotes once, as the operator asks. */
  async promote({ sources, ring, isForced, by }: PromotionRequest): Promise<readonly RingPromotion[]> {
    const named = sources.length === 0 ? undefined : new Set(sources)
    const isMeant = (id: string): boolean => ring === undefined || ring === id
    const { store, clock } = this.#parts
    const promotions = await this.#promote(
      {
        now: clock.now(),
        sources: named,
        isAged: (id) => isForced && isMeant(id),
        stopOf: async (candidate) => {
          if (!isMeant(candidate.ring)) return 'not meant'
          const stop = isForced ? this.#holdOf(candidate) : await this.#stopOf(candidate)
          return stop?.message
        },
      },
      'command',
    )
    const decider = byPerson(by, clock.now())
    const decided = promotions.map(
      ({ source, ring: id, to }) => ({ ...decider, decision: 'promote', source, ring: id, commit: to.commit }) as const,
    )
    // They are served, whatever the disk says to this.
    await store.decisions.note(decided).catch(unlessSyncError)
    return promotions
  }

  /** The content of each ring that differs from that of the first; empty without rings. */
  get status(): readonly RingStatus[] {
    const { config, served, clock, store } = this.#parts
    const stopOf = (source: SourceId, ring: string): RingStop | undefined => this.#stops.get(keyOf({ source, ring }))
    const { known: decisions } = store.decisions
    return ringStatuses({ rings: config.rings, contents: served.rings, decisions, now: clock.now(), stopOf })
  }

  /** Resolves when the promotions that have begun are served, or have failed. */
  async settled(): Promise<void> {
    await this.#reaction.settled()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reaction[Symbol.asyncDispose]()
  }

  async #promoteDue(): Promise<void> {
    const stops = new Map<string, RingStop>()
    const stopOf = async (candidate: RingCandidate): Promise<string | undefined> => {
      const stop = await this.#stopOf(candidate)
      const key = keyOf(candidate)
      // The newest candidate of a ring comes first: it is the one that people ask about.
      if (stop !== undefined && !stops.has(key)) stops.set(key, stop)
      return stop?.message
    }
    await this.#promote({ now: this.#parts.clock.now(), stopOf, isAged: () => false }, 'schedule')
    this.#report(stops)
    this.#stops = stops
  }

  #report(stops: ReadonlyMap<string, RingStop>): void {
    for (const [key, { source, ring, message }] of stops)
      if (this.#stops.get(key)?.message !== message)
        this.#parts.log.warn('promotion-stopped', { source, ring, message })
  }

  async #promote(rules: Parameters<ServedCatalog['promote']>[0], trigger: Trigger): Promise<readonly RingPromotion[]> {
    const { served, log } = this.#parts
    const promotions = await served.promote(rules, trigger)
    for (const { source, ring, from, to } of promotions)
      log.info('ring-promoted', { source, ring, commit: to.commit, ...(from !== undefined && { from: from.commit }) })
    return promotions
  }

  /** The time to the next look. What stops a promotion may end without a change of what is served. */
  #waitMs(): number {
    const { config, served, clock } = this.#parts
    const now = clock.now()
    const times = [...served.rings.trails.values()].flatMap((trail) =>
      config.rings.flatMap((_, at) => nextEligibleAt(trail, config.rings, at, now) ?? []),
    )
    return Math.max(1, Math.min(LONGEST_MS, ...times.map((time) => time.getTime() - now.getTime())))
  }

  /** The reason why a ring must not take a snapshot now. */
  async #stopOf(candidate: RingCandidate): Promise<RingStop | undefined> {
    const { source, ring } = candidate
    const held = this.#holdOf(candidate)
    if (held !== undefined) return held
    const { config, report } = this.#parts
    const { problem } = report.recordOf(configuredIn(config, source).source)
    if (problem !== undefined && (isAwaitingDecision(problem.code) || REFUSED.has(problem.code)))
      return { source, ring, code: problem.code, message: problem.message }
    const disabled = this.#disabledIn(candidate)
    if (disabled === undefined) return this.#failuresIn(candidate)
    const message = `"${source}/${disabled.path}" is disabled, recalled or withheld by a scan`
    return { source, ring, code: 'skill-disabled', message }
  }

  #holdOf({ source, ring }: Pick<RingCandidate, 'source' | 'ring'>): RingStop | undefined {
    const hold = this.#parts.store.decisions.knownOf(source).ringHolds?.[ring]
    return hold && { source, ring, ...ringHoldStop(hold) }
  }

  /** Without counts of use, no failures are known. */
  async #failuresIn(candidate: RingCandidate): Promise<RingStop | undefined> {
    const { source, ring } = candidate
    const { config, usage } = this.#parts
    const rule = config.rings.find(({ id }) => id === ring)
    if (usage === undefined || rule === undefined) return undefined
    const failing = await failingSkillsIn(candidate, usage, rule.mostFailures)
    if (failing.length === 0) return undefined
    return { source, ring, code: 'ring-failures', message: failingText(failing) }
  }

  /** The first skill out of service that the ring would get, or get with other content. */
  #disabledIn({ snapshot, from }: RingCandidate): Skill | undefined {
    const matches = runNow(findingDisabled(snapshot, this.#parts.store.decisions.outOfService))
    return snapshot.skills.find((skill) => matches.has(skill.path) && !isSameIn(from, skill))
  }
}

function isSameIn(snapshot: Snapshot | undefined, { path, digest }: Skill): boolean {
  return snapshot?.skills.some((skill) => skill.path === path && skill.digest === digest) === true
}

function keyOf({ source, ring }: Pick<RingCandidate, 'source' | 'ring'>): string {
  return `${ring} ${source}`
}

/** A clock of the wall that is set meanwhile is noticed after this time. */
const LONGEST_MS = 600_000

const REFUSED: ReadonlySet<string> = new Set(['content-refused', 'root-not-found'])

/** A skill that fails more often with its new content. */
interface FailingSkill {
  /** `<source>/<path>`. */
  readonly skill: string
  /** The figures of the content that the ring would get, and of the content that it has; `undefined` without uses. */
  readonly after: UseFigures
  readonly before: UseFigures | undefined
}

/**
 * Finds the skills that a ring would get, or get with other content, whose failures have risen. Figures are of the content,
 * so they are those of the rings that have it, from the time at which they got it. `mostFailures`: the rise that is allowed.
 * Throws `store-failed` if the figures cannot be read.
 */
async function failingSkillsIn(
  { source, snapshot, from }: RingCandidate,
  usage: ContentUseReader,
  mostFailures: number,
): Promise<readonly FailingSkill[]> {
  const before = new Map(from?.skills.map((skill) => [skill.path, skill]))
  const pairs = snapshot.skills
    .filter(({ path, digest }) => digest !== undefined && before.get(path)?.digest !== digest)
    .map((skill) => ({ after: contentOf(source, skill), before: contentOf(source, before.get(skill.path)) }))
  if (pairs.length === 0) return []
  const wanted = pairs.flatMap((pair) => [pair.after, pair.before]).filter((one) => one !== undefined)
  const found = new Map((await usage.contentUses(wanted)).map((use) => [contentKeyText(use), use]))
  const figuresOf = (one: SkillContent | undefined): UseFigures | undefined => one && found.get(contentKeyText(one))
  return pairs.flatMap((pair) => {
    const [after, known] = [figuresOf(pair.after), figuresOf(pair.before)]
    if (pair.after === undefined || after === undefined || !isFailureRise(known, after, mostFailures)) return []
    return [{ skill: pair.after.skill, after, before: known }]
  })
}

/** Names the first skills, with their figures, in the order of their paths. */
function failingText(failing: readonly FailingSkill[]): string {
  const some = failing.slice(0, MOST_NAMED).map(textOf)
  const more = failing.length > MOST_NAMED ? [`${failing.length - MOST_NAMED} more`] : []
  return `failures have risen: ${[...some, ...more].join('; ')}`
}

const MOST_NAMED = 3

function textOf({ skill, after, before }: FailingSkill): string {
  const earlier = before === undefined ? 'no use of the content before' : `before ${figuresText(before)}`
  return `${JSON.stringify(skill)} failed ${figuresText(after)}, ${earlier}`
}

function figuresText({ uses, failures }: UseFigures): string {
  return `${failures} of ${uses} times`
}

function contentOf(source: string, skill: Skill | undefined): SkillContent | undefined {
  if (skill?.digest === undefined) return undefined
  return { skill: `${source}/${withHiddenEscaped(skill.path)}`, content: skill.digest }
}

/** The uses of one content of a skill, and those of them that failed. */
export interface UseFigures {
  readonly uses: number
  readonly failures: number
}

/** The least failures that count: a client that fails once or twice stops nothing, and hides nothing. */
const LEAST_FAILURES = 3

/**
 * True if the new content of a skill fails clearly more often than the content that the ring serves: `LEAST_FAILURES` times
 * or more, and with a share of its uses that is greater than before by more than `most`. Fewer failures than that are a
 * share of 0, and so is content without uses.
 */
export function isFailureRise(before: UseFigures | undefined, after: UseFigures | undefined, most: number): boolean {
  if (after === undefined || after.failures < LEAST_FAILURES) return false
  return shareOf(after) - shareOf(before) > most
}

function shareOf(figures: UseFigures | undefined): number {
  return figures === undefined || figures.failures < LEAST_FAILURES ? 0 : figures.failures / figures.uses
}
