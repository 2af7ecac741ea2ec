import type { GateConfig } from '../../../features/scan/gate-config.ts'
import { secretNameOf } from '../../config/auth.ts'
import type { HostAuth, PageClient, ProgramValue, SecretReference } from '../../config/auth.ts'
import type { Config, ConfiguredSource } from '../../config/config.ts'

/** One secret that the configuration names, and its users. */
export interface NamedSecret {
  readonly name: string
  readonly reference: SecretReference
  readonly use: SecretUse
  readonly whose: readonly string[]
}

/** `ssh-key`: ssh reads the file itself, and refuses one that other users can read. */
export type SecretUse = 'line' | 'lines' | 'ssh-key'

/** All secrets that the configuration names, without duplicates. */
export function secretsIn({ sources, gate, serve, postgres }: Config): NamedSecret[] {
  const named = new Map<string, NamedSecret>()
  for (const { reference, use, whose } of [
    ...sources.flatMap(secretsOf),
    ...(gate === undefined ? [] : ofGate(gate)),
    ...ofPageClient(serve.oauth?.page),
    ...(postgres === undefined ? [] : [{ reference: postgres.url, use: 'line' as const, whose: 'store.postgres' }]),
  ]) {
    const name = secretNameOf(reference)
    const key = JSON.stringify([name, use])
    const before = named.get(key)?.whose ?? []
    named.set(key, { name, reference, use, whose: [...new Set([...before, whose])] })
  }
  return [...named.values()]
}

interface Needed extends Pick<NamedSecret, 'reference' | 'use'> {
  readonly whose: string
}

function secretsOf({ source, access, proxy, webhook, programEnv = {} }: ConfiguredSource): Needed[] {
  const whose = `"${source.id}"`
  const ofProxy = proxy.kind === 'named' ? ofAccess(proxy.access, whose) : []
  const ofWebhook = webhook === undefined ? [] : [{ reference: webhook.secret, use: 'line' as const, whose }]
  return [...ofAccess(access, whose), ...ofProxy, ...ofWebhook, ...ofValues(programEnv, whose)]
}

function ofAccess(access: HostAuth, whose: string): Needed[] {
  const needed = (reference: SecretReference, use: SecretUse = 'line'): Needed => ({ reference, use, whose })
  switch (access.kind) {
    case 'none':
      return []
    case 'basic':
      return [needed(access.password)]
    case 'header':
      return [needed(access.value)]
    case 'bearer':
      return [needed(access.token)]
    case 'github-app':
      return [needed(access.privateKey, 'lines')]
    case 'helper':
      return ofValues(access.env, whose)
    case 'ssh':
      return [needed(access.key, 'ssh-key'), ...(access.passphrase === undefined ? [] : [needed(access.passphrase)])]
    default:
      return access satisfies never
  }
}

function ofGate({ asked }: GateConfig): Needed[] {
  return asked.kind === 'address' ? ofAccess(asked.access, 'the gate') : ofValues(asked.env, 'the gate')
}

function ofPageClient(page: PageClient | undefined): Needed[] {
  const reference = page?.clientSecret
  return reference === undefined ? [] : [{ reference, use: 'line', whose: 'sign-in to the page' }]
}

function ofValues(values: Readonly<Record<string, ProgramValue>>, whose: string): Needed[] {
  return Object.values(values).flatMap((value) =>
    value.kind === 'value' ? [] : [{ reference: value, use: 'lines' as const, whose }],
  )
}
