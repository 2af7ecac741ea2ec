import { lstat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { baseName, folderOf, foldersAbove, joinPath, relativeTo } from '../../../base/paths.ts'
import { printablePath } from '../../../base/text/printable.ts'
import { SyncError } from '../../model/sync-error.ts'
import { isDotGit } from '../../skill/skill-path.ts'
import { legiblePath, rawPath } from './folder-error.ts'
import { readAll } from './folder-file.ts'
import { parseIgnorePatterns, type IgnorePattern } from './ignore-patterns.ts'
import { isLeftByPrograms } from './left-by-programs.ts'
import { OpenFolder, undefinedIfAway, type FollowedLinks } from './open-folder.ts'

/** The reason why an entry is no part of a folder: its name, or a line of an ignore file, as text for messages. */
export type PassedOverFor = { readonly kind: 'name' } | { readonly kind: 'ignored'; readonly by: string }

/** Places that the rule treats apart. */
interface PlacesApart {
  /** Paths that the operator named: no ignore file above them concerns them. */
  readonly named: ReadonlySet<string>
  /** The rules of the folders behind followed links, by name. */
  readonly behind: ReadonlyMap<string, PassedOver>
}

/** An ignore file. `base`: its folder from the top of the work tree; `file`: its path from the folder, for messages. */
interface IgnoreFile {
  readonly base: string
  readonly file: string
  readonly patterns: readonly IgnorePattern[]
}

/**
 * The rule of what is no part of a folder: what programs leave there, and what the ignore files of git ignore; these may
 * also take the former back in. They are those in the folder and, if it is in a work tree, those above it up to the top
 * of that, with `.git/info/exclude`. The index and the configuration of git are not read. Paths are raw and from the
 * folder.
 */
export class PassedOver {
  /** The path of the folder from the top of its work tree. */
  readonly #prefix: string
  readonly #places: PlacesApart
  /** The ignore files in force in a folder, the innermost last; absent if they are those of the folder above. */
  readonly #inForce: Map<string, readonly IgnoreFile[]>
  #steps = 0

  private constructor(prefix: string, above: readonly IgnoreFile[], places: PlacesApart) {
    this.#prefix = prefix
    this.#places = places
    this.#inForce = new Map([['', above]])
  }

  /** Returns the rule of a folder, a real path, with `named` places. A followed link has that of its target. */
  static async of(
    folder: string,
    named: ReadonlySet<string>,
    followed: FollowedLinks = new Map(),
  ): Promise<PassedOver> {
    const behind = new Map<string, PassedOver>()
    for (const [name, target] of followed)
      behind.set(name, await PassedOver.#above(target.toString(), { named: new Set(), behind: new Map() }))
    return PassedOver.#above(folder, { named, behind })
  }

  /** Reads the ignore files above a folder. If they ignore it, they do not count: it was named all the same. */
  static async #above(folder: string, places: PlacesApart): Promise<PassedOver> {
    const top = await workTreeAround(folder)
    if (top === undefined) return new PassedOver('', [], places)
    const files: IgnoreFile[] = []
    const addFrom = async (base: string, names: readonly string[]): Promise<void> => {
      const at = Buffer.from(joinPath(rawPath(top), base), 'latin1')
      await using opened = await OpenFolder.open(at).catch(undefinedIfAway)
      const shown = relative(folder, join(top, legiblePath(base)))
      if (opened !== undefined) files.push(...(await ignoreFileIn(opened, names, { base, shown })))
    }
    await addFrom('', EXCLUSIONS)
    let base = ''
    for (const name of rawPath(relative(top, folder)).split('/')) {
      if (name === '') break
      await addFrom(base, IGNORE_FILE)
      base = joinPath(base, name)
      if (reasonIn(files, base, true, () => {})?.kind === 'ignored') return new PassedOver('', [], places)
    }
    return new PassedOver(base, files, places)
  }

  /** Reads the ignore files in a folder, before its entries are judged. */
  async enter(folder: OpenFolder, path: string): Promise<void> {
    const behind = this.#behind(path)
    if (behind !== undefined) return behind.rules.enter(folder, behind.path)
    const at = { base: joinPath(this.#prefix, path), shown: legiblePath(path) }
    // Another repository has rules of its own.
    const isRepository = path !== '' && (await folder.stat('.git').catch(undefinedIfAway)) !== undefined
    const isFree = isRepository || (this.#places.named.has(path) && this.#judge(path, true)?.kind === 'ignored')
    const own = [
      ...(isRepository ? await ignoreFileIn(folder, EXCLUSIONS, at) : []),
      ...(await ignoreFileIn(folder, IGNORE_FILE, at)),
    ]
    if (isFree || own.length > 0) this.#inForce.set(path, [...(isFree ? [] : this.#filesIn(path)), ...own])
  }

  /** Returns the reason why an entry of an entered folder is no part of it; `undefined` if it is one. */
  reasonOf(path: string, isFolder: boolean): PassedOverFor | undefined {
    const behind = this.#behind(path)
    if (behind !== undefined && behind.path !== '') return behind.rules.reasonOf(behind.path, isFolder)
    return this.#places.named.has(path) ? undefined : this.#judge(path, isFolder)
  }

  /** True if the entry or a folder above it is no part. The entry itself may be gone, and counts as a file. */
  covers(path: string): boolean {
    const folders = [...foldersAbove(path)].filter((folder) => folder !== '')
    try {
      return folders.some((folder) => this.reasonOf(folder, true)) || this.reasonOf(path, false) !== undefined
    } catch (error) {
      // It takes too long. The next read reports that.
      if (error instanceof SyncError) return false
      throw error
    }
  }

  #judge(path: string, isFolder: boolean): PassedOverFor | undefined {
    return reasonIn(this.#filesIn(folderOf(path)), joinPath(this.#prefix, path), isFolder, () => {
      this.#steps += 1
      if (this.#steps <= MOST_STEPS) return
      const message = `Cannot compare the folder with its ignore files: that takes over ${MOST_STEPS} steps`
      throw new SyncError('limit-exceeded', message, { fix: FEWER_PATTERNS })
    })
  }

  #filesIn(folder: string): readonly IgnoreFile[] {
    const own = this.#inForce.get(folder)
    return own ?? (folder === '' ? [] : this.#filesIn(folderOf(folder)))
  }

  #behind(path: string): { readonly rules: PassedOver; readonly path: string } | undefined {
    const [name = ''] = path.split('/', 1)
    const rules = this.#places.behind.get(name)
    return rules && { rules, path: relativeTo(name, path) }
  }
}

/** The last pattern of the innermost file decides, as in git. `path` is from the top of the work tree. */
function reasonIn(
  files: readonly IgnoreFile[],
  path: string,
  isFolder: boolean,
  onStep: () => void,
): PassedOverFor | undefined {
  const name = baseName(path)
  if (isDotGit(legiblePath(name))) return { kind: 'name' }
  for (const { base, file, patterns } of files.toReversed()) {
    const within = relativeTo(base, path)
    const found = patterns.findLast((pattern) => {
      onStep()
      return (isFolder || !pattern.isForFolders) && pattern.matches(within, name, onStep)
    })
    if (found?.isNegative === true) return undefined
    if (found !== undefined) {
      const by = `line ${found.line} of ${printablePath(file)} (${printablePath(legiblePath(found.text))})`
      return { kind: 'ignored', by }
    }
  }
  return isLeftByPrograms(name, isFolder) ? { kind: 'name' } : undefined
}

/** Returns the top of the work tree that a folder is in, if both have the same owner. */
async function workTreeAround(folder: string): Promise<string | undefined> {
  const owner = (await lstat(folder).catch(undefinedIfAway))?.uid
  for (let at = folder; ; at = dirname(at)) {
    const found = await lstat(join(at, '.git')).catch(undefinedIfAway)
    if (found !== undefined) return found.uid === owner ? at : undefined
    if (at === dirname(at)) return undefined
  }
}

/** Reads an ignore file if it is there. As git does, no link is followed. `names`: the way to it from the folder. */
async function ignoreFileIn(
  folder: OpenFolder,
  [name = '', ...below]: readonly string[],
  { base, shown }: { readonly base: string; readonly shown: string },
): Promise<readonly IgnoreFile[]> {
  const file = join(shown, name)
  if (below.length > 0) {
    await using inner = await folder.folder(name).catch(undefinedIfAway)
    return inner === undefined ? [] : await ignoreFileIn(inner, below, { base, shown: file })
  }
  const stat = await folder.stat(name).catch(undefinedIfAway)
  if (stat?.isFile() !== true) return []
  const text =
    stat.size > MOST_BYTES ? undefined : (await readAll(folder, name, { path: file, stat })).toString('latin1')
  const patterns = parseIgnorePatterns(text ?? '')
  const excess = text === undefined ? ofBytes(Number(stat.size)) : excessOf(patterns)
  if (excess === undefined) return [{ base, file, patterns }]
  const message = `Cannot use the ignore file ${printablePath(file)}: ${excess.what}, over the limit of ${excess.most}`
  throw new SyncError('limit-exceeded', message, { fix: excess.fix })
}

interface Excess {
  readonly what: string
  readonly most: number
  readonly fix: string
}

function ofBytes(size: number): Excess {
  return { what: `it has ${size} bytes`, most: MOST_BYTES, fix: 'Make the file smaller' }
}

function excessOf(patterns: IgnoreFile['patterns']): Excess | undefined {
  const { length } = patterns
  if (length > MOST_PATTERNS)
    return { what: `it has ${length} patterns`, most: MOST_PATTERNS, fix: 'Use fewer patterns' }
  const long = patterns.find(({ text }) => text.length > LONGEST_PATTERN)
  if (long === undefined) return undefined
  const what = `its pattern in line ${long.line} has ${long.text.length} bytes`
  return { what, most: LONGEST_PATTERN, fix: 'Shorten the pattern, or remove it' }
}

const IGNORE_FILE = ['.gitignore']
const EXCLUSIONS = ['.git', 'info', 'exclude']

const MOST_BYTES = 2 ** 18
const MOST_PATTERNS = 4_096
/** Longer than any path that is served. */
const LONGEST_PATTERN = 2_048
/** Some seconds for a whole folder. Usual files take a few steps for each entry and pattern. */
const MOST_STEPS = 50_000_000

const FEWER_PATTERNS = 'Use fewer patterns in the ignore files, with fewer stars'
