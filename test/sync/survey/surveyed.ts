import * as fc from 'fast-check'
import type { Docs } from '../../../src/sync/model/docs-folder.ts'
import type { ObjectId } from '../../../src/sync/model/revision.ts'
import { SKILL_LIMITS, type Skill } from '../../../src/sync/model/skill.ts'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import type { Selection } from '../../../src/sync/model/source.ts'
import { TreeNotTakenError } from '../../../src/sync/model/tree.ts'
import type { DocumentReader } from '../../../src/sync/skill/document-reader.ts'
import { FRONTMATTER_LIMITS } from '../../../src/sync/skill/frontmatter.ts'
import type { SkillDiagnostic } from '../../../src/sync/skill/skill-diagnostic.ts'
import { temporaryWorkspace } from '../../../src/sync/store/objects/temporary-blobs.ts'
import { READ_HERE } from '../../../src/sync/survey/document-reading.ts'
import type { SurveyLimits } from '../../../src/sync/survey/read-skill.ts'
import { knownTrees, type Rules } from '../../../src/sync/survey/survey-rules.ts'
import { survey, type Survey } from '../../../src/sync/survey/survey.ts'
import { FETCH_LIMITS, NOTHING_KNOWN, type FetchLimits, type KnownTrees } from '../../../src/sync/upstream/upstream.ts'
import { ScriptedUpstream, type Files } from '../../support/git/scripted-upstream.ts'
import { never, sourceId } from '../store/samples.ts'

/** A first survey of many files, which tells of each SKILL.md before it is read. */
export class Lots implements AsyncDisposable {
  readonly upstream: ScriptedUpstream
  readonly #workspace: Awaited<ReturnType<typeof temporaryWorkspace>>

  private constructor(upstream: ScriptedUpstream, workspace: Awaited<ReturnType<typeof temporaryWorkspace>>) {
    this.upstream = upstream
    this.#workspace = workspace
  }

  static async of(files: Files): Promise<Lots> {
    return new Lots(new ScriptedUpstream(files), await temporaryWorkspace())
  }

  async survey(onRead: () => void): Promise<Survey> {
    const upstream = this.upstream.open(this.#workspace)
    await using tree = await upstream.fetch(await upstream.resolve(never()), NOTHING_KNOWN, never())
    const reader: DocumentReader = {
      ...READ_HERE,
      read: async (...args) => {
        onRead()
        return READ_HERE.read(...args)
      },
    }
    return await survey(tree, rulesWith(), { earlier: undefined, served: undefined, reader }, never())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#workspace[Symbol.asyncDispose]()
  }
}

/** Surveys of one source, one after another, each with what the one before it stored and nothing else. */
export class Surveys implements AsyncDisposable {
  readonly upstream: ScriptedUpstream
  readonly #workspace: Awaited<ReturnType<typeof temporaryWorkspace>>
  /** The bytes of the skills that a store would have after the last survey. */
  #stored: ReadonlyMap<ObjectId, Buffer> = new Map()
  #last: Snapshot | undefined

  private constructor(workspace: Awaited<ReturnType<typeof temporaryWorkspace>>) {
    this.upstream = new ScriptedUpstream()
    this.#workspace = workspace
  }

  static async open(): Promise<Surveys> {
    return new Surveys(await temporaryWorkspace())
  }

  /** Surveys the files the way that a pull does, with what the last survey found. */
  async next(files: Files, rules: Rules, limits: Partial<FetchLimits> = {}): Promise<Snapshot> {
    this.upstream.files = files
    const known = knownTrees(rules, this.#last)
    this.#last = await this.#survey(rules, known, limits).catch(async (error: unknown) => {
      if (!(error instanceof TreeNotTakenError)) throw error
      return this.#survey(rules, NOTHING_KNOWN, limits)
    })
    return this.#last
  }

  async #survey(rules: Rules, known: KnownTrees, limits: Partial<FetchLimits>): Promise<Snapshot> {
    const upstream = this.upstream.open({ ...this.#workspace, limits: { ...FETCH_LIMITS, ...limits } })
    const revision = await upstream.resolve(never())
    await using tree = await upstream.fetch(revision, known, never())
    const stored = this.#stored
    const read = async (kept: Skill | Docs, path: string): Promise<Uint8Array> =>
      bytesIn(stored, kept.files.find((file) => file.path === path)?.blob, path)
    const earlier = this.#last === undefined ? undefined : { snapshot: this.#last, read }
    const { taken, ...found } = await survey(tree, rules, { earlier, served: earlier }, never())
    this.#stored = await storedAfter(found, this.#stored, async (blob) => {
      const brought = taken.get(blob)
      return brought?.kind === 'blob' ? Buffer.from(tree.bytesOf(brought)) : undefined
    })
    const rest = { source: sourceId('team'), url: 'https://git.example.com/skills.git', proof: { commit: '' } }
    return { ...rest, revision, tree: tree.root, ...found }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#workspace[Symbol.asyncDispose]()
  }
}

/** A survey of the files by someone who knows nothing of them. */
export async function surveyed(files: Files, edit: Edited = {}, fetch: Partial<FetchLimits> = {}): Promise<Snapshot> {
  await using surveys = await Surveys.open()
  return await surveys.next(files, rulesWith(edit), fetch)
}

/** What a test sets; all else is as it is in a configuration that sets nothing. */
export type Edited = Partial<Selection> & { readonly limits?: Partial<SurveyLimits> }

export function rulesWith(edit: Edited = {}): Rules {
  const { limits, ...selection } = edit
  return {
    selection: {
      root: '',
      include: ['**'],
      exclude: [],
      unlisted: [],
      names: 'remap',
      nested: 'as-skills',
      onBroken: 'withhold',
      lfs: 'withhold',
      hiddenUnicode: 'note',
      contract: false,
      docs: undefined,
      marketplace: false,
      ...selection,
    },
    limits: { skill: SKILL_LIMITS, frontmatter: FRONTMATTER_LIMITS, fetch: FETCH_LIMITS, ...limits },
  }
}

/** Every rule that a survey heeds, switched now one way and now the other. */
export const rules: fc.Arbitrary<Rules> = fc
  .record({
    root: fc.constantFrom('', 'r', 'r'),
    include: fc.constantFrom(['**'], ['**'], ['**'], ['r/**', 'b'], ['*', '*/*']),
    exclude: fc.constantFrom([], [], [], ['**/a'], ['b/**', 'r/b/**']),
    unlisted: fc.constantFrom([], [], ['**/b'], ['c/**']),
    names: fc.constantFrom('remap', 'remap', 'exact'),
    nested: fc.constantFrom('as-skills', 'as-skills', 'as-files'),
    docs: fc.constantFrom(undefined, '', 'r', 'r/b'),
    limits: fc.constantFrom({}, {}, { skill: { files: 3, bytes: 1000 } }),
  })
  .map((edit) => rulesWith(edit))

/** A skill by its true path. */
export function skillAt({ skills }: Pick<Snapshot, 'skills'>, path: string): Skill {
  const found = skills.find((skill) => skill.path === path)
  if (found === undefined) throw new Error(`No skill at "${path}", only at ${skills.map((skill) => skill.path).join()}`)
  return found
}

/** The rules that the findings name, and where. */
export function noted(findings: readonly SkillDiagnostic[]): string[] {
  return findings.map(({ rule, path }) => `${rule} ${path}`)
}

async function storedAfter(
  { skills, docs }: Pick<Snapshot, 'skills' | 'docs'>,
  before: ReadonlyMap<ObjectId, Buffer>,
  brought: (blob: ObjectId) => Promise<Buffer | undefined>,
): Promise<ReadonlyMap<ObjectId, Buffer>> {
  const after = new Map<ObjectId, Buffer>()
  const kept = skills.filter(({ digest, standing }) => digest !== undefined && standing !== 'withheld')
  for (const { files } of [...kept, ...(docs === undefined ? [] : [docs])]) {
    for (const { blob, path } of files) after.set(blob, (await brought(blob)) ?? bytesIn(before, blob, path))
  }
  return after
}

function bytesIn(stored: ReadonlyMap<ObjectId, Buffer>, blob: ObjectId | undefined, path: string): Buffer {
  const bytes = blob === undefined ? undefined : stored.get(blob)
  if (bytes === undefined) throw new Error(`Nobody has the bytes of "${path}": neither brought nor stored`)
  return bytes
}
