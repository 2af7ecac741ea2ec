import { existsSync } from 'node:fs'
import { systemClock } from '../../../base/async/clock.ts'
import { agoText, dueText } from '../../../base/text/age-text.ts'
import { countOf } from '../../../base/text/plural.ts'
import { SCOPES } from '../../../serve/principal.ts'
import type { Scope } from '../../../serve/principal.ts'
import { Tokens, isExpired, isTokenName, madeElsewhere, newToken } from '../../access/tokens.ts'
import type { Token } from '../../access/tokens.ts'
import { printRows } from '../../cli/columns.ts'
import { printJson, printJsonAsIs, printLines } from '../../cli/command.ts'
import type { Command, Context, ExitStatus } from '../../cli/command.ts'
import { configInUse } from '../../cli/config-in-use.ts'
import { packsNamed } from '../../cli/pack-option.ts'
import { ifHomeIsKnown } from '../../config/environment.ts'
import { durationOf } from '../../config/schema/scalars.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { whyNotOpened } from '../../runtime/disk-error-text.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { readBounded } from '../../runtime/plain-file.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { changeTokens, readTokens } from './token-changes.ts'
import { addTokenRequest, renewTokenRequest, revokeTokenRequest } from './token-requests.ts'

/** The scopes that MCP clients need, and the page that the same person reads. */
const OF_A_PERSON: readonly Scope[] = SCOPES.filter(
  (scope) => !['well-known', 'marketplace', 'channel', 'metrics', 'telemetry'].includes(scope),
)

export const token: Command = {
  name: 'hub token',
  operands: {
    text: 'add NAME… | list | renew NAME | revoke NAME',
    most: Number.POSITIVE_INFINITY,
    offers: [['add', 'list', 'renew', 'revoke'], []],
  },
  details: `
  add prints the token on stdout, once: only its hash is stored. Of several names, each has a line with its token. renew moves the expiry; the token stays the same. list
  shows the last use, exact to an hour. A running daemon applies each change at once.

  With --from, the token comes from a file: sks_ and 32 random bytes in base64url. It is not printed.
`,
  examples: [
    'skillsyncd hub token add ada grace --pack eng',
    'skillsyncd hub token add ci --scope skills,tools --expires 30d',
    'skillsyncd hub token add hub-of-site-b --scope channel',
    'skillsyncd hub token renew ada',
  ],
  options: {
    scope: {
      type: 'string',
      value: 'S,…',
      multiple: true,
      help: `what the token opens: ${SCOPES.join(', ')}; default: ${OF_A_PERSON.join(', ')}`,
      offers: SCOPES,
    },
    pack: {
      type: 'string',
      value: 'P,…',
      multiple: true,
      help: 'the only packs that the token opens; default: everything',
      offers: 'packs',
    },
    expires: {
      type: 'string',
      value: 'T',
      help: 'the time until it expires, 1m or longer, such as 90d, or never; default: 90d',
    },
    from: {
      type: 'string',
      value: 'FILE',
      help: 'use the token in this file; a token that exists already is no error',
      offers: 'files',
    },
  },
  async run(context) {
    const [verb, ...names] = context.operands
    const [name] = names
    if (verb !== 'add') refuseOptionsOfOthers(context, verb)
    if (verb === 'list' && name === undefined) return listTokens(context)
    if (verb === 'add' && name !== undefined) return addTokens(context, names)
    if (verb === 'renew' && name !== undefined && names.length === 1) return renewToken(context, name)
    if (verb === 'revoke' && name !== undefined && names.length === 1) return revokeToken(context, name)
    throw new UsageError('"hub token" takes add NAME…, list, renew NAME or revoke NAME; --help shows more')
  },
}

function refuseOptionsOfOthers({ values }: Context, verb = ''): void {
  const taken = OPTIONS_OF_OTHERS.get(verb)
  const given = ['scope', 'pack', 'expires', 'from'].find((name) => values[name] !== undefined)
  if (given !== undefined && taken?.includes(given) === false)
    throw new UsageError(`--${given} goes with "hub token add", not with "hub token ${verb}"`)
}

const OPTIONS_OF_OTHERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['list', []],
  ['renew', ['expires']],
  ['revoke', []],
])

async function addTokens(context: Context, given: readonly string[]): Promise<ExitStatus> {
  const names = [...new Set(given)]
  if (!names.every(isTokenName))
    throw new UsageError('The name of a token has 1 to 64 letters, digits, dots, hyphens and underscores')
  const config = await configInUse(context)
  const scopes = scopesOf(context.values['scope'])
  const packs = packsNamed(context.values['pack'], config)
  expectOfUse(scopes, packs)
  const created = systemClock.now()
  const expires = expiryOf(context.values['expires'], created)
  const rest = { scopes, ...(packs && { packs }), created: created.toISOString(), ...(expires && { expires }) }
  const isOfNobody = config.postgres === undefined && isNewDefault(context, config.state)
  const { from } = context.values
  const [name = ''] = names
  if (typeof from === 'string') {
    if (names.length > 1) throw new UsageError('--from goes with one name')
    const added = { name, ...(await tokenIn(from)), ...rest }
    const adding = changeTokens(context, config, addTokenRequest, { token: added })
    printGiven(context, added, await isThereAlready(adding, added, async () => readTokens(context, config)))
  } else await addNew(context, config, { names, rest })
  if (isOfNobody && !context.quiet) context.streams.stderr.write(`note: ${firstStateText(config.state)}\n`)
  return 0
}

/** True if nothing names the state folder, and none is there: the daemon may use another. */
function isNewDefault({ values, environment }: Context, state: string): boolean {
  return values['state'] === undefined && !existsSync(state) && state === ifHomeIsKnown(() => environment.state)
}

function firstStateText(state: string): string {
  return `no daemon has used the state folder "${printableLine(state)}", which is new; if yours has another, name it with --state, or under state in the configuration`
}

/** Makes a token for each name, and prints each when it is stored. */
async function addNew(
  context: Context,
  config: ServedConfig,
  { names, rest }: { readonly names: readonly string[]; readonly rest: Omit<Token, 'name' | 'sha256'> },
): Promise<void> {
  const { streams, json, quiet } = context
  const made: object[] = []
  for (const name of names) {
    const { secret, sha256 } = newToken()
    const added: Token = { name, sha256, ...rest }
    // The daemon gets only the hash: it cannot leak a token that it does not know.
    await changeTokens(context, config, addTokenRequest, { token: added })
    made.push({ ...withoutDigest(added, new Date(rest.created)), token: secret })
    // The token must be shown this once, so it bypasses the filter of secrets.
    if (!json) streams.stdout.write(names.length === 1 ? `${secret}\n` : `${name} ${secret}\n`)
    if (!json && !quiet)
      streams.stderr.write(
        `${name} opens ${added.scopes.join(', ')}${ofPacks(added)}; ${expiryText(added)}. It is not shown again.\n`,
      )
  }
  if (json) printJsonAsIs(context, made.length === 1 ? made[0] : { tokens: made })
}

async function tokenIn(file: string): Promise<{ readonly sha256: string }> {
  const bytes = await readBounded(file, MOST_BYTES).catch((cause: unknown) => {
    throw new UsageError(`Cannot read the token in "${file}": ${whyNotOpened(cause)}`, { cause })
  })
  const made = bytes && madeElsewhere(Buffer.from(bytes).toString('latin1').trimEnd())
  if (made === undefined)
    throw new UsageError(
      `Cannot use what is in "${file}": a token is sks_ and 32 random bytes in base64url, and no more`,
    )
  return made
}

const MOST_BYTES = 1024

/** A machine that is set up again adds its token again. */
async function isThereAlready(
  adding: Promise<unknown>,
  { name, sha256 }: Token,
  read: () => Promise<readonly Token[]>,
): Promise<boolean> {
  try {
    await adding
    return false
  } catch (error) {
    if (!(error instanceof OperatorError) || error.code !== 'token-exists') throw error
    if ((await read()).some((one) => one.name === name && one.sha256 === sha256)) return true
    throw error
  }
}

function printGiven(context: Context, added: Token, isThere: boolean): void {
  if (context.json) printJson(context, withoutDigest(added, systemClock.now()))
  else printLines(context, [`${added.name} is ${isThere ? 'there already, as it was' : `added; ${expiryText(added)}`}`])
}

async function renewToken(context: Context, name: string): Promise<ExitStatus> {
  const config = await configInUse(context)
  const expires = expiryOf(context.values['expires'], systemClock.now())
  await changeTokens(context, config, renewTokenRequest, { name, ...(expires && { expires }) })
  if (context.json) printJson(context, { name, ...(expires && { expires }) })
  else printLines(context, [`${printableLine(name)} ${expiryText({ expires })}`])
  return 0
}

async function revokeToken(context: Context, name: string): Promise<ExitStatus> {
  const config = await configInUse(context)
  await changeTokens(context, config, revokeTokenRequest, { name })
  if (context.json) printJson(context, { name, revoked: true })
  else printLines(context, [`${printableLine(name)} is revoked`])
  return 0
}

async function listTokens(context: Context): Promise<ExitStatus> {
  const config = await configInUse(context)
  await agreeWithDaemon(config, context.signal)
  const now = systemClock.now()
  const kept = new Tokens(config.state, () => now)
  const tokens = await kept.read()
  const uses = await kept.lastUses()
  if (context.json) printJson(context, { tokens: tokens.map((one) => listed(one, now, uses)) })
  else if (tokens.length === 0) printLines(context, ['there are no tokens'])
  else
    printRows(
      context,
      HEADS,
      tokens.map((one) => rowOf(one, now, uses)),
    )
  return 0
}

/** The scopes are last: a narrow terminal cuts the end. */
const HEADS = ['NAME', 'PACKS', 'EXPIRES', 'LAST USED', 'CREATED', 'SCOPES']

function rowOf(token: Token, now: Date, uses: ReadonlyMap<string, string>): readonly string[] {
  const { name, scopes, packs, created, sha256 } = token
  const used = uses.get(sha256)
  return [
    name,
    packs?.join(',') ?? 'all',
    expiryCell(token, now),
    used === undefined ? 'never' : agoText(used, now),
    agoText(created, now),
    scopes.join(','),
  ]
}

function expiryCell(token: Token, now: Date): string {
  const { expires } = token
  if (expires === undefined) return 'never'
  return isExpired(token, now) ? `expired ${agoText(expires, now)}` : dueText(expires, now)
}

function listed(one: Token, now: Date, uses: ReadonlyMap<string, string>): object {
  const lastUsed = uses.get(one.sha256)
  return { ...withoutDigest(one, now), ...(lastUsed !== undefined && { lastUsed }) }
}

/** The hash is left out, because it is of no use to a reader. */
function withoutDigest({ sha256: _sha256, ...rest }: Token, now: Date): object {
  return { ...rest, expired: isExpired({ ...rest, sha256: _sha256 }, now) }
}

function expiryText({ expires }: { readonly expires?: string | undefined }): string {
  return expires === undefined ? 'never expires' : `expires ${expires}`
}

function scopesOf(given: unknown): readonly Scope[] {
  if (!Array.isArray(given)) return OF_A_PERSON
  const named = given.flatMap((list) => String(list).split(','))
  const unknown = named.find((name) => !SCOPES.some((scope) => scope === name))
  if (unknown !== undefined)
    throw new UsageError(`--scope is a list of ${SCOPES.join(', ')}; ${quote(unknown)} is none`)
  return SCOPES.filter((scope) => named.includes(scope))
}

function expectOfUse(scopes: readonly Scope[], packs: readonly string[] | undefined): void {
  if (packs !== undefined && scopes.includes('metrics'))
    throw new UsageError('The figures are of everything that is served; leave out --pack, or metrics')
}

function ofPacks({ packs }: Pick<Token, 'packs'>): string {
  return packs === undefined ? '' : ` of ${countOf(packs.length, 'pack')}: ${packs.join(', ')}`
}

function expiryOf(given: unknown = '90d', now: Date): string | undefined {
  if (given === 'never') return undefined
  const ms = durationOf(String(given))
  if (ms === undefined)
    throw new UsageError(`--expires is a duration such as 12h or 90d, or never; ${quote(String(given))} is none`)
  if (ms < LEAST_MS) throw new UsageError('--expires is 1m at least: a token is to be used')
  if (ms > MOST_MS) throw new UsageError(`--expires is ${MOST} at most, or never`)
  return new Date(now.getTime() + ms).toISOString()
}

const LEAST_MS = 60_000

/** Ten years, as for the durations of the configuration. */
const MOST = '3650d'
const MOST_MS = 3_650 * 86_400_000

/** Text in the wrong place may be a token. */
function quote(text: string): string {
  return text.includes('sks_') ? 'what looks like a token' : `"${printableLine(text)}"`
}
