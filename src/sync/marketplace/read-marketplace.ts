import { isMapping } from '../../base/json-value.ts'
import type { JsonValue } from '../../base/json-value.ts'
import { folderOf, joinPath } from '../../base/paths.ts'
import { countOf } from '../../base/text/plural.ts'
import type { SkillDiagnostic } from '../skill-md/skill-diagnostic.ts'
import { sumOf } from './declared.ts'
import { MARKETPLACE_FILES } from './marketplace.ts'
import type { Marketplace, MarketplaceFile, PluginFolder, PluginGroup, PluginRename } from './marketplace.ts'
import { isPluginName, readEntry } from './plugin-entry.ts'
import type { PluginEntry } from './plugin-entry.ts'
import { MOST_SKILL_PLACES, readFolders } from './plugin-folders.ts'
import { safePath } from './plugin-path.ts'
import type { FileText, PluginTree } from './plugin-tree.ts'
import { parseStrictJson, quoted } from './strict-json.ts'

/** A marketplace with the findings about its files. */
export interface ReadMarketplace {
  readonly marketplace: Marketplace
  readonly findings: readonly SkillDiagnostic[]
}

/**
 * Reads the marketplace files of a tree as groups of skills; without files if there are none. `earlier`: the marketplace
 * of the tree that `isUnchanged` compares with.
 */
export async function readMarketplace(
  tree: PluginTree,
  earlier: Marketplace | undefined,
  signal: AbortSignal,
): Promise<ReadMarketplace> {
  const files = await readFiles(tree, earlier)
  const union = unionOf(files)
  const paths = new Set(union.entries.flatMap(({ place }) => (place.kind === 'local' ? [place.path] : [])))
  const folders = await readFolders(tree, paths, earlier?.folders ?? [], signal)
  const byPath = new Map(folders.map((folder) => [folder.path, folder]))
  const { groups, findings } = groupsOf(union, byPath)
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
      renames: renamesOf(files),
      folders,
    },
    findings: [
      ...files.flatMap(({ findings }) => findings),
      ...union.findings,
      ...findings,
      ...folders.flatMap(({ findings }) => findings),
    ],
  }
}

/** The limit on a marketplace file. Clients that limit one have the same figure. */
const FILE_BYTES = 10 * 1024 * 1024

const MOST_ENTRIES = 10_000

/** An unchanged folder has the files that it had. */
async function readFiles(tree: PluginTree, earlier: Marketplace | undefined): Promise<readonly ReadFile[]> {
  const paths = MARKETPLACE_FILES.filter(
    (path) => earlier?.files.some((file) => file.path === path) === true || !tree.isUnchanged(folderOf(path)),
  )
  const open = await tree.open(paths, { bytes: FILE_BYTES, within: () => '' })
  return paths.flatMap((path) => {
    const file = open(path)
    return file === undefined ? [] : [readFile(path, file)]
  })
}

interface ReadFile {
  readonly file: MarketplaceFile
  readonly entries: readonly PluginEntry[]
  readonly renames: readonly PluginRename[]
  readonly findings: readonly SkillDiagnostic[]
}

function readFile(path: string, file: FileText): ReadFile {
  const read = file.ok ? parseStrictJson(file.text) : file
  if (!read.ok) return unreadFile(path, read.why)
  const { plugins, metadata, name, renames } = read.value
  if (!Array.isArray(plugins)) return unreadFile(path, 'it has no list "plugins"')
  if (plugins.length > MOST_ENTRIES)
    return unreadFile(path, `it has ${plugins.length} plugins, and at most ${MOST_ENTRIES} are read`)
  const base = isMapping(metadata) ? metadata['pluginRoot'] : undefined
  const root = typeof base === 'string' ? safePath(base) : ''
  if (root === undefined) return unreadFile(path, `its pluginRoot ${quoted(base)} is not one in the repository`)
  return {
    file: { path, ...(isName(name) && { name }), plugins: plugins.length },
    ...readEntries(plugins, root, path),
    renames: renamesIn(renames),
  }
}

function unreadFile(path: string, why: string): ReadFile {
  const message = `The marketplace is not read: ${why}`
  return {
    file: { path, plugins: 0, isUnread: true },
    entries: [],
    renames: [],
    findings: [{ rule: 'marketplace-unread', path, message }],
  }
}

function isName(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && isPluginName(value)
}

function readEntries(
  plugins: readonly JsonValue[],
  root: string,
  path: string,
): Pick<ReadFile, 'entries' | 'findings'> {
  const entries = new Map<string, PluginEntry>()
  const findings: SkillDiagnostic[] = []
  const refuse = (message: string): void => void findings.push({ rule: 'plugin-refused', path, message })
  for (const value of plugins) {
    const read = readEntry(value, root)
    if (!read.ok) {
      refuse(`A plugin is not read: ${read.why}`)
      continue
    }
    const { entry } = read
    if (entries.has(entry.name)) {
      refuse(`The plugin "${entry.name}" appears twice; the first counts`)
      continue
    }
    entries.set(entry.name, entry)
    for (const outside of entry.outside.slice(0, 1))
      refuse(`The path ${quoted(outside)} of the plugin "${entry.name}" is not one in its folder`)
  }
  return { entries: [...entries.values()], findings }
}

function renamesIn(renames: JsonValue | undefined): readonly PluginRename[] {
  if (!isMapping(renames)) return []
  return Object.entries(renames)
    .slice(0, MOST_ENTRIES)
    .flatMap(([from, to]) => (isPluginName(from) && (to === null || isName(to)) ? [{ from, to }] : []))
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
}

/** Each plugin by the first file that has it. */
function unionOf(files: readonly ReadFile[]): Union {
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
    entries: union.map(({ entry }) => entry).slice(0, MOST_ENTRIES),
    findings: [...findings, ...readable.flatMap((file) => missingIn(file, [...byName.keys()]))],
    fileOf: (name) => byName.get(name)?.path ?? '',
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
  const left = missing.length - MOST_NAMED
  const named = `${missing.slice(0, MOST_NAMED).join(', ')}${left > 0 ? ` and ${left} more` : ''}`
  const message = `The file lacks ${countOf(missing.length, 'plugin')} of the other marketplace files: ${named}`
  return [{ rule: 'marketplace-differs', path: file.path, message }]
}

const MOST_NAMED = 5

function groupsOf(
  { entries, fileOf }: Union,
  folders: ReadonlyMap<string, PluginFolder>,
): { readonly groups: readonly PluginGroup[]; readonly findings: readonly SkillDiagnostic[] } {
  const groups: PluginGroup[] = []
  const findings: SkillDiagnostic[] = []
  let left = MOST_SKILL_PLACES
  for (const entry of entries) {
    if (entry.place.kind !== 'local') continue
    const { path } = entry.place
    const folder = folders.get(path)
    const refuse = (why: string): void =>
      void findings.push({
        rule: 'plugin-refused',
        path: fileOf(entry.name),
        message: `The plugin "${entry.name}" ${why}`,
      })
    if (folder?.isMissing === true) refuse(`has no folder "${path}" in this repository`)
    left -= entry.skills.length + (folder?.skills.length ?? 0)
    if (left < 0) refuse(`is left out: the plugins name together more than ${MOST_SKILL_PLACES} folders of skills`)
    else groups.push(groupOf(entry, path, folder))
  }
  return { groups, findings }
}

function groupOf(entry: PluginEntry, path: string, folder: PluginFolder | undefined): PluginGroup {
  const version = folder?.version ?? entry.version
  return {
    name: entry.name,
    ...(version !== undefined && { version }),
    path,
    skills: skillPlaces(entry, path, folder),
    carried: sumOf([entry.carried, folder?.carried ?? {}]),
  }
}

/** With the root as its source, a plugin has the listed skills alone. Otherwise they add to those in `skills/`. */
function skillPlaces({ skills }: PluginEntry, path: string, folder: PluginFolder | undefined): readonly string[] {
  const listed = skills.map((place) => joinPath(path, place))
  if (path === '' && listed.length > 0) return [...new Set(listed)]
  return [...new Set([joinPath(path, 'skills'), ...listed, ...(folder?.skills ?? [])])]
}
