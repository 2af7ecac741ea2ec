import { BlockList, isIP } from 'node:net'
import { bareHost, isLoopbackUrl } from '../../base/host-name.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { Proxy } from '../../sync/upstream/http/host-access.ts'
import type { ProxyChoice } from '../config/auth.ts'
import { basicOf, headersOf } from '../config/auth.ts'
import type { Environment } from '../config/environment.ts'
import type { Redactor } from '../runtime/log/redactor.ts'

/** The proxy that leads to the address. A loopback host is reached through none that only a variable names. */
export async function proxyTo(
  url: URL,
  choice: ProxyChoice,
  environment: Environment,
  redactor: Redactor,
): Promise<Proxy | undefined> {
  switch (choice.kind) {
    case 'none':
      return undefined
    case 'named':
      return { url: choice.url, headers: asToProxy(await headersOf(choice.access, environment, redactor)) }
    case 'variables':
      return proxyOfVariables(url, environment, redactor)
    default:
      return choice satisfies never
  }
}

/** A proxy reads its own header; the Authorization header would be passed on to the host. */
function asToProxy(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { authorization, ...others } = headers
  return authorization === undefined ? others : { ...others, 'proxy-authorization': authorization }
}

function proxyOfVariables(url: URL, environment: Environment, redactor: Redactor): Proxy | undefined {
  const name = url.protocol === 'https:' ? 'https_proxy' : 'http_proxy'
  const text = variableOf(name, environment)
  if (text === undefined || isLoopbackUrl(url) || isExcepted(url, variableOf('no_proxy', environment) ?? '')) {
    return undefined
  }
  const proxy = URL.parse(text.includes('://') ? text : `http://${text}`)
  if (proxy === null || !/^https?:$/.test(proxy.protocol)) {
    const message = `Cannot use the proxy that ${name.toUpperCase()} names: it is not an http or https address`
    throw new SyncError('unsupported', message)
  }
  return { url: proxy.origin, headers: userOf(proxy, redactor) }
}

/** The lower-case form has priority, as in curl. */
function variableOf(name: string, { variable }: Environment): string | undefined {
  const text = [variable(name), variable(name.toUpperCase())].find((text) => text !== undefined && text.trim() !== '')
  return text?.trim()
}

function userOf({ username, password }: URL, redactor: Redactor): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {}
  return { 'proxy-authorization': basicOf(decode(username), decode(password), redactor) }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A percent sign that begins no escape is taken literally.
    return text
  }
}

/** Matches `*`, addresses and ranges, and names with all their subdomains; each can be limited to a port. */
function isExcepted(url: URL, exceptions: string): boolean {
  return exceptions
    .toLowerCase()
    .split(/[\s,]+/)
    .some((exception) => exception !== '' && (exception === '*' || isMeant(url, exception)))
}

function isMeant(url: URL, exception: string): boolean {
  const [, name = '', port] = /^(\[[^\]]*\]|[^:]*|.*:.*:.*?)(?::([0-9]+))?$/.exec(exception) ?? []
  const actualPort = url.port || (url.protocol === 'https:' ? '443' : '80')
  if (port !== undefined && port !== actualPort) return false
  const host = bareHost(url)
  const bare = name.replace(/^\[|\]$/g, '').replace(/^\*?\./, '')
  if (isIP(host) !== 0) return bare.includes('/') ? isInRange(host, bare) : host === bare
  return bare !== '' && (host === bare || host.endsWith(`.${bare}`))
}

function isInRange(address: string, range: string): boolean {
  const [net = '', prefix = ''] = range.split('/')
  const family = isIP(net) === 6 ? 'ipv6' : 'ipv4'
  if (isIP(net) !== isIP(address) || !/^[0-9]{1,3}$/.test(prefix) || Number(prefix) > (family === 'ipv6' ? 128 : 32)) {
    return false
  }
  const ranges = new BlockList()
  ranges.addSubnet(net, Number(prefix), family)
  return ranges.check(address, family)
}
