/**
 * Where a source is, for everybody to read: without a password, and over http(s) without a user name, which is a token as
 * often as not. `git@host:path` as the address that it means. Undefined for what is no address.
 */
export function bareAddress(text: string): string | undefined {
  const scp = /^([^@/:\s]+)@([^/:\s]+):(?!\/\/)(\S+)$/.exec(text)
  const url = URL.parse(scp === null ? text : scpAddress(scp))
  if (url === null || !KNOWN.has(url.protocol)) return undefined
  url.password = ''
  if (url.protocol !== 'ssh:') url.username = ''
  // A query is where tokens stand that are in no better place.
  url.search = ''
  url.hash = ''
  return url.href
}

const KNOWN: ReadonlySet<string> = new Set(['http:', 'https:', 'ssh:', 'file:'])

function scpAddress([, user, host, path = '']: RegExpExecArray): string {
  return `ssh://${user}@${host}/${path.replace(/^\//, '')}`
}
