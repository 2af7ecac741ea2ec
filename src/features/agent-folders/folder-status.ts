import { stat } from 'node:fs/promises'
import { fewText } from '../../base/text/first-few.ts'
import { shellWord } from '../../base/text/shell-word.ts'
import type { FoundStatus } from '../../daemon/cli/feature.ts'
import { ifHomeIsKnown } from '../../daemon/config/environment.ts'
import type { Environment } from '../../daemon/config/environment.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { futurePath } from '../../daemon/runtime/resolve-path.ts'
import type { Item } from '../../sync/model/item.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { isDiskError } from '../../sync/store/files/disk-error.ts'
import { AGENTS, agentFolderOf } from './agents.ts'
import type { Agent } from './agents.ts'
import { predictPlan } from './apply-plan.ts'
import { omissionsIn } from './cautions.ts'
import { sourcesWithFolders } from './fetched-skills.ts'
import { planOf } from './folder-plan.ts'
import type { PlanStep } from './folder-plan.ts'
import type { LinkingConfig } from './link-config.ts'
import { pathOfKept } from './link-config.ts'
import { linkedState } from './link-context.ts'
import type { LinkedState } from './link-context.ts'
import { namedFolderOf, useOfFolder } from './link-record.ts'
import type { LinkedFolder, LinkedSkill, LinkFilter, Use } from './link-record.ts'
import { blockageOf, folderUseText } from './link-text.ts'
import type { Blockage } from './link-text.ts'
import { readLinks } from './links-file.ts'
import { remainderOf } from './remainder.ts'
import type { LeftOut } from './unlinkable-skills.ts'

/** The state of one linked folder compared with the served skills. */
export interface FolderNow {
  readonly folder: string
  readonly uses: readonly Use[]
  readonly copies: boolean
  readonly only: LinkFilter | undefined
  /** The names that are as desired. */
  readonly current: readonly string[]
  /** Served, but absent from the folder or outdated there: `link` puts it there. */
  readonly behind: readonly string[]
  /** No longer served: `link` removes what is left of it. */
  readonly gone: readonly string[]
  /** Served, but blocked by content that is not ours, or by another skill of that name. */
  readonly blocked: readonly string[]
  /** The reason for each blocked name, and the step that helps. */
  readonly blockages: readonly Blockage[]
  /** The next step for what is behind or gone: a command. */
  readonly command: string
  /** Skills that an agent does not show, though they are there: lines with the agent and the reason. */
  readonly omitted: readonly string[]
}

/**
 * The state of every linked folder, and of those that the configuration names, also where nothing could be linked. The
 * daemon writes only in the latter; it reports these differences for all others. Reads no catalog if there is no folder.
 */
export async function foldersNow(config: LinkingConfig, environment: Environment): Promise<readonly FolderNow[]> {
  const { folders } = await readLinks(config.state)
  const isNone = folders.size === 0 && config.links.length === 0
  const state = isNone ? undefined : await linkedState(config)
  if (state === undefined) return []
  const followed = await followedFolders(config, environment)
  const all = new Map([...followed, ...state.links.folders])
  return Promise.all(
    [...all].map(([path, folder]) => folderNow(path, folder, { state, environment, isFollowed: followed.has(path) })),
  )
}

/**
 * The state of linked folders for a status, or the reason why it is unknown: a failure here must not hide the rest of the
 * status.
 */
export async function foundFolders(config: LinkingConfig, environment: Environment): Promise<FoundStatus> {
  const { folders, error } = await foldersKnown(config, environment)
  const lines = folders.flatMap(({ folder, omitted }) => omitted.map((line) => printableLine(`${folder}: ${line}`)))
  return { items: folderItems(folders, error), lines, json: { folders } }
}

async function foldersKnown(
  config: LinkingConfig,
  environment: Environment,
): Promise<{ readonly folders: readonly FolderNow[]; readonly error?: string }> {
  try {
    return { folders: await foldersNow(config, environment) }
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    return { folders: [], error: error.message }
  }
}

/** A line for each linked folder that the configuration does not name: new sources and skills do not reach it. */
export async function unfollowedLines(config: LinkingConfig, environment: Environment): Promise<readonly string[]> {
  const followed = await followedFolders(config, environment)
  return [...(await readLinks(config.state)).folders].flatMap(([path, folder]) =>
    followed.has(path)
      ? []
      : [printableLine(`${folder.uses.map(folderUseText).join(', ')}: as before, until ${linkCommandOf(folder)}`)],
  )
}

/** The skills of MCP servers with `folders` that are put into no folder, each with the reason. */
export async function unlinkedUpstream(config: LinkingConfig): Promise<readonly LeftOut[]> {
  const servers = new Set(sourcesWithFolders(config).map(({ id }) => id))
  const state = servers.size === 0 ? undefined : await linkedState(config)
  return state?.leftOut.filter(({ source }) => servers.has(source)) ?? []
}

/** The folders that the configuration names, with links resolved, as if nothing were recorded of them. */
async function followedFolders(
  { links }: LinkingConfig,
  environment: Environment,
): Promise<ReadonlyMap<string, LinkedFolder>> {
  const folders = new Map<string, LinkedFolder>()
  for (const kept of links) {
    const path = pathOfKept(kept, environment)
    const folder = await futurePath(path).catch(ifUnreadable(path))
    const use = 'to' in kept ? useOfFolder(folder) : { agent: kept.agent }
    const { uses, copies } = folders.get(folder) ?? { uses: [], copies: kept.copies }
    folders.set(folder, { uses: [...uses, use], copies, made: [], entries: new Map() })
  }
  return folders
}

async function folderNow(
  folder: string,
  { uses, copies, only }: LinkedFolder,
  ground: { readonly state: LinkedState; readonly environment: Environment; readonly isFollowed: boolean },
): Promise<FolderNow> {
  const { state, environment, isFollowed } = ground
  const wanted = {
    folder,
    only,
    copies,
    ...(isFollowed && { remainderOf: (one: LinkedSkill) => remainderOf(one, state) }),
  }
  const plan = await planOf(wanted, state)
  const { steps } = plan
  const isOfUser = await isFolderOfUser(folder, uses, environment)
  const command = linkCommandOf({ uses, copies, only })
  const blockages = predictPlan(plan).flatMap((done) => {
    if (done.end !== 'left' && done.end !== 'clash') return []
    const isFree = done.linked !== undefined && state.meant.of(done.name, done.linked) === undefined
    return [{ ...blockageOf(done), ...(isFree && { fix: `that is not served any more: ${command} for every agent` }) }]
  })
  const named = (...kinds: readonly PlanStep['kind'][]): string[] =>
    steps.filter(({ kind }) => kinds.includes(kind)).map(({ name }) => name)
  return {
    folder,
    uses,
    copies,
    only,
    current: named('kept'),
    behind: isOfUser ? named('put') : named('put', 'foreign', 'clash'),
    gone: named('remove'),
    blocked: isOfUser ? named('foreign', 'clash') : [],
    blockages: isOfUser ? blockages : [],
    command: isOfUser ? command : strangeFolderText(folder),
    omitted: omissionsIn(
      uses,
      steps.filter((step) => step.kind === 'kept' || step.kind === 'put'),
    ),
  }
}

/**
 * True if the folder is that of one of these agents for this user, or was named by its path. A record that was restored
 * under another home has folders of the home before.
 */
async function isFolderOfUser(folder: string, uses: readonly Use[], environment: Environment): Promise<boolean> {
  const folders = uses.map(async (use) => {
    const agent = AGENTS.find(({ id }) => id === use.agent)
    if (agent === undefined) return namedFolderOf(use)
    const path = ifHomeIsKnown(() => agentFolderOf(agent, use.project, environment))
    return path === undefined ? folder : futurePath(path).catch(ifUnreadable(path))
  })
  return uses.length === 0 || (await Promise.all(folders)).includes(folder)
}

/** The path itself in place of one whose links cannot be resolved. */
function ifUnreadable(path: string): (error: unknown) => string {
  return (error) => {
    if (isDiskError(error)) return path
    throw error
  }
}

function strangeFolderText(folder: string): string {
  const word = shellWord(folder)
  return `no agent of this user reads that folder: skillsyncd link --remove --to ${word}, or skillsyncd link --to ${word} to keep it`
}

/** True if the folder holds all served skills and no others. */
export function isAsServed({ behind, gone, blocked }: FolderNow): boolean {
  return behind.length + gone.length + blocked.length === 0
}

/** The agents that are installed on this machine, judged by their folders. */
export async function agentsHere(environment: Environment): Promise<readonly Agent[]> {
  const here = AGENTS.map(async (agent) => {
    const home = ifHomeIsKnown(() => agent.home?.(environment))
    return home !== undefined && (await isFolder(home)) ? [agent] : []
  })
  return (await Promise.all(here)).flat()
}

/** A folder that cannot be read counts as absent. */
export async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch (error) {
    if (isDiskError(error)) return false
    throw error
  }
}

/** The command that brings a folder up to date, ready to be typed in a shell. */
export function linkCommandOf({ uses, copies, only }: Pick<LinkedFolder, 'uses' | 'copies' | 'only'>): string {
  const [use] = uses
  if (use === undefined) return 'skillsyncd link --remove --all'
  const named = namedFolderOf(use)
  const project = use.project === undefined ? '' : ` --project ${shellWord(use.project)}`
  const target = named === undefined ? `${use.agent}${project}` : `--to ${shellWord(named)}`
  const some = [
    ...(only?.sources.map((id) => ` --only ${id}`) ?? []),
    ...(only?.skills.map((id) => ` --skill ${shellWord(id)}`) ?? []),
  ]
  return `skillsyncd link ${target}${some.join('')}${copies ? ' --copy' : ''}`
}

/** The folders of agents that do not have what is served. `error`: the reason why they are unknown. */
export function folderItems(folders: readonly FolderNow[], error: string | undefined): readonly Item[] {
  const items = folders.flatMap(({ folder, behind, gone, blockages, command }): Item[] => {
    const stale = [...behind, ...gone]
    const ofStale = {
      code: 'folder-behind',
      message: `${fewText(stale, MOST_NAMED)} not as served`,
      fix: command,
    } as const
    const ofBlocked = blockages.slice(0, MOST_NAMED).map(({ name, why, fix = command }) => {
      return { code: 'folder-blocked', message: `${name} ${why}`, fix } as const
    })
    const left = blockages.length - ofBlocked.length
    const ofOthers = {
      code: 'folder-blocked',
      message: `${left} more left out`,
      fix: 'skillsyncd link names all',
    } as const
    const problems = [...(stale.length > 0 ? [ofStale] : []), ...ofBlocked, ...(left > 0 ? [ofOthers] : [])]
    if (problems.length === 0) return []
    return [
      {
        kind: 'folder',
        id: folder,
        state: stale.length > 0 ? 'behind' : 'blocked',
        urgency: 'person',
        isPrivate: true,
        problems,
      },
    ]
  })
  if (error === undefined) return items
  const problems = [{ code: 'links-damaged', message: error, fix: 'skillsyncd explain links-damaged' }] as const
  return [
    ...items,
    { kind: 'folder', id: 'links.json', state: 'unreadable', urgency: 'person', isPrivate: true, problems },
  ]
}

const MOST_NAMED = 5
