import { AGENTS } from '../agents/agents.ts'
import type { Links, Use } from './link-record.ts'

/** Warnings for a folder in which these agents have skills linked or copied. */
export function cautionsFor(uses: readonly Use[], copies: boolean, { folders }: Links): readonly string[] {
  const everywhere = [...folders.values()].flatMap((folder) => folder.uses)
  return uses.flatMap(({ agent: id, project }) => {
    const agent = AGENTS.find((candidate) => candidate.id === id)
    const twice = everywhere.filter((use) => use.project === project && agent?.alsoReads.includes(use.agent) === true)
    return [
      ...(copies || agent?.caution === undefined ? [] : [`${agent.title}: ${agent.caution}`]),
      ...twice.map((use) => `${agent?.title} reads the folder of ${use.agent} too: it may show each skill twice`),
    ]
  })
}
