import './run-the-build.ts'
import { createHash } from 'node:crypto'
import type { Catalog } from '../src/sync/catalog/catalog.ts'
import type { ObjectId } from '../src/sync/model/revision.ts'
import type { Skill } from '../src/sync/model/skill.ts'
import type { Snapshot } from '../src/sync/model/snapshot.ts'
import { makeSkills } from './skills.ts'

const { buildCatalog } = await import('../src/sync/catalog/catalog.ts')
const { digestOf } = await import('../src/sync/model/digest.ts')
const { isObjectId } = await import('../src/sync/model/revision.ts')
const { isSourceId } = await import('../src/sync/model/source-id.ts')

/** The skills of `makeSkills`, as often as it takes to have so many, with what their files hold. */
export class Catalogs {
  readonly #skills: readonly Skill[]
  readonly #bytes = new Map<string, Buffer>()
  #generation = 0

  constructor(count: number) {
    const files = Object.entries(makeSkills(Math.min(count, 200)).files).filter(([path]) => path.startsWith('skills/'))
    const folders = Map.groupBy(files, ([path]) => path.split('/').slice(0, 2).join('/'))
    const skills = [...folders].map(([folder, files]) =>
      this.#skillOf(
        folder,
        files.map(([path, content]) => [
          path.slice(folder.length + 1),
          typeof content === 'string' ? content : JSON.stringify(content),
        ]),
      ),
    )
    this.#skills = Array.from({ length: count }, (_, index) => copyOf(skills[index % skills.length], index))
  }

  /** The URI of the SKILL.md that each next catalog has another of. */
  readonly changing = 'skill://bench/0/skill-1/SKILL.md'

  /** What is in the file of this digest. */
  bytesOf(sha256: string): Buffer | undefined {
    return this.#bytes.get(sha256)
  }

  /** A catalog in which nothing but one SKILL.md is other than in the last one; its size is the same. */
  next(): Catalog {
    this.#generation += 1
    const number = this.#generation
    const [first, ...rest] = this.#skills
    if (first === undefined) throw new TypeError('There is no skill')
    return catalogOfSkills([this.#changed(first, number), ...rest], number)
  }

  #changed(skill: Skill, number: number): Skill {
    const files = skill.files.map((file) => {
      if (file.path !== 'SKILL.md') return file
      const bytes = Buffer.from(this.#bytes.get(file.sha256) ?? '')
      bytes.write(String(number).padStart(8), bytes.length - 9)
      return { ...file, sha256: this.#keep(bytes) }
    })
    return { ...skill, files, digest: digestOf(files) }
  }

  #skillOf(path: string, contents: readonly (readonly [path: string, content: string])[]): Skill {
    const files = contents.map(([path, content]) => {
      const bytes = Buffer.from(content)
      return { path, executable: false, blob: OBJECT, size: bytes.length, sha256: this.#keep(bytes) }
    })
    const document = contents.find(([path]) => path === 'SKILL.md')?.[1] ?? ''
    const [, name = '', description = ''] = /^name: (.*)\ndescription: (.*)$/m.exec(document) ?? []
    const size = files.reduce((sum, file) => sum + file.size, 0)
    const known = { name, description, frontmatter: { name, description }, files, size, digest: digestOf(files) }
    return { path, servedPath: path, standing: 'served', ...known, findings: [] }
  }

  #keep(bytes: Buffer): string {
    const sha256 = hexOf(bytes)
    this.#bytes.set(sha256, bytes)
    return sha256
  }
}

/** The catalog of one source with these skills. */
export function catalogOfSkills(skills: readonly Skill[], number: number): Catalog {
  const sources = [{ source: SOURCE, snapshot: hexOf(String(number)) }]
  return buildCatalog({ number, createdAt: '', sources }, [snapshotOf(skills)])
}

function copyOf(skill: Skill | undefined, index: number): Skill {
  if (skill === undefined) throw new TypeError('There is no skill')
  const path = `${Math.floor(index / 200)}/${skill.name ?? ''}`
  return { ...skill, path, servedPath: path }
}

function snapshotOf(skills: readonly Skill[]): Snapshot {
  const revision = { asked: undefined, ref: 'refs/heads/main', commit: OBJECT }
  const found = { skills, findings: [], folders: {}, proof: { commit: '' } }
  return { source: SOURCE, url: '', revision, tree: OBJECT, rules: '', ...found }
}

function hexOf(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}

const OBJECT = objectId('0'.repeat(40))
const SOURCE = sourceId('bench')

export function objectId(text: string): ObjectId {
  if (!isObjectId(text)) throw new TypeError(`"${text}" is no object id`)
  return text
}

function sourceId(text: string): Snapshot['source'] {
  if (!isSourceId(text)) throw new TypeError(`"${text}" is no source id`)
  return text
}
