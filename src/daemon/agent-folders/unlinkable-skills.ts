import type { Catalog } from '../../sync/catalog/catalog.ts'
import { noFolderNameReason } from '../../sync/catalog/folder-skills.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill, Standing } from '../../sync/model/skill.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Linkable } from './linkable-skills.ts'

/** A known skill that is put into no folder. */
export interface LeftOut {
  readonly source: SourceId
  /** The real folder, relative to the source's root. */
  readonly path: string
  readonly name: string | undefined
  readonly why: string
}

/**
 * All known skills that cannot be linked, each with its reason. Omits those of other MCP servers, which are never
 * linked.
 */
export function leftOutOf({ snapshots, sources }: Catalog, linkable: readonly Linkable[]): readonly LeftOut[] {
  const linked = new Set(linkable.map(({ skill }) => skill))
  const disabled = new Map(sources.map(([source, ...paths]) => [source, new Set<string>(paths)]))
  return snapshots.flatMap(({ source, skills }) =>
    skills
      .filter((skill) => !linked.has(skill) && !isOfUpstream(skill))
      .map((skill) => {
        const { path, name } = skill
        return { source, path, name, why: whyLeftOut(skill, disabled.get(source)?.has(path) === true) }
      }),
  )
}

/** The skills of other MCP servers, each with the reason why it is not linked: for a command that names one. */
export function upstreamIn({ snapshots }: Catalog): readonly LeftOut[] {
  return snapshots.flatMap(({ source, skills }) =>
    skills.filter(isOfUpstream).map(({ path, name }) => ({ source, path, name, why: OF_UPSTREAM })),
  )
}

const OF_UPSTREAM =
  'it is of another MCP server, and no such skill is put into a folder: its files are checked whenever they are read, which an agent that opens a folder does not do. Agents have it over MCP (skillsyncd mcp); to have it in a folder, add the repository that it comes from as a source'

function whyLeftOut(skill: Skill, isDisabled: boolean): string {
  if (isDisabled) return 'disabled'
  const { standing, isUnlisted, findings } = skill
  if (isUnlisted === true) return STANDINGS.unlisted
  // Findings about links or files may precede it.
  const finding = findings.find(({ rule }) => rule === 'frontmatter-invalid') ?? findings[0]
  const noName = standing === 'tools' ? noFolderNameReason(skill) : undefined
  const why = [finding?.message, noName].filter((one) => one !== undefined).join('; ')
  return why === '' ? STANDINGS[standing] : `${STANDINGS[standing]}: ${why}`
}

const STANDINGS: Readonly<Record<Standing, string>> = {
  served: 'another skill has its place',
  unlisted: 'in no list',
  tools: 'for tools only',
  withheld: 'withheld',
}
