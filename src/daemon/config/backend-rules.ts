import { isObject } from '../../base/json-object.ts'
import { hasMatch } from './auth-rules.ts'
import { withDefaults } from './defaults.ts'
import type { Fault } from './config-error.ts'
import { isSshAddress } from './scalars.ts'

/** Finds addresses that their `backend` cannot serve, whether the source or `defaults` sets it. */
export function backendFaults(sources: readonly unknown[], defaults: readonly unknown[]): Fault[] {
  const usable = defaults.filter(hasMatch)
  return sources.flatMap((source, index): Fault[] => {
    const url = isObject(source) ? source['url'] : undefined
    if (!isObject(source) || typeof url !== 'string') return []
    const { backend, proxy }: Said = withDefaults(source, url, usable)
    const misuse = misuseOf(backend, url, proxy)
    if (misuse === undefined) return []
    const path = ['sources', index]
    if (Object.hasOwn(source, 'backend')) return [{ path: [...path, 'backend'], message: misuse }]
    return [{ path: [...path, 'url'], message: `is given a \`backend\` by \`defaults\` that ${misuse}` }]
  })
}

interface Said {
  readonly backend?: unknown
  readonly proxy?: unknown
}

function misuseOf(backend: unknown, url: string, proxy: unknown): string | undefined {
  if (backend === 'embedded' && isSshAddress(url)) {
    return 'cannot be embedded for an address of ssh, which the git program alone can reach; use auto or system'
  }
  if (backend === 'system' && /^https?:/i.test(url) && isOwnHeader(proxy)) {
    return 'cannot be system beside `proxy.auth.header`: the git program sends a proxy a user name and a password alone'
  }
  return undefined
}

function isOwnHeader(proxy: unknown): boolean {
  return isObject(proxy) && isObject(proxy['auth']) && Object.hasOwn(proxy['auth'], 'header')
}
