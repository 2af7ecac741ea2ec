import { hash } from 'node:crypto'
import type { NotifiedCatalog, SessionRecord } from '../../../serve/mcp/transports/session-store.ts'

/** Everything that is to be written for one session. What is `undefined` stays as it is. */
export interface SessionChange {
  readonly key: string
  /** The session is new. */
  readonly opened?: Opening | undefined
  /** The subscriptions that begin, by the URI in the client's spelling, and those that end, with `undefined`. */
  readonly subscriptions?: ReadonlyMap<string, Begun | undefined> | undefined
  readonly idleMs?: number | undefined
  /** `undefined` as the mark: that of all sessions of the process. */
  readonly told?: { readonly mark: NotifiedCatalog | undefined } | undefined
  /** `here`: it ends only if it still belongs to this process. */
  readonly ends?: 'here' | 'everywhere' | undefined
}

interface Begun {
  readonly canonical: string
  readonly generation?: number | undefined
}

/** The part of a session that never changes. */
export interface Opening {
  readonly principal: string | undefined
  readonly address: string | undefined
  readonly view: string | undefined
  readonly revision: string | undefined
}

/** A record of one session. */
export type OneSessionRecord = Exclude<SessionRecord, { readonly kind: 'told' }>

/** Returns the change that the record stands for. */
export function changeOf(record: OneSessionRecord): SessionChange {
  const { key } = record
  switch (record.kind) {
    case 'opened': {
      const { principalId: principal, address, view, revision, idleMs, told: mark } = record
      const subscriptions = new Map([...record.subscriptions].map(([asked, canonical]) => [asked, { canonical }]))
      return { key, opened: { principal, address, view, revision }, subscriptions, idleMs, told: { mark } }
    }
    case 'subscribed':
      return { key, subscriptions: new Map([[record.asked, record]]) }
    case 'unsubscribed':
      return { key, subscriptions: new Map([[record.asked, undefined]]) }
    case 'used':
      return { key, idleMs: record.idleMs }
    case 'missed':
      return { key, told: { mark: record.told } }
    case 'caught-up':
      return { key, told: { mark: undefined } }
    case 'ended':
      return { key, ends: 'everywhere' }
  }
}

/** Returns both changes as one. */
export function changeAfter(before: SessionChange | undefined, next: SessionChange): SessionChange {
  if (before === undefined || next.ends !== undefined) return next
  if (before.ends !== undefined) return before
  const { key, opened, idleMs, told } = before
  const subscriptions = new Map([...(before.subscriptions ?? []), ...(next.subscriptions ?? [])])
  return {
    key,
    opened: next.opened ?? opened,
    subscriptions,
    idleMs: next.idleMs ?? idleMs,
    told: next.told ?? told,
  }
}

/** The id of a mark. Its `sources` follow from the digest of the catalog. */
export function markIdOf({ generation, digest, forms, packs, rings }: NotifiedCatalog): string {
  const ofRings = rings === undefined ? [] : [rings]
  return hash('sha256', JSON.stringify([generation, digest, forms, packs, ...ofRings]), 'base64url')
}
