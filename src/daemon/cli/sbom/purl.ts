/** The origin of a skill. */
export interface PackageOrigin {
  readonly address: string | undefined
  readonly commit: string
  /** The parts of the path to its folder. */
  readonly folder: readonly string[]
}

/**
 * The package URL of a skill. Repositories on GitHub and Bitbucket have types of their own, which tools know. All
 * others are `generic`, with their address as `vcs_url` in the format of SPDX.
 */
export function purlOf(name: string, { address, commit, folder }: PackageOrigin): string {
  const subpath = folder.flatMap((part) => part.split('/')).filter((part) => !EMPTY.has(part))
  const tail = subpath.length === 0 ? '' : `#${subpath.map(encoded).join('/')}`
  const hosted = /^https:\/\/(github\.com|bitbucket\.org)\/([\w.-]+)\/([\w.-]+?)(?:\.git)?\/?$/.exec(address ?? '')
  if (hosted !== null) {
    const [, host = '', owner = '', repository = ''] = hosted
    const path = [owner, repository].map((part) => encoded(part.toLowerCase())).join('/')
    return `pkg:${host.split('.')[0]}/${path}@${commit}${tail}`
  }
  const isAway = address !== undefined && !address.startsWith('file:')
  const from = isAway ? `?vcs_url=${encoded(`git+${address}@${commit}`)}` : ''
  // Leading and trailing spaces are not part of a name.
  return `pkg:generic/${encoded(name.trim() === '' ? 'skill' : name.trim())}@${commit}${from}${tail}`
}

/** The segments that a subpath must not have. */
const EMPTY: ReadonlySet<string> = new Set(['', '.', '..'])

/**
 * The encoding of the specification: everything except letters, digits and `.-_~` is percent-encoded, and the colon
 * stays.
 */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%3A', ':')
}
