import { z } from 'zod'
import { parseJson } from '../../../base/json-value.ts'
import type { NotifiedCatalog, SessionRecord } from './session-store.ts'

/** The record as one line of JSON. Durations become points in time. */
export function sessionLineOf(record: SessionRecord, now: Date): string {
  switch (record.kind) {
    case 'opened': {
      const { idleMs, subscriptions, principalId: principal, ...rest } = record
      const pairs = [...subscriptions].map(([asked, canonical]) => (asked === canonical ? asked : [asked, canonical]))
      return JSON.stringify({ ...rest, principal, usedAt: timeBefore(now, idleMs), subscriptions: pairs })
    }
    case 'used': {
      const { idleMs, ...rest } = record
      return JSON.stringify({ ...rest, usedAt: timeBefore(now, idleMs) })
    }
    case 'subscribed':
    case 'unsubscribed':
    case 'missed':
    case 'caught-up':
    case 'ended':
    case 'told':
      return JSON.stringify(record)
  }
}

/** `undefined` for a line that no version of ours wrote, or that this version does not understand. */
export function recordIn(line: string, now: Date): SessionRecord | undefined {
  const parsed = LINE.safeParse(parseJson(line))
  if (!parsed.success) return undefined
  const { data } = parsed
  switch (data.kind) {
    case 'opened': {
      const { usedAt, subscriptions, principal, address, told, view, client, revision, ...rest } = data
      return {
        ...rest,
        idleMs: idleSince(usedAt, now),
        subscriptions: new Map(subscriptions.map((pair) => (typeof pair === 'string' ? [pair, pair] : pair))),
        ...(principal !== undefined && { principalId: principal }),
        ...(address !== undefined && { address }),
        ...(told !== undefined && { told }),
        ...(view !== undefined && { view }),
        ...(client !== undefined && { client }),
        ...(revision !== undefined && { revision }),
      }
    }
    case 'used':
      return { kind: data.kind, key: data.key, idleMs: idleSince(data.usedAt, now) }
    case 'subscribed':
    case 'unsubscribed':
    case 'missed':
    case 'caught-up':
    case 'ended':
    case 'told':
      return data
  }
}

/** Parses a mark; `undefined` for one that this version does not understand. */
export function markIn(text: string): NotifiedCatalog | undefined {
  return MARK.safeParse(parseJson(text)).data
}

function timeBefore(now: Date, ms: number): number {
  return now.getTime() - Math.round(ms)
}

/** If the wall clock was set back, the time lies in the future; the session then counts as used now. */
function idleSince(time: number, now: Date): number {
  return Math.max(0, now.getTime() - time)
}

/** More than `auditText` leaves. */
const MOST_NAME = 1_024

const KEY = z.string().regex(/^[\w-]{43}$/)
const MARK = z.object({
  generation: z.int().min(0),
  digest: z.string(),
  forms: z.string().optional(),
  packs: z.record(z.string(), z.string()).optional(),
  rings: z.record(z.string(), z.string()).optional(),
  sources: z.array(z.array(z.string())).optional(),
})
const KEYED = { key: KEY }
const TIMED = { key: KEY, usedAt: z.int() }
const PAIR = z.tuple([z.string(), z.string()])

const LINE = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('opened'),
    ...TIMED,
    principal: z.string().optional(),
    address: z.string().optional(),
    view: z.string().min(1).optional(),
    client: z.string().max(MOST_NAME).optional(),
    revision: z.iso.date().optional(),
    subscriptions: z.array(z.union([z.string(), PAIR])),
    told: MARK.optional(),
  }),
  z.object({ kind: z.literal('subscribed'), ...KEYED, asked: z.string(), canonical: z.string() }),
  z.object({ kind: z.literal('unsubscribed'), ...KEYED, asked: z.string() }),
  z.object({ kind: z.literal('used'), ...TIMED }),
  z.object({ kind: z.literal('missed'), ...KEYED, told: MARK }),
  z.object({ kind: z.literal('caught-up'), ...KEYED }),
  z.object({ kind: z.literal('ended'), ...KEYED }),
  z.object({ kind: z.literal('told'), mark: MARK }),
])
