import { SyncError } from '../../sync/model/sync-error.ts'
import { utf8 } from '../../sync/skill/frontmatter.ts'
import { basicOf } from '../config/auth.ts'
import type { CredentialHelper } from '../config/auth.ts'
import type { Environment } from '../config/environment.ts'
import type { Redactor } from '../runtime/log/redactor.ts'
import { ProgramFailedError, runProgram } from '../runtime/run-program.ts'
import type { ProgramEnd } from '../runtime/run-program.ts'
import { programVariables } from './program-variables.ts'

// Calls a helper as git does: an operation as its last argument, attributes as lines on its standard input. The
// protocol is that of gitcredentials(7) and git-credential(1).

/** The inputs of a call to a helper. */
export interface HelperAsking {
  readonly url: URL
  readonly environment: Environment
  readonly redactor: Redactor
  readonly now: Date
  readonly signal: AbortSignal
}

/** The answer of a helper. */
export interface HelperAnswer {
  readonly headers: Readonly<Record<string, string>>
  /** The attributes that are sent back to store or erase the credential. */
  readonly description: readonly string[]
  /** True if the credential must not be stored. */
  readonly isEphemeral: boolean
}

/**
 * Requests the credential of this repository, and if the helper has none, that of its host. Some helpers keep one per
 * path; most keep one per host and find nothing under a path.
 */
export async function askHelper(helper: CredentialHelper, asking: HelperAsking): Promise<HelperAnswer> {
  const what = `Cannot get a credential from the helper "${helper.command}"`
  for (const place of placesOf(asking.url)) {
    const { status, stdout } = await run(helper, 'get', [...CAPABILITIES, ...place], asking)
    if (status !== 0) throw rejection(`${what}: it ends with ${status === null ? 'a signal' : `status ${status}`}`)
    const attributes = attributesOf(stdout)
    if (attributes === undefined) throw rejection(`${what}: its output is not a list of attributes`)
    const answer = answerOf(attributes, place, asking.redactor)
    if (hasExpired(attributes, asking.now)) throw rejection(`${what}: the credential that it gives has expired`)
    if (answer !== undefined) return answer
    if (isTrue(attributes.get('quit'))) break
  }
  throw rejection(`${what}: it gives none`)
}

/**
 * Notifies the helper that the credential worked, or that the host refused it. A failure of the helper is ignored, as
 * git does.
 */
export async function notifyHelper(
  helper: CredentialHelper,
  operation: 'store' | 'erase',
  { description }: HelperAnswer,
  asking: HelperAsking,
): Promise<void> {
  await run(helper, operation, description, asking).catch((error: unknown) => {
    if (!(error instanceof SyncError)) throw error
  })
}

const CAPABILITIES = ['capability[]=authtype', 'capability[]=state']

function placesOf({ protocol, host, pathname }: URL): readonly (readonly string[])[] {
  const ofHost = [`protocol=${protocol.slice(0, -1)}`, `host=${host}`]
  const path = decodePath(pathname.slice(1))
  return path === '' ? [ofHost] : [[...ofHost, `path=${path}`], ofHost]
}

/** Characters that a line cannot carry stay encoded. */
function decodePath(path: string): string {
  try {
    const text = decodeURIComponent(path)
    return /[\0\n\r]/.test(text) ? path : text
  } catch {
    return path
  }
}

async function run(
  helper: CredentialHelper,
  operation: string,
  lines: readonly string[],
  { environment, redactor, signal }: HelperAsking,
): Promise<ProgramEnd> {
  const { command, args, timeoutMs } = helper
  const call = {
    command,
    args: [...args, operation],
    env: await programVariables(helper.env, environment, redactor),
    input: lines.map((line) => `${line}\n`).join(''),
  }
  try {
    return await runProgram(call, { timeoutMs, outputBytes: OUTPUT_BYTES, signal })
  } catch (cause) {
    if (!(cause instanceof ProgramFailedError)) throw cause
    throw rejection(`Cannot run the credential helper "${command}": ${cause.message}`)
  }
}

/** A token can be several kilobytes long. */
const OUTPUT_BYTES = 65_536

type Attributes = ReadonlyMap<string, string>

/**
 * Reads up to the first empty line; the last of several equal names wins. Only `state[]` is a list, and is kept whole.
 */
function attributesOf(stdout: Uint8Array): Attributes | undefined {
  const text = utf8(stdout)
  if (text === undefined) return undefined
  const attributes = new Map<string, string>()
  for (const line of text.split('\n').map((line) => line.replace(/\r$/, ''))) {
    if (line === '') break
    const [, name, value] = /^([^=]+)=(\P{Cc}*)$/u.exec(line) ?? []
    if (name === undefined || value === undefined) return undefined
    const earlier = name === 'state[]' ? attributes.get(name) : undefined
    attributes.set(name, earlier === undefined ? value : `${earlier}\n${value}`)
  }
  return attributes
}

function answerOf(attributes: Attributes, place: readonly string[], redactor: Redactor): HelperAnswer | undefined {
  for (const name of SECRETS) redactor.add(attributes.get(name) ?? '')
  const authorization = authorizationOf(attributes, redactor)
  if (authorization === undefined) return undefined
  const told = TOLD.flatMap((name) => (attributes.get(name) ?? undefined)?.split('\n').map((v) => `${name}=${v}`) ?? [])
  const capabilities = attributes.has('authtype') || attributes.has('state[]') ? CAPABILITIES : []
  return {
    headers: { authorization },
    description: [...capabilities, ...place, ...told],
    isEphemeral: isTrue(attributes.get('ephemeral')),
  }
}

const SECRETS = ['password', 'credential', 'oauth_refresh_token', 'state[]']

/** The attributes that git sends back to a helper. */
const TOLD = [
  'username',
  'password',
  'password_expiry_utc',
  'oauth_refresh_token',
  'authtype',
  'credential',
  'state[]',
] as const

function authorizationOf(attributes: Attributes, redactor: Redactor): string | undefined {
  const [type, credential] = [attributes.get('authtype') ?? '', attributes.get('credential') ?? '']
  if (type !== '' && credential !== '') return `${type} ${credential}`
  const password = attributes.get('password') ?? ''
  return password === '' ? undefined : basicOf(attributes.get('username') ?? '', password, redactor)
}

function hasExpired(attributes: Attributes, now: Date): boolean {
  const expiry = attributes.get('password_expiry_utc')
  return expiry !== undefined && /^[0-9]{1,15}$/.test(expiry) && Number(expiry) * 1000 <= now.getTime()
}

function isTrue(value: string | undefined): boolean {
  return value !== undefined && /^(?:1|true|yes|on)$/i.test(value)
}

function rejection(message: string): SyncError {
  return new SyncError('credentials-rejected', message, { fix: HELPER })
}

const HELPER =
  'Run the helper as the user that runs skillsyncd, with the word get: it is asked as git asks it, and has to give a password for the address'
