import { inSlices } from '../../base/cooperative.ts'
import type { JsonObject } from '../../base/json-value.ts'
import { baseName, folderOf, foldersAbove, joinPath } from '../../base/paths.ts'
import type { SkillDiagnostic } from '../skill-md/skill-diagnostic.ts'
import { USUAL_PLACES, declaredIn, hooksIn, serversIn, sumOf } from './declared.ts'
import type { Declared } from './declared.ts'
import type { Carried, Marketplace, PluginFolder } from './marketplace.ts'
import { labelIn } from './plugin-entry.ts'
import type { OpenFiles, PluginTree, ReadBounds } from './plugin-tree.ts'
import { parseStrictJson, quoted } from './strict-json.ts'

/** Reads the folders of plugins. A folder that is unchanged since `earlier` is taken from there. */
export async function readFolders(
  tree: PluginTree,
  paths: ReadonlySet<string>,
  earlier: readonly PluginFolder[],
  signal: AbortSignal,
): Promise<readonly PluginFolder[]> {
  const before = new Map(earlier.map((folder) => [folder.path, folder]))
  const folders = new Map<string, PluginFolder>()
  for (const path of paths) {
    const known = tree.isUnchanged(path) ? before.get(path) : undefined
    if (known !== undefined) folders.set(path, known)
  }
  const fresh = [...paths].filter((path) => !folders.has(path))
  for (const folder of await new FolderReader(tree, signal).read(fresh)) folders.set(folder.path, folder)
  // The order depends on the files alone, and not on the folders that were known.
  return [...paths].flatMap((path) => folders.get(path) ?? [])
}

class FolderReader {
  readonly #tree: PluginTree
  readonly #signal: AbortSignal
  readonly #counter: FileCounter
  #leftPlaces = MOST_SKILL_PLACES

  constructor(tree: PluginTree, signal: AbortSignal) {
    this.#tree = tree
    this.#signal = signal
    this.#counter = new FileCounter(tree)
  }

  /** Manifests first, because they name further files. */
  async read(paths: readonly string[]): Promise<readonly PluginFolder[]> {
    const openManifests = await this.#open(paths.map((path) => [path, MANIFESTS]))
    const manifests: (readonly [string, Manifests])[] = []
    await inSlices(paths, (path) => void manifests.push([path, manifestsOf(path, openManifests)]), this.#signal)
    const open = await this.#open(manifests.map(([path, { declared }]) => [path, partFiles(declared)]))
    const folders: PluginFolder[] = []
    await inSlices(manifests, ([path, read]) => void folders.push(this.#folder(path, read, open)), this.#signal)
    return folders
  }

  #folder(path: string, { declared, version, findings, isUnread }: Manifests, open: OpenFiles): PluginFolder {
    const named = declared.flatMap(({ skills }) => skills)
    this.#leftPlaces -= named.length
    if (this.#leftPlaces < 0) return { path, skills: [], carried: {}, findings: [tooManyPlaces(path)], isUnread: true }
    return {
      path,
      ...(version !== undefined && { version }),
      skills: [...new Set(named.map((place) => joinPath(path, place)))],
      carried: this.#carriedIn(path, declared, open),
      findings,
      ...(this.#tree.list(path) === undefined && { isMissing: true }),
      ...(isUnread && { isUnread: true }),
    }
  }

  async #open(files: readonly (readonly [string, readonly string[]])[]): Promise<OpenFiles> {
    const within = new Map(files.flatMap(([path, names]) => names.map((name) => [joinPath(path, name), path] as const)))
    const bounds: ReadBounds = { bytes: PART_BYTES, within: (path) => within.get(path) ?? path }
    return this.#tree.open([...within.keys()], bounds)
  }

  #carriedIn(path: string, declared: readonly Declared[], open: OpenFiles): Carried {
    const count = (names: readonly string[], countIn: (file: JsonObject) => number): number =>
      names.reduce((sum, name) => {
        const file = open(joinPath(path, name))
        const read = file?.ok === true ? parseStrictJson(file.text) : undefined
        return sum + (read?.ok === true ? countIn(read.value) : 0)
      }, 0)
    const documents = (names: readonly string[]): number =>
      names.reduce((sum, name) => sum + this.#counter.count(joinPath(path, name), isDocument), 0)
    const placesOf = (kind: keyof typeof USUAL_PLACES): readonly string[] => placesOfKind(kind, declared)
    return sumOf([
      {
        hooks: count(placesOf('hooks'), hooksIn),
        commands: documents(placesOf('commands')),
        agents: documents(placesOf('agents')),
        mcpServers: count(placesOf('mcpServers'), (file) => serversIn(file, 'mcpServers')),
        lspServers: count(placesOf('lspServers'), (file) => serversIn(file, 'lspServers')),
        programs: this.#counter.count(joinPath(path, 'bin'), () => true),
      },
      ...declared.map(({ inline }) => inline),
    ])
  }
}

function tooManyPlaces(path: string): SkillDiagnostic {
  const message = `The manifests are not read: the plugins name together more than ${MOST_SKILL_PLACES} folders of skills`
  return { rule: 'marketplace-unread', path, message }
}

/** The limit on the paths of skills in a marketplace: each is stored with its full path. */
export const MOST_SKILL_PLACES = 20_000

/** The limit on a manifest or a file of hooks or servers. */
const PART_BYTES = 256 * 1024

/** The manifests of a plugin. The first of them that has a version decides it. */
const MANIFESTS: readonly string[] = [
  '.claude-plugin/plugin.json',
  '.codex-plugin/plugin.json',
  '.cursor-plugin/plugin.json',
  '.github/plugin/plugin.json',
  '.plugin/plugin.json',
  'plugin.json',
]

/** The folders of a plugin that are read whenever anything in the plugin changed. */
const READ_FOLDERS: ReadonlySet<string> = new Set([
  '.claude-plugin',
  '.codex-plugin',
  '.cursor-plugin',
  '.github',
  '.plugin',
  'agents',
  'bin',
  'commands',
  'hooks',
])

/**
 * Returns a predicate: true for a folder that the next reading of a marketplace lists, even if it is unchanged. An
 * unchanged plugin is not read again, but of a changed one all parts are.
 */
export function walkedForMarketplace({ files, folders }: Marketplace): (path: string) => boolean {
  const above = new Set(files.flatMap(({ path }) => [...foldersAbove(path)]))
  const plugins = new Set(folders.map(({ path }) => path))
  const isPart = (path: string): boolean => READ_FOLDERS.has(baseName(path)) && plugins.has(folderOf(path))
  return (path) => path !== '' && (above.has(path) || isPart(path) || [...foldersAbove(path)].some(isPart))
}

interface Manifests {
  readonly declared: readonly Declared[]
  readonly version: string | undefined
  readonly findings: readonly SkillDiagnostic[]
  readonly isUnread: boolean
}

function manifestsOf(path: string, open: OpenFiles): Manifests {
  const declared: Declared[] = []
  const versions: (string | undefined)[] = []
  const findings: SkillDiagnostic[] = []
  let isUnread = false
  for (const name of MANIFESTS) {
    const at = joinPath(path, name)
    const file = open(at)
    if (file === undefined) continue
    const read = file.ok ? parseStrictJson(file.text) : file
    if (!read.ok) {
      isUnread = true
      findings.push({ rule: 'marketplace-unread', path: at, message: `The manifest is not read: ${read.why}` })
      continue
    }
    const found = declaredIn(read.value)
    declared.push(found)
    versions.push(labelIn(read.value))
    for (const outside of found.outside.slice(0, 1))
      findings.push({
        rule: 'plugin-refused',
        path: at,
        message: `The path ${quoted(outside)} is not one in the plugin`,
      })
  }
  return { declared, version: versions.find((one) => one !== undefined), findings, isUnread }
}

function partFiles(declared: readonly Declared[]): readonly string[] {
  return FILE_KINDS.flatMap((kind) => placesOfKind(kind, declared))
}

/** The kinds whose parts are counted inside of files. */
const FILE_KINDS = ['hooks', 'mcpServers', 'lspServers'] as const

/** Manifests for several clients name the same files. */
function placesOfKind(kind: keyof typeof USUAL_PLACES, declared: readonly Declared[]): readonly string[] {
  const named = declared.flatMap(({ files }) => (files[kind] ?? []).slice(0, MOST_NAMED_FILES))
  return [...new Set([...USUAL_PLACES[kind], ...named])]
}

/** More are not counted: each is a search in the tree. */
const MOST_NAMED_FILES = 64

/** Counts files below folders. */
class FileCounter {
  readonly #tree: PluginTree
  /** Plugins may name each other's folders again and again. */
  #left = MOST_COUNTED

  constructor(tree: PluginTree) {
    this.#tree = tree
  }

  /** The number of such files below the folder; of a file, 1. */
  count(path: string, isCounted: (name: string) => boolean): number {
    const entries = this.#tree.list(path)
    if (entries === undefined) return isCounted(path) && this.#isFile(path) ? 1 : 0
    return entries.reduce((sum, { name, kind }) => {
      this.#left -= 1
      if (this.#left < 0) return sum
      if (kind === 'folder') return sum + this.count(joinPath(path, name), isCounted)
      return isCounted(name) ? sum + 1 : sum
    }, 0)
  }

  #isFile(path: string): boolean {
    const entries = this.#tree.list(folderOf(path)) ?? []
    return entries.some(({ kind, name }) => kind === 'file' && name === baseName(path))
  }
}

const MOST_COUNTED = 100_000

function isDocument(name: string): boolean {
  return /\.(?:md|mdc|toml)$/i.test(name)
}
