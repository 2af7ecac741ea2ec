import { createHash } from 'node:crypto'
import type { Steps } from '../../base/async/cooperative.ts'
import type { CatalogFile } from '../../sync/catalog/catalog-file.ts'
import { filesToInstall } from '../../sync/catalog/folder-skills.ts'
import type { InstallableSkill } from '../../sync/catalog/install-names.ts'
import { comparePaths } from '../../sync/model/digest.ts'
import type { ObjectId } from '../../sync/model/revision.ts'
import type { Skill } from '../../sync/model/skill.ts'
import { objectIdOf } from '../../sync/upstream/objects/git-object.ts'
import { plainCommit } from '../../sync/upstream/objects/synthetic-commit.ts'
import type { MarketplaceConfig } from './marketplace-config.ts'
import type { Plugin } from './plugins.ts'

/** The marketplace at one moment: one commit without a parent, and the objects that it leads to. */
export interface MarketplaceRevision {
  /** The id of the commit, 40 hex digits. The same for the same plugins, whatever was served before. */
  readonly tip: ObjectId
  /** The id of its tree. */
  readonly tree: ObjectId
  /** The message of the commit: it names the digest of the plugins. */
  readonly message: string
  /** All objects by id. */
  readonly objects: ReadonlyMap<string, MarketplaceObject>
}

/** A git object: bytes of ours, or a file of a skill. */
export type MarketplaceObject =
  | { readonly type: 'commit' | 'tree' | 'blob'; readonly bytes: Buffer }
  | { readonly type: 'blob'; readonly file: CatalogFile }

/** Returns the id of a file as a git blob, 40 hex digits. */
export type BlobIdOf = (file: CatalogFile) => string

/** Builds the revision of these plugins. `blobIdOf` is called for each file of each skill. */
export function* marketplaceRevision(
  config: MarketplaceConfig,
  plugins: readonly Plugin[],
  blobIdOf: BlobIdOf,
): Steps<MarketplaceRevision> {
  const root = new Folder()
  for (const [path, bytes] of manifestsOf(config, plugins)) {
    const id = objectIdOf({ type: 'blob', bytes }, 'sha1')
    root.add(path, { mode: '100644', id, objects: new Map([[id, { type: 'blob', bytes }]]) })
  }
  for (const { name, skills } of plugins) {
    for (const [folder, skill] of skills) {
      root.add(`plugins/${name}/skills/${folder}`, treeOfSkill(skill, blobIdOf))
      yield
    }
  }
  const objects = new Map<string, MarketplaceObject>()
  const { id: tree } = root.written(objects)
  // Without a time, equal plugins give an equal commit.
  const message = `Skills ${digestOfVersions(plugins)}`
  const { id: tip, bytes } = plainCommit(tree, message, 'sha1')
  objects.set(tip, { type: 'commit', bytes })
  return { tip, tree, message, objects }
}

function digestOfVersions(plugins: readonly Plugin[]): string {
  const versions = plugins.map(({ name, version }) => [name, version])
  return `sha256:${createHash('sha256').update(JSON.stringify(versions)).digest('hex')}`
}

/** A tree or a blob in a tree, with the objects that it adds to the revision. */
interface TreeItem {
  readonly mode: '40000' | '100644' | '100755'
  readonly id: string
  readonly objects: ReadonlyMap<string, MarketplaceObject>
}

function treeOfSkill(skill: InstallableSkill, blobIdOf: BlobIdOf): TreeItem {
  const known = TREES.get(skill.skill)
  if (known !== undefined) return known
  const folder = new Folder()
  for (const file of filesToInstall(skill)) {
    const id = blobIdOf(file)
    const mode = file.file.executable ? '100755' : '100644'
    folder.add(file.file.path, { mode, id, objects: new Map([[id, { type: 'blob', file }]]) })
  }
  const objects = new Map<string, MarketplaceObject>()
  const tree = { ...folder.written(objects), objects }
  TREES.set(skill.skill, tree)
  return tree
}

/** Most skills are in many revisions. */
const TREES = new WeakMap<Skill, TreeItem>()

/** A folder to which files are added before it is written. */
class Folder {
  readonly #entries = new Map<string, TreeItem | Folder>()

  add(path: string, item: TreeItem): void {
    const slash = path.indexOf('/')
    if (slash === -1) return void this.#entries.set(path, item)
    const name = path.slice(0, slash)
    const known = this.#entries.get(name)
    const folder = known instanceof Folder ? known : new Folder()
    this.#entries.set(name, folder)
    folder.add(path.slice(slash + 1), item)
  }

  /** Adds its own tree and all objects below it to `objects`. */
  written(objects: Map<string, MarketplaceObject>): { readonly mode: '40000'; readonly id: ObjectId } {
    const items: NamedItem[] = []
    for (const [name, entry] of this.#entries) {
      items.push({ name, item: entry instanceof Folder ? entry.written(objects) : entry })
      if (!(entry instanceof Folder)) for (const [id, object] of entry.objects) objects.set(id, object)
    }
    const bytes = treeBytes(items)
    const id = objectIdOf({ type: 'tree', bytes }, 'sha1')
    objects.set(id, { type: 'tree', bytes })
    return { mode: '40000', id }
  }
}

interface NamedItem {
  readonly name: string
  readonly item: Pick<TreeItem, 'mode' | 'id'>
}

/** Git's order: by the bytes of the names, a folder as if its name ended with a slash. */
function treeBytes(items: readonly NamedItem[]): Buffer {
  const keyed = items.map(({ name, item }) => ({
    key: Buffer.from(item.mode === '40000' ? `${name}/` : name),
    line: Buffer.concat([Buffer.from(`${item.mode} ${name}\0`), Buffer.from(item.id, 'hex')]),
  }))
  return Buffer.concat(keyed.toSorted((a, b) => Buffer.compare(a.key, b.key)).map(({ line }) => line))
}

/** The texts of the marketplace that are not files of skills, by their paths. Equal input gives equal bytes. */
export function manifestsOf(config: MarketplaceConfig, plugins: readonly Plugin[]): ReadonlyMap<string, Buffer> {
  return new Map([
    // Without this, git on Windows may change the ends of lines.
    ['.gitattributes', Buffer.from('* -text\n')],
    ['.claude-plugin/marketplace.json', jsonOf(claudeMarketplace(config, plugins))],
    ['.agents/plugins/marketplace.json', jsonOf(agentsMarketplace(config, plugins))],
    ['.cursor-plugin/marketplace.json', jsonOf(cursorMarketplace(config, plugins))],
    ...plugins.flatMap((plugin): (readonly [string, Buffer])[] => {
      const manifest = jsonOf(pluginManifest(plugin))
      return [
        [`plugins/${plugin.name}/plugin.json`, jsonOf({ $schema: AGENT_PLUGIN, ...pluginManifest(plugin) })],
        [`plugins/${plugin.name}/.claude-plugin/plugin.json`, manifest],
        [`plugins/${plugin.name}/.cursor-plugin/plugin.json`, manifest],
      ]
    }),
  ])
}

/** Agent Plugins 1.0.0: Codex takes no later version. */
const AGENT_PLUGIN = 'https://agent-plugins.org/schemas/1.0.0/plugin.schema.json'

/** The format of Claude Code, which Copilot, VS Code, Codex and the `skills` CLI read too. */
function claudeMarketplace({ name, owner, description, renames }: MarketplaceConfig, plugins: readonly Plugin[]) {
  return {
    name,
    owner: { name: owner },
    description,
    forceRemoveDeletedPlugins: true,
    renames: renamesTo(new Set(plugins.map((plugin) => plugin.name)), renames),
    plugins: plugins.map((plugin) => ({
      name: plugin.name,
      source: `./plugins/${plugin.name}`,
      description: plugin.description,
      version: plugin.version,
    })),
  }
}

/** The renames that lead to one of these plugins: a caller learns no other names. */
function renamesTo(plugins: ReadonlySet<string>, renames: MarketplaceConfig['renames']): Record<string, string> {
  const isServed = (name: string, steps = 0): boolean => {
    const next = renames[name]
    return (
      plugins.has(name) || (next !== undefined && steps <= Object.keys(renames).length && isServed(next, steps + 1))
    )
  }
  const served = Object.entries(renames).filter(([, name]) => isServed(name))
  return Object.fromEntries(served.toSorted(([a], [b]) => comparePaths(a, b)))
}

/** The format of Codex. */
function agentsMarketplace({ name, owner }: MarketplaceConfig, plugins: readonly Plugin[]) {
  return {
    name,
    interface: { displayName: owner },
    plugins: plugins.map((plugin) => ({
      name: plugin.name,
      source: { source: 'local', path: `./plugins/${plugin.name}` },
      policy: { installation: 'AVAILABLE', authentication: 'ON_INSTALL' },
      category: 'Productivity',
    })),
  }
}

/** The format of Cursor, whose schema allows no further key. */
function cursorMarketplace({ name, owner, description }: MarketplaceConfig, plugins: readonly Plugin[]) {
  return {
    name,
    owner: { name: owner },
    metadata: { description },
    plugins: plugins.map((plugin) => ({
      name: plugin.name,
      source: `plugins/${plugin.name}`,
      description: plugin.description,
    })),
  }
}

function pluginManifest({ name, version, description, owner }: Plugin) {
  return { name, version, description, author: { name: owner } }
}

function jsonOf(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)
}
