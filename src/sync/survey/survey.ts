import { inSlices, sorting, runInSlices } from '../../base/async/cooperative.ts'
import { matcher } from '../../base/globs.ts'
import { comparePaths } from '../model/digest.ts'
import type { DocFile, Docs } from '../model/docs-folder.ts'
import type { ObjectId } from '../model/revision.ts'
import { decidedByNeighbours } from '../model/serving-paths.ts'
import type { Skill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { Selection } from '../model/source.ts'
import { SyncError } from '../model/sync-error.ts'
import type { OnStored, RefusedBlob, TakenBlob, Tree } from '../model/tree.ts'
import type { DocumentReader } from '../skill/document-reader.ts'
import { hasYamlEscapes, hiddenInEscapes } from '../skill/hidden-unicode.ts'
import type { HiddenText } from '../skill/hidden-unicode.ts'
import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'
import { TOO_FAR } from '../skill/skill-path.ts'
import { BatchResults, batchesOf, runAll } from './batch-results.ts'
import { firstDiagnostics } from './cap-diagnostics.ts'
import { READ_HERE } from './document-reading.ts'
import type { Earlier } from './earlier-snapshot.ts'
import { findMarketplace, isAboutMarketplace } from './find-marketplace.ts'
import type { FoundMarketplace } from './find-marketplace.ts'
import { Gatherer, decidingByTheirId, findSkills } from './find-skills.ts'
import type { SkillCandidate, FoundSkills } from './find-skills.ts'
import { keptPaths, keptVersions, placingWithKept } from './last-good.ts'
import type { JudgedSkill, LastGood } from './last-good.ts'
import type { TextOf } from './link-places.ts'
import { LinkTexts, Resolver, linkDiagnostic, realFolder, realRoot, submoduleDiagnostic } from './link-resolver.ts'
import { judgeSkill, unreadableSkill, unusableDiagnostic } from './read-skill.ts'
import type { BlobContent, KnownContent, ResolvedCandidate, SurveyLimits } from './read-skill.ts'
import { StaleCopies } from './stale-copies.ts'
import { surveyDocs } from './survey-docs.ts'
import type { DocsReading, SurveyedDocs } from './survey-docs.ts'
import { rulesOf, selector } from './survey-rules.ts'
import type { Rules } from './survey-rules.ts'
import { MOST_TOLD, unreadDiagnostics, withUnread } from './unreadable-parts.ts'

/** The content found in a tree. */
export interface Survey extends Pick<
  Snapshot,
  'rules' | 'roots' | 'skills' | 'findings' | 'folders' | 'docs' | 'docsFolder' | 'marketplace'
> {
  /** Every blob that this survey fetched; all others are in the store already. */
  readonly taken: ReadonlyMap<ObjectId, TakenBlob>
}

/** The inputs of a survey in addition to the tree and the rules. */
export interface SurveyInputs {
  /** An earlier snapshot. If it has the same rules, folders with unchanged tree ids are reused unread. */
  readonly earlier: Earlier | undefined
  /** The served snapshot, whatever its rules: it replaces content that cannot be read now. */
  readonly served: Earlier | undefined
  /** Reads each SKILL.md; `undefined` to read it on this thread. */
  readonly reader?: DocumentReader | undefined
  /** Finds the earlier versions that broken ones are replaced with; `undefined` to replace none. */
  readonly lastGood?: LastGood | undefined
  /** The paths of the only skills to read; `undefined` for all that the rules select. */
  readonly only?: ReadonlySet<string> | undefined
}

/**
 * Finds and judges the skills of a tree. Folders whose tree id is unchanged from an earlier survey are reused unread.
 */
export async function survey(
  tree: Tree,
  rules: Rules,
  around: SurveyInputs | undefined,
  signal: AbortSignal,
): Promise<Survey> {
  const digest = rulesOf(rules)
  const real = await realRules(tree, rules, signal)
  const earlier = around?.earlier?.snapshot.rules === digest ? around.earlier : undefined
  const isReliedOn = earlier !== undefined && earlier.snapshot === around?.served?.snapshot
  const reader = around?.reader ?? READ_HERE
  const standIns = new StaleCopies(around?.served, real, isReliedOn, async (bytes) =>
    reader.read(bytes, rules.limits.frontmatter, signal),
  )
  const { lastGood, only } = around ?? {}
  const surveyor = new Surveyor(tree, real, { earlier, standIns, reader, lastGood, only }, signal)
  const { root, docs } = real.selection
  return { rules: digest, roots: { skills: root, ...(docs !== undefined && { docs }) }, ...(await surveyor.survey()) }
}

/** The rules with the real paths of the configured folders, which may be links. */
async function realRules(tree: Tree, { selection, limits }: Rules, signal: AbortSignal): Promise<Rules> {
  const root = await realRoot(tree, selection.root, signal)
  const docs = selection.docs === undefined ? undefined : await realFolder(tree, selection.docs, signal)
  return { limits, selection: { ...selection, root, ...(docs !== undefined && 'path' in docs && { docs: docs.path }) } }
}

type Around = Pick<SurveyInputs, 'earlier' | 'lastGood' | 'only'> & {
  readonly standIns: StaleCopies
  readonly reader: DocumentReader
}

class Surveyor {
  readonly #tree: Tree
  readonly #selection: Selection
  readonly #limits: SurveyLimits
  readonly #earlier: Earlier | undefined
  readonly #standIns: StaleCopies
  readonly #reader: DocumentReader
  readonly #lastGood: LastGood | undefined
  readonly #isSelected: (path: string) => boolean
  readonly #signal: AbortSignal
  readonly #taken = new Map<ObjectId, TakenBlob>()
  readonly #known = new Map<ObjectId, BlobContent>()
  /** The paths of skills whose SKILL.md reading did not finish: the next survey reads it again. */
  readonly #unfinished: string[] = []
  /** The places of blobs that the store has already. */
  readonly #stored = new Map<ObjectId, { readonly in: Skill | Docs; readonly path: string }>()

  constructor(tree: Tree, rules: Rules, around: Around, signal: AbortSignal) {
    const { earlier, standIns, reader, lastGood, only } = around
    this.#tree = tree
    this.#selection = rules.selection
    this.#limits = rules.limits
    this.#earlier = earlier
    this.#standIns = standIns
    this.#reader = reader
    this.#lastGood = lastGood
    this.#isSelected = only === undefined ? selector(rules.selection) : (path) => only.has(path)
    this.#signal = signal
  }

  async survey(): Promise<Omit<Survey, 'rules' | 'roots'>> {
    const gatherer = new Gatherer(this.#tree, this.#limits.skill.files)
    const found = await runInSlices(findSkills(this.#tree, this.#selection.root, this.#earlier?.snapshot, gatherer))
    const { linked, resolved, unread: behindLinks, outward } = await this.#resolve(found, gatherer)
    await this.#take(found.unread.map(({ id }) => id))
    const fresh = await this.#readAll(resolved)
    const contentOf = (blob: ObjectId): BlobContent => this.#contentOf(blob)
    const unread = { outside: found.unread, linked: behindLinks, candidates: resolved, contentOf }
    const read = [...found.kept.skills, ...fresh.map(({ skill }) => skill)]
    const judged = await withUnread(read, this.#selectedStandIns(), unread)
    const skills = await this.#placed(judged, fresh)
    const unusable = found.unusable.map((path) => unusableDiagnostic(path, 'A folder that is not read'))
    const docs = await this.#docs()
    // Last of all that takes blobs, so that it uses up no limit before the rest.
    const { marketplace, findings: ofMarketplace } = await this.#marketplace(found)
    const elsewhere = [
      ...found.kept.findings.filter((finding) => !isAboutMarketplace(finding)),
      ...ofMarketplace,
      ...found.submodules.map(submoduleDiagnostic),
      ...unusable,
      ...unreadDiagnostics(unread),
      ...outwardFindings(outward),
    ]
    const findings = await runInSlices(sorting(elsewhere, (a, b) => comparePaths(a.path, b.path)))
    const leaning = [...leaningOnLinks(found, linked), ...this.#unfinished]
    const alone = [...decidedByNeighbours(skills), ...keptPaths(skills)]
    const folders = await runInSlices(decidingByTheirId(found.folders, leaning, alone))
    const beside = { ...(marketplace !== undefined && { marketplace }), ...docs }
    return { skills, findings, folders, ...beside, taken: this.#taken }
  }

  /** Gives every skill its path, with earlier versions in place of broken ones. */
  async #placed(judged: readonly Skill[], fresh: readonly JudgedSkill[]): Promise<readonly Skill[]> {
    const { names, nested, unlisted, root } = this.#selection
    const again = async (skill: Skill): Promise<Skill | undefined> => this.#standIns.again(skill)
    const { commit } = this.#tree.revision
    const kept = this.#lastGood && (await keptVersions(fresh, { names, commit, again, root, lastGood: this.#lastGood }))
    return runInSlices(placingWithKept(judged, kept ?? new Map(), { names, nested, isUnlisted: matcher(unlisted) }))
  }

  async #marketplace({ folders }: FoundSkills): Promise<FoundMarketplace> {
    if (!this.#selection.marketplace) return { findings: [] }
    const search = { tree: this.#tree, root: this.#selection.root, earlier: this.#earlier?.snapshot, folders }
    return findMarketplace(search, this.#signal)
  }

  async #docs(): Promise<Partial<SurveyedDocs>> {
    const { docs: folder } = this.#selection
    if (folder === undefined) return {}
    const reading: DocsReading = {
      tree: this.#tree,
      folder,
      policy: this.#selection,
      earlier: this.#earlier?.snapshot,
      standIns: () => this.#docsStandIns(),
      take: (blobs) => this.#take(blobs),
      contentOf: (blob) => this.#contentOf(blob),
      fileBytes: this.#limits.skill.bytes,
    }
    return surveyDocs(reading, this.#signal)
  }

  #selectedStandIns(): Pick<StaleCopies, 'skills' | 'again'> {
    const skills = this.#standIns.skills.filter(({ path }) => this.#isSelected(path))
    return { skills, again: (skill) => this.#standIns.again(skill) }
  }

  async #docsStandIns(): Promise<readonly DocFile[]> {
    const { files, contents } = await this.#standIns.docs()
    for (const [blob, content] of contents) this.#known.set(blob, content)
    return files
  }

  /** Follows the links again with the missing texts until none is missing: each round gets one link further. */
  async #resolve(found: FoundSkills, gatherer: Gatherer): Promise<Followed> {
    const texts = new LinkTexts()
    const textOf: TextOf = (link) => texts.textOf(link)
    const resolver = new Resolver(this.#tree, textOf, this.#selection.root, gatherer)
    for (;;) {
      const linked = resolver.linkedSkills(found.links)
      const candidates = [...found.candidates, ...linked].filter((candidate) => this.#isSelected(candidate.path))
      const resolved: ResolvedCandidate[] = []
      await inSlices(candidates, (candidate) => void resolved.push(resolver.resolve(candidate)), this.#signal)
      if (await texts.takeMissing(this.#tree, this.#signal)) continue
      const outward = [...resolver.outward].filter(([path]) => this.#isSelected(path))
      return { linked, resolved, unread: resolver.unread, outward }
    }
  }

  /** Looks up blobs in the stored snapshot, which has many thousands for the few that are wanted. Returns the others. */
  #recall(blobs: readonly ObjectId[]): readonly ObjectId[] {
    if (blobs.length === 0 || this.#earlier === undefined) return blobs
    const wanted = new Set(blobs)
    const { skills, docs } = this.#earlier.snapshot
    for (const skill of skills) {
      if (skill.digest !== undefined && skill.standing !== 'withheld') this.#recallFrom(skill, wanted)
    }
    if (docs !== undefined) this.#recallFrom(docs, wanted)
    return blobs.filter((id) => !this.#known.has(id))
  }

  #recallFrom(stored: Skill | Docs, blobs: ReadonlySet<ObjectId>): void {
    for (const { blob, size, sha256, hidden, path } of stored.files) {
      if (!blobs.has(blob)) continue
      this.#known.set(blob, { kind: 'known', size, sha256, isLfsPointer: false, hidden })
      this.#stored.set(blob, { in: stored, path })
    }
  }

  async #take(blobs: readonly ObjectId[], signal = this.#signal, arrivals?: BatchResults): Promise<void> {
    const wanted = this.#recall(blobs.filter((id) => !this.#known.has(id)))
    arrivals?.notify()
    if (wanted.length === 0) return
    const addAll: OnStored = (stored) => {
      this.#addTaken(stored)
      arrivals?.notify()
    }
    addAll(await this.#tree.take(wanted, signal, arrivals && addAll))
  }

  #addTaken(blobs: ReadonlyMap<ObjectId, TakenBlob>): void {
    for (const [id, taken] of blobs) {
      // The result of `take` repeats what was stored before its end.
      if (this.#taken.has(id)) continue
      this.#taken.set(id, taken)
      this.#known.set(id, taken.kind === 'refused' ? taken : knownContent(taken))
    }
  }

  /** Reads skills while others are fetched. */
  async #readAll(candidates: readonly ResolvedCandidate[]): Promise<JudgedSkill[]> {
    const skills: JudgedSkill[] = []
    const arrivals = new BatchResults()
    const takeAll = async (signal: AbortSignal): Promise<void> => {
      for (const lot of batchesOf(candidates)) await this.#take(lot.flatMap(blobsOf), signal, arrivals)
      arrivals.end()
    }
    const readAll = async (signal: AbortSignal): Promise<void> => {
      const readOne = async (candidate: ResolvedCandidate): Promise<void> => {
        await arrivals.until(() => blobsOf(candidate).every((id) => this.#known.has(id)), signal)
        skills.push(await this.#read(candidate, signal))
      }
      await inSlices(candidates, readOne, signal)
    }
    await runAll([takeAll, readAll], this.#signal)
    return skills
  }

  async #read(candidate: ResolvedCandidate, signal: AbortSignal): Promise<JudgedSkill> {
    if ('refused' in candidate.document) {
      return unreadableSkill(
        candidate,
        'link-refused',
        `SKILL.md is a link that is refused: ${candidate.document.refused}`,
      )
    }
    const { id } = candidate.document
    const content = this.#contentOf(id)
    if (content.kind === 'refused') {
      return unreadableSkill(candidate, 'path-refused', `SKILL.md cannot be read: ${WHY_REFUSED[content.reason]}`)
    }
    const document = await this.#reader.read(await this.#bytesOf(id), this.#limits.frontmatter, signal)
    if (!document.frontmatter.ok && document.frontmatter.isUnfinished === true) this.#unfinished.push(candidate.path)
    const contentOf = (blob: ObjectId): BlobContent => this.#contentOf(blob)
    const escapes = await this.#escapesIn(candidate)
    return judgeSkill(candidate, { contentOf, document, escapes, policy: this.#selection, limits: this.#limits })
  }

  async #escapesIn({ files }: ResolvedCandidate): Promise<ReadonlyMap<string, HiddenText>> {
    const found = new Map<string, HiddenText>()
    for (const { path, id } of files) {
      const content = this.#contentOf(id)
      if (content.kind === 'refused' || !hasYamlEscapes({ path, size: content.size })) continue
      const hidden = hiddenInEscapes(await this.#bytesOf(id))
      if (hidden !== undefined) found.set(path, hidden)
    }
    return found
  }

  #contentOf(blob: ObjectId): BlobContent {
    return this.#known.get(blob) ?? { kind: 'refused', reason: 'absent' }
  }

  /** Reads a blob on this thread: another thread would take ten times as long. */
  async #bytesOf(blob: ObjectId): Promise<Uint8Array> {
    const taken = this.#taken.get(blob)
    if (taken?.kind === 'blob') return this.#tree.bytesOf(taken)
    const stored = this.#stored.get(blob)
    if (stored === undefined || this.#earlier === undefined)
      throw new SyncError('store-failed', `Cannot read blob ${blob}: it was not fetched`)
    return this.#earlier.read(stored.in, stored.path)
  }
}

/** Skills after their links were followed. */
interface Followed {
  readonly linked: readonly SkillCandidate[]
  readonly resolved: readonly ResolvedCandidate[]
  /** The paths of skills that are links through an unreadable place. */
  readonly unread: ReadonlySet<string>
  /** The paths of links outside of skills that lead out of the repository, each with the reason for its refusal. */
  readonly outward: readonly (readonly [string, string])[]
}

/** Installers fill whole folders with such links: the operator who serves one must learn why it has no skills. */
function outwardFindings(outward: Followed['outward']): readonly SkillDiagnostic[] {
  const findings = outward.map(([path, why]) => linkDiagnostic(path, why))
  return firstDiagnostics(findings, MOST_TOLD, (left, { path }) => {
    return { path, message: `${left} more links that lead out of the repository are not served` }
  })
}

const WHY_REFUSED: Readonly<Record<RefusedBlob['reason'], string>> = {
  absent: 'the repository does not have its content',
  'too-large': 'it is too large',
  forbidden: 'the permission is missing',
  unreadable: 'the disk does not give it',
  changing: 'it changes each time it is read',
  'too-far': `it ${TOO_FAR}`,
  special: 'it is not a file',
  ignored: 'an ignore file covers it',
}

function blobsOf(candidate: ResolvedCandidate): ObjectId[] {
  const files = candidate.files.map(({ id }) => id)
  return 'id' in candidate.document ? [candidate.document.id, ...files] : files
}

function knownContent({ size, sha256, isLfsPointer, hidden }: Extract<TakenBlob, { kind: 'blob' }>): KnownContent {
  return { kind: 'known', size, sha256, isLfsPointer, hidden }
}

/**
 * Folders whose content depends on a link outside of any skill, or on a linked SKILL.md, and so not only on their own
 * id.
 */
function leaningOnLinks(found: FoundSkills, linked: readonly SkillCandidate[]): string[] {
  const documents = found.candidates.filter(({ document }) => document.kind === 'link')
  return [...found.links, ...linked, ...documents].map(({ path }) => path)
}
