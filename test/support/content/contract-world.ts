import { createHash } from 'node:crypto'
import type { ReadContent } from '../../../src/serve/content.ts'
import { buildCatalog } from '../../../src/sync/catalog/catalog.ts'
import type { Catalog } from '../../../src/sync/catalog/catalog.ts'
import { digestOf } from '../../../src/sync/model/digest.ts'
import type { Docs } from '../../../src/sync/model/docs-folder.ts'
import type { Skill } from '../../../src/sync/model/skill.ts'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import type { Contract, Icon, Reference } from '../../../src/sync/skill/contract/contract.ts'
import { sample, snapshotOf, sourceId } from '../../sync/store/samples.ts'

/** What the sources hold, by their ids. */
export type World = Readonly<Record<string, SourceWorld>>

export interface SourceWorld {
  readonly skills?: readonly SkillWorld[]
  /** Texts of the docs folder, by path. */
  readonly docs?: Readonly<Record<string, string>>
  /** The paths of the skills that are disabled. */
  readonly disabled?: readonly string[]
}

/** A skill at a path. It keeps the contract unless `contract` is false. */
export interface SkillWorld {
  readonly path: string
  readonly id: string
  readonly body?: string
  readonly description?: string
  readonly standing?: Skill['standing']
  readonly contract?: boolean
  /** True if its source offers the contract, and requires it of no skill. */
  readonly isOffered?: true
  /** A frontmatter for which `skills/list` leaves it out. */
  readonly isOmitted?: boolean
  readonly version?: string
  readonly tags?: readonly string[]
  readonly dependsOn?: readonly string[]
  readonly icons?: readonly Icon[]
  /** What is declared, by id: the text and, where it is not a matter of course, the rest. */
  readonly references?: Readonly<Record<string, ReferenceWorld>>
  /** Further files, by path. */
  readonly files?: Readonly<Record<string, string>>
}

export interface ReferenceWorld {
  readonly text: string
  readonly path?: string
  readonly mimeType?: string
  readonly title?: string
}

let generation = 0

/** The catalog of a world, each of another generation. */
export function catalogOfWorld(world: World): Catalog {
  generation += 1
  const snapshots = Object.entries(world).map(([id, source]) => snapshotOfSource(id, source))
  const sources = snapshots.map((snapshot) => ({ source: snapshot.source, snapshot: sha256(JSON.stringify(snapshot)) }))
  const disabled = Object.entries(world).map(([id, source]) => [sourceId(id), new Set(source.disabled)] as const)
  return buildCatalog({ number: generation, createdAt: '', sources }, snapshots, new Map(disabled))
}

/** Reads whatever was ever in a world. */
export const readWorld: ReadContent = async (_, { sha256: digest }) => STORED.get(digest)

/** The text of the SKILL.md. */
export function documentOf({ id, body = `# ${id}\n` }: SkillWorld): string {
  return `---\nname: ${id}\n---\n${body}`
}

/** Where the file of a reference lies. */
function pathOf(id: string, { path = `references/${id}.md` }: ReferenceWorld): string {
  return path
}

const STORED = new Map<string, Buffer>()

function snapshotOfSource(id: string, { skills = [], docs }: SourceWorld): Snapshot {
  const snapshot = { ...snapshotOf(), source: sourceId(id), skills: skills.map(skillOf) }
  return docs === undefined ? snapshot : { ...snapshot, docs: docsOf(docs) }
}

function skillOf(world: SkillWorld): Skill {
  const { path, id, description = `What ${id} does`, standing = 'served', references = {}, files = {} } = world
  const declared = Object.entries(references).map(([ref, one]) => [pathOf(ref, one), one.text])
  const { skill, bytes } = sample(id, { 'SKILL.md': documentOf(world), ...files, ...Object.fromEntries(declared) })
  store(bytes.values())
  const servedPath = standing === 'tools' ? undefined : path
  const odd = world.isOmitted === true && { frontmatter: { ...skill.frontmatter, metadata: 7 } }
  const named = { ...skill, path, servedPath, standing, description, ...odd }
  return world.contract === false ? named : { ...named, contract: contractOf(world) }
}

function contractOf(world: SkillWorld): Contract {
  const { id, version = '1.0.0', tags = [], dependsOn = [], icons = [], references = {}, isOffered } = world
  return {
    id,
    version,
    tags,
    capabilities: [`resource://skills/${id}/document`],
    dependsOn,
    icons,
    references: Object.keys(references)
      .toSorted()
      .map((ref) => referenceOf(ref, references[ref]!)),
    ...(isOffered && { isOffered }),
  }
}

function referenceOf(id: string, world: ReferenceWorld): Reference {
  const { mimeType = 'text/markdown', title } = world
  return { id, path: pathOf(id, world), mimeType, ...(title !== undefined && { title }) }
}

function docsOf(texts: Readonly<Record<string, string>>): Docs {
  const { skill, bytes } = sample('docs', texts)
  store(bytes.values())
  return { kind: 'docs', files: skill.files, digest: digestOf(skill.files), size: skill.size }
}

function store(contents: Iterable<Buffer>): void {
  for (const content of contents) STORED.set(sha256(content), content)
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}
