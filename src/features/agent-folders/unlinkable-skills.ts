import type { Catalog } from '../../sync/catalog/catalog.ts'
import { noFolderNameReason } from '../../sync/catalog/folder-skills.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { surveyProblems } from '../../sync/model/verdict/skill-problems.ts'
import { stateText } from '../../sync/model/verdict/verdict.ts'
import type { FetchedSkills } from './fetched-skills.ts'
import { refusedNameIn } from './linkable-skills.ts'
import type { Linkable } from './linkable-skills.ts'

/** A known skill that is put into no folder. */
export interface LeftOut {
  readonly source: SourceId
  /** The real folder, relative to the source's root. */
  readonly path: string
  readonly name: string | undefined
  readonly why: string
}

/** The facts that decide about the skills of other MCP servers. */
export interface UpstreamGround {
  readonly fetched: FetchedSkills
  /** The MCP servers whose sources have `folders`. */
  readonly servers: ReadonlySet<SourceId>
  /** The skills that wait for approval. */
  readonly pending: ReadonlySet<Skill>
}

/**
 * All known skills that cannot be linked, each with its reason. Omits those of MCP servers whose sources have no
 * `folders`.
 */
export function leftOutOf(
  { snapshots, sources }: Catalog,
  linkable: readonly Linkable[],
  { fetched, servers, pending }: UpstreamGround,
): readonly LeftOut[] {
  const linked = new Set(linkable.map(({ skill }) => skill))
  const disabled = new Map(sources.map(([source, ...paths]) => [source, new Set<string>(paths)]))
  return snapshots.flatMap(({ source, skills }) =>
    skills
      .filter((skill) => !linked.has(skill) && (!isOfUpstream(skill) || servers.has(source)))
      .map((skill) => {
        const { path, name } = skill
        // The catalog leaves out both in the same way.
        if (pending.has(skill)) return { source, path, name, why: 'waiting for skillsyncd approve' }
        const isDisabled = disabled.get(source)?.has(path) === true
        const lack = isDisabled ? undefined : (fetched.get(skill) ?? refusedNameIn(skill))
        return { source, path, name, why: lack ?? whyLeftOut(source, skill, isDisabled) }
      }),
  )
}

/** The skills of the MCP servers whose sources have no `folders`: for a command that names one. */
export function upstreamIn({ snapshots }: Catalog, servers: ReadonlySet<SourceId>): readonly LeftOut[] {
  return snapshots.flatMap(({ source, skills }) =>
    servers.has(source)
      ? []
      : skills.filter(isOfUpstream).map(({ path, name }) => ({ source, path, name, why: OF_UPSTREAM })),
  )
}

const OF_UPSTREAM =
  'it is of another MCP server, and its source has no `folders: true`, which lets its skills, scripts included, be put into folders of agents. Agents have it over MCP (skillsyncd mcp)'

function whyLeftOut(source: SourceId, skill: Skill, isDisabled: boolean): string {
  if (isDisabled) return stateText('disabled')
  const { standing } = skill
  if (standing === 'served') return 'another skill has its place'
  const [decisive] = surveyProblems(source, skill)
  const noName = standing === 'tools' ? noFolderNameReason(skill) : undefined
  const why = [decisive?.message, noName].filter((one) => one !== undefined).join('; ')
  return `${stateText(standing === 'withheld' ? 'withheld' : 'partly')}: ${why}`
}
