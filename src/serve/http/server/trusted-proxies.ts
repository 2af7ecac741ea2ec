import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** The proxies whose `X-Forwarded-For` is trusted. No other client is trusted with that header. */
export class TrustedProxies {
  readonly #list = new BlockList()

  /** `proxies`: addresses, and networks such as `10.0.0.0/8`. */
  constructor(proxies: readonly string[]) {
    for (const proxy of proxies) {
      const [address = '', bits] = proxy.split('/')
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
      if (bits === undefined) this.#list.addAddress(address, family)
      else this.#list.addSubnet(address, Number(bits), family)
    }
  }

  has(address: string | undefined): boolean {
    const family = isIP(address ?? '')
    return address !== undefined && family !== 0 && this.#list.check(address, family === 6 ? 'ipv6' : 'ipv4')
  }

  /** Returns the address of the client: the last address on the way that is not a trusted proxy. */
  clientOf(request: IncomingMessage): string {
    let client = bareAddress(request.socket.remoteAddress)
    if (!this.has(client)) return client
    const forwarded = request.headers['x-forwarded-for']?.toString() ?? ''
    for (const hop of forwarded.split(',').toReversed()) {
      const address = addressIn(hop.trim())
      if (address === undefined) return client
      client = address
      if (!this.has(client)) return client
    }
    return client
  }
}

/** Returns an IPv4 address from its IPv6-mapped form. Empty for a closed connection. */
export function bareAddress(address: string | undefined): string {
  return (address ?? '').replace(/^::ffff:(?=\d+\.)/i, '')
}

/** Some proxies add the port. */
function addressIn(hop: string): string | undefined {
  const bare = bareAddress(hop.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1'))
  return isIP(bare) === 0 ? undefined : bare
}

/** Returns the network that counts as one client: the owner of one IPv6 address has all 2^64 of its network. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('%')[0]?.toLowerCase().split('::') ?? []
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  const groups = [...before, ...Array.from({ length: zeros }, () => '0'), ...after]
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
