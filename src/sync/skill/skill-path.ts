import { isWindowsDevice } from '../../base/paths.ts'

/** Limits for a path inside a skill. */
export interface PathLimits {
  readonly segmentBytes: number
  readonly pathBytes: number
  readonly depth: number
}

/** The limits for what is read and stored. */
export const PATH_LIMITS: PathLimits = { segmentBytes: 200, pathBytes: 1024, depth: 64 }

/** Limits of the form alone, for lists of other hubs, of which one path too long withholds its own skill only. */
export const FORM_LIMITS: PathLimits = { segmentBytes: 4_096, pathBytes: 16_384, depth: 1_024 }

/**
 * The reason why no skill of a hub has a file at this path here; `undefined` if one can. Stricter than `nameProblem`: its
 * hub is no git host, whose files the author has on a disk, and its followers have other systems.
 */
export function pathProblem(path: string, limits: PathLimits): string | undefined {
  const problem = formProblem(path, limits) ?? nameProblem(path)
  if (problem !== undefined) return problem
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(path)) return 'holds a control character'
  if (path.includes(':')) return 'holds a colon, behind which some systems have another file'
  if (/[ .](?:\/|$)/.test(path)) return 'has a name that ends with a dot or a space, which Windows drops'
  return path.split('/').some(isWindowsDevice) ? 'has the name of a Windows device' : undefined
}

/** The reason why the path leads to no place below a folder; `undefined` if it does. */
export function formProblem(path: string, limits: PathLimits): string | undefined {
  if (!path.isWellFormed()) return 'is not valid Unicode'
  if (path.includes('\0')) return 'holds a NUL'
  const segments = path.split('/')
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    return 'has a segment that is empty, "." or ".."'
  }
  if (segments.length > limits.depth) return `is deeper than ${limits.depth} segments`
  if (Buffer.byteLength(path) > limits.pathBytes) return `is longer than ${limits.pathBytes} bytes`
  if (segments.some((segment) => Buffer.byteLength(segment) > limits.segmentBytes)) {
    return `has a segment longer than ${limits.segmentBytes} bytes`
  }
  return undefined
}

/** The reason why a file is too far from its repository, as a sentence about it. */
export const TOO_FAR = `is below over ${PATH_LIMITS.depth} folders, or has a path of over ${PATH_LIMITS.pathBytes} bytes`

/**
 * The reason why no skill of any source has a file with a name in this path; `undefined` if one can. Each kind of source
 * applies this one rule, and so does what takes paths of another process, or writes them into folders of agents.
 */
export function nameProblem(path: string): string | undefined {
  return path.includes('\\') ? 'holds a backslash, which no URI may carry' : gitFolderProblem(path)
}

/** The reason why an agent's git could take a folder in the path for a repository, whose configuration names programs. */
export function gitFolderProblem(path: string): string | undefined {
  return isDotGit(path) ? 'has a name that git keeps for itself' : undefined
}

/**
 * True if some file system treats a name in the path as `.git`: case, an 8.3 alias, a stream, trailing dots, ignored
 * characters.
 */
export function isDotGit(path: string): boolean {
  return /(?:^|\/)(?:\.git|git~1)[ .]*(?::[^/]*)?(?:\/|$)/i.test(path.replaceAll(IGNORED_BY_HFS, ''))
}

/** The characters that HFS+ leaves out of names. */
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/**
 * Returns the reason why a checkout of the skill's files by git could have other files or bytes than those that are
 * pinned, on some system; `undefined` if there is none. A survey has withheld skills whose names differ in case alone.
 */
export function unportableReason(skill: FileNames): string | undefined {
  let found = KNOWN.get(skill)
  if (found === undefined) KNOWN.set(skill, (found = { reason: reasonOf(skill) }))
  return found.reason
}

interface FileNames {
  readonly files: readonly { readonly path: string }[]
}

/** Most skills are in many catalogs. */
const KNOWN = new WeakMap<FileNames, { readonly reason: string | undefined }>()

function reasonOf({ files }: FileNames): string | undefined {
  for (const { path } of files) {
    const reason = path.split('/').map(reasonOfName).find(Boolean)
    if (reason !== undefined) return `its file "${path}" ${reason}`
  }
  return undefined
}

function reasonOfName(name: string): string | undefined {
  if (isDotGit(name) || isGitFile(name)) return 'has a name that git keeps for itself'
  if (/[\p{Cc}<>:"|?*\\]/u.test(name)) return 'has a character that Windows does not allow'
  if (/[ .]$/.test(name)) return 'ends with a dot or a space, which Windows drops'
  return isWindowsDevice(name) ? 'has the name of a Windows device' : undefined
}

/**
 * True if some file system takes the name for a file by which git changes a checkout, such as `.gitattributes`: case,
 * ignored characters, trailing dots, or the short names of NTFS (the rules of `git fsck`).
 */
function isGitFile(name: string): boolean {
  const plain = name
    .replaceAll(IGNORED_BY_HFS, '')
    .toLowerCase()
    .replace(/[ .]*(?::.*)?$/s, '')
  return /^(?:\.git(?:attributes|modules)|git(?:att|mod)~[0-9]+|gi7(?:d29|eba)~[0-9]+)$/.test(plain)
}
