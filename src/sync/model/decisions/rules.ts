import { z } from 'zod'
import { DECIDED_AT, DECIDED_COMMIT, DECIDED_SOURCE, DECIDER } from './decided.ts'
import { recallIdOf, SHA256_HEX } from './published-recall.ts'

const TRUE = z.literal(true).optional()
const RULED = { ...DECIDER, reason: z.string().optional() }

/** A rule that ended, which stays known. */
const ENDED = { ended: DECIDED_AT.optional() }

/** The source stays where it is, wherever its ref moves: for all clients, or in a ring. */
const STAY = z
  .object({
    ...RULED,
    effect: z.literal('stay'),
    on: z.object({ source: DECIDED_SOURCE, ring: z.string().optional() }).readonly(),
    /** Absent in a ring, and for a source that is not polled, and of which nothing was served. */
    commit: DECIDED_COMMIT.optional(),
    /** The host of the source is not asked either. */
    noPoll: TRUE,
  })
  .refine(({ on, commit, noPoll }) => (commit !== undefined || noPoll === true) === (on.ring === undefined))
  .readonly()

const REVISION = z.object({ source: DECIDED_SOURCE, commit: DECIDED_COMMIT, tag: DECIDED_COMMIT.optional() }).readonly()

/** This revision is not taken; later ones are. `isLeft`: a rollback left it, and no person rejected it. */
const SKIP = z.object({ ...RULED, effect: z.literal('skip'), on: REVISION, isLeft: TRUE }).readonly()

/** Exactly this revision is taken, even if a brake would stop it. */
const TAKE = z.object({ ...RULED, effect: z.literal('take'), on: REVISION }).readonly()

/**
 * The maximum of places per rule. A commit that brings a skill to more places is held: a skill could come back at a place
 * that is not remembered.
 */
export const MOST_PLACES = 256

/** A skill as it was found in one snapshot. */
const PLACE = z
  .object({
    source: DECIDED_SOURCE,
    path: z.string(),
    servedPath: z.string().exactOptional(),
    name: z.string().exactOptional(),
    /** The id of its contract. */
    id: z.string().exactOptional(),
    /** The SHA-256 of its SKILL.md. */
    document: SHA256_HEX.exactOptional(),
  })
  .readonly()

/** All data that identifies a skill: an author can rename, copy and link it. */
const IDENTITY = z
  .object({
    /** The places at which the skill was found, the one of the decision first. */
    places: z.array(PLACE).max(MOST_PLACES).readonly(),
    /** Other skills that had the same name at that time (`source/path`, folded): the name does not identify them. */
    beside: z.array(z.string()).readonly(),
    /** Digests of the skill, or of its SKILL.md. */
    contents: z.array(SHA256_HEX).readonly(),
  })
  .readonly()

const WITHDRAWN = { ...RULED, ...ENDED, effect: z.literal('withdraw'), on: IDENTITY }

/**
 * The skill is out of service here. `source`: skills with the same content in other sources stay in service. A rule of a
 * scan is about one content at one place; once a person has ended it, no scan takes that content out of service again.
 */
const DISABLE = z
  .object({ ...WITHDRAWN, reach: z.enum(['source', 'hub']) })
  .refine(({ by, on }) => by !== 'hub' && on.places.length > 0 && on.contents.length === (by === 'scan' ? 1 : 0))
  .readonly()

/** The skill is out of service here and at the followers of this hub: a recall, of a person here or of another hub. */
const RECALL = z
  .object({
    ...WITHDRAWN,
    reach: z.literal('followers'),
    /** `recallIdOf` the rule. */
    id: SHA256_HEX,
    /** The logs of other hubs in which it is in force; sorted. */
    via: z.array(z.string()).readonly(),
  })
  .refine(({ id, at, on: { contents } }) => contents.length > 0 && id === recallIdOf({ at, contents }))
  .readonly()

/** A skill of another MCP server is admitted as it was declared when it was reviewed. */
const ADMIT = z
  .object({
    ...RULED,
    who: z.string(),
    /** It ends once the server declares something else, and stays as what the next review compares with. */
    ...ENDED,
    effect: z.literal('admit'),
    on: z.object({ source: DECIDED_SOURCE, path: z.string(), declaration: SHA256_HEX }).readonly(),
  })
  .readonly()

/** A skill of another MCP server is asked for by its URI, because the server lists it not. */
const NAME = z
  .object({
    ...RULED,
    who: z.string(),
    effect: z.literal('name'),
    on: z.object({ source: DECIDED_SOURCE, uri: z.string() }).readonly(),
    /** The skill is taken even if the server cannot declare its files: their content is what a read returns. */
    unverified: TRUE,
    /** The skill was mirrored: its files are read to learn the sizes that the server does not declare. */
    measured: TRUE,
  })
  .readonly()

/** The form of a rule in the file of decisions. */
export const RULE = z.union([STAY, SKIP, TAKE, DISABLE, RECALL, ADMIT, NAME])

/** One thing that a person, a scan or a followed hub decided. It outlives restarts, and no pull undoes it. */
export type Rule = z.infer<typeof RULE>

export type StayRule = z.infer<typeof STAY>
/** A rule about the commits of a source. */
export type SourceRule = StayRule | z.infer<typeof SKIP> | z.infer<typeof TAKE>
export type WithdrawnPlace = z.infer<typeof PLACE>
export type SkillIdentity = z.infer<typeof IDENTITY>
export type RecallRule = z.infer<typeof RECALL>
/** A rule that keeps a skill out of service. It outlives the skill itself, and follows it to other places. */
export type WithdrawRule = z.infer<typeof DISABLE> | RecallRule
export type AdmitRule = z.infer<typeof ADMIT>
export type NameRule = z.infer<typeof NAME>

export function isWithdrawal(rule: Rule): rule is WithdrawRule {
  return rule.effect === 'withdraw'
}

/** The rules with this one in the place of the one that it replaces, or after all. */
export function withRule<One>(rules: readonly One[], rule: One, isReplaced: (other: One) => boolean): readonly One[] {
  const at = rules.findIndex(isReplaced)
  return at === -1 ? [...rules, rule] : rules.with(at, rule)
}
