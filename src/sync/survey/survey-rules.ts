import { createHash } from 'node:crypto'
import { matcher } from '../../base/globs.ts'
import { isBelow, joinPath } from '../../base/paths.ts'
import type { Marketplace } from '../model/marketplace.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { Selection } from '../model/source.ts'
import { NOTHING_KNOWN } from '../upstream/upstream.ts'
import type { KnownTrees } from '../upstream/upstream.ts'
import { walkedForMarketplace } from './marketplace/plugin-folders.ts'
import type { SurveyLimits } from './read-skill.ts'

/** Increased if a tree would be judged otherwise than before: earlier surveys then no longer count. */
const SURVEY_VERSION = 16

/** Likewise of marketplaces, for the sources that have theirs read. */
const MARKETPLACE_VERSION = 1

/** The part of the configuration that a survey depends on. */
export interface Rules {
  readonly selection: Selection
  readonly limits: SurveyLimits
}

/** Digest of everything that a survey depends on, except the tree. */
export function rulesOf({ selection, limits }: Rules): string {
  const { root, include, exclude, unlisted, names, nested, onBroken, lfs, hiddenUnicode, contract, docs } = selection
  const ofMarketplace = selection.marketplace ? [MARKETPLACE_VERSION] : []
  const { skill, frontmatter, fetch } = limits
  const figures = [skill.files, skill.bytes, frontmatter.bytes, frontmatter.depth, fetch.segmentBytes]
  const choices = [names, nested, onBroken, lfs, hiddenUnicode, contract, docs, ...ofMarketplace]
  const rules = JSON.stringify([SURVEY_VERSION, root, include, exclude, unlisted, choices, figures])
  return createHash('sha256').update(rules).digest('hex')
}

/** True if a snapshot is the result of these rules for its tree. */
export function isByRules(rules: Rules, snapshot: Pick<Snapshot, 'rules'>): boolean {
  return snapshot.rules === rulesOf(rules)
}

/** The trees that need not be fetched again, given an earlier snapshot of the same source. */
export function knownTrees(rules: Rules, earlier: Snapshot | undefined): KnownTrees {
  const { root: asked, docs: askedDocs } = rules.selection
  const isComparable = earlier !== undefined && isByRules(rules, earlier)
  // The configured root may be a link, which is fetched too, and so may the docs.
  const root = (isComparable ? earlier.roots?.skills : undefined) ?? asked
  const docs = (isComparable ? earlier.roots?.docs : undefined) ?? askedDocs
  const within = [...new Set([asked, root, askedDocs, docs])].filter((folder) => folder !== undefined)
  if (!isComparable) return { ...NOTHING_KNOWN, within }
  // The root is not decided by its id if links lead from folder to folder: following them needs unchanged trees too.
  if (earlier.folders[''] === undefined) return { ...NOTHING_KNOWN, within }
  const byPath = Object.entries(earlier.folders).map(([path, id]) => [joinPath(root, path), id] as const)
  const isWalked = walkedAgain(docs, earlier.marketplace)
  return { within, byPath: new Map(byPath.filter(([path]) => !isWalked(path))) }
}

/** Returns a predicate: true for a folder that is read again although it is unchanged. */
function walkedAgain(docs: string | undefined, marketplace: Marketplace | undefined): (path: string) => boolean {
  const isOfMarketplace = marketplace === undefined ? () => false : walkedForMarketplace(marketplace)
  return (path) => (docs !== undefined && isWalkedFor(docs, path)) || isOfMarketplace(path)
}

/** The search for docs starts at the repository's root and enters all of their folders: trees are small. */
function isWalkedFor(docs: string, path: string): boolean {
  return path === docs || isBelow(path, docs) || isBelow(docs, path)
}

/** Returns a predicate: true if the selection includes the skill at a path. */
export function selector(selection: Selection): (path: string) => boolean {
  const isIncluded = matcher(selection.include)
  const isExcluded = matcher(selection.exclude)
  return (path) => isIncluded(path) && !isExcluded(path)
}
