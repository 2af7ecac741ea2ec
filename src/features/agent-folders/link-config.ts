import { z } from 'zod'
import type { WrittenFolder } from '../../daemon/cli/feature.ts'
import { ifHomeIsKnown, UNKNOWN_HOME } from '../../daemon/config/environment.ts'
import type { UserFolders } from '../../daemon/config/environment.ts'
import type { Fault } from '../../daemon/config/rules/config-error.ts'
import { path } from '../../daemon/config/schema/scalars.ts'
import { oneOf } from '../../daemon/config/sections/access.ts'
import type { Absolute } from '../../daemon/config/sections/access.ts'
import type { ServedConfig } from '../../daemon/pull/trust/serving-policy.ts'
import { AGENTS } from './agents.ts'

const AGENT = z.enum(AGENTS.map((agent) => agent.id))

const KEPT_FOLDER = z
  .strictObject({
    agent: AGENT.optional().describe('The agent that owns the folder.'),
    to: path().optional().describe('The path of another folder.'),
    copy: z.boolean().optional().describe('Copies instead of links. Default: false.'),
  })
  .refine(...oneOf('agent', 'to'))

/** The keys of the folders of agents. */
export const LINK_KEYS = {
  links: z
    .array(
      z.union([AGENT, KEPT_FOLDER], {
        error: `must be one of ${AGENTS.map((agent) => agent.id).join(', ')}, or { agent: …, copy: … }, or { to: …, copy: … }`,
      }),
    )
    .optional()
    .describe('The folders that the daemon keeps up to date with the catalog; `skillsyncd link` writes them here.'),
}

type LinkEntries = z.output<typeof LINK_KEYS.links>

/** The folders in the configuration that the daemon keeps up to date with the catalog. */
export interface LinkSettings {
  readonly links: readonly KeptFolder[]
}

/** The configuration, with the folders of agents. */
export type LinkingConfig = ServedConfig & LinkSettings

/** A folder of skills: that of an agent, or the one at an absolute path. */
export type KeptFolder = { readonly copies: boolean } & ({ readonly agent: string } | { readonly to: string })

/** The folders that the daemon keeps up to date with the catalog. */
export function linksOf(entries: LinkEntries, absolute: Absolute): readonly KeptFolder[] {
  return (entries ?? []).map((entry) => keptFolderOf(entry, absolute))
}

function keptFolderOf(entry: NonNullable<LinkEntries>[number], absolute: Absolute): KeptFolder {
  if (typeof entry === 'string') return { agent: entry, copies: false }
  const { agent, to, copy: copies = false } = entry
  if (to !== undefined) return { to: absolute(to), copies }
  // The schema refuses an entry without either before this point.
  if (agent === undefined) throw new TypeError('A folder without an agent and a path was let through')
  return { agent, copies }
}

/** The folders that the daemon writes. */
export function writtenFolders({ links }: LinkSettings, user: UserFolders): readonly WrittenFolder[] {
  return links.map((kept) => ({ path: pathOfKept(kept, user), ...('agent' in kept && { agent: kept.agent }) }))
}

/** The path of the folder. Links in it are not resolved. */
export function pathOfKept(kept: KeptFolder, user: UserFolders): string {
  if ('to' in kept) return kept.to
  const agent = AGENTS.find(({ id }) => id === kept.agent)
  // The schema refuses an unknown agent before this point.
  if (agent === undefined) throw new TypeError(`An agent "${kept.agent}" was let through`)
  return agent.user(user)
}

/** The entries of `links` whose folders are in a home that is not known. */
export function homelessLinks({ links = [] }: { readonly links?: LinkEntries }, environment: UserFolders): Fault[] {
  return links.flatMap((entry, index) => {
    const agent = typeof entry === 'string' ? entry : entry.agent
    if (agent === undefined || ifHomeIsKnown(() => pathOfKept({ agent, copies: false }, environment))) return []
    const message = `the folder of this agent cannot be found: ${UNKNOWN_HOME}; set HOME, or name the folder with \`to\``
    return [{ path: ['links', index], message }]
  })
}
