import { fewText, firstFew } from '../../base/text/first-few.ts'
import { countOf } from '../../base/text/plural.ts'
import type { ExitStatus } from '../../daemon/cli/command.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { digestText } from '../../sync/model/digest.ts'
import type { Done } from './apply-plan.ts'
import { namedFolderOf } from './link-record.ts'
import type { LinkedSkill, Use } from './link-record.ts'
import type { LeftOut } from './unlinkable-skills.ts'

/** The result for one folder. */
export interface FolderEnd {
  readonly folder: string
  readonly uses: readonly Use[]
  readonly copies: boolean
  readonly done: readonly Done[]
  /** Additional warnings. */
  readonly cautions: readonly string[]
  /** The number of skills of MCP servers whose sources have no `folders`. */
  readonly ofUpstream: number
}

/** Failures outweigh results that wait for the operator. */
export function exitOf(ends: readonly FolderEnd[]): ExitStatus {
  const all = new Set(ends.flatMap(({ done }) => done.map(({ end }) => end)))
  if (all.has('failed')) return 1
  return all.has('left') || all.has('clash') ? 3 : 0
}

/** A line for each folder, with what needs a person below it, and the sum. `isVerbose`: a line for each skill too. */
export function linesOfEnds(ends: readonly FolderEnd[], isVerbose: boolean): readonly string[] {
  const lines = ends.flatMap((end) => linesOf(end, isVerbose))
  return ends.length > 1 ? [...lines, `${ends.length} folders: ${sumText(ends.flatMap(({ done }) => done))}`] : lines
}

function linesOf({ folder, uses, done, cautions, ofUpstream }: FolderEnd, isVerbose: boolean): string[] {
  const told = done.filter(({ end }) => (isVerbose ? end !== 'kept' : NEEDS_PERSON.has(end)))
  const isNothing = done.length === 0 && cautions.length === 0
  const what = isNothing ? 'nothing to install, and nothing that skillsyncd made' : sumText(done, MOST_NAMED)
  const lines = [
    `${uses.map(folderUseText).join(', ')}: ${what}; ${folder}`,
    ...together(told).map((line) => `  ${line}`),
    ...(ofUpstream > 0
      ? [
          `  - ${countOf(ofUpstream, 'skill')} of other MCP servers: in no folder, since their sources have no \`folders: true\``,
        ]
      : []),
    ...cautions.map((caution) => `  - ${caution}`),
  ]
  return lines.map(printableLine)
}

/** The ends that a person has to look at. */
const NEEDS_PERSON: ReadonlySet<Done['end']> = new Set(['left', 'clash', 'failed'])

/** The number of skills with each end, and the first names of those that were moved. */
function sumText(done: readonly Done[], most = 0): string {
  const sums = SUMS.flatMap(([word, isOf]) => {
    const some = done.filter(isOf)
    if (some.length === 0) return []
    const names = most === 0 || word === 'as before' ? '' : ` (${fewText(some, most, ({ name }) => name)})`
    return [`${some.length} ${word}${names}`]
  })
  return sums.length === 0 ? 'no skill' : sums.join(', ')
}

const SUMS: readonly (readonly [word: string, isOf: (done: Done) => boolean])[] = [
  ['linked', ({ end, isRenewed }) => end === 'linked' && isRenewed !== true],
  ['copied', ({ end, isRenewed }) => end === 'copied' && isRenewed !== true],
  ['linked again', ({ end, isRenewed }) => end === 'linked' && isRenewed === true],
  ['copied again', ({ end, isRenewed }) => end === 'copied' && isRenewed === true],
  ['removed', ({ end }) => end === 'removed'],
  ['as before', ({ end }) => end === 'kept'],
  ['not there', ({ end }) => NEEDS_PERSON.has(end)],
]

/** The lines. Skills that failed for one reason have one: where the folder is none, all of them do. */
function together(done: readonly Done[]): readonly string[] {
  return done.flatMap((one) => {
    if (one.end !== 'failed') return lineOf(one)
    const alike = done.filter(({ end, why }) => end === 'failed' && why === one.why)
    if (alike[0] !== one) return []
    return `! ${fewText(alike, MOST_NAMED, nameOf)} failed: ${one.why}`
  })
}

const MOST_NAMED = 10

function nameOf({ name, skill }: Pick<Done, 'name' | 'skill'>): string {
  return skill === undefined ? name : `${name} (${skill.source}/${skill.skill.path})`
}

/** A line for each of the first skills that are in none of the folders, with the reason. */
export function leftOutLines(leftOut: readonly LeftOut[], isVerbose: boolean): readonly string[] {
  const shown = isVerbose ? leftOut : firstFew(leftOut, MOST_NAMED)
  const more = leftOut.length - shown.length
  return [
    ...shown.map(({ source, path, why }) => printableLine(`- ${source}/${path} is not linked: ${why}`)),
    ...(more > 0 ? [`- ${more} more are not linked; skillsyncd link names all`] : []),
  ]
}

/** The agent that uses a folder, as text; for a folder named by its path, the option that names it. */
export function folderUseText(use: Use): string {
  const { agent, project } = use
  const named = namedFolderOf(use)
  if (named !== undefined) return `--to ${named}`
  return project === undefined ? agent : `${agent} in ${project}`
}

function lineOf(done: Done): string {
  const { end, isRenewed, linked, why } = done
  const name = nameOf(done)
  switch (end) {
    case 'kept':
      return `= ${name}`
    case 'linked':
    case 'copied':
      return `${isRenewed === true ? '~' : '+'} ${name} ${end}${isRenewed === true ? ' again' : ''}`
    case 'removed':
      return `- ${done.name}${linked === undefined ? '' : ` (${placeText(linked)})`} removed`
    case 'left':
    case 'clash':
      return `! ${name} ${blockageText(blockageOf(done))}`
    case 'failed':
      return `! ${name} failed: ${why}`
    default:
      return end satisfies never
  }
}

/** The reason why a skill is not in a folder, as the rest of a sentence, and the step that brings it there. */
export interface Blockage {
  /** The name of the skill, with its place. */
  readonly name: string
  readonly why: string
  /** Absent if the entry is of no skill that is served. */
  readonly fix?: string
}

/** The blockage of an entry that was left alone, or whose name stands for another skill. */
export function blockageOf(done: Pick<Done, 'name' | 'end' | 'skill' | 'linked' | 'why'>): Blockage {
  const { end, skill, linked, why } = done
  const name = nameOf(done)
  if (end === 'clash') {
    const other = linked === undefined ? 'another' : placeText(linked)
    return {
      name,
      why: `is not linked: ${other} has the name`,
      fix: 'disable that and link every agent again to have this one',
    }
  }
  return {
    name,
    why: `left alone: ${why}`,
    ...(skill !== undefined && { fix: 'move that away, or disable the skill' }),
  }
}

/** The blockage without the name. */
export function blockageText({ why, fix }: Blockage): string {
  return fix === undefined ? why : `${why}; ${fix}`
}

function placeText({ source, path }: LinkedSkill): string {
  return `${source}/${path}`
}

export function endInJson({ folder, uses, copies, done, cautions, ofUpstream }: FolderEnd): object {
  return {
    folder,
    uses,
    copies,
    cautions,
    ofUpstream,
    skills: done.map(({ name, end, isRenewed, skill, linked, why }) => ({
      name,
      end,
      ...(isRenewed !== undefined && { isRenewed }),
      ...(skill !== undefined && {
        source: skill.source,
        path: skill.skill.path,
        uri: skill.uri,
        digest: digestText(skill.digest),
      }),
      ...(linked !== undefined && { standsFor: linked }),
      ...(why !== undefined && { why }),
    })),
  }
}
