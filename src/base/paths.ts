/** Joins with one slash, where neither side is empty. */
export function joinPath(folder: string, name: string): string {
  if (folder === '') return name
  return name === '' ? folder : `${folder}/${name}`
}

/** The path without its last segment; empty for one at the top. */
export function folderOf(path: string): string {
  const slash = path.lastIndexOf('/')
  return slash === -1 ? '' : path.slice(0, slash)
}

/** The last segment. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Whether `path` lies below `folder`, segment by segment. Everything but itself lies below the empty path. */
export function isBelow(path: string, folder: string): boolean {
  if (folder === '') return path !== ''
  return path.length > folder.length && path.startsWith(folder) && path[folder.length] === '/'
}

/** `path` as seen from `folder`, which it is or lies below. */
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

/** What a file system that folds case and Unicode forms would make of the path: equal means they cannot both be there. */
export function foldedPath(path: string): string {
  if (ASCII.test(path)) return path.toLowerCase()
  // Upper case alone leaves the capital sharp s what it is; its lower case has the upper case SS.
  return path.normalize('NFC').toLowerCase().toUpperCase().toLowerCase().normalize('NFC')
}

// oxlint-disable-next-line no-control-regex -- all that is ASCII has one form, and one letter for each in the other case
const ASCII = /^[\0-\x7f]*$/
