import { createConnection } from 'node:net'
import type { Clock } from '../../../base/async/clock.ts'
import { fewText } from '../../../base/text/first-few.ts'
import { SyncError, mendOf } from '../../../sync/model/sync-error.ts'
import type { HostRoute } from '../../../sync/upstream/http/host-access.ts'
import { exchange } from '../../../sync/upstream/http/http-exchange.ts'
import { connectionFailure } from '../../../sync/upstream/http/http-failure.ts'
import { readAuthorities } from '../../access/ca-file.ts'
import { proxyTo } from '../../access/proxy.ts'
import { verdicts } from '../../cli/check.ts'
import type { Check, CheckResult, Ground } from '../../cli/check.ts'
import type { ConfiguredSource } from '../../config/config.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { isOverSsh } from './program-checks.ts'

/** Checks each host once: whether it answers, and whether its clock agrees with ours. Sends no credentials. */
export function hostChecks(ground: Ground): Check[] {
  const hosts = new Map<string, { readonly host: Host; readonly whose: string[] }>()
  for (const { host, whose } of [...ground.config.sources.flatMap(hostOf), ...othersIn(ground)]) {
    const known = hosts.get(host.key) ?? { host, whose: [] }
    hosts.set(host.key, { host, whose: [...known.whose, whose] })
  }
  return [...hosts.values()].map(({ host, whose }): Check => {
    const look = async (signal: AbortSignal): Promise<readonly CheckResult[]> =>
      host.kind === 'ssh' ? sshChecked(host, whose, signal) : httpChecked(host, whose, ground, signal)
    return { name: 'host', subject: host.name, look }
  })
}

type Host = HttpHost | SshHost

interface HttpHost {
  readonly kind: 'http'
  readonly key: string
  readonly name: string
  readonly url: URL
  readonly way: Pick<ConfiguredSource, 'ca' | 'proxy'>
}

interface SshHost {
  readonly kind: 'ssh'
  readonly key: string
  readonly name: string
  readonly host: string
  readonly port: number
}

interface Wanted {
  readonly host: Host
  readonly whose: string
}

function hostOf(configured: ConfiguredSource): Wanted[] {
  const { source, access } = configured
  const whose = `"${source.id}"`
  if (isOverSsh(configured)) return [{ host: sshHostOf(source.url), whose }]
  const urls = [source.url, ...(access.kind === 'github-app' ? [access.apiUrl] : [])]
  return urls.flatMap((url) => wantedAt(url, configured, whose))
}

/** Hosts in addition to those of the sources. */
function othersIn({ config: { serve }, asked }: Ground): Wanted[] {
  const way = { ca: undefined, proxy: { kind: 'none' } } as const
  const issuer = serve.oauth === undefined ? [] : wantedAt(serve.oauth.issuer, way, 'the authorization server')
  return [...issuer, ...asked.flatMap((party) => (party.kind === 'address' ? wantedAt(party.url, way, party.use) : []))]
}

function wantedAt(text: string, { ca, proxy }: HttpHost['way'], whose: string): Wanted[] {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return []
  const { origin } = url
  const key = JSON.stringify([origin, ca, proxy])
  return [{ host: { kind: 'http', key, name: origin, url: new URL(origin), way: { ca, proxy } }, whose }]
}

/** `ssh://git@host:22/path` or `git@host:path`, as the validated configuration guarantees. */
function sshHostOf(address: string): SshHost {
  const url = URL.parse(address)
  const isUrl = url !== null && url.protocol === 'ssh:'
  const host = isUrl
    ? url.hostname.replaceAll(/^\[|\]$/g, '')
    : (/^(?:[^@/]+@)?([^/:]+):/.exec(address)?.[1] ?? address)
  const port = isUrl && url.port !== '' ? Number(url.port) : SSH_PORT
  const name = `${host}:${port}`
  return { kind: 'ssh', key: name, name, host, port }
}

const SSH_PORT = 22

async function httpChecked(
  { name, url, way }: HttpHost,
  whose: readonly string[],
  { clock, environment, redactor }: Ground,
  signal: AbortSignal,
): Promise<CheckResult[]> {
  const what = `Cannot reach "${name}"`
  const { ok, warn, fail } = verdicts('host', name)
  try {
    const route: HostRoute = {
      ca: way.ca === undefined ? undefined : await readAuthorities(way.ca),
      proxy: await proxyTo(url, way.proxy, environment, redactor),
    }
    const answer = await exchange(url.href, { method: 'HEAD', headers: {}, route, signal }).catch((cause: unknown) => {
      throw cause instanceof SyncError ? cause : connectionFailure(cause, what)
    })
    answer.giveUp()
    const through = route.proxy === undefined ? '' : ` through the proxy "${route.proxy.url}"`
    // The content of the answer matters little: the check is that the host answers.
    const said = `it answers${through} (${answer.status}), for ${fewText(whose, MOST_NAMED)}`
    const isDown = answer.status >= 500
    return [
      isDown ? warn(said, 'The host, or the proxy before it, reports that it is unavailable at the moment') : ok(said),
      ...clockChecked(name, answer.header('date'), answer.header('age'), clock),
    ]
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    return [fail(`${error.message}, for ${fewText(whose, MOST_NAMED)}`, mendOf(error))]
  }
}

/** Certificates, signed tokens and leases of credentials all depend on the clock. */
function clockChecked(host: string, date: string | undefined, age: string | undefined, clock: Clock): CheckResult[] {
  // A cached answer is as old as its `Age` says.
  const agedMs = age !== undefined && /^\d{1,9}$/.test(age) ? Number(age) * 1000 : 0
  const skewMs = clock.now().getTime() - (Date.parse(date ?? '') + agedMs)
  if (Number.isNaN(skewMs) || Math.abs(skewMs) < TOLERATED_MS) return []
  const { warn, fail } = verdicts('clock', host)
  const seconds = Math.round(Math.abs(skewMs) / 1000)
  const message = `this machine's clock is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} that of the host`
  const fix = 'Set the clock, best by NTP (timedatectl shows it): certificates and tokens depend on it'
  return [Math.abs(skewMs) < WRONG_MS ? warn(message, fix) : fail(message, fix)]
}

const TOLERATED_MS = 30_000
const WRONG_MS = 300_000

async function sshChecked(
  { name, host, port }: SshHost,
  whose: readonly string[],
  signal: AbortSignal,
): Promise<CheckResult[]> {
  const { ok, warn, fail } = verdicts('host', name)
  try {
    const greeting = await greetingOf(host, port, signal)
    if (greeting.startsWith('SSH-'))
      return [ok(`it answers (${printableLine(greeting)}), for ${fewText(whose, MOST_NAMED)}`)]
    return [
      warn(
        `something answers there that is not ssh, for ${fewText(whose, MOST_NAMED)}`,
        'Check the port in the address',
      ),
    ]
  } catch (cause) {
    if (signal.aborted) throw cause
    const error = connectionFailure(cause, `Cannot reach "${name}"`)
    return [fail(`${error.message}, for ${fewText(whose, MOST_NAMED)}`, mendOf(error))]
  }
}

/** The first line that arrives; an ssh server speaks first. */
async function greetingOf(host: string, port: number, signal: AbortSignal): Promise<string> {
  const socket = createConnection({ host, port })
  const abort = (): void => void socket.destroy(new Error('It was given up'))
  signal.addEventListener('abort', abort)
  let text = ''
  try {
    for await (const chunk of socket.setEncoding('latin1')) {
      text += String(chunk)
      if (text.includes('\n') || text.length > GREETING_CHARACTERS) break
    }
    return text.split(/\r?\n/)[0]?.slice(0, GREETING_CHARACTERS) ?? ''
  } finally {
    signal.removeEventListener('abort', abort)
    socket.destroy()
  }
}

/** RFC 4253, section 4.2. */
const GREETING_CHARACTERS = 255

const MOST_NAMED = 5
