import { fileURLToPath } from 'node:url'
import { withoutSecrets } from '../../../sync/skill/secret-patterns.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { isPerhapsRepository, pastedPlace, repositoryOfSeveral } from './pasted-address.ts'
import type { RepositoryPlace } from './pasted-address.ts'

// What is wrong with an address, in words that quote no secret of it.

/** A path of Windows: `C:\…`, `C:/…`, or of a share. */
export const WINDOWS_PATH = /^(?:[A-Za-z]:\\|[A-Z]:\/|\\\\\w)/
/** The fault of such a path. */
export const OF_WINDOWS = 'is a path of Windows, which this system cannot open; in WSL, the drive C: is /mnt/c'

/** Git addresses that only the git program can reach. */
const SSH = /^(?:ssh|git\+ssh|ssh\+git):\/\//i
const SCP_LIKE = /^(?!(?:https?|file):)(?:\w[\w.-]*@)?\w[\w.-]*:(?!:|\/\/|[0-9]+\/).+$/i

/** True if the address is one for ssh: `ssh://…`, or `git@host:path`. */
export function isSshAddress(text: string): boolean {
  return SSH.test(text) || SCP_LIKE.test(text)
}

const MUST_BEGIN = 'must begin with https://, http://, ssh:// or file:///'
const GIT_SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'file:'])

/** The fault of the address. Any part of it may be the secret: only what a page's address says of its repository is quoted. */
export function gitUrlFault(text: string): string | undefined {
  if (WINDOWS_PATH.test(text)) return OF_WINDOWS
  if (isSshAddress(text) && !SSH.test(text)) {
    // `user:password@host/path` looks like a path on a host that is named like the user.
    return /^[^@/]*:[^/]*@/.test(text) ? INLINE_SECRET_IN_URL : undefined
  }
  // For `ext::sh -c …`, git runs `git-remote-ext`, which may run any other program (gitremote-helpers).
  if (/^\w[\w+.-]*::/.test(text)) return `names a transport of git's own; it ${MUST_BEGIN}`
  const url = URL.parse(text)
  const page = pastedPlace(text.replace(/#.*/s, ''))
  const several = repositoryOfSeveral(text)
  if (several !== undefined)
    return `is the address of a page without one branch, tag or commit that git has${insteadText({ url: several, ref: '…' })}`
  if (url === null) return unparsedPart(text) ?? `${MUST_BEGIN}${insteadText(page)}`
  if (url.password !== '' || (url.username !== '' && !SSH.test(text))) return INLINE_SECRET_IN_URL
  const isPage = page !== undefined && !isPerhapsRepository(text)
  if (isPage && GIT_SCHEMES.has(url.protocol)) return `is the address of a page${insteadText(page)}`
  if (url.search !== '' || url.hash !== '')
    return 'must not contain a query or a fragment; a branch goes into `ref`, a credential into `auth`, and an anchor of a page is left out'
  if (SSH.test(text)) return sshUrlFault(url)
  if (!GIT_SCHEMES.has(url.protocol)) return `${MUST_BEGIN}${insteadText(page)}`
  if (!text.slice(url.protocol.length).startsWith('//')) return 'must have two slashes after the scheme'
  return url.protocol === 'file:' ? fileUrlFault(url) : undefined
}

/**
 * The part of an address that makes it none; `undefined` if it does not begin with a scheme that we take. Nothing of it is
 * quoted.
 */
export function unparsedPart(text: string): string | undefined {
  const authority = /^(?:https?|file|ssh|git\+ssh|ssh\+git):\/\/([^/\\?#]*)/i.exec(text)?.[1]
  if (authority === undefined) return undefined
  if (authority.includes('@') && !SSH.test(text)) return INLINE_SECRET_IN_URL
  const [, host = '', port = ''] = /^(?:.*@)?(\[[^\]]*\]?|[^:]*)(?::(.*))?$/s.exec(authority) ?? []
  if (/\s/.test(authority)) return 'has a space in its host'
  if (host === '') return 'names no host'
  if (!/^\d*$/.test(port) || Number(port) > 65_535) return 'has a port that is not a number up to 65535'
  return 'has a host that is neither a name nor an IP address'
}

function insteadText(place: RepositoryPlace | undefined): string {
  if (place === undefined) return ''
  const { url, ref, root } = place
  const beside = Object.entries({ ref, root }).flatMap(([key, value]) =>
    value === undefined ? [] : [`\`${key}: ${value}\``],
  )
  const text = `; write ${url}${beside.length === 0 ? '' : `, with ${beside.join(' and ')} beside it`}`
  return printableLine(withoutSecrets(text))
}

/** A name that ssh could take for an option is refused. */
function sshUrlFault({ hostname, username }: URL): string | undefined {
  return hostname === '' || /^(?:-|%2d)/i.test(hostname) || /^(?:-|%2d)/i.test(username)
    ? 'must name a host, such as ssh://git@host.example/path'
    : undefined
}

const INLINE_SECRET_IN_URL =
  'contains a user name or a password; leave it out, and name a secret in `auth` as { env: … }, { file: … } or { credential: … }'

function fileUrlFault(url: URL): string | undefined {
  if (url.host !== '') return 'must not name a host: file:///…, with three slashes'
  try {
    fileURLToPath(url)
    return undefined
  } catch (error) {
    if (error instanceof TypeError || error instanceof URIError) return 'is not a path that this machine can open'
    throw error
  }
}
