import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { indentedJson, isTime } from '../../base/canonical-json.ts'
import { parseJson } from '../../base/json-value.ts'
import { SerialQueue } from '../../base/serial-queue.ts'
import { SCOPES } from '../../serve/principal.ts'
import type { Principal } from '../../serve/principal.ts'
import { isPackId } from '../../sync/catalog/pack.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { writeWhole } from '../../sync/store/files/atomic.ts'
import { cannot, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { OperatorError } from '../base/operator-error.ts'
import type { ExpiringToken } from '../status/status.ts'
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
 * The tokens of a state folder, `tokens.json`. One process writes it. If the file cannot be read, no token is accepted.
 */
export class Tokens {
  readonly #file: string
  readonly #now: () => Date
  readonly #listeners = new Set<() => void>()
  readonly #expectRight: () => Promise<void>
  readonly #uses: TokenUses
  #known: readonly Known[] = []
  #failure: SyncError | undefined
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
    return this.#failure === undefined ? this.#known.map(({ token }) => token) : undefined
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

  /** Reads the file. Without the file there are no tokens. A damaged file keeps every client out. */
  async read(): Promise<readonly Token[]> {
    try {
      const tokens = await this.#read()
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
    const { scopes, packs } = found.token
    return {
      id: idOf(found.token),
      scopes: new Set(scopes),
      ...(packs !== undefined && { packs: new Set(packs) }),
      isOver: () => this.#isOver(found),
    }
  }

  /** True if it is the id of a revoked token. False for every id while the tokens cannot be read. */
  isGone(principalId: string): boolean {
    if (this.#failure !== undefined || !principalId.startsWith(KIND)) return false
    return !this.#known.some(({ token }) => idOf(token) === principalId)
  }

  /** Adds a token. It is on disk, and valid, when this resolves. */
  async add(token: Token): Promise<void> {
    await this.#change((before) => {
      if (before.some(({ token: { name } }) => name === token.name))
        throw new OperatorError(
          'token-exists',
          `There is a token "${token.name}" already; revoke it first, or use another name`,
        )
      const twin = before.find(({ token: { sha256 } }) => sha256 === token.sha256)
      // Revoking one of the two names would not end access.
      if (twin !== undefined)
        throw new OperatorError('token-exists', `That token is there already, as "${twin.token.name}"; revoke it first`)
      if (before.length >= MOST_TOKENS)
        throw new OperatorError('limit-exceeded', `There are ${MOST_TOKENS} tokens already; revoke some first`)
      return [...before, knownOf(token)]
    })
  }

  /** Revokes a token. When this resolves, it is no longer valid, and its sessions and streams have ended. */
  async revoke(name: string): Promise<void> {
    await this.#change((before) => {
      const after = before.filter(({ token }) => token.name !== name)
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
      if (!before.some(({ token }) => token.name === name)) throw unknownToken()
      return before.map((one) => {
        if (one.token.name !== name) return one
        const { expires: _expires, ...rest } = one.token
        return { ...one, token: { ...rest, ...(expires !== undefined && { expires }) } }
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

  async #read(): Promise<readonly Token[]> {
    const text = await unlessAbsent(readFile(this.#file, 'utf8')).catch(cannot(`read "${this.#file}"`))
    if (text === undefined) return []
    const { data, success } = FILE.safeParse(parseJson(text))
    if (success) return data.tokens
    const message = `Cannot read "${this.#file}": it is damaged; no token is accepted until it is corrected, or removed and new tokens are made`
    throw new SyncError('store-failed', message)
  }

  async #change(change: (before: readonly Known[]) => readonly Known[]): Promise<void> {
    return this.#queue.next(async () => this.#write(change))
  }

  async #write(change: (before: readonly Known[]) => readonly Known[]): Promise<void> {
    // Changes that were made by hand are the base. A damaged file is not overwritten, because it may still be repaired.
    this.#hold(await this.#read())
    const after = change(this.#known)
    await this.#expectRight()
    const tokens = after.map(({ token }) => token)
    await writeWhole(this.#file, indentedJson({ tokens }))
    this.#hold(tokens)
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

  #isOver(one: Known): boolean {
    return !this.#known.includes(one) || isExpired(one.token, this.#now())
  }
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
  return new OperatorError('unknown-token', 'There is no token of that name; skillsyncd token list shows them')
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
