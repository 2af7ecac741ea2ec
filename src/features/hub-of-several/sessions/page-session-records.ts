import { z } from 'zod'
import { resultWithin } from '../../../base/async/wait-at-most.ts'
import type { Tokens } from '../../../daemon/access/tokens.ts'
import type { DaemonContext } from '../../../daemon/runtime/context.ts'
import { MOST_OF_ONE_PRINCIPAL, MOST_PAGE_SESSIONS } from '../../../serve/page/http/page-sessions.ts'
import type { SharedPageSession, SharedPageSessions } from '../../../serve/page/http/page-sessions.ts'
import { isTermOver, SCOPES } from '../../../serve/principal.ts'
import type { Principal } from '../../../serve/principal.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { CHANNEL } from '../../../sync/postgres/notify.ts'
import type { SharedStore } from '../../../sync/postgres/shared-store.ts'

/** The parts of the daemon that the shared page sessions need. */
export interface PageSessionParts extends Pick<DaemonContext, 'clock' | 'log'> {
  readonly shared: SharedStore
  readonly tokens: Pick<Tokens, 'principalWithId'>
  /** True if packs exist at the moment. */
  readonly hasPacks: () => boolean
}

/** Names that are looked for together. */
interface Search {
  readonly names: Set<string>
  readonly found: Promise<ReadonlyMap<string, SharedPageSession>>
}

/**
 * The sign-ins to the page in the database of a hub of several processes: a hash of the id of each, and its principal.
 * Each process knows by itself what a token of the hub opens, so that of those only the id is stored.
 */
export class PageSessionRecords implements SharedPageSessions {
  readonly #parts: PageSessionParts
  /** Sessions that were ended here, and that the database may still have. */
  readonly #unclosed = new Set<string>()
  /** Names like that of which this process knew no session. They never take the place of a session. */
  readonly #uncertain = new Set<string>()
  readonly #watchers: (readonly [known: () => readonly string[], onClosed: (name: string) => void])[] = []
  /** The search that has not begun yet. */
  #next: Search | undefined
  #searching: Promise<unknown> = Promise.resolve()
  /** The closing that has not begun yet. */
  #nextClosing: Promise<void> | undefined
  #closing: Promise<unknown> = Promise.resolve()

  constructor(parts: PageSessionParts) {
    this.#parts = parts
  }

  async save(name: string, principal: Principal, leftMs: number): Promise<boolean> {
    const details = detailsOf(principal)
    if (details === undefined) return false
    const isSaved = await this.#tried(async () =>
      this.#parts.shared.pulse.transact('record a sign-in', async (client) => {
        await client.query(FORGET, [principal.id, MOST_OF_ONE_PRINCIPAL - 1, MOST_PAGE_SESSIONS - 1])
        await client.query(SAVE, [name, principal.id, JSON.stringify(details), leftMs])
        return true
      }),
    )
    return isSaved ?? false
  }

  /** Calls that arrive during a search share the next one: anyone can send names that do not exist. */
  async find(names: readonly string[]): Promise<ReadonlyMap<string, SharedPageSession>> {
    this.#next ??= this.#search()
    const { names: wanted, found } = this.#next
    for (const name of names) if (wanted.size < MOST_AT_ONCE) wanted.add(name)
    const all = (await resultWithin(WAIT_MS, found, this.#parts.clock)) ?? NONE
    const known = new Map<string, SharedPageSession>()
    for (const name of names) {
      const session = this.#isClosed(name) ? undefined : all.get(name)
      if (session !== undefined) known.set(name, session)
    }
    return known
  }

  async close(names: readonly string[], uncertain: readonly string[] = []): Promise<void> {
    addUpTo(MOST_UNCLOSED, this.#unclosed, names)
    addUpTo(MOST_UNCLOSED, this.#uncertain, uncertain)
    // They are closed here already: a database that does not answer is not waited for any longer.
    await resultWithin(
      WAIT_MS,
      this.#tried(async () => this.#closeRest()),
      this.#parts.clock,
    )
  }

  watch(known: () => readonly string[], onClosed: (name: string) => void): void {
    this.#watchers.push([known, onClosed])
  }

  /** Drops the sessions that other processes have ended. Throws `store-failed` if the database cannot be read. */
  async refresh(): Promise<void> {
    await this.#closeRest()
    for (const [known, onClosed] of this.#watchers) {
      const names = known()
      if (names.length === 0) continue
      const rows = await this.#parts.shared.pulse.query('find the sign-ins that ended', FIND, [names])
      const open = new Set(rows.map(({ name }) => String(name)))
      for (const name of names) if (!open.has(name)) onClosed(name)
    }
  }

  #search(): Search {
    const names = new Set<string>()
    const before = this.#searching
    const found = (async () => {
      await before
      this.#next = undefined
      const rows = await this.#tried(async () =>
        this.#parts.shared.database.query('find a sign-in', FIND, [[...names]], STATEMENT_MS),
      )
      return new Map((rows ?? []).flatMap((row) => this.#sessionIn(row)))
    })()
    this.#searching = found
    return { names, found }
  }

  #sessionIn(row: Readonly<Record<string, unknown>>): readonly (readonly [string, SharedPageSession])[] {
    const { name, principal: id, details, left_ms: leftMs } = row
    const principal = this.#principalIn(String(id), details)
    return principal === undefined ? [] : [[String(name), { principal, leftMs: Number(leftMs) }]]
  }

  #principalIn(id: string, stored: unknown): Principal | undefined {
    const { data } = DETAILS.safeParse(stored)
    if (data === undefined) return undefined
    if (data.kind === 'token') return this.#parts.tokens.principalWithId(id)
    const { name, scopes, packs, term } = data
    const { clock, hasPacks } = this.#parts
    return {
      id,
      ...(name !== undefined && { name }),
      scopes: new Set(scopes),
      ...(packs !== undefined && { packs: new Set(packs) }),
      term,
      isOver: () => isTermOver(term, clock.now(), hasPacks()),
    }
  }

  #isClosed(name: string): boolean {
    return this.#unclosed.has(name) || this.#uncertain.has(name)
  }

  /** Calls that arrive while a statement closes sessions share the next one: anyone can send names. */
  async #closeRest(): Promise<void> {
    if (this.#nextClosing !== undefined) return this.#nextClosing
    const before = this.#closing
    const closing = (async () => {
      await before
      this.#nextClosing = undefined
      const names = [...this.#unclosed, ...this.#uncertain]
      if (names.length === 0) return
      await this.#parts.shared.database.query('end a sign-in', CLOSE, [names], STATEMENT_MS)
      for (const name of names) {
        this.#unclosed.delete(name)
        this.#uncertain.delete(name)
      }
    })()
    this.#nextClosing = closing
    // A failure is that of the calls that share it.
    this.#closing = closing.catch(() => {})
    return closing
  }

  /** A sign-in works at this process at least; `undefined` if the database is away. */
  async #tried<Done>(work: () => Promise<Done>): Promise<Done | undefined> {
    const { log } = this.#parts
    try {
      const done = await work()
      log.recovery(EVENT, '')
      return done
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      const { code, message } = error
      log.failure('warn', EVENT, { source: '', code, message }, message)
      return undefined
    }
  }
}

const EVENT = 'sign-ins-not-shared'

/** The names of one search. */
const MOST_AT_ONCE = 1_000

/** Ten times the sessions that there can be. */
const MOST_UNCLOSED = 10 * MOST_PAGE_SESSIONS

/** A request waits so long for the database, and a statement for its answer, in milliseconds. */
const WAIT_MS = 2_000
const STATEMENT_MS = 1_500

const NONE: ReadonlyMap<string, SharedPageSession> = new Map()

function addUpTo(most: number, set: Set<string>, names: readonly string[]): void {
  for (const name of names) if (set.size < most) set.add(name)
}

const DETAILS = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('token') }),
  z.object({
    kind: z.literal('issuer'),
    name: z.string().optional(),
    scopes: z.array(z.enum(SCOPES)),
    packs: z.array(z.string()).optional(),
    term: z.object({ endMs: z.number(), hadPacks: z.boolean() }),
  }),
])

/** `undefined` for a principal that no other process could know again. */
function detailsOf({ id, name, scopes, packs, term }: Principal): z.infer<typeof DETAILS> | undefined {
  if (term === undefined) return id.startsWith('token:') ? { kind: 'token' } : undefined
  return {
    kind: 'issuer',
    ...(name !== undefined && { name }),
    scopes: [...scopes],
    ...(packs !== undefined && { packs: [...packs] }),
    term,
  }
}

/** The limits of `PageSessions`, for all processes together. */
const FORGET = `
  DELETE FROM skillsyncd.page_session WHERE ends <= clock_timestamp()
    OR name IN (SELECT name FROM skillsyncd.page_session WHERE principal = $1 ORDER BY opened DESC OFFSET $2)
    OR name IN (SELECT name FROM skillsyncd.page_session ORDER BY opened DESC OFFSET $3)`

const SAVE = `
  INSERT INTO skillsyncd.page_session (name, principal, details, opened, ends)
  VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp() + $4 * interval '1 millisecond')`

/** Announces the end only if there was a session. */
const CLOSE = `
  WITH closed AS (DELETE FROM skillsyncd.page_session WHERE name = ANY($1) RETURNING name)
  SELECT pg_notify('${CHANNEL}', '') WHERE EXISTS (SELECT FROM closed)`

const FIND = `
  SELECT name, principal, details, extract(epoch FROM ends - clock_timestamp()) * 1000 AS left_ms
  FROM skillsyncd.page_session WHERE name = ANY($1) AND ends > clock_timestamp()`
