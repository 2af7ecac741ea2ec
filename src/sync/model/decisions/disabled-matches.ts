import { runNow, type Steps } from '../../../base/async/cooperative.ts'
import { baseName, foldedPath, foldersAbove, isBelow, relativeTo } from '../../../base/paths.ts'
import type { Skill } from '../skill.ts'
import type { Snapshot } from '../snapshot.ts'
import type { SourceId } from '../source-id.ts'
import { activeRecalls, disabledHere, isRecall, firstPlace, type OutOfService } from './out-of-service.ts'
import type { WithdrawnPlace, WithdrawRule } from './rules.ts'

/** The reason why a skill is out of service: the rule that it matches, and the property that matches. */
export interface DisabledMatch {
  readonly source: SourceId
  /** The true folder that the skill of the rule had first. If the rule has no place, the folder that matches. */
  readonly path: string
  readonly by: MatchedBy
  readonly rule: WithdrawRule
}

/**
 * `content`: the skill has the SKILL.md or the digest of the rule. `holds`: its files include files of a disabled skill.
 * `scan`: a scan took its present content out of service.
 */
export type MatchedBy = 'path' | 'uri' | 'name' | 'content' | 'holds' | 'scan'

/** By true folder. */
export type DisabledMatches = ReadonlyMap<string, DisabledMatch>

/**
 * Finds the skills of a snapshot that are out of service because the operator disabled them, here or at an earlier
 * place, or because they are recalled. A recall explains a match first.
 */
export function disabledIn(snapshot: Snapshot, out: OutOfService): DisabledMatches {
  return runNow(findingDisabled(snapshot, out))
}

/** `disabledIn` in steps, for a caller that must let other work run. Cached by snapshot and rules. */
export function* findingDisabled(snapshot: Snapshot, out: OutOfService): Steps<DisabledMatches> {
  if (out.length === 0) return NO_MATCHES
  const known = KNOWN.get(snapshot)
  if (known?.out === out) return known.matches
  const { recalled, disabled } = traitsOf(out)
  const matches = new Map<string, DisabledMatch>()
  for (const skill of snapshot.skills) {
    const match = recalled.matchOf(snapshot.source, skill) ?? disabled.matchOf(snapshot.source, skill)
    if (match !== undefined) matches.set(skill.path, match)
    yield
  }
  for (const [path, match] of holdersIn(snapshot, matches)) matches.set(path, match)
  KNOWN.set(snapshot, { out, matches })
  return matches
}

const NO_MATCHES: DisabledMatches = new Map()
const KNOWN = new WeakMap<Snapshot, { readonly out: OutOfService; readonly matches: DisabledMatches }>()

/** The snapshot without the documents that are the SKILL.md of a disabled skill. The same object if there are none. */
export function withoutDisabledDocs(snapshot: Snapshot, out: OutOfService): Snapshot {
  const { docs, source } = snapshot
  if (docs === undefined || out.length === 0) return snapshot
  const { recalled, disabled } = traitsOf(out)
  const isOut = (sha256: string): boolean =>
    (recalled.byDocument(source, sha256) ?? disabled.byDocument(source, sha256)) !== undefined
  const files = docs.files.filter(({ sha256 }) => !isOut(sha256))
  if (files.length === docs.files.length) return snapshot
  const known = WITHOUT.get(snapshot)
  if (known?.out === out) return known.without
  const without = { ...snapshot, docs: { ...docs, files } }
  WITHOUT.set(snapshot, { out, without })
  return without
}

const WITHOUT = new WeakMap<Snapshot, { readonly out: OutOfService; readonly without: Snapshot }>()

/** Finds the skills that cannot be delivered without files of a matching skill. */
function holdersIn({ skills }: Snapshot, matches: DisabledMatches): ReadonlyMap<string, DisabledMatch> {
  const holders = new Map<string, DisabledMatch>()
  const byPath = matches.size === 0 ? undefined : new Map(skills.map((skill) => [skill.path, skill]))
  for (const [path, match] of matches) {
    for (const above of foldersAbove(path)) {
      const holder = matches.has(above) ? undefined : byPath?.get(above)
      const inner = relativeTo(above, path)
      if (holder?.files.some((file) => isBelow(file.path, inner)) === true)
        holders.set(above, { ...match, by: 'holds' })
    }
  }
  return holders
}

/** Indexes the rules by everything that identifies a skill, so that each check is one lookup. */
class Traits {
  /** The first rule of each property that identifies a skill alone. */
  readonly #first = new Map<string, WithdrawRule>()
  readonly #names = new Map<string, WithdrawRule[]>()
  readonly #documents = new Map<string, { readonly rule: WithdrawRule; readonly of: SourceId | undefined }[]>()

  constructor(rules: OutOfService) {
    for (const rule of rules) if (rule.ended === undefined) this.#add(rule)
  }

  /** Tries the properties in the order in which they explain the match best. */
  matchOf(source: SourceId, skill: Skill): DisabledMatch | undefined {
    const { path, servedPath, contract, files, digest } = skill
    const holding = this.#documents.size === 0 ? [] : files.filter(({ sha256 }) => this.byDocument(source, sha256))
    const document = holding.find((file) => file.path === 'SKILL.md')
    const first = (property: Property, text: string | undefined): WithdrawRule | undefined =>
      text === undefined ? undefined : this.#first.get(`${property} ${keyOf(source, text)}`)
    const found = (rule: WithdrawRule | undefined, by: MatchedBy): DisabledMatch | undefined => {
      if (rule === undefined) return undefined
      const at = firstPlace(rule) ?? { source, path }
      return { source: at.source, path: at.path, by, rule }
    }
    return (
      found(first('own', path), 'path') ??
      found(document && this.byDocument(source, document.sha256), 'content') ??
      found(digest === undefined ? undefined : this.#first.get(digest), 'content') ??
      found(first('uri', servedPath), 'uri') ??
      found(first('id', contract?.id), 'uri') ??
      found(this.#byName(source, skill), 'name') ??
      found(first('path', path), 'path') ??
      found(first('scan', digest), 'scan') ??
      found(holding[0] && this.byDocument(source, holding[0].sha256), 'holds')
    )
  }

  /** Finds the rule whose SKILL.md has this digest. */
  byDocument(source: SourceId, sha256: string): WithdrawRule | undefined {
    return this.#documents.get(sha256)?.find(({ of }) => of === undefined || of === source)?.rule
  }

  #add(rule: WithdrawRule): void {
    const { by, on, reach } = rule
    const put = (key: string): void => {
      if (!this.#first.has(key)) this.#first.set(key, rule)
    }
    const putOf = (property: Property, { source }: WithdrawnPlace, text: string | undefined): void => {
      if (text !== undefined) put(`${property} ${keyOf(source, text)}`)
    }
    const at = firstPlace(rule)
    if (by === 'scan') {
      for (const digest of on.contents) if (at !== undefined) putOf('scan', at, digest)
      return
    }
    if (at !== undefined && !isRecall(rule)) putOf('own', at, at.path)
    for (const digest of on.contents) {
      put(digest)
      append(this.#documents, digest, { rule, of: undefined })
    }
    for (const [index, place] of on.places.entries()) {
      putOf('path', place, place.path)
      putOf('uri', place, place.servedPath)
      putOf('id', place, place.id)
      if (place.name !== undefined) append(this.#names, keyOf(place.source, place.name), rule)
      // The author chooses later content, and could take skills of other sources out of service by it.
      const isEverywhere = index === 0 && reach === 'hub'
      if (place.document !== undefined)
        append(this.#documents, place.document, { rule, of: isEverywhere ? undefined : place.source })
    }
  }

  #byName(source: SourceId, { path, name }: Skill): WithdrawRule | undefined {
    const folder = baseName(path)
    return [...new Set([name ?? folder, folder])]
      .flatMap((one) => this.#names.get(keyOf(source, one)) ?? [])
      .find(({ on }) => !on.beside.includes(keyOf(source, path)))
  }
}

/** `own`: the place that a rule was made about; `path`: any of its places. */
type Property = 'own' | 'path' | 'uri' | 'id' | 'scan'

interface TraitsOut {
  readonly recalled: Traits
  readonly disabled: Traits
}

function traitsOf(out: OutOfService): TraitsOut {
  const known = TRAITS.get(out) ?? { recalled: new Traits(activeRecalls(out)), disabled: new Traits(disabledHere(out)) }
  TRAITS.set(out, known)
  return known
}

const TRAITS = new WeakMap<OutOfService, TraitsOut>()

/** A key for a text of a source, independent of case and Unicode form. */
export function keyOf(source: SourceId, text: string): string {
  return foldedPath(`${source}/${text}`)
}

function append<Item>(map: Map<string, Item[]>, key: string, item: Item): void {
  map.set(key, [...(map.get(key) ?? []), item])
}
