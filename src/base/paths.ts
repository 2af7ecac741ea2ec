/** Joins with one slash, or none if a side is empty. */
export function joinPath(folder: string, name: string): string {
  if (folder === '') return name
  return name === '' ? folder : `${folder}/${name}`
}

/** True if Windows takes the name for that of a device, with any ending. */
export function isWindowsDevice(name: string): boolean {
  return /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:[.:].*)?$/i.test(name)
}

/** The path without its last segment; empty for a path at the top. */
export function folderOf(path: string): string {
  const slash = path.lastIndexOf('/')
  return slash === -1 ? '' : path.slice(0, slash)
}

/** The last segment. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** True if `path` is below `folder`, segment by segment. Every path except the empty one is below the empty path. */
export function isBelow(path: string, folder: string): boolean {
  if (folder === '') return path !== ''
  return path.length > folder.length && path.startsWith(folder) && path[folder.length] === '/'
}

/** `path` relative to `folder`. It must be `folder` or below it. */
export function relativeTo(folder: string, path: string): string {
  if (folder === '') return path
  return path === folder ? '' : path.slice(folder.length + 1)
}

/** The folders above `path`, nearest first, the empty path last. */
export function* foldersAbove(path: string): Generator<string> {
  for (let at = path; at !== '';) {
    at = folderOf(at)
    yield at
  }
}

/**
 * The path that a link text names, from the place of the link; `undefined` if it is absolute or leads out of the
 * top, or is no path of git.
 */
export function linkTarget(link: string, text: string): string | undefined {
  if (text === '' || text.startsWith('/') || text.includes('\0') || text.includes('\\')) return undefined
  const segments = folderOf(link) === '' ? [] : folderOf(link).split('/')
  for (const segment of text.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment !== '..') segments.push(segment)
    else if (segments.pop() === undefined) return undefined
  }
  return segments.join('/')
}

/** The limit on chained links; it also ends a loop. */
export const MOST_LINKS = 8

/**
 * The folder that holds most of the files, for messages; `undefined` if none is in a folder. Its folders are named in
 * its place where one of them holds nearly all, up to one whose name says enough.
 */
export function fullestFolder(
  paths: Iterable<string>,
): { readonly folder: string; readonly files: number } | undefined {
  const counts = new Map<string, number>()
  for (const path of paths)
    for (const folder of foldersAbove(path)) if (folder !== '') counts.set(folder, (counts.get(folder) ?? 0) + 1)
  const fullestIn = (above: string): readonly [string, number] | undefined =>
    [...counts].filter(([folder]) => folderOf(folder) === above).toSorted(([, a], [, b]) => b - a)[0]
  let found = fullestIn('')
  for (let next = found; next !== undefined && found !== undefined && next[1] * 10 >= found[1] * 9;) {
    found = next
    next = SAYS_ENOUGH.test(baseName(next[0])) ? undefined : fullestIn(next[0])
  }
  return found && { folder: found[0], files: found[1] }
}

const SAYS_ENOUGH = /^(?:\..*|node_modules|venv|vendor|dist|build|target)$/

/**
 * The path as a file system sees it that folds case and Unicode forms. Two paths with equal results cannot both exist
 * there.
 */
export function foldedPath(path: string): string {
  if (ASCII.test(path)) return path.toLowerCase()
  // Upper case alone leaves the capital sharp s unchanged; its lower case has the upper case SS.
  return path.normalize('NFC').toLowerCase().toUpperCase().toLowerCase().normalize('NFC')
}

// oxlint-disable-next-line no-control-regex -- ASCII text has one Unicode form, and each letter has one in the other case
const ASCII = /^[\0-\x7f]*$/
