import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { codeOf } from '../../../base/error-code.ts'
import { isObject } from '../../../base/json-object.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import { isTokenRequired } from '../../access/http-options.ts'
import { portFix, portHolderOf, portHolderText } from '../../access/port-holder.ts'
import { Tokens } from '../../access/tokens.ts'
import { verdicts } from '../../cli/check.ts'
import type { Check, CheckResult, Ground } from '../../cli/check.ts'
import type { Config, ListenAddress } from '../../config/config.ts'
import { askRunning } from '../../control/running-daemon.ts'
import { statusRequest } from '../../control/status-request.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { ProgramFailedError, runProgram } from '../../runtime/run-program.ts'
import { BOOTED } from './service-checks.ts'

/** Checks that clients can connect: the addresses, the tokens, and the system's limit on open files. */
export function listenChecks(ground: Ground, booted = BOOTED): Check[] {
  const { http, operations } = ground.config.serve
  return [
    listening({ address: http, key: 'serve.http', side: 'http' }, ground, booted),
    ...(operations === undefined
      ? []
      : [listening({ address: operations, key: 'serve.operations', side: 'operations' }, ground, booted)]),
    { name: 'tokens', look: async () => tokensChecked(ground) },
    { name: 'descriptors', look: async (signal) => descriptorsChecked(ground, signal) },
  ]
}

interface Listener {
  readonly address: ListenAddress
  readonly key: string
  readonly side: 'http' | 'operations'
}

function listening(listener: Listener, ground: Ground, booted: string): Check {
  const { address, key, side } = listener
  const subject = subjectOf(listener)
  const { ok, fail } = verdicts('listen', subject)
  return {
    name: 'listen',
    subject,
    async look(signal) {
      const { status, isOther } = await askedOf(ground.whole, signal)
      const ours = urlOf(status, side)
      if (ours !== undefined) return [ok(`the daemon listens at ${ours}`)]
      const code = await bindCode(address)
      if (code === undefined) return [ok(`free (${key})`)]
      if (code === 'EADDRINUSE') return [await takenPortResult(listener, { isOther, booted }, ground, signal)]
      const { why, fix } = BIND_WORDS.get(code) ?? { why: code, fix: `Set another address in \`${key}\`` }
      return [fail(`cannot listen there: ${why}`, fix.replace('KEY', key))]
    },
  }
}

function subjectOf({ address: { host, port } }: Listener): string {
  return `${host}:${port}`
}

const ANSWER_MS = 5_000

interface Asked {
  readonly status: unknown
  /** True if a daemon runs with another configuration. */
  readonly isOther: boolean
}

/** Another check reports faults of the daemon or its lock. */
async function askedOf(config: Config, signal: AbortSignal): Promise<Asked> {
  try {
    const answer = await askRunning(config, statusRequest, {}, { signal, timeoutMs: ANSWER_MS })
    return { status: answer?.answer, isOther: false }
  } catch (error) {
    if (!(error instanceof OperatorError || error instanceof SyncError)) throw error
    return { status: undefined, isOther: error.code === 'other-config' }
  }
}

/** Another process listens there. That is a fault only if it does not do so for the daemon. */
async function takenPortResult(
  listener: Listener,
  { isOther, booted }: { readonly isOther: boolean; readonly booted: string },
  ground: Ground,
  signal: AbortSignal,
): Promise<CheckResult> {
  const { ok, warn, fail, unknown } = verdicts('listen', subjectOf(listener))
  const find = `Find it with \`ss -ltnp\`, or set another port in \`${listener.key}\``
  const holder = await unitOfPort(listener.address.port, ground, booted, signal)
  if (holder.kind === 'unit') {
    const { unit, starts } = holder
    if (starts === 'skillsyncd.service') return ok(`systemd listens for it (${unit})`)
    return warn(`systemd listens for ${starts} (${unit})`, `Fine if that is this daemon; else stop it. ${find}`)
  }
  if (isOther)
    return unknown(
      'the daemon, which runs with another configuration, or another program listens there',
      `Have the daemon apply this one (skillsyncd reload), and check again. ${find}`,
    )
  if (holder.kind === 'unknown')
    return unknown(
      'another program listens there, or systemd for this daemon, which does not report it',
      `Fine if it is systemd. ${find}`,
    )
  const program = await portHolderOf(listener.address.port)
  return fail(`${portHolderText(program)} listens there`, portFix(program, listener.key))
}

function urlOf(status: unknown, of: Listener['side']): string | undefined {
  const http = isObject(status) ? status['http'] : undefined
  const side = of === 'http' || !isObject(http) ? http : http['operations']
  return isObject(side) && typeof side['url'] === 'string' ? side['url'] : undefined
}

const BIND_WORDS: ReadonlyMap<string, { readonly why: string; readonly fix: string }> = new Map([
  ['EACCES', { why: 'permission denied', fix: 'Ports below 1024 need a right; set another in `KEY`' }],
  ['EADDRNOTAVAIL', { why: 'this machine has no such address', fix: 'Set an address of this machine in `KEY`' }],
  ['ENOTFOUND', { why: 'the name does not resolve', fix: 'Set an address of this machine in `KEY`' }],
])

/** The error of a bind to the address, `undefined` if it is free. The listener is closed at once. */
async function bindCode({ host, port }: ListenAddress): Promise<string | undefined> {
  const server = createServer((socket) => socket.destroy())
  try {
    server.listen({ host, port, exclusive: true })
    await once(server, 'listening')
    return undefined
  } catch (error) {
    return codeOf(error) ?? 'no reason given'
  } finally {
    server.close(() => {})
  }
}

async function tokensChecked({ config, clock }: Ground): Promise<CheckResult[]> {
  const { ok, fail } = verdicts('tokens')
  const tokens = new Tokens(config.state, () => clock.now())
  await tokens.read()
  if (!isTokenRequired(config, config.serve.http)) return [ok('none is needed: only this machine can connect')]
  if (config.serve.oauth !== undefined) return [ok('those of the authorization server are accepted')]
  if (tokens.isAnyInForce) return [ok('there is one that counts')]
  return [fail('other machines reach it, and no token counts', 'Make one with skillsyncd hub token add NAME')]
}

/** The limit of this shell. A service has its own limit, so the message says which one it means. */
async function descriptorsChecked({ config, environment }: Ground, signal: AbortSignal): Promise<CheckResult[]> {
  const { ok, warn } = verdicts('descriptors')
  const call = { command: '/bin/sh', args: ['-c', 'ulimit -n'], env: { PATH: environment.path }, input: '' }
  const { stdout } = await runProgram(call, { timeoutMs: ANSWER_MS, outputBytes: 1_024, signal })
  const text = Buffer.from(stdout).toString().trim()
  const most = text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text)
  const { connections } = config.limits.http
  const needed = connections + OWN_DESCRIPTORS
  if (most >= needed) return [ok(`${text} files may be open at once here, for ${connections} connections`)]
  return [
    warn(
      `${text} files may be open at once here, and limits.http.connections is ${connections}`,
      `Set LimitNOFILE=${needed} for the service, or lower \`limits.http.connections\``,
    ),
  ]
}

/** Files, pulls, watches and workers. */
const OWN_DESCRIPTORS = 512

/** The unit that has a port in use, as known from systemd. `other`: systemd certainly does not hold it. */
type UnitOfPort =
  | { readonly kind: 'unit'; readonly unit: string; readonly starts: string }
  | { readonly kind: 'other' }
  | { readonly kind: 'unknown' }

/** Queries the system's and the user's service manager for their sockets. A socket unit can have any name. */
async function unitOfPort(port: number, ground: Ground, booted: string, signal: AbortSignal): Promise<UnitOfPort> {
  if ((await unlessAbsent(stat(booted))) === undefined) return { kind: 'other' }
  const listed = await Promise.all(['system', 'user'].map(async (scope) => socketsOf(scope, ground, signal)))
  for (const line of listed.flatMap((lines) => lines ?? [])) {
    const [listens = '', unit = '', starts = ''] = line.trim().split(/\s+/)
    if (listens.endsWith(`:${port}`)) return { kind: 'unit', unit, starts }
  }
  return { kind: listed.includes(undefined) ? 'unknown' : 'other' }
}

/** `undefined` if the manager does not answer: not every session has a user manager. */
async function socketsOf(
  scope: string,
  { environment: { path, runtime, home } }: Ground,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const env = { PATH: path, HOME: home, LC_ALL: 'C', ...(runtime !== undefined && { XDG_RUNTIME_DIR: runtime }) }
  const args = [`--${scope}`, 'list-sockets', '--full', '--plain', '--no-legend', '--no-pager']
  const call = { command: 'systemctl', args, env, input: '' }
  try {
    const { status, stdout } = await runProgram(call, { timeoutMs: 5_000, outputBytes: 1_048_576, signal })
    return status === 0 ? Buffer.from(stdout).toString().split('\n') : undefined
  } catch (error) {
    if (error instanceof ProgramFailedError) return undefined
    throw error
  }
}
