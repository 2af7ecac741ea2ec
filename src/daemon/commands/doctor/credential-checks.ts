import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../../base/error-code.ts'
import { mendOf, SyncError } from '../../../sync/model/sync-error.ts'
import { readAuthorities } from '../../access/ca-file.ts'
import { verdicts } from '../../cli/check.ts'
import type { Check, CheckResult, Ground } from '../../cli/check.ts'
import type { AskedParty } from '../../cli/feature.ts'
import { readSecret, secretNameOf } from '../../config/auth.ts'
import type { HostAuth, PageClient, ProgramValue, SecretReference } from '../../config/auth.ts'
import type { ConfiguredSource } from '../../config/config.ts'
import { ifHomeIsKnown } from '../../config/environment.ts'
import { readTrust } from '../../pull/trust/trust.ts'
import { whyNotOpened } from '../../runtime/disk-error-text.ts'
import { isOverSsh } from './program-checks.ts'

/** Checks the daemon's credentials and trust anchors. Reads secrets as a pull does, and never shows them. */
export function credentialChecks(ground: Ground): Check[] {
  const secrets = secretsIn(ground).map((secret): Check => {
    return { name: 'secret', subject: secret.name, look: async () => secretChecked(secret, ground) }
  })
  return [...secrets, ...ground.config.sources.flatMap((configured) => trustChecks(configured, ground))]
}

async function secretChecked(secret: NamedSecret, { environment, redactor }: Ground): Promise<CheckResult[]> {
  const { reference, use, name, whose } = secret
  const { ok, warn, fail, unknown } = verdicts('secret', name)
  const needed = `for ${whose.join(', ')}`
  if (reference.kind === 'credential' && environment.credentials === undefined)
    return [unknown(`the service manager passes it only to the service, ${needed}`, AS_SERVICE)]
  try {
    // Only ssh reads such a file.
    if (use === 'ssh-key' && reference.kind === 'file') await expectReadable(reference.path, name)
    else await readSecret(reference, environment, redactor, use === 'line' ? 'line' : 'lines')
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    return [fail(`${error.message}, ${needed}`, reference.kind === 'env' ? OF_VARIABLE : mendOf(error))]
  }
  const mode = reference.kind === 'file' ? (await stat(reference.path)).mode & 0o777 : 0
  const readers = `it can be read, ${needed}`
  if (use === 'ssh-key' && (mode & 0o077) !== 0)
    return [fail(`others can read it (mode ${mode.toString(8)}), and ssh refuses such a key`, CHMOD)]
  if ((mode & 0o007) !== 0)
    return [
      warn(`${readers}; so can everybody on this machine (mode ${mode.toString(8)})`, `${CHMOD}, and a new secret`),
    ]
  return [ok(readers)]
}

async function expectReadable(path: string, name: string): Promise<void> {
  await access(path, constants.R_OK).catch((cause: unknown) => {
    throw new SyncError('credentials-rejected', `Cannot read the ${name}: ${whyNotOpened(cause)}`, { cause })
  })
}

const CHMOD = 'chmod 600 for the file'
const AS_SERVICE = 'See the journal of the service for secrets that it could not use; they cannot be checked from here'
const OF_VARIABLE = 'Set it; a variable of the service is only visible if doctor runs in the environment of the service'

/** The files that define what a source trusts. */
function trustChecks(configured: ConfiguredSource, ground: Ground): Check[] {
  const { source, ca, signed } = configured
  const { ok } = verdicts('trust', source.id)
  const check = (look: () => Promise<CheckResult>): Check => {
    return { name: 'trust', subject: source.id, look: async () => [await look()] }
  }
  const checks: Check[] = []
  if (ca !== undefined)
    checks.push(
      check(async () => {
        await readAuthorities(ca)
        return ok(`the certificates in "${ca}" can be read`)
      }),
    )
  if (signed !== undefined)
    checks.push(
      check(async () => {
        await readTrust(signed)
        return ok('the files of its signers can be read')
      }),
    )
  if (isOverSsh(configured)) checks.push(check(async () => hostKeysChecked(configured, ground)))
  return checks
}

/** ssh itself decides which hosts are known; without a file it knows none. */
async function hostKeysChecked(
  { source, access: by }: ConfiguredSource,
  { environment }: Ground,
): Promise<CheckResult> {
  const { ok, fail } = verdicts('trust', source.id)
  const named = by.kind === 'ssh' ? by.knownHosts : undefined
  const ofUser = ifHomeIsKnown(() => join(environment.home, '.ssh', 'known_hosts')) ?? []
  const files = named === undefined ? [ofUser, SYSTEM_HOSTS].flat() : [named]
  const readable = (await Promise.all(files.map(async (file) => ((await isReadable(file)) ? file : undefined)))).find(
    (file) => file !== undefined,
  )
  if (readable !== undefined) return ok(`known hosts are in "${readable}"`)
  return fail(
    `no known hosts can be read: "${files.join('", "')}"`,
    'Put the host key of its host there, as the host publishes it (ssh-keyscan shows what answers now)',
  )
}

const SYSTEM_HOSTS = ['/etc/ssh/ssh_known_hosts', '/etc/ssh/ssh_known_hosts2'] as const

async function isReadable(file: string): Promise<boolean> {
  try {
    await access(file, constants.R_OK)
    return true
  } catch (error) {
    if (codeOf(error) === undefined) throw error
    return false
  }
}

/** One secret that the configuration names, and its users. */
interface NamedSecret {
  readonly name: string
  readonly reference: SecretReference
  readonly use: SecretUse
  readonly whose: readonly string[]
}

/** `ssh-key`: ssh reads the file itself, and refuses one that other users can read. */
type SecretUse = 'line' | 'lines' | 'ssh-key'

/** All secrets that the configuration names, without duplicates. */
function secretsIn({ config: { sources, serve, postgres }, asked }: Ground): NamedSecret[] {
  const named = new Map<string, NamedSecret>()
  for (const { reference, use, whose } of [
    ...sources.flatMap(secretsOf),
    ...asked.flatMap(ofParty),
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

function ofParty(party: AskedParty): Needed[] {
  return party.kind === 'address' ? ofAccess(party.access, party.use) : ofValues(party.env, party.use)
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
