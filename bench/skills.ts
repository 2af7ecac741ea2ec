import type { Content } from '../test/support/git/repository.ts'
import { randomFrom } from '../test/support/random.ts'
import type { Random } from '../test/support/random.ts'
import { median } from './figure.ts'

/** The files of a repository of skills: the same for the same count, on each machine. */
export interface Skills {
  readonly files: Readonly<Record<string, Content>>
  /** What it is like, in one line. */
  readonly summary: string
  /** The paths of all SKILL.md. */
  readonly documents: readonly string[]
}

/**
 * Skills as public collections have them: a median of 3 files and 9 KiB, a tenth with over 30 files; text that packs like
 * English; pages around them that belong to no skill. Another number makes another repository of the same kind.
 */
export function makeSkills(count: number, { number = 0, pages = 20 } = {}): Skills {
  const random = randomFrom(SEED + number)
  const skills = Array.from({ length: count }, (_, index) => makeSkill(number + index, `skill-${index + 1}`, random))
  const around = Array.from(
    { length: pages },
    (_, index) => [`docs/page-${index + 1}.md`, prose(4096, random)] as const,
  )
  return {
    files: Object.fromEntries([['README.md', prose(6000, random)] as const, ...around, ...skills.flat()]),
    summary: summaryOf(skills),
    documents: skills.flat().flatMap(([path]) => (path.endsWith('/SKILL.md') ? [path] : [])),
  }
}

/** SKILL.md as the generator would write it, but for one more line. */
export function changed(document: Content | undefined, line: string): string {
  return `${typeof document === 'string' ? document : ''}\n${line}\n`
}

type File = readonly [path: string, content: Content]

const SEED = 20_261_120

function makeSkill(index: number, name: string, random: Random): File[] {
  // Multiples of the golden ratio fill the quantiles evenly, however few there are.
  const count = fileCount((index * GOLDEN) % 1)
  const bytes = MIDDLE_BYTES * Math.exp(SPREAD * normal(random)) + 700 * count
  const document = Math.max(bytes * (count === 1 ? 1 : 0.5), 800)
  const each = (bytes - document) / Math.max(count - 1, 1)
  const supporting = Array.from({ length: count - 1 }, (_, index): File => {
    const text = prose(Math.max(each * (0.5 + random()), 200), random)
    // One file in eight is a script.
    if (index % 8 === 7) return [`skills/${name}/scripts/step-${index}.sh`, { executable: `#!/bin/sh\n# ${text}` }]
    return [`skills/${name}/references/part-${index}.md`, text]
  })
  const head = `---\nname: ${name}\ndescription: ${prose(164, random).replaceAll(/[\n.]/g, ' ').trim()}\n---\n`
  return [[`skills/${name}/SKILL.md`, `${head}# ${name}\n\n${prose(document, random)}`], ...supporting]
}

const GOLDEN = (1 + Math.sqrt(5)) / 2

/** Of a skill's size without what each file adds: the median, and the spread of the natural logarithm. */
const MIDDLE_BYTES = 6400
const SPREAD = 0.8

/** By quantile: half of the skills have 3 files or fewer, a tenth have 31 to 60. */
function fileCount(quantile: number): number {
  if (quantile < 0.25) return 1
  if (quantile < 0.45) return 2
  if (quantile < 0.6) return 3
  if (quantile < 0.75) return 4 + Math.floor((quantile - 0.6) * 20)
  if (quantile < 0.9) return 7 + Math.floor((quantile - 0.75) * 60)
  return 31 + Math.floor((quantile - 0.9) * 300)
}

function prose(bytes: number, random: Random): string {
  const words: string[] = []
  for (let length = 0; length < bytes; length += (words.at(-1)?.length ?? 0) + 1) {
    const word = WORDS[Math.floor(random() * WORDS.length)] ?? ''
    words.push(words.length % 14 === 13 ? `${word}.\n` : word)
  }
  return `${words.join(' ')}\n`
}

const WORDS = (
  'a about after again all also an and any as at be because before both branch build but by call can case change check ' +
  'client code commit config content copy data day default describe do each end error every example fail file find first ' +
  'folder for from git give go have how if in into is it its job keep kind last later list log long look make many may ' +
  'merge more most must name never new next no not note now of on once one only open or order other out over page part ' +
  'path plan read reason release report request result review run same say schema script search second see server set ' +
  'should show skill small so some source start state step stop such sure table take tell test than that the them then ' +
  'there they this three time to tool tree two type under until up use user value verify version wait want was way what ' +
  'when where which while who why will with without word work write wrong year you your'
).split(' ')

function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

function summaryOf(skills: readonly (readonly File[])[]): string {
  const counts = skills.map((files) => files.length)
  const sizes = skills.map((files) => files.reduce((sum, [, content]) => sum + bytesOf(content), 0))
  const total = counts.reduce((sum, count) => sum + count, 0)
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  const many = counts.filter((count) => count > 30).length
  return (
    `${skills.length} skills, ${total} files, ${(bytes / 2 ** 20).toFixed(1)} MiB; ` +
    `median ${median(counts)} files and ${(median(sizes) / 1024).toFixed(1)} KiB a skill; ${many} with over 30 files`
  )
}

/** The path of the skill with this SKILL.md. */
export function folderOf(document = ''): string {
  return document.slice(0, -'/SKILL.md'.length)
}

export function bytesOf(content: Content): number {
  return typeof content === 'string' || content instanceof Uint8Array ? content.length : JSON.stringify(content).length
}
