import { readdir } from 'node:fs/promises'
import { printJson, printLines } from '../../daemon/cli/command.ts'
import type { Context, ExitStatus } from '../../daemon/cli/command.ts'
import { withWriter } from '../../daemon/cli/daemon-client.ts'
import type { PreparedEdit } from '../../daemon/cli/edit-configuration.ts'
import { reloadDaemon } from '../../daemon/cli/edit-configuration.ts'
import { ifHomeIsKnown } from '../../daemon/config/environment.ts'
import { agreeWithDaemon } from '../../daemon/control/running-daemon.ts'
import { whyNotUsed } from '../../daemon/runtime/disk-error-text.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { futurePath } from '../../daemon/runtime/resolve-path.ts'
import { isWithin } from '../../daemon/runtime/skill-folders.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { isDiskError } from '../../sync/store/files/disk-error.ts'
import { orphanLinks, removeMade, sweep } from './agent-folder.ts'
import { AGENTS, agentFolderOf } from './agents.ts'
import { OF_OTHER_STATE, removeEntry, whyNot } from './apply-plan.ts'
import type { Done, Recording } from './apply-plan.ts'
import { hasFile, withoutKept } from './kept-links.ts'
import type { KeptFolder, LinkingConfig } from './link-config.ts'
import { namesPlaces, placesOf, recordingOf } from './link-operands.ts'
import { isOfOtherState, isSameUse, namedFolderOf } from './link-record.ts'
import type { LinkedFolder, Links, Use } from './link-record.ts'
import type { LinkPlace } from './link-target.ts'
import { endInJson, exitOf, linesOfEnds, folderUseText } from './link-text.ts'
import type { FolderEnd } from './link-text.ts'
import { readLinks } from './links-file.ts'

/** Removes what `link` installed, after the configuration names the folders no more. */
export async function removeLinks(context: Context<LinkingConfig>, config: LinkingConfig): Promise<ExitStatus> {
  const isAll = context.values['all'] === true
  if (isAll === namesPlaces(context))
    throw new UsageError(
      '"link --remove" wants the names of agents, --to DIR, or --all; skillsyncd link shows what is linked',
    )
  const asked = await askedOf(context, isAll)
  await agreeWithDaemon(config, context.signal)
  const isDry = context.values['dry-run'] === true
  const edit = hasFile(config) ? await withoutKept(isAll ? 'all' : asked.places, config, context) : undefined
  const next = { ...config, links: edit?.config.links ?? config.links }
  const left = edit === undefined || isDry ? [] : [await leaveFolders(edit, config, context.signal)]
  const ends = isDry
    ? await Promise.all(
        (await partings(await readLinks(config.state), asked, next)).map((parting) => predictEnd(parting, next)),
      )
    : await withWriter(context, next, async (ask) =>
        unlinkFolders(next, asked, recordingOf(ask, config.state), context.signal),
      )
  if (context.json)
    printJson(context, { dryRun: isDry, folders: ends.map(endInJson), config: config.file ?? null, kept: false })
  else
    printLines(context, [
      ...(ends.length === 0 ? ['nothing is linked there'] : linesOfEnds(ends, context.values['verbose'] === true)),
      ...left,
    ])
  return exitOf(ends)
}

/** Has the daemon fill the folders no more, before they are emptied. Returns the sentence about it. */
async function leaveFolders(
  edit: PreparedEdit<LinkingConfig>,
  { file = '' }: LinkingConfig,
  signal: AbortSignal,
): Promise<string> {
  await edit.write()
  const { text } = await reloadDaemon(edit.config, 'the next start applies it', signal)
  return printableLine(`links in ${file} no longer names that; ${text}`)
}

/** The folders to leave. */
interface Asked {
  readonly isAll: boolean
  /** The folders of the named agents, which are known without a record. */
  readonly places: readonly LinkPlace[]
}

async function askedOf(context: Context, isAll: boolean): Promise<Asked> {
  if (!isAll) return { isAll, places: await placesOf(context) }
  const { environment } = context
  const places = AGENTS.flatMap((agent) => {
    const path = ifHomeIsKnown(() => agentFolderOf(agent, undefined, environment))
    return path === undefined ? [] : [{ use: { agent: agent.id }, path }]
  })
  return { isAll, places }
}

/** A folder, and the agents that stop using it. */
interface Parting {
  readonly path: string
  readonly folder: LinkedFolder
  readonly uses: readonly Use[]
  /** True if no other agent uses it. */
  readonly isLast: boolean
}

async function partings(links: Links, asked: Asked, config: LinkingConfig): Promise<readonly Parting[]> {
  const written = writtenPartings(links, asked).map(async (parting) => withStrays(parting, config))
  return [...(await Promise.all(written)), ...(await unwrittenPartings(links, asked, config))]
}

/** If the folder cannot be read, the recorded entries cannot be removed either, and that is reported. */
async function withStrays(parting: Parting, config: LinkingConfig): Promise<Parting> {
  const { path, folder } = parting
  const strays = await orphanLinks(path, config).catch((error: unknown) => {
    if (isDiskError(error)) return []
    throw error
  })
  return { ...parting, folder: { ...folder, entries: new Map([...strays, ...folder.entries]) } }
}

function writtenPartings({ folders }: Links, { isAll, places }: Asked): readonly Parting[] {
  return [...folders].flatMap(([path, folder]) => {
    const known = folder.uses.filter((use) => isAll || places.some((other) => isSameUse(use, other.use)))
    // A folder that is named by its path is meant as such, also if it was the folder of an agent of another home.
    const isNamed = places.some(({ use }) => namedFolderOf(use) === path)
    const leaving = known.length === 0 && isNamed ? folder.uses : known
    if (leaving.length === 0 && !isAll) return []
    return [{ path, folder, uses: leaving, isLast: leaving.length === folder.uses.length }]
  })
}

/** The folders with links of ours that have no record. */
async function unwrittenPartings(
  links: Links,
  { isAll, places }: Asked,
  config: LinkingConfig,
): Promise<readonly Parting[]> {
  const found = new Map<string, Parting>()
  for (const { use, path: place } of places) {
    const look = futurePath(place).then(async (path) => ({ path, entries: await orphanLinks(path, config) }))
    const seen = await look.catch((error: unknown) => {
      if (!isDiskError(error)) throw error
      if (isAll) return undefined
      const message = `Cannot find what is linked in "${place}": ${whyNotUsed(error)}; fix that`
      throw new OperatorError('cannot-unlink', message, { cause: error })
    })
    if (seen === undefined || seen.entries.size === 0 || links.folders.has(seen.path)) continue
    const { path, entries } = seen
    // As in `link`: the content of a repository must not choose a folder outside of it.
    if (use.project !== undefined && !isWithin(path, use.project)) continue
    const uses = [...(found.get(path)?.uses ?? []), use]
    found.set(path, { path, folder: { uses, made: [], copies: false, entries }, uses, isLast: true })
  }
  return [...found.values()]
}

/** Removes all temporary folders, however young: no process must continue to copy into an unlinked folder. */
async function removeEmptied(path: string, { entries, made }: LinkedFolder, config: LinkingConfig): Promise<void> {
  // Content that cannot be swept does no harm.
  await sweep(path, entries.values(), config.limits.skill, Number.POSITIVE_INFINITY).catch(whyNot)
  await removeMade(made)
}

/** The expected result of `unlinkFolders`. Changes nothing. */
async function predictEnd(parting: Parting, config: LinkingConfig): Promise<FolderEnd> {
  const there = await namesIn(parting.path)
  const entries = parting.isLast ? [...parting.folder.entries] : []
  const done = entries
    .filter(([name]) => there.has(name))
    .map(([name, entry]): Done =>
      isOfOtherState(entry) ? { name, end: 'left', why: OF_OTHER_STATE } : { name, end: 'removed' },
    )
  return endOf(parting, done, config)
}

async function endOf(parting: Parting, done: readonly Done[], { links }: LinkingConfig): Promise<FolderEnd> {
  const { path, folder, uses, isLast } = parting
  const others = folder.uses.filter((use) => !uses.some((other) => isSameUse(use, other)))
  const cautions = isLast ? [] : [`what is there stays, for ${others.map(folderUseText).join(', ')}`]
  const followed = await Promise.all(links.map(async (kept) => isFollowed(parting, kept)))
  if (followed.includes(true)) cautions.push('the configuration names it in `links`: the daemon fills it again')
  return { folder: path, uses, copies: folder.copies, done, cautions, ofUpstream: 0 }
}

/** The names in a folder; none if it cannot be read. The record can have more: a skill that the daemon took out keeps its name. */
async function namesIn(path: string): Promise<ReadonlySet<string>> {
  return new Set(await readdir(path).catch((error: unknown) => (isDiskError(error) ? [] : Promise.reject(error))))
}

async function isFollowed({ path, uses }: Parting, kept: KeptFolder): Promise<boolean> {
  if ('to' in kept) return (await futurePath(kept.to).catch(whyNot)) === path
  return uses.some(({ agent, project }) => agent === kept.agent && project === undefined)
}

async function removed(
  { path, folder, isLast }: Parting,
  { skills }: Links,
  ending: { readonly config: LinkingConfig; readonly signal: AbortSignal },
): Promise<Done[]> {
  const done: Done[] = []
  for (const [name, entry] of isLast ? folder.entries : [])
    done.push(await removeEntry(path, { name, linked: skills.get(name), entry }, ending))
  return done
}

/** Removes the content first and its record last, so that the remains of a killed run are found again. */
async function unlinkFolders(
  config: LinkingConfig,
  asked: Asked,
  recording: Recording,
  signal: AbortSignal,
): Promise<FolderEnd[]> {
  const links = await readLinks(config.state)
  const ends: FolderEnd[] = []
  for (const parting of await partings(links, asked, config)) {
    signal.throwIfAborted()
    const { path, folder } = parting
    const there = await namesIn(path)
    const remove = async (): Promise<Done[]> => removed(parting, links, { config, signal })
    const done = await remove()
    const gone = done.filter(({ end }) => end !== 'failed').map(({ name }) => name)
    const isAllGone = gone.length === done.length
    if (parting.isLast && isAllGone) await removeEmptied(path, folder, config)
    await recording.drop({ folder: path, names: gone, uses: isAllGone ? parting.uses : [] })
    // A process that recorded an entry before this removal may have placed it since.
    await remove()
    if (parting.isLast && isAllGone) await removeEmptied(path, folder, config)
    const told = done.filter(({ name, end }) => end !== 'removed' || there.has(name))
    ends.push(await endOf(parting, told, config))
  }
  return ends
}
