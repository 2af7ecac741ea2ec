import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** The provider whose format a webhook request has. */
export type Provider = 'github' | 'gitlab' | 'gitea' | 'forgejo' | 'generic'

/**
 * Verifies that a request comes from a sender with the secret, while the body arrives. It neither keeps nor parses the
 * body.
 */
export interface WebhookProof {
  take(bytes: Uint8Array): void
  /** Returns the unique id of this delivery; call it after the last byte. `undefined` if the request is not proven. */
  delivery(): string | undefined
}

/**
 * Creates the proof that each provider documents. If a signature exists, the delivery id is part of the signed data: an
 * attacker who replays a request could change any other header.
 */
export function webhookProofOf(
  provider: Provider,
  secret: string,
  headers: IncomingHttpHeaders,
  now: Date,
): WebhookProof {
  const header = (name: string): string => headers[name]?.toString() ?? ''
  switch (provider) {
    case 'github':
      return signedBody(secret, 'sha256=', header('x-hub-signature-256'))
    case 'gitea':
      return signedBody(secret, '', header('x-gitea-signature'))
    case 'forgejo':
      // Versions from before Forgejo had its own header send only the Gitea header.
      return signedBody(secret, '', header('x-forgejo-signature') || header('x-gitea-signature'))
    case 'generic':
      return secret.startsWith(BASIC)
        ? basicCredentials(secret, header)
        : signedBody(secret, 'sha256=', anySignature(header))
    case 'gitlab':
      // The form of the secret decides, not the request: a sender must not be able to choose the weaker proof.
      return secret.startsWith(SIGNING_TOKEN) ? signedMessage(secret, header, now) : plainToken(secret, header)
  }
}

/** HMAC-SHA-256 of the body, in hex of either case. */
function signedBody(secret: string, prefix: string, given: string): WebhookProof {
  const hmac = createHmac('sha256', secret)
  return {
    take: (bytes) => hmac.update(bytes),
    delivery: () => {
      const signature = hmac.digest('hex')
      return areEqual(given.toLowerCase(), prefix + signature) ? signature : undefined
    },
  }
}

/** Returns the signature of a program, or of a host without a provider of its own, in the form `sha256=HEX`. */
function anySignature(header: Header): string {
  const bare = header('x-gogs-signature')
  return header('x-skillsyncd-signature') || header('x-hub-signature') || (bare && `sha256=${bare}`)
}

type Header = (name: string) => string

/** Prefix of a GitLab signing token; the key follows in base64, as in Standard Webhooks. */
const SIGNING_TOKEN = 'whsec_'

/** Maximum age or lead of a signed timestamp. Standard Webhooks does not set it; all its libraries use this value. */
const TOLERANCE_MS = 300_000

/** HMAC-SHA-256 of id, time and body, in base64 (Standard Webhooks 1.0.0, signature scheme v1). */
function signedMessage(secret: string, header: Header, now: Date): WebhookProof {
  const [id, timestamp] = [header('webhook-id'), header('webhook-timestamp')]
  const key = Buffer.from(secret.slice(SIGNING_TOKEN.length), 'base64')
  const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`)
  const isFresh = Math.abs(Number(timestamp) * 1000 - now.getTime()) <= TOLERANCE_MS
  // With a dot in the id, a part of the signed body could be read as the timestamp.
  const isWellFormed = key.length > 0 && /^[\w-]{1,256}$/.test(id) && /^\d{1,12}$/.test(timestamp)
  return {
    take: (bytes) => hmac.update(bytes),
    delivery: () => {
      const signature = `v1,${hmac.digest('base64')}`
      // There are several signatures while the sender rotates its secret.
      const isSigned = header('webhook-signature')
        .split(' ')
        .some((given) => areEqual(given, signature))
      return isWellFormed && isFresh && isSigned ? id : undefined
    },
  }
}

/** The secret itself as proof. It does not cover the body, so an id from another header must distinguish deliveries. */
function plainToken(secret: string, header: Header): WebhookProof {
  const id = header('idempotency-key') || header('x-gitlab-event-uuid')
  return unsignedBody(areEqual(header('x-gitlab-token'), secret), id)
}

/** Prefix of a secret that is a user name and a password: `basic:USER:PASSWORD`. */
const BASIC = 'basic:'

/** Credentials as proof, for hosts that sign nothing. The form of the secret decides, as for GitLab. */
function basicCredentials(secret: string, header: Header): WebhookProof {
  const given = header('authorization').replace(/^basic +/i, '')
  const isKnown = areEqual(given, Buffer.from(secret.slice(BASIC.length)).toString('base64'))
  return unsignedBody(isKnown && secret.length > BASIC.length, '')
}

function unsignedBody(isKnown: boolean, id: string): WebhookProof {
  const body = createHash('sha256')
  return {
    take: (bytes) => body.update(bytes),
    delivery: () => {
      const digest = body.update(`\0${id}`).digest('hex')
      return isKnown ? digest : undefined
    },
  }
}

/** Compares in constant time: the digests have equal length, and reveal no position of a difference. */
function areEqual(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHash('sha256').update(text).digest())
  return a !== undefined && b !== undefined && timingSafeEqual(a, b)
}
