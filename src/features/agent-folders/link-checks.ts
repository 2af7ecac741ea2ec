import { countOf } from '../../base/text/plural.ts'
import { verdicts } from '../../daemon/cli/check.ts'
import type { Check, CheckResult, Ground } from '../../daemon/cli/check.ts'
import type { Environment } from '../../daemon/config/environment.ts'
import { cautionsFor } from './cautions.ts'
import type { CautionGround } from './cautions.ts'
import { foldersNow, isAsServed, unlinkedUpstream } from './folder-status.ts'
import type { FolderNow } from './folder-status.ts'
import type { LinkingConfig } from './link-config.ts'
import { readLinks } from './links-file.ts'
import type { LeftOut } from './unlinkable-skills.ts'

/**
 * Checks that agents find the served skills. Their folders are recorded in the state, so one check covers all of them.
 */
export function linkChecks({ config, isUnusable, environment }: Ground<LinkingConfig>): Check[] {
  if (isUnusable === true) return [{ name: 'links', look: async () => unknownFolders(config) }]
  return [{ name: 'links', look: async () => linksChecked(config, environment) }]
}

/** Without its sources, each skill would look as if it were served no longer. */
async function unknownFolders({ state }: LinkingConfig): Promise<readonly CheckResult[]> {
  const { folders } = await readLinks(state)
  return [...folders.keys()].map((folder) =>
    verdicts('links', folder).unknown('not compared with what is served', 'Fix the configuration, and check again'),
  )
}

async function linksChecked(config: LinkingConfig, environment: Environment): Promise<readonly CheckResult[]> {
  const folders = await foldersNow(config, environment)
  const ground = { config, environment, links: await readLinks(config.state) }
  const duplicates = await Promise.all(folders.map(async (now) => duplicatesOf(now, ground)))
  const leftOut = folders.length === 0 ? [] : await unlinkedUpstream(config)
  return [
    ...folders.flatMap(checksOfFolder),
    ...folders.flatMap(omissionsOf),
    ...leftOut.slice(0, MOST_NAMED).map(checkLeftOut),
    ...duplicates.flat(),
  ]
}

/** A skill of an MCP server that the operator lets into folders, and that is in none. */
function checkLeftOut({ source, path, why }: LeftOut): CheckResult {
  return verdicts('links', `${source}/${path}`).warn(`in no folder: ${why}`, 'skillsyncd link names all such skills')
}

/** The places where an agent may find each skill of the folder twice. */
async function duplicatesOf({ folder, uses }: FolderNow, ground: CautionGround): Promise<readonly CheckResult[]> {
  // As of copies: what is known of an agent and links is said once, by `link`.
  const cautions = await cautionsFor({ uses, copies: true }, ground)
  return cautions.map((caution) => verdicts('links', folder).warn(caution, 'see docs/clients.md'))
}

function omissionsOf({ folder, omitted }: FolderNow): readonly CheckResult[] {
  return omitted.map((line) =>
    verdicts('links', folder).warn(line, 'change SKILL.md upstream; over MCP clients have it'),
  )
}

function checksOfFolder(now: FolderNow): readonly CheckResult[] {
  const { folder, copies, current, behind, gone, blockages, command } = now
  const { ok, warn } = verdicts('links', folder)
  if (isAsServed(now)) return [ok(`${countOf(current.length, 'skill')} ${copies ? 'copied' : 'linked'}, as served`)]
  const parts = [told(behind, 'not there, or older'), told(gone, 'no longer served')].filter((part) => part !== '')
  const more = blockages.length - MOST_NAMED
  return [
    ...(parts.length > 0 ? [warn(parts.join('; '), command)] : []),
    ...blockages.slice(0, MOST_NAMED).map(({ name, why, fix = command }) => warn(`${name} ${why}`, fix)),
    ...(more > 0 ? [warn(`${countOf(more, 'more skill')} left out`, 'skillsyncd link names all')] : []),
  ]
}

function told(names: readonly string[], what: string): string {
  if (names.length === 0) return ''
  const first = names.slice(0, MOST_NAMED)
  const more = names.length > first.length ? ` and ${names.length - first.length} more` : ''
  return `${first.join(', ')}${more}: ${what}`
}

/** `skillsyncd link` names all. */
const MOST_NAMED = 5
