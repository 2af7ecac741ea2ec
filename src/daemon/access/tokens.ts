import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import { indentedJson, isTime } from '../../base/canonical-json.ts'
import { parseJson } from '../../base/json-value.ts'
import { SCOPES } from '../../serve/principal.ts'
import type { Principal, Scope } from '../../serve/principal.ts'
import { isPackId } from '../../sync/model/source-id.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { writeWhole } from '../../sync/store/files/atomic.ts'
import { cannot, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { SharedValue } from '../../sync/store/shared-text.ts'
import type { SharedForm, SharedText } from '../../sync/store/shared-text.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { TokenUses } from './token-uses.ts'

/**
 * A token at rest. Only a hash of the token is stored. The token has 256 random bits, so it cannot be found by trial.
 */
export type Token = Readonly<z.infer<typeof TOKEN>>

const TIME = z.string().refine(isTime)

/** A longer list would in effect mean everything. */
const MOST_PACKS = 100

/** The stored form of a token, and of the request to add one. */
export const TOKEN = z.strictObject({
  name: z.string().refine(isTokenName),
  /** SHA-256, in hex. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  scopes: z.array(z.enum(SCOPES)).min(1).readonly(),
  /** The packs that the bearer sees. Absent: everything. */
  packs: z.array(z.string().refine(isPackId)).min(1).max(MOST_PACKS).readonly().optional(),
  created: TIME,
  /** Absent: never. */
  expires: TIME.optional(),
})

/** True if a token can have this name. A text that looks like a token was put where the name belongs. */
export function isTokenName(text: string): boolean {
  return /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/i.test(text) && !text.startsWith(PREFIX)
}

/** The prefix by which people and secret scanners recognize our tokens. */
const PREFIX = 'sks_'

/** Makes a new token, and its stored hash. */
export function newToken(): { readonly secret: string; readonly sha256: string } {
  const secret = PREFIX + randomBytes(32).toString('base64url')
  return { secret, sha256: hashOf(secret).toString('hex') }
}

/** The stored hash of a token that was made elsewhere; `undefined` if the text does not have the form of a token. */
export function madeElsewhere(secret: string): { readonly sha256: string } | undefined {
  return SECRET.test(secret) ? { sha256: hashOf(secret).toString('hex') } : undefined
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

const SECRET = /^sks_[\w-]{43}$/

/** More than an operator can tell apart; each request compares all of them. */
const MOST_TOKENS = 1_000

interface Known {
  /** Replaced when the token is renewed. */
  token: Token
  readonly hash: Buffer
}

/**
 * The tokens of a state folder, `tokens.json`. One process writes it. If the file cannot be read, no token is accepted. In
 * a hub of several processes a database has the tokens, and each process changes them; the file is the copy of this one.
 */
export class Tokens {
  readonly #file: string
  readonly #now: () => Date
  readonly #listeners = new Set<() => void>()
  readonly #expectRight: () => Promise<void>
  readonly #uses: TokenUses
  #known: readonly Known[] = []
  #failure: SyncError | undefined
  #shared: SharedValue<readonly Token[]> | undefined
  readonly #queue = new SerialQueue()

  /** `expectRight` throws if writes are not allowed. */
  constructor(statePath: string, now: () => Date, expectRight: () => Promise<void> = async () => {}) {
    this.#expectRight = expectRight
    this.#file = join(statePath, 'tokens.json')
    this.#now = now
    this.#uses = new TokenUses(statePath, expectRight)
  }

  /**
   * The tokens as this process last read or wrote them; `undefined` if they could not be read. Includes expired ones.
   */
  get all(): readonly Token[] | undefined {
    return this.#isFailing ? undefined : this.#known.map(({ token }) => token)
  }

  /** True if at least one token is valid now. */
  get isAnyInForce(): boolean {
    return this.#known.some((one) => !this.#isOver(one))
  }

  /** The time at which the next of the valid tokens expires; `undefined` if none does. */
  get nextExpiry(): Date | undefined {
    const times = this.#known
      .filter((one) => !this.#isOver(one))
      .flatMap(({ token: { expires } }) => (expires === undefined ? [] : [Date.parse(expires)]))
    return times.length === 0 ? undefined : new Date(Math.min(...times))
  }

  /** The reason why the file lacks the newest shared tokens, which are in force; `undefined` if it has them. */
  get unwritten(): SyncError | undefined {
    return this.#shared?.unwritten
  }

  /** Keeps the tokens in a text that several processes share, from now on. Called before the first read. */
  shareWith(text: SharedText): void {
    this.#shared ??= new SharedValue(text, SHARED_TOKENS, {
      read: async () => this.#read(),
      write: async (tokens) => this.#restore(tokens),
      hold: (tokens) => this.#adopt(tokens),
    })
  }

  /**
   * Takes the newest shared tokens over, and calls the listeners if they differ. Returns true if other processes have
   * changed them since the last call. Throws `store-failed`, and keeps the known ones, if they cannot be reached or are
   * damaged.
   */
  async refresh(): Promise<boolean> {
    return this.#queue.next(async () => this.#shared?.refresh() ?? false)
  }

  /** Reads the file. Without the file there are no tokens. A damaged file keeps every client out. */
  async read(): Promise<readonly Token[]> {
    if (this.#shared !== undefined) return this.#queue.next(async () => this.#readShared())
    try {
      const tokens = (await this.#read()) ?? []
      this.#hold(tokens)
      return tokens
    } catch (error) {
      if (error instanceof SyncError) this.#failure = error
      throw error
    }
  }

  /** The principal of a valid token. The time of the check does not depend on the token. */
  principalOf(secret: string): Principal | undefined {
    if (!SECRET.test(secret)) return undefined
    const hash = hashOf(secret)
    let found: Known | undefined
    for (const candidate of this.#known) if (timingSafeEqual(candidate.hash, hash)) found = candidate
    if (found === undefined || this.#isOver(found)) return undefined
    this.#uses.record(found.token.sha256, this.#now())
    return this.#principal(found)
  }

  /** The principal of a valid token that another process of the hub has authenticated. */
  principalWithId(id: string): Principal | undefined {
    const found = this.#known.find(({ token }) => idOf(token) === id)
    return found === undefined || this.#isOver(found) ? undefined : this.#principal(found)
  }

  #principal(known: Known): Principal {
    const { scopes, packs } = known.token
    return {
      id: idOf(known.token),
      scopes: new Set(scopes),
      ...(packs !== undefined && { packs: new Set(packs) }),
      isOver: () => this.#isOver(known),
    }
  }

  /** The ids of the principals of all valid tokens with this scope; none while the tokens cannot be read. */
  principalsWith(scope: Scope): readonly string[] {
    if (this.#isFailing) return []
    const valid = this.#known.filter((one) => !this.#isOver(one) && one.token.scopes.includes(scope))
    return valid.map(({ token }) => idOf(token)).toSorted()
  }

  /** True if it is the id of a revoked token. False for every id while the tokens cannot be read. */
  isGone(principalId: string): boolean {
    if (this.#isFailing || !principalId.startsWith(KIND)) return false
    return !this.#known.some(({ token }) => idOf(token) === principalId)
  }

  /** Adds a token. It is on disk, and valid, when this resolves. */
  async add(token: Token): Promise<void> {
    await this.#change((before) => {
      if (before.some(({ name }) => name === token.name))
        throw new OperatorError(
          'token-exists',
          `There is a token "${token.name}" already; revoke it first, or use another name`,
        )
      const twin = before.find(({ sha256 }) => sha256 === token.sha256)
      // Revoking one of the two names would not end access.
      if (twin !== undefined)
        throw new OperatorError('token-exists', `That token is there already, as "${twin.name}"; revoke it first`)
      if (before.length >= MOST_TOKENS)
        throw new OperatorError('limit-exceeded', `There are ${MOST_TOKENS} tokens already; revoke some first`)
      return [...before, token]
    })
  }

  /** Revokes a token. When this resolves, it is no longer valid, and its sessions and streams have ended. */
  async revoke(name: string): Promise<void> {
    await this.#change((before) => {
      const after = before.filter((token) => token.name !== name)
      if (after.length === before.length) throw unknownToken()
      return after
    })
  }

  /**
   * Moves the expiry of a token; `undefined`: never. The secret stays, and so do the sessions. A token that has expired is
   * valid again.
   */
  async renew(name: string, expires: string | undefined): Promise<void> {
    await this.#change((before) => {
      if (!before.some((token) => token.name === name)) throw unknownToken()
      return before.map((token) => {
        if (token.name !== name) return token
        return { ...unrenewed(token), ...(expires !== undefined && { expires }) }
      })
    })
  }

  /** The time of the last use of each token, exact to an hour, by its SHA-256. Unused tokens are not in it. */
  async lastUses(): Promise<ReadonlyMap<string, string>> {
    return this.#uses.read()
  }

  /** Calls back after each change. */
  listen(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** Returns `undefined` without the file. */
  async #read(): Promise<readonly Token[] | undefined> {
    const text = await this.#text()
    if (text === undefined) return undefined
    const tokens = SHARED_TOKENS.parse(text)
    if (tokens !== undefined) return tokens
    const message = `Cannot read "${this.#file}": it is damaged; no token is accepted until it is corrected, or removed and new tokens are made`
    throw new SyncError('store-failed', message)
  }

  async #text(): Promise<string | undefined> {
    return unlessAbsent(readFile(this.#file, 'utf8')).catch(cannot(`read "${this.#file}"`))
  }

  async #change(change: (before: readonly Token[]) => readonly Token[]): Promise<void> {
    return this.#queue.next(async () => {
      if (this.#shared === undefined) await this.#changeFile(change)
      else await this.#shared.change((before) => ({ after: change(before), result: undefined }))
    })
  }

  async #changeFile(change: (before: readonly Token[]) => readonly Token[]): Promise<void> {
    // Changes that were made by hand are the base. A damaged file is not overwritten, because it may still be repaired.
    const before = (await this.#read()) ?? []
    this.#hold(before)
    const after = change(before)
    await this.#put(after)
    this.#hold(after)
    this.#tell()
  }

  async #put(tokens: readonly Token[]): Promise<void> {
    await this.#expectRight()
    await writeWhole(this.#file, SHARED_TOKENS.textOf(tokens))
  }

  /** Brings the file to the shared tokens. Returns true if it had others. */
  async #restore(tokens: readonly Token[]): Promise<boolean> {
    if ((await this.#text()) === SHARED_TOKENS.textOf(tokens)) return false
    await this.#put(tokens)
    return true
  }

  async #readShared(): Promise<readonly Token[]> {
    await this.#shared?.read()
    return this.#known.map(({ token }) => token)
  }

  /** Takes shared tokens over. The sessions of a token that another process has revoked end. */
  #adopt(tokens: readonly Token[]): void {
    const isSame = isDeepStrictEqual(
      this.#known.map(({ token }) => token),
      tokens,
    )
    this.#hold(tokens)
    if (!isSame) this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  /** Keeps the object of a token that is unchanged or renewed, so that its sessions continue. */
  #hold(tokens: readonly Token[]): void {
    const before = new Map(this.#known.map((one) => [one.token.sha256, one]))
    this.#known = tokens.map((token) => {
      const one = before.get(token.sha256)
      if (one === undefined || !isDeepStrictEqual(unrenewed(one.token), unrenewed(token))) return knownOf(token)
      one.token = token
      return one
    })
    this.#failure = undefined
  }

  get #isFailing(): boolean {
    return (this.#shared === undefined ? this.#failure : this.#shared.failure) !== undefined
  }

  #isOver(one: Known): boolean {
    return !this.#known.includes(one) || isExpired(one.token, this.#now())
  }
}

/** A token that expires soon, with its time. ISO 8601, UTC. */
export interface ExpiringToken {
  readonly name: string
  readonly expires: string
}

/** The tokens that expire within two weeks or did in the last two, the first one first: they are renewed, or revoked. */
export function expiringIn(tokens: readonly Token[], now: Date): readonly ExpiringToken[] {
  const isNear = (expires: string): boolean => Math.abs(Date.parse(expires) - now.getTime()) <= NEAR_MS
  return tokens
    .flatMap(({ name, expires }) => (expires !== undefined && isNear(expires) ? [{ name, expires }] : []))
    .toSorted((a, b) => Date.parse(a.expires) - Date.parse(b.expires))
}

const NEAR_MS = 14 * 86_400_000

/** The properties that a renewal keeps. */
function unrenewed({ expires: _expires, ...rest }: Token): Omit<Token, 'expires'> {
  return rest
}

function unknownToken(): OperatorError {
  return new OperatorError('unknown-token', 'There is no token of that name; skillsyncd hub token list shows them')
}

export function isExpired({ expires }: Token, now: Date): boolean {
  return expires !== undefined && Date.parse(expires) <= now.getTime()
}

/** With the name alone, a token that is added again after its revocation would get the sessions of the old one. */
function idOf({ name, sha256 }: Token): string {
  return `${KIND}${name}#${sha256.slice(0, 12)}`
}

const KIND = 'token:'

function knownOf(token: Token): Known {
  return { token, hash: Buffer.from(token.sha256, 'hex') }
}

const FILE = z.strictObject({ tokens: z.array(TOKEN).readonly() })

/** The form in which the processes of a hub share the tokens. */
const SHARED_TOKENS: SharedForm<readonly Token[]> = {
  name: 'tokens',
  nothing: [],
  textOf: (tokens) => indentedJson({ tokens }),
  parse: (text) => FILE.safeParse(parseJson(text)).data?.tokens,
}
