import { isTime } from '../../base/canonical-json.ts'
import { isObject } from '../../base/json-object.ts'
import { isTexts, parseJson } from '../../base/json-value.ts'
import type { Approval, Approvals } from '../model/decisions/approvals.ts'
import { DECISIONS, type Decided } from '../model/decisions/decided.ts'
import type { SourceDecision, Decisions } from '../model/decisions/decisions.ts'
import {
  MOST_PLACES,
  type DisabledPlace,
  type DisabledSkill,
  type DisabledSkills,
} from '../model/decisions/disabled-skills.ts'
import { recallIdOf } from '../model/decisions/published-recall.ts'
import { NO_RECALLS } from '../model/decisions/recalled-skills.ts'
import type { RecalledSkill, RecalledSkills } from '../model/decisions/recalled-skills.ts'
import { isObjectId } from '../model/revision.ts'
import { isSourceId, type SourceId } from '../model/source-id.ts'
import type { Naming, Namings } from '../model/uris/named-uris.ts'
import { isDigest } from './skills/stored-path.ts'

/** All decisions in the file. */
export interface StoredDecisions {
  readonly sources: Decisions
  readonly disabled: DisabledSkills
  readonly approvals: Approvals
  readonly namings: Namings
  readonly recalls: RecalledSkills
  /** The list of recalls that was obeyed last of each log that is followed, by `obeyedKey`. */
  readonly obeyed: ReadonlyMap<string, string>
  /** The latest decisions, oldest first, in force or not. Nothing follows from them. */
  readonly history: readonly Decided[]
}

/** Returns the JSON form of the decisions, as written to the file. */
export function textForm({ sources, disabled, approvals, namings, recalls, obeyed, history }: StoredDecisions): object {
  return {
    sources: Object.fromEntries(sources),
    ...(disabled.size > 0 && { disabled: nest(disabled) }),
    ...(approvals.size > 0 && { approvals: nest(approvals) }),
    ...(namings.size > 0 && { uris: nest(namings) }),
    ...(recalls.size > 0 && { recalls: Object.fromEntries(recalls) }),
    ...(obeyed.size > 0 && { obeyed: Object.fromEntries(obeyed) }),
    ...(history.length > 0 && { history }),
  }
}

function nest(bySource: ReadonlyMap<SourceId, ReadonlyMap<string, object>>): object {
  return Object.fromEntries([...bySource].map(([source, skills]) => [source, Object.fromEntries(skills)] as const))
}

/** Parses the text of a decisions file; `undefined` if it is damaged. */
export function parseDecisions(text: string): StoredDecisions | undefined {
  const value = parseJson(text)
  const sources = isObject(value) ? value['sources'] : undefined
  const disabled = isObject(value) ? parseNested(value['disabled'] ?? {}, isDisabledSkill) : undefined
  const approvals = isObject(value) ? parseNested(value['approvals'] ?? {}, isApproval) : undefined
  const namings = isObject(value) ? parseNested(value['uris'] ?? {}, isNaming) : undefined
  const recalls = isObject(value) ? parseRecalls(value['recalls'] ?? {}) : undefined
  const obeyed = isObject(value) ? parseMap(value['obeyed'] ?? {}, isDigestText) : undefined
  if (!isObject(sources) || disabled === undefined || approvals === undefined || namings === undefined) return undefined
  if (recalls === undefined || obeyed === undefined) return undefined
  const said = isObject(value) ? value['history'] : undefined
  const history = Array.isArray(said) ? said.filter(isDecided) : []
  const decisions = new Map<SourceId, SourceDecision>()
  for (const [id, decision] of Object.entries(sources)) {
    if (!isSourceId(id) || !isDecision(decision)) return undefined
    decisions.set(id, decision)
  }
  return { sources: decisions, disabled, approvals, namings, recalls, obeyed, history }
}

/** An unchanged value without recalls is the same one, so that what was derived from it counts. */
function parseRecalls(value: unknown): RecalledSkills | undefined {
  const recalls = parseMap(value, isRecalledSkill)
  if (recalls === undefined || [...recalls].some(([id, recall]) => id !== recall.id)) return undefined
  return recalls.size === 0 ? NO_RECALLS : recalls
}

function isRecalledSkill(value: unknown): value is RecalledSkill {
  if (!isObject(value)) return false
  const { id, at, contents, reason, by, isOwn, via, places, beside, revoked } = value
  if (!isTime(at) || !isTexts(contents) || !contents.every(isDigest) || contents.length === 0) return false
  if (id !== recallIdOf({ at, contents })) return false
  const areTexts = [reason, by].every((text) => text === undefined || typeof text === 'string')
  if (!areTexts || typeof isOwn !== 'boolean' || !isTexts(via) || !isTexts(beside)) return false
  const isFew = Array.isArray(places) && places.length <= MOST_PLACES
  return isFew && places.every(isPlace) && (revoked === undefined || isTime(revoked))
}

function isDecided(value: unknown): value is Decided {
  if (!isObject(value)) return false
  const { at, by, who, decision, source, ring, skill, commit, forFollowers, reason } = value
  const areTexts = [who, ring, skill, reason].every((text) => text === undefined || typeof text === 'string')
  const isByOne = by === 'person' || by === 'scan' || by === 'hub'
  const isOfSource = source === undefined || (typeof source === 'string' && isSourceId(source))
  const isAtCommit = commit === undefined || (typeof commit === 'string' && isObjectId(commit))
  const isKnown = DECISIONS.some((one) => one === decision) && (forFollowers ?? true) === true
  return isTime(at) && isByOne && areTexts && isOfSource && isAtCommit && isKnown
}

function isDigestText(value: unknown): value is string {
  return typeof value === 'string' && isDigest(value)
}

function parseMap<Item>(
  value: unknown,
  isItem: (item: unknown) => item is Item,
): ReadonlyMap<string, Item> | undefined {
  if (!isObject(value)) return undefined
  const parsed = new Map<string, Item>()
  for (const [key, item] of Object.entries(value)) {
    if (!isItem(item)) return undefined
    parsed.set(key, item)
  }
  return parsed
}

function isDisabledSkill(value: unknown): value is DisabledSkill {
  if (!isObject(value)) return false
  const { places, beside, sourceOnly, reason, scans } = value
  if (!Array.isArray(places) || !Array.isArray(beside) || places.length > MOST_PLACES) return false
  // Without a place, only what a scan found identifies the skill.
  if (places.length === 0 && scans === undefined) return false
  const areTexts = [...beside, reason ?? ''].every((text) => typeof text === 'string')
  return (
    places.every(isPlace) && areTexts && (sourceOnly === undefined || sourceOnly === true) && areAbsentOrScans(scans)
  )
}

function areAbsentOrScans(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length > 0 && value.every(isScan))
}

function isScan(value: unknown): boolean {
  if (!isObject(value)) return false
  const { digest, at, accepted } = value
  const isAccepted = accepted === undefined || accepted === true
  return typeof digest === 'string' && isDigest(digest) && typeof at === 'string' && isTime(at) && isAccepted
}

function isPlace(value: unknown): value is DisabledPlace {
  if (!isObject(value)) return false
  const { source, path, servedPath, name, id, document } = value
  const areTexts = [servedPath, name, id].every((text) => text === undefined || typeof text === 'string')
  const isDocument = document === undefined || (typeof document === 'string' && isDigest(document))
  return typeof source === 'string' && isSourceId(source) && typeof path === 'string' && areTexts && isDocument
}

function parseNested<Item>(
  value: unknown,
  isItem: (item: unknown) => item is Item,
): ReadonlyMap<SourceId, ReadonlyMap<string, Item>> | undefined {
  if (!isObject(value)) return undefined
  const parsed = new Map<SourceId, ReadonlyMap<string, Item>>()
  for (const [id, items] of Object.entries(value)) {
    if (!isSourceId(id) || !isObject(items)) return undefined
    const ofSource = new Map<string, Item>()
    for (const [key, item] of Object.entries(items)) {
      if (!isItem(item)) return undefined
      ofSource.set(key, item)
    }
    parsed.set(id, ofSource)
  }
  return parsed
}

function isApproval(value: unknown): value is Approval {
  if (!isObject(value)) return false
  const { declaration, at, by, isRevoked } = value
  const isDeclared = typeof declaration === 'string' && isDigest(declaration)
  return isDeclared && isTime(at) && typeof by === 'string' && (isRevoked === undefined || isRevoked === true)
}

function isNaming(value: unknown): value is Naming {
  if (!isObject(value)) return false
  const { unverified, measured, at, by } = value
  const areFlags = [unverified, measured].every((flag) => flag === undefined || flag === true)
  return areFlags && isTime(at) && typeof by === 'string'
}

function isDecision(value: unknown): value is SourceDecision {
  if (!isObject(value)) return false
  const { hold, skipped, approved, ringHolds } = value
  if (hold !== undefined && !isSourceHold(hold)) return false
  if (ringHolds !== undefined && !areRingHolds(ringHolds)) return false
  if (!isBy(skipped, 'rollback', 'reject')) return false
  return [skipped, approved].every((part) => part === undefined || isAboutCommit(part))
}

function areRingHolds(value: unknown): boolean {
  return isObject(value) && Object.values(value).every(isHold)
}

function isHold(value: unknown): boolean {
  if (!isObject(value)) return false
  const { reason, at } = value
  return (reason === undefined || typeof reason === 'string') && isTime(at)
}

function isSourceHold(value: unknown): boolean {
  if (!isObject(value) || !isHold(value)) return false
  const { commit, noPoll } = value
  if (noPoll !== undefined && noPoll !== true) return false
  return commit === undefined ? noPoll === true : typeof commit === 'string' && isObjectId(commit)
}

function isBy(part: unknown, ...who: readonly string[]): boolean {
  return part === undefined || (isObject(part) && typeof part['by'] === 'string' && who.includes(part['by']))
}

function isAboutCommit(value: unknown): boolean {
  if (!isObject(value)) return false
  const { commit, tag } = value
  if (typeof commit !== 'string' || !isObjectId(commit)) return false
  return tag === undefined || (typeof tag === 'string' && isObjectId(tag))
}
