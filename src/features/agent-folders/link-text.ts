import { countOf } from '../../base/text/plural.ts'
import type { ExitStatus } from '../../daemon/cli/command.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
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

export function linesOf({ folder, uses, done, cautions, ofUpstream }: FolderEnd): string[] {
  const kept = done.filter(({ end }) => end === 'kept').length
  const moved = done.filter(({ end }) => end !== 'kept')
  const lines = [
    `${uses.map(folderUseText).join(', ')}: ${folder}`,
    ...together(moved).map((line) => `  ${line}`),
    ...(kept > 0 ? [`  = ${countOf(kept, 'skill')} as before`] : []),
    ...(done.length === 0 && cautions.length === 0 ? ['  nothing to install, and nothing that skillsyncd made'] : []),
    ...(ofUpstream > 0
      ? [
          `  - ${countOf(ofUpstream, 'skill')} of other MCP servers: in no folder, since their sources have no \`folders: true\``,
        ]
      : []),
    ...cautions.map((caution) => `  - ${caution}`),
  ]
  return lines.map(printableLine)
}

/** The lines. Skills that failed for one reason have one: where the folder is none, all of them do. */
function together(done: readonly Done[]): readonly string[] {
  return done.flatMap((one) => {
    if (one.end !== 'failed') return lineOf(one)
    const alike = done.filter(({ end, why }) => end === 'failed' && why === one.why)
    if (alike[0] !== one) return []
    const names = alike.slice(0, MOST_NAMED).map(nameOf).join(', ')
    const more = alike.length > MOST_NAMED ? ` and ${alike.length - MOST_NAMED} more` : ''
    return `! ${names}${more} failed: ${one.why}`
  })
}

const MOST_NAMED = 8

function nameOf({ name, skill }: Done): string {
  return skill === undefined ? name : `${name} (${skill.source}/${skill.skill.path})`
}

/** The line for a skill that is in none of the folders, with the reason. */
export function leftOutLine({ source, path, why }: LeftOut): string {
  return printableLine(`- ${source}/${path} is not linked: ${why}`)
}

/** The agent that uses a folder, as text; for a folder named by its path, the option that names it. */
export function folderUseText(use: Use): string {
  const { agent, project } = use
  const named = namedFolderOf(use)
  if (named !== undefined) return `--to ${named}`
  return project === undefined ? agent : `${agent} in ${project}`
}

function lineOf(done: Done): string {
  const { end, isRenewed, skill, linked, why } = done
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
      return `! ${name} left alone: ${why}${skill === undefined ? '' : '; move that away, or disable the skill'}`
    case 'clash':
      return `! ${name} is not linked: ${linked === undefined ? 'another' : placeText(linked)} has the name; disable that and link every agent again to have this one`
    case 'failed':
      return `! ${name} failed: ${why}`
    default:
      return end satisfies never
  }
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
        digest: skill.digest,
      }),
      ...(linked !== undefined && { standsFor: linked }),
      ...(why !== undefined && { why }),
    })),
  }
}
