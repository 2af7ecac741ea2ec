import type { ViewName } from '../../serve/view.ts'
import type { CountedUse } from './answered-use.ts'
import { isKnownClient } from './known-clients.ts'

/** The identity of one row of counts. */
export interface UsageKey {
  /** The day in UTC, as `2026-03-31`. */
  readonly day: string
  /** `<source>/<path>`; empty for lists, which show all skills of their view. */
  readonly skill: string
  /** The packs under which the client was served; empty for everything. */
  readonly pack: ViewName
  readonly client: string
  /** Empty unless the operator turns people on. */
  readonly principal: string
}

/** Counts of one row. */
export interface UsageCount extends UsageKey {
  readonly lists: number
  readonly loads: number
  readonly reads: number
  /** Answers that should have been a load or a read, and could not. */
  readonly failures: number
}

/** The day, the pack, the client and the principal of one use. */
export type UseOrigin = Omit<UsageKey, 'skill' | 'client' | 'principal'> & {
  readonly client: string | undefined
  readonly principal: string | undefined
}

/** The name that stands for the clients, people or rows beyond a limit. */
export const OTHER = 'other'

/** The principal of uses by clients without a token, and of all uses if people are not counted. */
export const NO_PRINCIPAL = ''

/** The name of clients that give none. */
const UNKNOWN_CLIENT = 'unknown'

/** Distinct names of clients that are counted in a day besides the published ones; further ones count as `other`. */
export const MOST_CLIENTS = 64

/** Distinct people that are counted in a day; further ones count as `other`. */
export const MOST_PRINCIPALS = 1_000

/** Rows that wait to be written. One takes some three hundred bytes. */
const MOST_ROWS = 20_000

/**
 * Counts that wait to be written. Memory is bounded by `MOST_ROWS`: a use that would need a further row is counted in
 * one row a day that has `other` for its skill, pack, client and principal.
 */
export class UsageCounts {
  readonly #cleanNames = new Map<string | undefined, string>()
  #rows = new Map<string, OpenRow>()
  #names: DayNames = namesOf('')

  add(use: CountedUse, { day, pack, client, principal }: UseOrigin): void {
    if (this.#names.day !== day) this.#names = namesOf(day)
    const skill = use.kind === 'list' ? '' : use.skill
    const names = {
      client: boundedClient(this.#names.clients, this.#cleanName(client)),
      principal:
        principal === undefined
          ? NO_PRINCIPAL
          : boundedName(this.#names.principals, this.#cleanName(principal), MOST_PRINCIPALS),
    }
    const row = this.#rowOf({ day, skill, pack, ...names })
    if (use.kind === 'list') row.lists += 1
    else if (use.kind === 'load') row.loads += 1
    else if (use.kind === 'read') row.reads += 1
    else row.failures += 1
  }

  get size(): number {
    return this.#rows.size
  }

  /** Takes all rows out. */
  take(): readonly UsageCount[] {
    const rows = [...this.#rows.values()]
    this.#rows = new Map()
    return rows
  }

  /** Puts rows back that could not be written. */
  restore(rows: readonly UsageCount[]): void {
    for (const { lists, loads, reads, failures, ...key } of rows) {
      const row = this.#rowOf(key)
      row.lists += lists
      row.loads += loads
      row.reads += reads
      row.failures += failures
    }
  }

  #rowOf(key: UsageKey): OpenRow {
    const text = usageKeyText(key)
    const known = this.#rows.get(text)
    if (known !== undefined) return known
    if (this.#rows.size >= MOST_ROWS && key.skill !== OTHER) return this.#rowOf(keyOfOthers(key.day))
    const row = { ...key, lists: 0, loads: 0, reads: 0, failures: 0 }
    this.#rows.set(text, row)
    return row
  }

  /** A client sends one name with all requests. */
  #cleanName(name: string | undefined): string {
    const known = this.#cleanNames.get(name)
    if (known !== undefined) return known
    const clean = cleaned(name)
    if (this.#cleanNames.size >= MOST_PRINCIPALS) this.#cleanNames.clear()
    if (name === undefined || name.length <= 4 * MOST_CHARACTERS) this.#cleanNames.set(name, clean)
    return clean
  }
}

/** The row of a day for the uses that would need a row beyond a limit. */
export function keyOfOthers(day: string): UsageKey {
  return { day, skill: OTHER, pack: OTHER, client: OTHER, principal: OTHER }
}

/** Returns the name if it is one of the names, or can be added to them within the limit; otherwise `OTHER`. */
export function boundedName(names: Set<string>, name: string, most: number): string {
  if (name === OTHER || name === NO_PRINCIPAL || names.has(name)) return name
  if (names.size >= most) return OTHER
  names.add(name)
  return name
}

/** The same for the name of a client. A published one counts against no limit, so that invented ones cannot displace it. */
export function boundedClient(names: Set<string>, name: string): string {
  return isKnownClient(name) ? name : boundedName(names, name, MOST_CLIENTS)
}

/** A name in one line, without invisible characters, cut to 64 characters. */
function cleaned(name: string | undefined): string {
  const clean = (name ?? '')
    .slice(0, 4 * MOST_CHARACTERS)
    .replace(UNSEEN, '')
    .trim()
    .slice(0, MOST_CHARACTERS)
  return clean === '' ? UNKNOWN_CLIENT : clean.toWellFormed()
}

const MOST_CHARACTERS = 64
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu

type OpenRow = { -readonly [Key in keyof UsageCount]: UsageCount[Key] }

/** The names that a day has rows of. */
interface DayNames {
  readonly day: string
  readonly clients: Set<string>
  readonly principals: Set<string>
}

function namesOf(day: string): DayNames {
  return { day, clients: new Set(), principals: new Set() }
}

/** A text for each key, and no other key has it: no part contains a line break. */
export function usageKeyText({ day, skill, pack, client, principal }: UsageKey): string {
  return `${day}\n${skill}\n${pack}\n${client}\n${principal}`
}
