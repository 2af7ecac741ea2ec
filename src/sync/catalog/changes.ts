import { isDeepStrictEqual } from 'node:util'
import type { Steps } from '../../base/async/cooperative.ts'
import { DiffCache } from '../../base/async/incremental.ts'
import type { CatalogFile, CatalogSkill } from './catalog-file.ts'
import type { Catalog } from './catalog.ts'
import { filesOf } from './skill-files.ts'
import { offeringSteps } from './tool-catalog.ts'

/** The difference between two catalogs, in canonical URIs of files. */
export interface Changes {
  readonly added: ReadonlySet<string>
  readonly removed: ReadonlySet<string>
  readonly changed: ReadonlySet<string>
  /**
   * True if the set of listed resources or of enumerated skills changed, or the data that `resources/list` has for one
   * of them.
   */
  readonly list: boolean
  /**
   * True if none of the above changed, but `resource://` may show something else: the docs, or the contract of a skill.
   */
  readonly contract: boolean
  /**
   * True if none of the above changed, but tools and prompts may offer something else: skills without a URI, or other
   * ids.
   */
  readonly offered: boolean
}

export const NO_CHANGES: Changes = {
  added: new Set(),
  removed: new Set(),
  changed: new Set(),
  list: false,
  contract: false,
  offered: false,
}

/** Compares two catalogs by what a client can read. A commit that changed no such byte is not a change. */
export function diff(before: Catalog, after: Catalog): Changes {
  return CHANGES.of(before, after)
}

/** `diff` in steps, for a caller that must let other work run. The result is then cached for `diff`. */
export function diffing(before: Catalog, after: Catalog): Steps<Changes> {
  return CHANGES.steps(before, after)
}

const CHANGES = new DiffCache<Catalog, Changes>(comparing)

function* comparing(before: Catalog, after: Catalog): Steps<Changes> {
  if (before.digest === after.digest) return NO_CHANGES
  const added = new Set<string>()
  const removed = new Set<string>()
  const changed = new Set<string>()
  for (const file of [...(yield* touching(before, after)), ...(yield* touching(after, before))]) {
    yield
    const [old, current] = [before.files.at(file), after.files.at(file)]
    if (old === undefined) added.add(file.uri)
    else if (current === undefined) removed.add(file.uri)
    else if (!isSameFile(old, current)) changed.add(file.uri)
  }
  const list = !(yield* listingSame(before.listed, after.listed))
  yield
  const isAsBefore = added.size + removed.size + changed.size === 0 && !list
  const contract = isAsBefore && !isSameContract(before, after)
  yield
  const offered = isAsBefore && !contract && !(yield* offeringSame(before, after))
  return { added, removed, changed, list, contract, offered }
}

export function isEmpty(changes: Changes): boolean {
  const { added, removed, changed, list, contract, offered } = changes
  return added.size + removed.size + changed.size === 0 && !list && !contract && !offered
}

/** The files of every skill that differs in the other catalog; all other files are equal. */
function* touching({ skills }: Catalog, other: Catalog): Steps<CatalogFile[]> {
  const files: CatalogFile[] = []
  for (const skill of skills.values()) {
    if (!isSameSkill(skill, other.skills.get(skill.uri))) files.push(...filesOf(skill))
    yield
  }
  return files
}

function isSameSkill(a: CatalogSkill, b: CatalogSkill | undefined): boolean {
  // In a catalog that was made from the previous one, most entries are the same objects.
  if (a === b) return true
  if (b === undefined || a.digest !== b.digest || a.skill.standing !== b.skill.standing) return false
  // Equal digests mean equal files, and the files of a skill that stands alone are at their own paths.
  if (a.isAlone && b.isAlone) return true
  // An edit of the rules can rename a folder inside the skill.
  const files = filesOf(b)
  return filesOf(a).every(({ folder }, index) => folder === files[index]?.folder)
}

function isSameFile(a: CatalogFile, b: CatalogFile): boolean {
  return a.file.sha256 === b.file.sha256 && a.file.size === b.file.size && a.file.executable === b.file.executable
}

function* offeringSame(before: Catalog, after: Catalog): Steps<boolean> {
  const [{ listed: was }, { listed: is }] = [yield* offeringSteps(before), yield* offeringSteps(after)]
  return (
    was.length === is.length &&
    was.every(({ id, source, skill }, index) => {
      const other = is[index]
      if (id !== other?.id || source !== other.source || skill.digest !== other.skill.digest) return false
      if (!isDeepStrictEqual(skill.lifecycle, other.skill.lifecycle)) return false
      // Other limits can make the frontmatter readable.
      return (skill.frontmatter === undefined) === (other.skill.frontmatter === undefined)
    })
  )
}

/** A rule can make a skill keep the contract without a change of its bytes. */
function isSameContract(before: Catalog, after: Catalog): boolean {
  if (JSON.stringify(docsIn(before)) !== JSON.stringify(docsIn(after))) return false
  const [was, is] = [keepersIn(before), keepersIn(after)]
  return was.length === is.length && was.every((skill, index) => isKeptAlike(skill, is[index]))
}

/**
 * Includes the standing of the skills beside the docs: skills can be among the docs, and a file of a skill that is not
 * served is not a document either.
 */
function docsIn({ snapshots, sources }: Catalog): unknown[] {
  return snapshots.flatMap(({ source, docs, skills }) => {
    if (docs === undefined) return []
    const disabled = sources.find(([id]) => id === source)
    return [[source, docs.digest, skills.map(({ path, standing }) => [path, standing]), disabled]]
  })
}

function keepersIn({ skills }: Catalog): CatalogSkill[] {
  return [...skills.values()].filter(({ skill }) => skill.contract !== undefined)
}

function isKeptAlike(a: CatalogSkill, b: CatalogSkill | undefined): boolean {
  if (b === undefined || a.uri !== b.uri || a.skill.standing !== b.skill.standing) return false
  return a.skill.contract === b.skill.contract || JSON.stringify(a.skill.contract) === JSON.stringify(b.skill.contract)
}

function* listingSame(before: readonly CatalogSkill[], after: readonly CatalogSkill[]): Steps<boolean> {
  if (before.length !== after.length) return false
  for (const [index, skill] of before.entries()) {
    const other = after[index]
    if (other === undefined || !isListedAlike(skill, other)) return false
    yield
  }
  return true
}

/**
 * True if `resources/list` has the same data for both (the URI, name, description and size of SKILL.md), and
 * `skills/list` has both or neither, with the same statements of the operator.
 */
function isListedAlike(a: CatalogSkill, b: CatalogSkill): boolean {
  if (a === b) return true
  return (
    a.uri === b.uri &&
    a.name === b.name &&
    a.description === b.description &&
    a.isEnumerable === b.isEnumerable &&
    isDeepStrictEqual(a.skill.lifecycle, b.skill.lifecycle) &&
    documentSizeOf(a) === documentSizeOf(b)
  )
}

function documentSizeOf({ skill }: CatalogSkill): number | undefined {
  return skill.files.find(({ path }) => path === 'SKILL.md')?.size
}
