import { countOf } from '../../../base/text/plural.ts'
import type { Done } from '../../agent-folders/apply-plan.ts'
import { namedFolderOf } from '../../agent-folders/link-record.ts'
import type { LinkedSkill, Use } from '../../agent-folders/link-record.ts'
import type { LeftOut } from '../../agent-folders/unlinkable-skills.ts'
import { printableLine } from '../../base/log-line.ts'
import type { ExitStatus } from '../command.ts'

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
    ...moved.map((one) => `  ${lineOf(one)}`),
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

function lineOf({ name, end, isRenewed, skill, linked, why }: Done): string {
  const of = skill === undefined ? '' : ` (${skill.source}/${skill.skill.path})`
  switch (end) {
    case 'kept':
      return `= ${name}${of}`
    case 'linked':
    case 'copied':
      return `${isRenewed === true ? '~' : '+'} ${name}${of} ${end}${isRenewed === true ? ' again' : ''}`
    case 'removed':
      return `- ${name}${linked === undefined ? '' : ` (${placeText(linked)})`} removed`
    case 'left':
      return `! ${name}${of} left alone: ${why}${skill === undefined ? '' : '; move that away, or disable the skill'}`
    case 'clash':
      return `! ${name}${of} is not linked: ${linked === undefined ? 'another' : placeText(linked)} has the name; disable that and link every agent again to have this one`
    case 'failed':
      return `! ${name}${of} failed: ${why}`
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
