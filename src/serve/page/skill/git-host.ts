import { CHANNEL_REF, FOLDER_REF, LISTING_REF } from '../../../sync/model/revision.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'

/** The pages of a git host about one commit of a repository. All are https addresses. */
export interface GitHostPages {
  readonly commit: string
  /** Returns the page of a folder, relative to the root of the repository. `undefined` if a path cannot name it. */
  readonly folder: (path: string) => string | undefined
}

/**
 * Returns the pages of a commit at a known git host. `undefined` for every other address. The result is made of the
 * host, the path and the commit alone, so a credential in the address is never part of it.
 */
export function gitHostPages(url: string, commit: string): GitHostPages | undefined {
  const { host, path } = locationIn(url) ?? {}
  const pages = host === undefined ? undefined : HOSTS.get(host)
  if (pages === undefined || path === undefined || !/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(commit)) return undefined
  const names = path
    .replace(/^\//, '')
    .replace(/\/$/, '')
    .replace(/\.git$/, '')
    .split('/')
  if (names.length < 2 || names.length > pages.depth || !names.every(isPlainName)) return undefined
  const repository = `https://${host}/${names.join('/')}`
  return {
    commit: `${repository}/${pages.commit}/${commit}`,
    folder: (folder) => {
      const segments = folder === '' ? [] : folder.split('/')
      if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) return undefined
      return [`${repository}/${pages.folder}/${commit}`, ...segments.map(encoded)].join('/')
    },
  }
}

/** Returns the pages of the folder and the commit of a skill, as far as its repository is known to have them. */
export function skillPages(
  { url, revision, roots, rebuiltFrom }: Pick<Snapshot, 'url' | 'revision' | 'roots' | 'rebuiltFrom'>,
  path: string,
): { readonly commit?: string; readonly folder?: string } {
  // The commit of a rebuilt skill is gone from its repository.
  const isCommit = ![FOLDER_REF, LISTING_REF, CHANNEL_REF].includes(revision.ref) && rebuiltFrom === undefined
  const pages = isCommit ? gitHostPages(url, revision.commit) : undefined
  if (pages === undefined) return {}
  const { commit } = pages
  const folder = roots && pages.folder([roots.skills, path].filter((part) => part !== '').join('/'))
  return { commit, ...(folder !== undefined && { folder }) }
}

/** The addresses of one host, between the repository and the commit. */
interface HostLayout {
  readonly commit: string
  readonly folder: string
  /** The maximum number of names in the path of a repository. */
  readonly depth: number
}

const HOSTS: ReadonlyMap<string, HostLayout> = new Map([
  ['github.com', { commit: 'commit', folder: 'tree', depth: 2 }],
  // Groups can have twenty levels of subgroups.
  ['gitlab.com', { commit: '-/commit', folder: '-/tree', depth: 22 }],
  ['bitbucket.org', { commit: 'commits', folder: 'src', depth: 2 }],
  ['codeberg.org', { commit: 'commit', folder: 'src/commit', depth: 2 }],
])

/** Parses `https://host/path`, `ssh://git@host/path` and `git@host:path`. */
function locationIn(url: string): { readonly host: string; readonly path: string } | undefined {
  const [, scpHost, scpPath] = /^(?:[\w.-]+@)?([\w.-]+):(?!\/)([^:]+)$/.exec(url) ?? []
  if (scpHost !== undefined && scpPath !== undefined) return { host: scpHost.toLowerCase(), path: scpPath }
  const parsed = URL.parse(url)
  if (parsed === null || parsed.search !== '' || parsed.hash !== '') return undefined
  const { protocol, hostname, port, pathname } = parsed
  if (protocol === 'https:') return port === '' ? { host: hostname, path: pathname } : undefined
  if (protocol === 'ssh:')
    return port === '' || port === '22' ? { host: hostname.toLowerCase(), path: pathname } : undefined
  return undefined
}

/** The hosts allow no other characters in these names. */
function isPlainName(name: string): boolean {
  return /^[\w.-]{1,255}$/.test(name) && !/^\.{1,2}$/.test(name)
}

/** Text that is no well-formed UTF-16 has no encoding. */
function encoded(segment: string): string {
  return encodeURIComponent(segment.toWellFormed())
}
