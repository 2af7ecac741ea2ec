import { isPassing } from './sync-error.ts'
import type { SyncErrorCode } from './sync-error.ts'
import type { VerdictCode } from './verdict/verdict.ts'

/**
 * The attention that something needs. `person`: it stays as it is until the operator acts. `retried`: it may resolve by
 * itself. `chosen`: the operator wants it this way.
 */
export type Urgency = 'person' | 'retried' | 'chosen' | 'well'

/** The most urgent first. */
export const URGENCIES: readonly Urgency[] = ['person', 'retried', 'chosen', 'well']

/**
 * The attention that a failure with this code needs. `since`: the time from which it lasts, ISO 8601; what lasts longer
 * than a day does not resolve by itself.
 */
export function failureUrgency(code: SyncErrorCode, since: string | undefined, now: Date): 'person' | 'retried' {
  const isOld = since !== undefined && now.getTime() - Date.parse(since) > PATIENCE_MS
  return isPassing(code) && !isOld ? 'retried' : 'person'
}

const PATIENCE_MS = 86_400_000

/** The states of each kind of item. */
export const ITEM_STATES = {
  source: ['failing', 'waiting', 'held', 'served', 'empty'],
  skill: ['waiting', 'withheld', 'disabled'],
  decisions: ['lost'],
  content: ['lost'],
  writer: ['read-only'],
  lock: ['unreadable', 'not-taken'],
  readiness: ['not-ready'],
  token: ['expired', 'expiring', 'unreadable'],
  folder: ['behind', 'blocked', 'unreadable'],
  publication: ['current', 'under-way', 'failing'],
  channel: ['current', 'under-way', 'failing'],
  hub: ['unread', 'failing'],
  ring: ['stopped', 'held'],
  scanner: ['idle', 'failing', 'waiting'],
  database: ['away', 'without-leader'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type ItemKind = keyof typeof ITEM_STATES

/**
 * The state of one thing, as every surface shows it: `status`, the page, metrics, `doctor` and the service manager. Made
 * in one place for each kind, so that what needs a person at one of them needs one at all of them. Folders of agents are
 * those of the user of a command, which the daemon does not read: only `status` and `doctor` have them.
 */
export type Item = { readonly [Kind in ItemKind]: ItemOf<Kind> }[ItemKind]

interface ItemOf<Kind extends ItemKind> {
  readonly kind: Kind
  /** Its name among those of its kind: the id of a source, an address, the name of a token. */
  readonly id: string
  readonly state: (typeof ITEM_STATES)[Kind][number]
  readonly urgency: Urgency
  /** The time from which it is in this state: ISO 8601, UTC. */
  readonly since?: string
  readonly problems: readonly ItemProblem[]
  /** The path of this machine in its texts, which readers of the page must not see. */
  readonly place?: string
  /** The source that it concerns, if it is one. */
  readonly source?: string
  /** True if only readers who are admitted to the page may see it: it names clients, people or machines. */
  readonly isPrivate?: true
  /** The skills of a source that are not simply served. */
  readonly parts?: readonly Item[]
}

/** The code of a problem; `skillsyncd explain` knows each. */
export type ItemCode =
  | SyncErrorCode
  | VerdictCode
  | 'database-away'
  | 'decisions-lost'
  | 'folder-behind'
  | 'folder-blocked'
  | 'leader-missing'
  | 'links-damaged'
  | 'lock-unreadable'
  | 'not-ready'
  | 'ring-stopped'
  | 'scan-failed'
  | 'scan-waiting'
  | 'served-lost'
  | 'source-moved'
  | 'token-expiring'
  | 'tokens-unreadable'

/** A problem of an item: its message may quote foreign text, its fix is a next step that can be typed or done. */
export interface ItemProblem {
  readonly code: ItemCode
  readonly message: string
  readonly fix: string
}
