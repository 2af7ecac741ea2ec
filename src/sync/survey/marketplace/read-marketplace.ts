import { inSlices } from '../../../base/async/cooperative.ts'
import { isMapping } from '../../../base/json-value.ts'
import type { JsonValue } from '../../../base/json-value.ts'
import { folderOf, joinPath } from '../../../base/paths.ts'
import { fewText } from '../../../base/text/first-few.ts'
import { countOf } from '../../../base/text/plural.ts'
import { MARKETPLACE_FILES } from '../../model/marketplace.ts'
import type { Marketplace, MarketplaceFile, PluginFolder, PluginGroup, PluginRename } from '../../model/marketplace.ts'
import type { SkillDiagnostic } from '../../skill/skill-diagnostic.ts'
import { sumOf } from './declared.ts'
import type { MarketplaceLimits } from './marketplace-limits.ts'
import { isPluginName, readEntry } from './plugin-entry.ts'
import type { PluginEntry, ReadEntry } from './plugin-entry.ts'
import { readFolders } from './plugin-folders.ts'
import { safePath } from './plugin-path.ts'
import type { FileText, PluginTree } from './plugin-tree.ts'
import { parseStrictJson, quoted } from './strict-json.ts'

/** A marketplace with the findings about its files. */
export interface ReadMarketplace {
  readonly marketplace: Marketplace
  readonly findings: readonly SkillDiagnostic[]
}

/** The earlier reading of a marketplace, and the limits on this one. */
export interface MarketplaceReading {
  /** The marketplace of the tree that `isUnchanged` compares with. */
  readonly earlier: Marketplace | undefined
  readonly limits: MarketplaceLimits
}

/** Reads the marketplace files of a tree as groups of skills; without files if there are none. */
export async function readMarketplace(
  tree: PluginTree,
  reading: MarketplaceReading,
  signal: AbortSignal,
): Promise<ReadMarketplace> {
  const { earlier, limits } = reading
  const files = await readFiles(tree, reading, signal)
  const union = unionOf(files, limits.plugins)
  const paths = new Set(union.entries.flatMap(({ place }) => (place.kind === 'local' ? [place.path] : [])))
  const folders = await readFolders(tree, [...paths], { earlier: earlier?.folders ?? [], limits }, signal)
  const { groups, findings, left } = groupsOf(union, folders, limits)
  const isIncomplete =
    [...files, union].some((part) => part.isIncomplete) || left > 0 || folders.some(({ isUnread }) => isUnread)
  return {
    marketplace: {
      files: files.map(({ file }) => file),
      groups,
      suggested: union.entries.flatMap(({ name, place }) => {
        if (place.kind !== 'git') return []
        const { kind: _kind, ...address } = place
        return [{ name, ...address }]
      }),
      unsupported: union.entries.flatMap(({ name, place }) =>
        place.kind === 'unsupported' ? [{ name, kind: place.as }] : [],
      ),
      renames: renamesOf(files).slice(0, limits.plugins),
      folders,
      ...(isIncomplete && { isIncomplete }),
    },
    findings: [
      ...files.flatMap(({ findings }) => findings),
      ...union.findings,
      ...findings,
      ...folders.flatMap(({ findings }) => findings),
    ],
  }
}

/** An unchanged folder has the files that it had. */
async function readFiles(
  tree: PluginTree,
  { earlier, limits }: MarketplaceReading,
  signal: AbortSignal,
): Promise<readonly ReadFile[]> {
  const paths = MARKETPLACE_FILES.filter(
    (path) => earlier?.files.some((file) => file.path === path) === true || !tree.isUnchanged(folderOf(path)),
  )
  const fileAt = (path: string) => ({ path, within: '' })
  const open = await tree.open(paths.map(fileAt), limits.fileBytes)
  const read: ReadFile[] = []
  const readOne = async (path: string): Promise<void> => {
    const file = open(fileAt(path))
    if (file !== undefined) read.push(await readFile(path, file, limits, signal))
  }
  await inSlices(paths, readOne, signal)
  return read
}

interface ReadFile {
  readonly file: MarketplaceFile
  readonly entries: readonly PluginEntry[]
  readonly renames: readonly PluginRename[]
  readonly findings: readonly SkillDiagnostic[]
  /** True if a plugin, or a path of its skills, is refused. */
  readonly isIncomplete: boolean
}

async function readFile(
  path: string,
  file: FileText,
  limits: MarketplaceLimits,
  signal: AbortSignal,
): Promise<ReadFile> {
  const read = file.ok ? parseStrictJson(file.text) : file
  if (!read.ok) return unreadFile(path, read.why)
  const { plugins, metadata, name, renames } = read.value
  if (!Array.isArray(plugins)) return unreadFile(path, 'it has no list "plugins"')
  if (plugins.length > limits.plugins)
    return unreadFile(path, `it has ${plugins.length} plugins, and at most ${limits.plugins} are read`)
  const base = isMapping(metadata) ? metadata['pluginRoot'] : undefined
  const root = typeof base === 'string' ? safePath(base) : ''
  if (root === undefined) return unreadFile(path, `its pluginRoot ${quoted(base)} is not one in the repository`)
  const entries = new FileEntries(path)
  await inSlices(plugins, (value) => entries.add(readEntry(value, root, limits.paths)), signal)
  return {
    file: { path, ...(isName(name) && { name }), plugins: plugins.length },
    entries: [...entries.byName.values()],
    findings: entries.findings,
    isIncomplete: entries.isIncomplete,
    renames: renamesIn(renames),
  }
}

function unreadFile(path: string, why: string): ReadFile {
  const message = `The marketplace is not read: ${why}`
  return {
    file: { path, plugins: 0, isUnread: true },
    entries: [],
    renames: [],
    isIncomplete: true,
    findings: [{ rule: 'marketplace-unread', path, message }],
  }
}

function isName(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && isPluginName(value)
}

/** The entries of one file, each name once. */
class FileEntries {
  readonly byName = new Map<string, PluginEntry>()
  readonly findings: SkillDiagnostic[] = []
  isIncomplete = false
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  add(read: ReadEntry): void {
    if (!read.ok) {
      this.isIncomplete = true
      this.#refuse(`A plugin is not read: ${read.why}`)
      return
    }
    const { entry } = read
    if (this.byName.has(entry.name)) {
      // A client that takes the last one has other groups.
      this.isIncomplete = true
      this.#refuse(`The plugin "${entry.name}" appears twice; the first counts`)
      return
    }
    this.byName.set(entry.name, entry)
    this.isIncomplete ||= entry.isUncertain
    for (const outside of entry.outside.slice(0, 1))
      this.#refuse(`The path ${quoted(outside)} of the plugin "${entry.name}" is not one in its folder`)
  }

  #refuse(message: string): void {
    this.findings.push({ rule: 'plugin-refused', path: this.#path, message })
  }
}

function renamesIn(renames: JsonValue | undefined): readonly PluginRename[] {
  if (!isMapping(renames)) return []
  return Object.entries(renames).flatMap(([from, to]) =>
    isPluginName(from) && (to === null || isName(to)) ? [{ from, to }] : [],
  )
}

function renamesOf(files: readonly ReadFile[]): readonly PluginRename[] {
  const all = files.flatMap(({ renames }) => renames)
  return [...new Map(all.toReversed().map((rename) => [rename.from, rename])).values()].toReversed()
}

interface Union {
  readonly entries: readonly PluginEntry[]
  readonly findings: readonly SkillDiagnostic[]
  /** The file that decides about a plugin. */
  readonly fileOf: (name: string) => string
  /** True if there are more plugins than are read. */
  readonly isIncomplete: boolean
}

/** Each plugin by the first file that has it. */
function unionOf(files: readonly ReadFile[], most: number): Union {
  const byName = new Map<string, { readonly entry: PluginEntry; readonly path: string }>()
  const findings: SkillDiagnostic[] = []
  for (const { file, entries } of files) {
    for (const entry of entries) {
      const first = byName.get(entry.name)
      if (first === undefined) {
        byName.set(entry.name, { entry, path: file.path })
      } else if (placeKey(first.entry) !== placeKey(entry)) {
        const message = `The plugin "${entry.name}" differs from that in ${first.path}, which counts`
        findings.push({ rule: 'marketplace-differs', path: file.path, message })
      }
    }
  }
  const readable = files.filter(({ file }) => file.isUnread !== true)
  const union = [...byName.values()]
  return {
    entries: union.map(({ entry }) => entry).slice(0, most),
    findings: [...findings, ...readable.flatMap((file) => missingIn(file, [...byName.keys()]))],
    fileOf: (name) => byName.get(name)?.path ?? '',
    isIncomplete: union.length > most,
  }
}

/** Equal for entries that mean the same files. */
function placeKey({ place, skills }: PluginEntry): string {
  return JSON.stringify(
    place.kind === 'git'
      ? [place.url, place.ref ?? null, place.sha ?? null, place.path ?? null]
      : [place.kind, place.kind === 'local' ? place.path : place.as, skills.toSorted()],
  )
}

function missingIn({ file, entries }: ReadFile, names: readonly string[]): readonly SkillDiagnostic[] {
  const has = new Set(entries.map(({ name }) => name))
  const missing = names.filter((name) => !has.has(name))
  if (missing.length === 0) return []
  const named = fewText(missing, MOST_NAMED)
  const message = `The file lacks ${countOf(missing.length, 'plugin')} of the other marketplace files: ${named}`
  return [{ rule: 'marketplace-differs', path: file.path, message }]
}

const MOST_NAMED = 5

function groupsOf(
  { entries, fileOf }: Union,
  folders: readonly PluginFolder[],
  limits: MarketplaceLimits,
): { readonly groups: readonly PluginGroup[]; readonly findings: readonly SkillDiagnostic[]; readonly left: number } {
  const byPath = new Map(folders.map((folder) => [folder.path, folder]))
  const groups: PluginGroup[] = []
  const findings: SkillDiagnostic[] = []
  const left: PluginEntry[] = []
  let stored = 0
  for (const entry of entries) {
    if (entry.place.kind !== 'local') continue
    const folder = byPath.get(entry.place.path)
    const group = folder && stored <= limits.stored ? groupOf(entry, folder) : undefined
    stored += JSON.stringify(group ?? '').length
    if (folder === undefined || group === undefined || stored > limits.stored) {
      left.push(entry)
      continue
    }
    groups.push(group)
    if (folder.isMissing !== true) continue
    const message = `The plugin "${entry.name}" has no folder "${folder.path}" in this repository`
    findings.push({ rule: 'plugin-refused', path: fileOf(entry.name), message })
  }
  return { groups, findings: [...findings, ...leftOut(left, limits)], left: left.length }
}

/** Names the first alone, since thousands may be left out. */
function leftOut(
  [first, ...others]: readonly PluginEntry[],
  { opened, stored }: MarketplaceLimits,
): readonly SkillDiagnostic[] {
  if (first === undefined) return []
  const more = others.length === 0 ? '' : ` and ${countOf(others.length, 'other plugin')}`
  const why = `all plugins together may have ${opened} files that are read, and ${stored} characters of paths and findings`
  return [{ rule: 'marketplace-unread', path: '', message: `The plugin "${first.name}"${more} is left out: ${why}` }]
}

function groupOf(entry: PluginEntry, folder: PluginFolder): PluginGroup {
  const version = folder.version ?? entry.version
  return {
    name: entry.name,
    ...(version !== undefined && { version }),
    path: folder.path,
    skills: skillPlaces(entry, folder),
    carried: sumOf([entry.carried, folder.carried]),
  }
}

/** With the root as its source, a plugin has the listed skills alone. Otherwise they add to those in `skills/`. */
function skillPlaces({ skills, isUncertain }: PluginEntry, { path, skills: named }: PluginFolder): readonly string[] {
  const listed = skills.map((place) => joinPath(path, place))
  if (path === '' && (listed.length > 0 || isUncertain)) return [...new Set(listed)]
  return [...new Set([joinPath(path, 'skills'), ...listed, ...named])]
}
