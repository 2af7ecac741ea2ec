/**
 * The address of a source, safe to publish: without a password, and over http(s) without a user name, which is often a
 * token. `git@host:path` becomes the URL that it means. `undefined` if the text is not an address.
 */
export function addressWithoutSecrets(text: string): string | undefined {
  const scp = /^([^@/:\s]+)@([^/:\s]+):(?!\/\/)(\S+)$/.exec(text)
  const url = URL.parse(scp === null ? text : scpAddress(scp))
  if (url === null || !KNOWN.has(url.protocol)) return undefined
  url.password = ''
  if (url.protocol !== 'ssh:') url.username = ''
  // Tokens with no better place are often in the query.
  url.search = ''
  url.hash = ''
  return url.href
}

const KNOWN: ReadonlySet<string> = new Set(['http:', 'https:', 'ssh:', 'file:'])

function scpAddress([, user, host, path = '']: RegExpExecArray): string {
  return `ssh://${user}@${host}/${path.replace(/^\//, '')}`
}
