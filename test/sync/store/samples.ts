import { createHash } from 'node:crypto'
import { digestOf, inPathOrder } from '../../../src/sync/model/digest.ts'
import type { Docs } from '../../../src/sync/model/docs-folder.ts'
import type { GenerationEntry } from '../../../src/sync/model/generation.ts'
import { isObjectId, type ObjectId } from '../../../src/sync/model/revision.ts'
import type { Skill, SkillFile } from '../../../src/sync/model/skill.ts'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import { isSourceId, type SourceId } from '../../../src/sync/model/source-id.ts'
import { folderNameOf, type StoredSkill } from '../../../src/sync/store/skills/stored-path.ts'
import type { Store } from '../../../src/sync/store/store.ts'

/** A skill and the bytes of its files, by path. */
export interface Sample {
  readonly skill: Skill
  readonly stored: StoredSkill
  readonly bytes: ReadonlyMap<string, Buffer>
  /** Where it is no skill. */
  readonly docs?: Docs
}

/** A path that ends in `!` is an executable file; the mark is no part of it. */
export function sample(name: string, contents: Readonly<Record<string, string>>): Sample {
  const bytes = new Map(Object.entries(contents).map(([path, text]) => [path.replace(/!$/, ''), Buffer.from(text)]))
  const files = inPathOrder(Object.keys(contents).map((path) => fileOf(path, Buffer.from(contents[path] ?? ''))))
  const skill: Skill = {
    path: name,
    servedPath: name,
    standing: 'served',
    name,
    description: 'A sample',
    frontmatter: { name, description: 'A sample' },
    files,
    size: files.reduce((total, file) => total + file.size, 0),
    digest: digestOf(files),
    findings: [],
  }
  return { skill, stored: storedOf(skill), bytes }
}

/** Docs as a survey finds them, and the bytes of their files. */
export function sampleDocs(contents: Readonly<Record<string, string>>): Sample {
  const { skill, bytes } = sample('docs', contents)
  const { files, size, digest = '' } = skill
  const docs: Docs = { kind: 'docs', files, size, digest }
  return { skill, docs, bytes, stored: storedDocs(docs) }
}

/** A skill whose files differ from those of every other number. */
export function numbered(number: number): Sample {
  return sample(`skill-${number}`, {
    'SKILL.md': `---\nname: skill-${number}\n---\n`,
    'run.sh!': `echo ${number}\n`,
    'references/shared.md': 'the same in all\n',
    'references/deep/own.md': `${number}\n`.repeat(100),
  })
}

function storedOf(skill: Skill): StoredSkill {
  return { place: 'skills', digest: skill.digest ?? '', folderName: folderNameOf(skill), files: skill.files }
}

function storedDocs({ digest = '', files = [] }: Partial<Docs> = {}): StoredSkill {
  return { place: 'docs', digest, folderName: '', files }
}

function fileOf(path: string, bytes: Buffer): SkillFile {
  return {
    path: path.replace(/!$/, ''),
    executable: path.endsWith('!'),
    blob: objectId(createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')),
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }
}

/** Brings the samples into the store the way a pull does. */
export async function keepSamples(store: Store, ...samples: readonly Sample[]): Promise<void> {
  await store.objects.put(samples.flatMap(({ bytes }) => [...bytes.values()]))
  await store.skills.expectWhole(samples.map(({ stored }) => stored))
}

export function snapshotOf(...samples: readonly Sample[]): Snapshot {
  return {
    source: sourceId('team'),
    url: 'https://git.example.com/skills.git',
    revision: { asked: 'main', ref: 'refs/heads/main', commit: objectId('1'.repeat(40)) },
    tree: objectId('2'.repeat(40)),
    rules: '3'.repeat(64),
    skills: samples.filter(({ docs }) => docs === undefined).map(({ skill }) => skill),
    ...samples.reduce((found, { docs }) => (docs === undefined ? found : { docs }), {}),
    findings: [],
    folders: {},
    proof: { commit: '' },
  }
}

/** Keeps, snapshots and publishes the samples as the one source of a generation. */
export async function publishSamples(store: Store, now: Date, ...samples: readonly Sample[]): Promise<GenerationEntry> {
  await keepSamples(store, ...samples)
  const held = { source: sourceId('team'), snapshot: await store.snapshots.keep(snapshotOf(...samples)) }
  await store.generations.publish([held], now)
  return held
}

/** Throws unless every file of every skill that the current generation names can be read. Gives the generation's number. */
export async function verifyCurrent(store: Store): Promise<number | undefined> {
  const current = await store.generations.current()
  for (const { snapshot } of current?.sources ?? []) {
    const { skills, docs } = await store.snapshots.read(snapshot)
    for (const skill of skills) for (const file of skill.files) await store.skills.read(storedOf(skill), file)
    for (const file of docs?.files ?? []) await store.skills.read(storedDocs(docs), file)
  }
  return current?.number
}

export function never(): AbortSignal {
  return new AbortController().signal
}

export function sourceId(text: string): SourceId {
  if (!isSourceId(text)) throw new Error(`"${text}" is no source id`)
  return text
}

export function objectId(text: string): ObjectId {
  if (!isObjectId(text)) throw new Error(`"${text}" is no object id`)
  return text
}
