import { systemClock } from '../../../base/async/clock.ts'
import { verdicts } from '../../cli/check.ts'
import type { CheckResult } from '../../cli/check.ts'
import { configFor, progressOf } from '../../cli/command.ts'
import type { Context } from '../../cli/command.ts'
import { hubAddressOf } from '../../cli/hub-address.ts'
import { tokenFor } from '../../cli/token-option.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { connect, type EraEnd } from '../connect/connect.ts'

/** The outcome for the clients of both eras, as data and as checks. */
export interface Connected {
  readonly url: string
  readonly eras: readonly EraEnd[]
  readonly checks: readonly CheckResult[]
}

/** Opens the named or configured address as a client of each era. */
export async function connectAsEachEra(context: Context): Promise<Connected> {
  const { environment, redactor, signal, values } = context
  if (values['offline'] === true) throw new UsageError('--connect and --offline exclude each other')
  const file = values['token-file']
  const token = await tokenFor(typeof file === 'string' ? file : undefined, environment, redactor)
  const url = await addressOf(context)
  using progress = progressOf(context)
  progress.show(`opening ${url.href}`)
  const now = (): number => systemClock.monotonicMs()
  const eras = await connect({ url, token, environment, redactor, now, signal })
  progress.show('')
  return { url: url.href, eras, checks: eras.flatMap(checksOf) }
}

/** Installs the package next to this program, where Node finds it. */
const SDK_INSTALL = 'npm install --global @modelcontextprotocol/sdk@1'

function checksOf({ era, client, steps }: EraEnd): CheckResult[] {
  if (steps === undefined) {
    const { unknown } = verdicts('connect', era)
    return [unknown(`${client} is not installed, so the era of 2025-11-25 was not tried`, `${SDK_INSTALL} brings it`)]
  }
  return steps.map(({ step, verdict, ms, message, fix }) => {
    return verdicts('connect', `${era} ${step}`)[verdict](`${message} (${ms} ms)`, fix)
  })
}

async function addressOf(context: Context): Promise<URL> {
  const [named, ...more] = context.operands
  if (more.length > 0) throw new UsageError('"doctor --connect" wants one address at most')
  if (named !== undefined) return endpointOf(named)
  const config = await configFor(context)
  return endpointOf(await hubAddressOf(config, context.signal))
}

/** An origin alone means a hub, whose MCP endpoint is `/mcp`. */
function endpointOf(text: string): URL {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) throw new UsageError(`"${text}" is not an http(s) address`)
  if (url.username !== '' || url.password !== '' || url.search !== '')
    throw new UsageError('The address must hold no user, password or query; a token is given by --token-file')
  return url.pathname === '/' ? new URL('/mcp', url) : url
}
