import { inSlices } from '../../../base/async/cooperative.ts'
import type { JsonObject } from '../../../base/json-value.ts'
import { baseName, folderOf, foldersAbove, joinPath } from '../../../base/paths.ts'
import type { Carried, Marketplace, PluginFolder } from '../../model/marketplace.ts'
import type { SkillDiagnostic } from '../../skill/skill-diagnostic.ts'
import { USUAL_PLACES, declaredIn, hooksIn, namesOver, serversIn, sumOf } from './declared.ts'
import type { Declared } from './declared.ts'
import type { MarketplaceLimits } from './marketplace-limits.ts'
import { labelIn } from './plugin-entry.ts'
import type { OpenFiles, PluginTree } from './plugin-tree.ts'
import { parseStrictJson, quoted } from './strict-json.ts'

/** The earlier reading of folders, and the limits on this one. */
interface PluginFolderReading {
  /** The folders of the tree that `isUnchanged` compares with. */
  readonly earlier: readonly PluginFolder[]
  readonly limits: MarketplaceLimits
}

/**
 * Reads the folders of plugins, in this order, up to the first that exceeds a limit on all together. A folder that is
 * unchanged since `earlier` is taken from there and counts as if it was read: the result depends on the files alone.
 */
export async function readFolders(
  tree: PluginTree,
  paths: readonly string[],
  { earlier, limits }: PluginFolderReading,
  signal: AbortSignal,
): Promise<readonly PluginFolder[]> {
  const before = new Map(earlier.map((folder) => [folder.path, folder]))
  const knownAt = (path: string) => (tree.isUnchanged(path) ? before.get(path) : undefined)
  const reader = new FolderReader(tree, limits, signal)
  const folders: PluginFolder[] = []
  let [opened, stored] = [0, 0]
  for (let at = 0; at < paths.length; at += LOT) {
    const lot = paths.slice(at, at + LOT)
    const read = await reader.read(lot.filter((path) => knownAt(path) === undefined))
    const fresh = new Map(read.map((folder) => [folder.path, folder]))
    for (const folder of lot.flatMap((path) => knownAt(path) ?? fresh.get(path) ?? [])) {
      opened += folder.opened
      stored += JSON.stringify(folder).length
      if (opened > limits.opened || stored > limits.stored) return folders
      folders.push(folder)
    }
  }
  return folders
}

/** The folders that are read together. Their manifests are in memory at one time. */
const LOT = 50

class FolderReader {
  readonly #tree: PluginTree
  readonly #limits: MarketplaceLimits
  readonly #signal: AbortSignal

  constructor(tree: PluginTree, limits: MarketplaceLimits, signal: AbortSignal) {
    this.#tree = tree
    this.#limits = limits
    this.#signal = signal
  }

  /** Manifests first, because they name further files. */
  async read(paths: readonly string[]): Promise<readonly PluginFolder[]> {
    if (paths.length === 0) return []
    const openManifests = await this.#open(paths.map((path) => [path, MANIFESTS]))
    const manifests: (readonly [string, Manifests])[] = []
    const readOne = (path: string) => manifests.push([path, manifestsOf(path, openManifests, this.#limits)])
    await inSlices(paths, (path) => void readOne(path), this.#signal)
    const open = await this.#open(manifests.map(([path, { places }]) => [path, partFiles(places)]))
    const folders: PluginFolder[] = []
    await inSlices(manifests, ([path, read]) => void folders.push(this.#folder(path, read, open)), this.#signal)
    return folders
  }

  #folder(path: string, read: Manifests, open: OpenFiles): PluginFolder {
    const { declared, version, findings, isUnread, opened } = read
    const parts = partFiles(read.places).filter((name) => open({ path: joinPath(path, name), within: path }))
    return {
      path,
      opened: opened + parts.length,
      ...(version !== undefined && { version }),
      skills: [...new Set(declared.flatMap(({ skills }) => skills).map((place) => joinPath(path, place)))],
      carried: this.#carriedIn(path, read, open),
      findings,
      ...(this.#tree.list(path) === undefined && { isMissing: true }),
      ...(isUnread && { isUnread: true }),
    }
  }

  async #open(files: readonly (readonly [string, readonly string[]])[]): Promise<OpenFiles> {
    const wanted = files.flatMap(([within, names]) => names.map((name) => ({ path: joinPath(within, name), within })))
    return this.#tree.open(wanted, this.#limits.plugin.fileBytes)
  }

  #carriedIn(path: string, { declared, places }: Manifests, open: OpenFiles): Carried {
    const counter = new FileCounter(this.#tree, this.#limits.plugin.counted)
    const count = (names: readonly string[], countIn: (file: JsonObject) => number): number =>
      names.reduce((sum, name) => {
        const file = open({ path: joinPath(path, name), within: path })
        const read = file?.ok === true ? parseStrictJson(file.text) : undefined
        return sum + (read?.ok === true ? countIn(read.value) : 0)
      }, 0)
    const documents = (names: readonly string[]): number =>
      names.reduce((sum, name) => sum + counter.count(joinPath(path, name), isDocument), 0)
    return sumOf([
      {
        hooks: count(places.hooks, hooksIn),
        commands: documents(places.commands),
        agents: documents(places.agents),
        mcpServers: count(places.mcpServers, (file) => serversIn(file, 'mcpServers')),
        lspServers: count(places.lspServers, (file) => serversIn(file, 'lspServers')),
        programs: counter.count(joinPath(path, 'bin'), () => true),
      },
      ...declared.map(({ inline }) => inline),
    ])
  }
}

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
  readonly places: Places
  /** The number of them. */
  readonly opened: number
  readonly version: string | undefined
  readonly findings: readonly SkillDiagnostic[]
  readonly isUnread: boolean
}

function manifestsOf(path: string, open: OpenFiles, { paths, plugin }: MarketplaceLimits): Manifests {
  const declared: Declared[] = []
  const versions: (string | undefined)[] = []
  const findings: SkillDiagnostic[] = []
  let opened = 0
  let isUnread = false
  for (const name of MANIFESTS) {
    const at = joinPath(path, name)
    const file = open({ path: at, within: path })
    if (file === undefined) continue
    opened += 1
    const read = file.ok ? parseStrictJson(file.text) : file
    const why = read.ok ? namesOver(paths, read.value) : read.why
    if (!read.ok || why !== undefined) {
      isUnread = true
      findings.push({ rule: 'marketplace-unread', path: at, message: `The manifest is not read: ${why}` })
      continue
    }
    const found = declaredIn(read.value)
    declared.push(found)
    isUnread ||= found.isUncertain
    versions.push(labelIn(read.value))
    for (const outside of found.outside.slice(0, 1))
      findings.push({
        rule: 'plugin-refused',
        path: at,
        message: `The path ${quoted(outside)} is not one in the plugin`,
      })
  }
  const version = versions.find((one) => one !== undefined)
  return { declared, places: placesIn(declared, plugin.named), opened, version, findings, isUnread }
}

type Places = { readonly [Kind in keyof typeof USUAL_PLACES]: readonly string[] }

/** The usual places, and the first of those that manifests name. Manifests for several clients name the same files. */
function placesIn(declared: readonly Declared[], most: number): Places {
  let left = most
  const placesOf = (kind: keyof Places): readonly string[] => {
    const named = [...new Set(declared.flatMap(({ files }) => files[kind] ?? []))].slice(0, left)
    left -= named.length
    return [...USUAL_PLACES[kind], ...named]
  }
  return {
    hooks: placesOf('hooks'),
    commands: placesOf('commands'),
    agents: placesOf('agents'),
    mcpServers: placesOf('mcpServers'),
    lspServers: placesOf('lspServers'),
  }
}

/** The files whose parts are counted inside of them. */
function partFiles({ hooks, mcpServers, lspServers }: Places): readonly string[] {
  return [...new Set([...hooks, ...mcpServers, ...lspServers])]
}

/** Counts files below folders of one plugin. */
class FileCounter {
  readonly #tree: PluginTree
  /** A plugin may name one folder again and again, as a part of others. */
  #left: number

  constructor(tree: PluginTree, most: number) {
    this.#tree = tree
    this.#left = most
  }

  /** The number of such files below the folder; of a file, 1. */
  count(path: string, isCounted: (name: string) => boolean): number {
    if (this.#left <= 0) return 0
    this.#left -= 1
    const entries = this.#tree.list(path)
    if (entries === undefined) return isCounted(path) && this.#tree.isFile(path) ? 1 : 0
    let sum = 0
    for (const { name, kind } of entries) {
      if (this.#left <= 0) return sum
      if (kind === 'folder') {
        sum += this.count(joinPath(path, name), isCounted)
        continue
      }
      this.#left -= 1
      if (isCounted(name)) sum += 1
    }
    return sum
  }
}

function isDocument(name: string): boolean {
  return /\.(?:md|mdc|toml)$/i.test(name)
}
