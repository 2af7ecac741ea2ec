import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isFailureRise } from '../../../src/features/rings/ring-promotions.ts'
import type { UseFigures } from '../../../src/features/rings/ring-promotions.ts'
import type { RingTrail } from '../../../src/sync/model/generation.ts'
import type { ObjectId } from '../../../src/sync/model/revision.ts'
import type { SourceId } from '../../../src/sync/model/source-id.ts'
import { promoted } from '../../../src/sync/pull/rings/promotion.ts'
import type { PromotionStep, RingRule } from '../../../src/sync/pull/rings/promotion.ts'
import { MOST_STEPS, positionIn, trailAfterUpdate } from '../../../src/sync/pull/rings/ring-trail.ts'
import { lawRuns } from '../../support/law-runs.ts'

const TEAM = 'team' as SourceId
const HOUR = 3_600_000

interface Happening {
  /** The content of the next commit: few, so that some come back. */
  readonly content: number
  readonly afterHours: number
}

const HAPPENINGS = fc.array(fc.record({ content: fc.nat(30), afterHours: fc.nat(40) }), { minLength: 1, maxLength: 60 })
const RULES = fc
  .array(fc.nat(100), { minLength: 1, maxLength: 3 })
  .map((hours): RingRule[] => [0, ...hours].map((least, at) => ({ id: `ring-${at}`, minAgeMs: least * HOUR })))
const BAD = fc.uniqueArray(fc.nat(30), { maxLength: 5 })

test('no ring goes back, takes what is too young, what is stopped, or what the ring before it has not served', async () => {
  await fc.assert(
    fc.asyncProperty(HAPPENINGS, RULES, BAD, async (happenings, rules, bad) => {
      const fleet = new Fleet(rules, new Set(bad.map(contentOf)))
      for (const happening of happenings) await fleet.happen(happening)
      expect(fleet.servedIn('ring-0')).toBe(contentOf(happenings.at(-1)?.content ?? -1))
    }),
    { numRuns: lawRuns(2_000, 0.1) },
  )
})

test('no ring takes content whose failures have risen over those of what it serves', async () => {
  const figures = fc.array(
    fc.nat(40).chain((uses) => fc.record({ uses: fc.constant(uses), failures: fc.nat(uses) })),
    { minLength: 31, maxLength: 31 },
  )
  await fc.assert(
    fc.asyncProperty(HAPPENINGS, RULES, figures, async (happenings, rules, known) => {
      const of = (content: string | undefined): UseFigures | undefined => known[Number.parseInt(content ?? '', 16)]
      const isRise = (from: string | undefined, to: string): boolean => isFailureRise(of(from), of(to), 0.05)
      const fleet = new Fleet(rules, new Set(), isRise)
      for (const happening of happenings) await fleet.happen(happening)
      expect(fleet.servedIn('ring-0')).toBe(contentOf(happenings.at(-1)?.content ?? -1))
    }),
    { numRuns: lawRuns(500, 0.1) },
  )
})

test('further uses that succeed never make a rise, and further failures never end one', () => {
  const figures = fc.nat(100).chain((uses) => fc.record({ uses: fc.constant(uses), failures: fc.nat(uses) }))
  fc.assert(
    fc.property(fc.option(figures, { nil: undefined }), figures, fc.nat(50), (before, after, more) => {
      const isRise = isFailureRise(before, after, 0.05)
      const better = isFailureRise(before, { ...after, uses: after.uses + more }, 0.05)
      const worse = { uses: after.uses + more, failures: after.failures + more }
      expect(better && !isRise).toBe(false)
      expect(isRise && !isFailureRise(before, worse, 0.05)).toBe(false)
    }),
    { numRuns: lawRuns(5_000, 0.1) },
  )
})

test('the same history has the same rings', async () => {
  await fc.assert(
    fc.asyncProperty(HAPPENINGS, RULES, async (happenings, rules) => {
      const [one, other] = [new Fleet(rules, new Set()), new Fleet(rules, new Set())]
      for (const happening of happenings) await one.happen(happening)
      for (const happening of happenings) await other.happen(happening)
      expect(one.trail).toEqual(other.trail)
    }),
    { numRuns: lawRuns(200, 0.1) },
  )
})

test('a source with a commit each hour is in every ring within thrice its age', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 200 }), async (hours) => {
      const rules = [
        { id: 'ring-0', minAgeMs: 0 },
        { id: 'ring-1', minAgeMs: hours * HOUR },
      ]
      const fleet = new Fleet(rules, new Set())
      let oldest = 0
      for (let commit = 0; commit < 4 * hours; commit += 1) {
        await fleet.happen({ content: 1_000 + commit, afterHours: 1 })
        const served = fleet.servedIn('ring-1')
        const behind = commit - (served === undefined ? 0 : Number.parseInt(served, 16) - 1_000)
        oldest = Math.max(oldest, commit > hours ? behind : 0)
      }
      expect(oldest).toBeLessThanOrEqual(3 * hours + 1)
    }),
    { numRuns: lawRuns(20, 0.25) },
  )
})

/** A source in rings, and what each of them has served. */
class Fleet {
  trail: RingTrail | undefined
  readonly #rules: readonly RingRule[]
  readonly #bad: ReadonlySet<string>
  readonly #isRise: (from: string | undefined, to: string) => boolean
  /** The content that each ring has served, each with the time from which it did. */
  readonly #served = new Map<string, Map<string, number>>()
  /** The number of the commit that each ring serves. */
  readonly #at = new Map<string, number>()
  #commits: string[] = []
  #head: { snapshot: string; commit: ObjectId; content: string } | undefined
  #nowMs = Date.UTC(2026, 0, 1)

  constructor(
    rules: readonly RingRule[],
    bad: ReadonlySet<string>,
    isRise: (from: string | undefined, to: string) => boolean = () => false,
  ) {
    this.#rules = rules
    this.#isRise = isRise
    this.#bad = bad
  }

  servedIn(ring: string): string | undefined {
    if (this.trail === undefined) return this.#head?.content
    return this.trail.steps[positionIn(this.trail, ring)]?.content
  }

  async happen({ content, afterHours }: Happening): Promise<void> {
    this.#enter(contentOf(content))
    this.#nowMs += afterHours * HOUR
    const before = new Map(this.#rules.map(({ id }) => [id, this.servedIn(id)]))
    const now = new Date(this.#nowMs)
    if (this.trail !== undefined) {
      const isStopped = ({ step, from }: PromotionStep): boolean =>
        this.#bad.has(step.content) || this.#isRise(from?.content, step.content)
      const { trail } = await promoted(this.trail, this.#rules, now, { isStopped, isAged: () => false })
      this.trail = trail
    }
    for (const [at, { id, minAgeMs }] of this.#rules.entries()) {
      const served = this.servedIn(id)
      if (at > 0 && served !== undefined && served !== before.get(id)) {
        this.#expectAllowed(at, served, minAgeMs)
        expect(this.#isRise(before.get(id), served)).toBe(false)
      }
      this.#note(id, served)
    }
    expect(this.trail?.steps.length ?? 0).toBeLessThanOrEqual(MOST_STEPS)
  }

  #enter(content: string): void {
    const at = new Date(this.#nowMs).toISOString()
    const number = this.#commits.push(content)
    const next = { snapshot: hex(number), commit: hex(number).slice(-40) as ObjectId, content }
    const order = this.#rules.map(({ id }) => id)
    const held = this.#head && { ...this.#head, at }
    this.trail = trailAfterUpdate(TEAM, { held, trail: this.trail }, { ...next, at }, order)
    this.#head = next
    for (const { id } of this.#rules) this.#note(id, this.servedIn(id))
  }

  #expectAllowed(at: number, content: string, minAgeMs: number): void {
    const ring = this.#rules[at]?.id ?? ''
    const since = this.#served.get(this.#rules[at - 1]?.id ?? '')?.get(content)
    expect(this.#bad.has(content)).toBe(false)
    expect(since).toBeDefined()
    expect(this.#nowMs - (since ?? Infinity)).toBeGreaterThanOrEqual(minAgeMs)
    expect(this.#commits.lastIndexOf(content)).toBeGreaterThanOrEqual(this.#at.get(ring) ?? -1)
  }

  #note(ring: string, content: string | undefined): void {
    if (content === undefined) return
    const served = this.#served.get(ring) ?? new Map<string, number>()
    this.#served.set(ring, served)
    if (!served.has(content)) served.set(content, this.#nowMs)
    this.#at.set(ring, this.#commits.indexOf(content))
  }
}

function contentOf(number: number): string {
  return hex(number)
}

function hex(number: number): string {
  return number.toString(16).padStart(64, '0')
}
