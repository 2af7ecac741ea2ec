import { lstat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isBelow, joinPath } from '../../../base/paths.ts'
import { countOf } from '../../../base/text/plural.ts'
import { repositoryAt } from '../../../sync/git/disk-transport.ts'
import { longerNames } from '../../../sync/git/objects/ref-rules.ts'
import { isObjectId } from '../../../sync/model/revision.ts'
import type { ObjectId, Revision } from '../../../sync/model/revision.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { Tree } from '../../../sync/model/tree.ts'
import { unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import { realRoot } from '../../../sync/survey/link-resolver.ts'
import { NOTHING_KNOWN } from '../../../sync/upstream/upstream.ts'
import type { Context } from '../../cli/command.ts'
import type { SourceFailure } from '../../cli/store-reader.ts'
import { namedRepository, sourceIdFor } from '../../config/command-line-config.ts'
import type { Config } from '../../config/config.ts'
import { startingText } from '../../config/init-template.ts'
import type { FetchedPlace, ServerPlace, StartingSource } from '../../config/init-template.ts'
import { isPerhapsRepository } from '../../config/schema/pasted-address.ts'
import { hasTrees, withLoneUpstream } from '../../pull/lone-upstream.ts'
import type { DaemonContext } from '../../runtime/context.ts'
import { printableLine } from '../../runtime/log/log-line.ts'

/** A requested source without an id. */
export type FoundSource = Omit<StartingSource, 'id'>

/** The parts that a first fetch needs. */
type Looking = Pick<Context, 'environment' | 'redactor' | 'signal' | 'configuration'>

export interface SourceCandidate {
  readonly place: FetchedPlace
  readonly config: Config
  /** The folder, if a path was given. */
  readonly folder: string | undefined
  /** The whole address as a repository, if it is not surely that of a page. */
  readonly whole?: FetchedPlace
}

/** The source at an address or a path, or the fault in it as text that quotes no secret of it. */
export async function sourceCandidateOf(text: string, looking: Looking): Promise<SourceCandidate | string> {
  const path = text.startsWith('~/') ? join(looking.environment.home, text.slice(2)) : text
  const place = namedRepository(path)
  const config = await configOf(place, looking)
  if (typeof config === 'string') return config
  const isPath = place.url.startsWith('file:') && !/^file:/i.test(path)
  const url = path.trim()
  return {
    place,
    config,
    folder: isPath ? resolve(path) : undefined,
    ...(isPerhapsRepository(url) && { whole: { url } }),
  }
}

/** The MCP server at an address, or the fault in it. */
export async function serverAt(mcp: string, looking: Looking): Promise<ServerPlace | string> {
  const config = await configOf({ mcp }, looking)
  return typeof config === 'string' ? config : { mcp }
}

/** The failure of a first read, with its remedy. */
export function failureLines({ code, message, fix }: SourceFailure): string[] {
  return [`${printableLine(message)} (${code})`, `  ${fix}`]
}

/** The problem of a repository that has no skill below its root. A plain folder is watched, and may get some. */
export function withoutSkills({ place, seen }: FoundSource): SourceFailure | undefined {
  if (!('url' in place) || seen === undefined || seen.skills > 0) return undefined
  const where = seen.root === '' ? '' : ` below ${seen.root}/`
  const elsewhere = seen.elsewhere === 0 ? '' : `; ${countOf(seen.elsewhere, 'SKILL.md file')} elsewhere`
  const message = `No SKILL.md was found in "${place.url}" at ${seen.commit.slice(0, 12)}${where}${elsewhere}`
  const fix =
    'A skill is a folder with a SKILL.md. `root` in the entry, or #BRANCH:FOLDER behind the address, is the folder that is searched; `include` and `exclude` choose below it'
  return { code: 'no-skills', message, fix }
}

/** The line about a repository on this disk, of which an author may expect the files. */
export function placeNotes({ id, place }: StartingSource): readonly string[] {
  if (!('url' in place) || !/^file:/i.test(place.url)) return []
  const folder = URL.canParse(place.url) ? fileURLToPath(place.url) : place.url
  return [
    printableLine(
      `note: ${id} serves the last commit, without edits that are not committed; to serve the files as they are, write path: ${folder} in place of url and ref`,
    ),
  ]
}

async function configOf(
  place: StartingSource['place'],
  { environment, configuration }: Looking,
): Promise<Config | string> {
  const text = startingText([{ id: sourceIdFor(place), place, seen: undefined }])
  const { parseConfig } = await configuration()
  const config = parseConfig(text, '/unused', environment, NO_STATE)
  return Array.isArray(config) ? (config[0]?.message ?? '') : config
}

/** The state folder of a configuration that is not in use yet: none is written, and a home may be unknown. */
export const NO_STATE = '/unused-state'

/** The content of the source, or the error. A folder that is not a repository counts as a folder of skills. */
export async function probeSource(
  { place, config, folder, whole }: SourceCandidate,
  looking: Looking,
): Promise<FoundSource | SyncError> {
  const first = await lookAt(place, config, looking)
  if (!(first instanceof SyncError)) return first
  const others = [
    ...(first.code === 'ref-not-found' ? longerPlaces(place) : []),
    ...(whole !== undefined && ABSENT.has(first.code) ? [whole] : []),
  ]
  for (const other of others) {
    const next = await configOf(other, looking)
    const found = typeof next === 'string' ? first : await lookAt(other, next, looking)
    if (!(found instanceof SyncError && ABSENT.has(found.code))) return found
  }
  if (folder === undefined || first.code !== 'repository-not-found') return first
  const plain = await configOf({ path: folder }, looking)
  if (typeof plain === 'string' || (await unlessAbsent(lstat(folder)))?.isDirectory() !== true) return first
  return lookAt({ path: folder }, plain, looking)
}

async function lookAt(place: FetchedPlace, config: Config, looking: Looking): Promise<FoundSource | SyncError> {
  try {
    return foundAt(place, await firstLook(config, looking, looking.signal))
  } catch (error) {
    if (error instanceof SyncError) return error
    throw error
  }
}

/** The failures after which another reading of the same address is tried. A host may hide what is absent as a refusal. */
const ABSENT: ReadonlySet<string> = new Set(['ref-not-found', 'repository-not-found', 'credentials-rejected'])

/** The source of a candidate that is not read: a path of a folder without git is that folder. */
export async function unreadSource({ place, folder }: SourceCandidate): Promise<FoundSource> {
  if (folder === undefined || (await unlessAbsent(lstat(folder)))?.isDirectory() !== true)
    return { place, seen: undefined }
  const isPlain = await repositoryAt(folder).then(
    () => false,
    (error: unknown) => error instanceof SyncError && error.code === 'repository-not-found',
  )
  return { place: isPlain ? { path: folder } : place, seen: undefined }
}

/** A page's address does not say where the name of its branch ends: a name with slashes reaches into the path. */
function longerPlaces(place: FetchedPlace): readonly FetchedPlace[] {
  if (!('url' in place)) return []
  const { url } = place
  return longerNames(place).map(({ longer: ref, below: root }) => (root === '' ? { url, ref } : { url, ref, root }))
}

/** The folder of the skills in most repositories that also hold other things. */
const USUAL_ROOT = 'skills'

function foundAt(place: FetchedPlace, look: FirstLook): FoundSource {
  const { revision, skills, hasDocs } = look
  const { ref, commit } = revision
  const usual = skills.some((path) => isBelow(path, USUAL_ROOT)) ? USUAL_ROOT : ''
  const root = place.root ?? usual
  const real = place.root === undefined ? root : look.root
  const below = skills.filter((path) => path === real || isBelow(path, real)).length
  const branch = 'url' in place ? branchOf(ref) : undefined
  const chosen = 'url' in place ? (place.ref ?? branch) : undefined
  return {
    place: { ...place, ...(chosen !== undefined && { ref: chosen }), ...(root !== '' && { root }) },
    seen: { branch, commit, skills: below, elsewhere: skills.length - below, root, hasDocs },
  }
}

/** The short name of the branch, if it is unambiguous in a configuration: a server can give its branch any name. */
function branchOf(ref: string): string | undefined {
  const name = /^refs\/heads\/(\w[\w-]*(?:[./]\w[\w-]*)*)$/.exec(ref)?.[1]
  return name === undefined || isObjectId(name) || name.endsWith('.lock') ? undefined : name
}

/** The content of a source before anything of it is stored. */
interface FirstLook {
  readonly revision: Revision
  /** The path of the configured root, after all links to it. */
  readonly root: string
  /** The folders that hold a SKILL.md, relative to the top of the repository, in tree order. */
  readonly skills: readonly string[]
  /** True if its folder `docs` has Markdown files, besides those of skills. */
  readonly hasDocs: boolean
}

/** Fetches the first source of a configuration that is not in use yet. Writes no state folder and reads no skill. */
async function firstLook(
  config: Config,
  looking: Pick<DaemonContext, 'environment' | 'redactor'>,
  signal: AbortSignal,
): Promise<FirstLook> {
  const [configured] = config.sources
  if (configured === undefined || !hasTrees(configured)) throw new TypeError('There is nothing to look at')
  const { root: below } = configured.source
  return withLoneUpstream(configured, config, looking, async (upstream) => {
    const revision = await upstream.resolve(signal)
    await using tree = await upstream.fetch(revision, NOTHING_KNOWN, signal)
    const root = await realRoot(tree, below, signal)
    const docs = tree.list(tree.root).find(({ name, kind }) => name === 'docs' && kind === 'folder')
    const hasDocs = docs !== undefined && hasDocuments(tree, docs.id)
    return { revision, root, skills: skillFolders(tree, tree.root, ''), hasDocs }
  })
}

function hasDocuments(tree: Tree, id: ObjectId): boolean {
  const entries = tree.list(id)
  if (entries.some(({ name }) => name === 'SKILL.md')) return false
  return entries.some(({ name, kind, id: entry }) =>
    kind === 'folder' ? hasDocuments(tree, entry) : name.endsWith('.md'),
  )
}

/** The fetch has limited the number of entries and their depth. */
function skillFolders(tree: Tree, id: ObjectId, path: string): string[] {
  const entries = tree.list(id)
  const isSkill = entries.some(({ name, kind }) => name === 'SKILL.md' && kind !== 'folder')
  const below = entries.flatMap(({ name, kind, id: entry }) =>
    kind === 'folder' ? skillFolders(tree, entry, joinPath(path, name)) : [],
  )
  return isSkill ? [path, ...below] : below
}
