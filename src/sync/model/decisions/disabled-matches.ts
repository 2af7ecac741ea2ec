import { runNow, type Steps } from '../../../base/async/cooperative.ts'
import { baseName, foldedPath, foldersAbove, isBelow, relativeTo } from '../../../base/paths.ts'
import type { Skill } from '../skill.ts'
import type { Snapshot } from '../snapshot.ts'
import type { SourceId } from '../source-id.ts'
import type { DisabledSkill } from './disabled-skills.ts'
import type { OutOfService } from './out-of-service.ts'
import { activeRecalls } from './recalled-skills.ts'
import type { RecalledSkill } from './recalled-skills.ts'

/** The reason why a skill is out of service: the entry that it matches, and the property that matches. */
export interface DisabledMatch {
  readonly source: SourceId
  /** The true folder that the skill of the entry had first. If the entry has no place, the folder that matches. */
  readonly path: string
  readonly by: MatchedBy
  /** The reason of the operator, of an entry that is no recall. */
  readonly reason?: string
  /** The entry, if it is a recall. */
  readonly recall?: RecalledSkill
}

/**
 * `content`: the skill has the SKILL.md or the digest of the entry. `holds`: its files include files of a disabled skill.
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

/** `disabledIn` in steps, for a caller that must let other work run. Cached by snapshot and entries. */
export function* findingDisabled(snapshot: Snapshot, out: OutOfService): Steps<DisabledMatches> {
  if (isNothing(out)) return NO_MATCHES
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

function isNothing({ disabled, recalls }: OutOfService): boolean {
  return disabled.size === 0 && recalls.size === 0
}

const NO_MATCHES: DisabledMatches = new Map()
const KNOWN = new WeakMap<Snapshot, { readonly out: OutOfService; readonly matches: DisabledMatches }>()

/** The snapshot without the documents that are the SKILL.md of a disabled skill. The same object if there are none. */
export function withoutDisabledDocs(snapshot: Snapshot, out: OutOfService): Snapshot {
  const { docs, source } = snapshot
  if (docs === undefined || isNothing(out)) return snapshot
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

interface Named {
  /** The first place of the entry; `undefined` for a recall that has none. */
  readonly at: Pick<DisabledMatch, 'source' | 'path'> | undefined
  readonly entry: Pick<DisabledSkill, 'places' | 'beside' | 'sourceOnly' | 'scans' | 'reason'>
  readonly recall?: RecalledSkill
}

/** Indexes the entries by everything that identifies a skill, so that each check is one lookup. */
class Traits {
  readonly #own = new Map<string, Named>()
  readonly #paths = new Map<string, Named>()
  readonly #uris = new Map<string, Named>()
  readonly #ids = new Map<string, Named>()
  readonly #names = new Map<string, Named[]>()
  readonly #scanned = new Map<string, Named>()
  readonly #documents = new Map<string, (Named & { readonly of: SourceId | undefined })[]>()
  /** By digests of whole skills. */
  readonly #contents = new Map<string, Named>()

  constructor(entries: Iterable<Named>) {
    for (const named of entries) this.#add(named)
  }

  /** Tries the properties in the order in which they explain the match best. */
  matchOf(source: SourceId, skill: Skill): DisabledMatch | undefined {
    const { path, servedPath, contract, files, digest } = skill
    const holding = this.#documents.size === 0 ? [] : files.filter(({ sha256 }) => this.byDocument(source, sha256))
    const document = holding.find((file) => file.path === 'SKILL.md')
    const found = (named: Named | undefined, by: MatchedBy): DisabledMatch | undefined => {
      if (named === undefined) return undefined
      const { at = { source, path }, entry, recall } = named
      if (recall !== undefined) return { ...at, by, recall }
      return { ...at, by, ...(entry.reason !== undefined && { reason: entry.reason }) }
    }
    return (
      found(this.#own.get(keyOf(source, path)), 'path') ??
      found(document && this.byDocument(source, document.sha256), 'content') ??
      found(digest === undefined ? undefined : this.#contents.get(digest), 'content') ??
      found(servedPath === undefined ? undefined : this.#uris.get(keyOf(source, servedPath)), 'uri') ??
      found(contract && this.#ids.get(keyOf(source, contract.id)), 'uri') ??
      found(this.#byName(source, skill), 'name') ??
      found(this.#paths.get(keyOf(source, path)), 'path') ??
      found(digest === undefined ? undefined : this.#scanned.get(keyOf(source, digest)), 'scan') ??
      found(holding[0] && this.byDocument(source, holding[0].sha256), 'holds')
    )
  }

  /** Finds the entry whose SKILL.md has this digest. */
  byDocument(source: SourceId, sha256: string): Named | undefined {
    return this.#documents.get(sha256)?.find(({ of }) => of === undefined || of === source)
  }

  #add(named: Named): void {
    const { at, entry, recall } = named
    if (at !== undefined && entry.scans !== undefined) {
      for (const { digest, accepted } of entry.scans)
        if (accepted !== true) put(this.#scanned, keyOf(at.source, digest), named)
      return
    }
    if (at !== undefined && recall === undefined) put(this.#own, keyOf(at.source, at.path), named)
    for (const digest of recall?.contents ?? []) {
      put(this.#contents, digest, named)
      append(this.#documents, digest, { ...named, of: undefined })
    }
    for (const [index, place] of entry.places.entries()) {
      put(this.#paths, keyOf(place.source, place.path), named)
      if (place.servedPath !== undefined) put(this.#uris, keyOf(place.source, place.servedPath), named)
      if (place.id !== undefined) put(this.#ids, keyOf(place.source, place.id), named)
      if (place.name !== undefined) append(this.#names, keyOf(place.source, place.name), named)
      // The author chooses later content, and could take skills of other sources out of service by it.
      const isEverywhere = index === 0 && recall === undefined && entry.sourceOnly !== true
      if (place.document !== undefined)
        append(this.#documents, place.document, { ...named, of: isEverywhere ? undefined : place.source })
    }
  }

  #byName(source: SourceId, { path, name }: Skill): Named | undefined {
    const folder = baseName(path)
    for (const one of new Set([name ?? folder, folder])) {
      const named = this.#names.get(keyOf(source, one))
      const found = named?.find(({ entry }) => !entry.beside.includes(keyOf(source, path)))
      if (found !== undefined) return found
    }
    return undefined
  }
}

interface TraitsOut {
  readonly recalled: Traits
  readonly disabled: Traits
}

function traitsOf(out: OutOfService): TraitsOut {
  const known = TRAITS.get(out) ?? {
    recalled: new Traits(activeRecalls(out.recalls).map(namedRecall)),
    disabled: new Traits(namedIn(out)),
  }
  TRAITS.set(out, known)
  return known
}

const TRAITS = new WeakMap<OutOfService, TraitsOut>()

function* namedIn({ disabled }: OutOfService): Generator<Named> {
  for (const [source, entries] of disabled) for (const [path, entry] of entries) yield { at: { source, path }, entry }
}

function namedRecall(recall: RecalledSkill): Named {
  const [first] = recall.places
  return { at: first && { source: first.source, path: first.path }, entry: recall, recall }
}

/** A key for a text of a source, independent of case and Unicode form. */
export function keyOf(source: SourceId, text: string): string {
  return foldedPath(`${source}/${text}`)
}

/** Keeps the first entry of a key. */
function put(map: Map<string, Named>, key: string, named: Named): void {
  if (!map.has(key)) map.set(key, named)
}

function append<Item>(map: Map<string, Item[]>, key: string, item: Item): void {
  map.set(key, [...(map.get(key) ?? []), item])
}
