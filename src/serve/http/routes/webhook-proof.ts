import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** Whose form a request has. */
export type Provider = 'github' | 'gitlab' | 'gitea' | 'forgejo' | 'generic'

/** Checks whether a request is from one who has the secret, while its body comes in. Nothing of the body is kept or understood. */
export interface Proof {
  take(bytes: Uint8Array): void
  /** After the last byte: what tells this delivery from all others. Undefined for a request that proves nothing. */
  delivery(): string | undefined
}

/**
 * The proof that each provider documents. What tells deliveries apart is a part of what is signed, wherever anything is: a
 * header beside it could be changed by whoever repeats a request.
 */
export function proofOf(provider: Provider, secret: string, headers: IncomingHttpHeaders, now: Date): Proof {
  const header = (name: string): string => headers[name]?.toString() ?? ''
  switch (provider) {
    case 'github':
      return signedBody(secret, 'sha256=', header('x-hub-signature-256'))
    case 'gitea':
      return signedBody(secret, '', header('x-gitea-signature'))
    case 'forgejo':
      // Versions from before the fork had a name of its own for it send the other alone.
      return signedBody(secret, '', header('x-forgejo-signature') || header('x-gitea-signature'))
    case 'generic':
      return signedBody(secret, 'sha256=', header('x-skillsyncd-signature'))
    case 'gitlab':
      // The form of the secret decides and not the request: who sends the weaker proof must not get away with it.
      return secret.startsWith(SIGNING_TOKEN) ? signedMessage(secret, header, now) : plainToken(secret, header)
  }
}

/** HMAC-SHA-256 of the body, in hex. */
function signedBody(secret: string, prefix: string, given: string): Proof {
  const hmac = createHmac('sha256', secret)
  return {
    take: (bytes) => hmac.update(bytes),
    delivery: () => {
      const signature = hmac.digest('hex')
      return areEqual(given, prefix + signature) ? signature : undefined
    },
  }
}

type Header = (name: string) => string

/** How a signing token of GitLab begins; the key follows in base64, as Standard Webhooks has it. */
const SIGNING_TOKEN = 'whsec_'

/** How far from now a signed time may be. Standard Webhooks leaves it open; its libraries all have this. */
const TOLERANCE_MS = 300_000

/** HMAC-SHA-256 of id, time and body, in base64 (Standard Webhooks 1.0.0, signature scheme v1). */
function signedMessage(secret: string, header: Header, now: Date): Proof {
  const [id, timestamp] = [header('webhook-id'), header('webhook-timestamp')]
  const key = Buffer.from(secret.slice(SIGNING_TOKEN.length), 'base64')
  const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`)
  const isFresh = Math.abs(Number(timestamp) * 1000 - now.getTime()) <= TOLERANCE_MS
  // With a dot in the id, a part of the signed body could pass for the time.
  const isWellFormed = key.length > 0 && /^[\w-]{1,256}$/.test(id) && /^\d{1,12}$/.test(timestamp)
  return {
    take: (bytes) => hmac.update(bytes),
    delivery: () => {
      const signature = `v1,${hmac.digest('base64')}`
      // Several while the sender's secret is being replaced.
      const isSigned = header('webhook-signature')
        .split(' ')
        .some((given) => areEqual(given, signature))
      return isWellFormed && isFresh && isSigned ? id : undefined
    },
  }
}

/** The secret itself. It says nothing about the body, so that an id from beside it has to tell deliveries apart. */
function plainToken(secret: string, header: Header): Proof {
  const body = createHash('sha256')
  const isKnown = areEqual(header('x-gitlab-token'), secret)
  const id = header('idempotency-key') || header('x-gitlab-event-uuid')
  return {
    take: (bytes) => body.update(bytes),
    delivery: () => {
      const digest = body.update(`\0${id}`).digest('hex')
      return isKnown ? digest : undefined
    },
  }
}

/** In a time that depends on neither text: the digests have one length, and betray nothing of where texts differ. */
function areEqual(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHash('sha256').update(text).digest())
  return a !== undefined && b !== undefined && timingSafeEqual(a, b)
}
