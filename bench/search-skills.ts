import './run-the-build.ts'
import { createHash } from 'node:crypto'
import type { Catalog } from '../src/sync/catalog/catalog.ts'
import type { Skill } from '../src/sync/model/skill.ts'
import type { Store } from '../src/sync/store/store.ts'
import { randomFrom } from '../test/support/random.ts'
import type { Random } from '../test/support/random.ts'
import { catalogOfSkills, objectId } from './catalog.ts'

const { digestOf } = await import('../src/sync/model/digest.ts')

/** Skills to search, each with words, headings and a SKILL.md of its own, of 5 KiB or so; the same for the same count. */
export class SearchSkills {
  readonly #skills: readonly Skill[]
  readonly #documents: readonly Buffer[]
  readonly #large: Buffer | undefined
  #generation = 0

  /** `large`: a file of the last one besides. */
  constructor(count: number, large?: Buffer) {
    const random = randomFrom(20_261_123)
    const documents = Array.from({ length: count }, (_, index) => documentOf(index, random))
    this.#documents = documents.map(({ bytes }) => bytes)
    this.#large = large
    this.#skills = documents.map((document, index) => skillOf(document, index === count - 1 ? large : undefined))
  }

  /** What somebody may ask: words of one skill after another, every other time with a letter too few. */
  queries(count: number): string[] {
    return Array.from({ length: count }, (_, index) => {
      const { description = '' } = this.#skills[(index * 7_919) % this.#skills.length] ?? {}
      const words = description.split(' ').filter((word) => word.length > 3)
      const some = words.slice(0, 4).map((word, at) => (index % 2 === 1 && at === 0 ? word.slice(0, -1) : word))
      return some.join(' ')
    })
  }

  /** Puts the files of each into the store. */
  async keep(store: Store): Promise<void> {
    await store.objects.put(this.#large === undefined ? this.#documents : [...this.#documents, this.#large])
  }

  /** The SKILL.md of each. */
  get documents(): readonly Buffer[] {
    return this.#documents
  }

  /** A catalog in which one skill is called otherwise than in the last one. */
  next(): Catalog {
    this.#generation += 1
    const number = this.#generation
    const [first, ...rest] = this.#skills
    const changed = first === undefined ? [] : [{ ...first, description: `Generation number${number} of this` }]
    return catalogOfSkills([...changed, ...rest], number)
  }
}

/** Its path in its skill. */
export const LARGE = 'large.txt'

function skillOf({ name, description, bytes }: Document, large: Buffer | undefined): Skill {
  const files = [fileOf('SKILL.md', bytes), ...(large === undefined ? [] : [fileOf(LARGE, large)])]
  const size = files.reduce((all, file) => all + file.size, 0)
  const known = { name, description, frontmatter: { name, description }, files, size }
  return { path: name, servedPath: name, standing: 'served', ...known, digest: digestOf(files), findings: [] }
}

function fileOf(path: string, bytes: Buffer): Skill['files'][number] {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { path, executable: false, blob: objectId('0'.repeat(40)), size: bytes.length, sha256 }
}

interface Document {
  readonly name: string
  readonly description: string
  readonly bytes: Buffer
}

function documentOf(index: number, random: Random): Document {
  const name = `${wordsOf(2, random).join('-')}-${index}`
  const description = wordsOf(25, random).join(' ')
  const parts = Array.from(
    { length: 10 },
    () => `## ${wordsOf(4, random).join(' ')}\n\n${wordsOf(70, random).join(' ')}\n`,
  )
  const text = `---\nname: ${name}\ndescription: ${description}\n---\n# ${name}\n\n${parts.join('\n')}`
  return { name, description, bytes: Buffer.from(text) }
}

/** As words are in texts: the n-th is there a n-th as often. */
function wordsOf(count: number, random: Random): string[] {
  return Array.from({ length: count }, () => wordNumber(Math.floor(VOCABULARY ** random()) - 1))
}

/** About what the names, descriptions and headings of two and a half thousand public skills have. */
const VOCABULARY = 20_000

/** Those that are there often are short; few are near to another, as in a language. */
function wordNumber(number: number): string {
  const syllables = number < 500 ? 2 : number < 6_000 ? 3 : 4
  let left = Math.imul(number + 1, 2_654_435_761) >>> 0
  let word = ''
  for (let at = 0; at < syllables; at += 1) {
    word += SYLLABLES[left % SYLLABLES.length] ?? ''
    left = Math.floor(left / SYLLABLES.length)
  }
  return word
}

const SYLLABLES = 'b c d f g h k l m n p r s t v w'
  .split(' ')
  .flatMap((consonant) => 'a e i o u'.split(' ').map((vowel) => consonant + vowel))
