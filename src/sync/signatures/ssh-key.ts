import { createHash, createPublicKey, verify } from 'node:crypto'
import type { JsonWebKey, KeyObject } from 'node:crypto'
import { Unproven } from '../model/signers.ts'
import { MalformedSsh, SshReader, sshStrings } from './ssh-wire.ts'

/** A public SSH key of one of the types whose signatures we check. */
export interface SshPublicKey {
  readonly type: string
  /** The key in wire form; two keys are equal if these bytes are. */
  readonly blob: Buffer
  readonly algorithm: Algorithm
  readonly public: KeyObject
  /** The application that a security key signs for; `undefined` for a key in a file. */
  readonly application: string | undefined
}

type Algorithm =
  | { readonly kind: 'ed25519' }
  | { readonly kind: 'ecdsa'; readonly curve: Curve }
  | { readonly kind: 'rsa'; readonly bytes: number }

interface Curve {
  readonly name: string
  readonly jwk: string
  readonly bytes: number
  readonly hash: string
}

interface KeyType {
  readonly kind: 'ed25519' | 'rsa' | Curve
  readonly onSecurityKey: boolean
}

const P256: Curve = { name: 'nistp256', jwk: 'P-256', bytes: 32, hash: 'sha256' }
const P384: Curve = { name: 'nistp384', jwk: 'P-384', bytes: 48, hash: 'sha384' }
const P521: Curve = { name: 'nistp521', jwk: 'P-521', bytes: 66, hash: 'sha512' }

const KEY_TYPES: ReadonlyMap<string, KeyType> = new Map([
  ['ssh-ed25519', { kind: 'ed25519', onSecurityKey: false }],
  ['ssh-rsa', { kind: 'rsa', onSecurityKey: false }],
  ['ecdsa-sha2-nistp256', { kind: P256, onSecurityKey: false }],
  ['ecdsa-sha2-nistp384', { kind: P384, onSecurityKey: false }],
  ['ecdsa-sha2-nistp521', { kind: P521, onSecurityKey: false }],
  ['sk-ssh-ed25519@openssh.com', { kind: 'ed25519', onSecurityKey: true }],
  ['sk-ecdsa-sha2-nistp256@openssh.com', { kind: P256, onSecurityKey: true }],
])

/** The minimum size of an RSA key. OpenSSH still accepts 1024. */
const LEAST_RSA_BITS = 2048
/** The maximum of OpenSSH and OpenSSL; a larger key costs time and proves nothing. */
const MOST_RSA_BITS = 16_384

/** True if `readSshKey` supports keys of the type. */
export function isKeyType(type: string): boolean {
  return KEY_TYPES.has(type)
}

/** Reads a key in wire form. Throws `MalformedSsh`. */
export function readSshKey(blob: Buffer): SshPublicKey {
  const reader = new SshReader(blob)
  const key = readKeyFields(reader.text(), reader)
  reader.end()
  return key
}

/** Reads the fields after the type, which a key and its certificate share. */
export function readKeyFields(type: string, reader: SshReader): SshPublicKey {
  const known = KEY_TYPES.get(type)
  if (known === undefined)
    throw new MalformedSsh(`keys of the type ${JSON.stringify(type.slice(0, 100))} are not supported`)
  const fields = readPublic(known.kind, reader)
  const application = known.onSecurityKey ? reader.string() : undefined
  const strings = [type, ...fields.strings, ...(application === undefined ? [] : [application])]
  return {
    type,
    blob: sshStrings(...strings),
    algorithm: fields.algorithm,
    public: fields.public,
    application: application?.toString('utf8'),
  }
}

interface PublicFields {
  readonly algorithm: Algorithm
  readonly public: KeyObject
  /** As in the wire form. */
  readonly strings: readonly (string | Buffer)[]
}

function readPublic(kind: KeyType['kind'], reader: SshReader): PublicFields {
  if (kind === 'ed25519') return readEd25519(reader)
  if (kind === 'rsa') return readRsa(reader)
  return readEcdsa(kind, reader)
}

function readEd25519(reader: SshReader): PublicFields {
  const point = reader.string()
  if (point.length !== 32) throw new MalformedSsh('its key has not 32 bytes')
  const key = publicKey({ kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') })
  return { algorithm: { kind: 'ed25519' }, public: key, strings: [point] }
}

function readRsa(reader: SshReader): PublicFields {
  const e = reader.magnitude()
  const n = reader.magnitude()
  const bits = n.length * 8 - Math.clz32(n[0] ?? 0) + 24
  if (bits < LEAST_RSA_BITS) throw new MalformedSsh(`its RSA key has ${bits} bits; ${LEAST_RSA_BITS} are needed`)
  if (bits > MOST_RSA_BITS)
    throw new MalformedSsh(`its RSA key has ${bits} bits; ${MOST_RSA_BITS} are supported at most`)
  const key = publicKey({ kty: 'RSA', n: n.toString('base64url'), e: e.toString('base64url') })
  return { algorithm: { kind: 'rsa', bytes: n.length }, public: key, strings: [positive(e), positive(n)] }
}

function readEcdsa(curve: Curve, reader: SshReader): PublicFields {
  if (reader.text() !== curve.name) throw new MalformedSsh('its curve is not that of its type')
  const point = reader.string()
  // OpenSSH accepts no compressed points either.
  if (point.length !== 1 + 2 * curve.bytes || point[0] !== 4)
    throw new MalformedSsh('its point is not in the plain form')
  const x = point.subarray(1, 1 + curve.bytes).toString('base64url')
  const y = point.subarray(1 + curve.bytes).toString('base64url')
  const key = publicKey({ kty: 'EC', crv: curve.jwk, x, y })
  return { algorithm: { kind: 'ecdsa', curve }, public: key, strings: [curve.name, point] }
}

/** A number that begins with a set bit gets a leading zero; otherwise it would be negative. */
function positive(magnitude: Buffer): Buffer {
  return (magnitude[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.alloc(1), magnitude]) : magnitude
}

function publicKey(jwk: JsonWebKey): KeyObject {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' })
  } catch {
    throw new MalformedSsh('its key is none of its type')
  }
}

/** The fingerprint as `ssh-keygen -l` prints it. */
export function fingerprintOf({ blob }: SshPublicKey): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`
}

/** The rule for the touch of a security key. `required`: the signature must state that the user touched it. */
export type Touch = 'required' | 'waived'

/**
 * Throws `Unproven` unless the signature, in the wire form of RFC 4253, section 6.6, and of PROTOCOL.u2f, is one of the
 * data by the key. Throws `MalformedSsh` if it is not a signature at all.
 */
export function expectSignedBy(key: SshPublicKey, signature: Buffer, data: Buffer, touch: Touch): void {
  const reader = new SshReader(signature)
  const algorithm = reader.text()
  const value = reader.string()
  const hash = hashOf(key, algorithm)
  const signed = key.application === undefined ? data : onSecurityKey(key.application, reader, data, touch)
  reader.end()
  if (!isValid(key, hash, signed, signatureBytes(key, value))) throw new Unproven(DOES_NOT_HOLD)
}

export const DOES_NOT_HOLD = 'has a signature that does not belong to its content'

/** The hash that the algorithm begins with; `undefined` if the algorithm includes it. */
function hashOf({ type, algorithm }: SshPublicKey, name: string): string | undefined {
  if (algorithm.kind === 'rsa') {
    if (name === 'rsa-sha2-256') return 'sha256'
    if (name === 'rsa-sha2-512') return 'sha512'
    if (name === 'ssh-rsa') throw new Unproven('has an RSA signature made with SHA-1, which is too weak')
  }
  if (name !== type || algorithm.kind === 'rsa') {
    throw new MalformedSsh(`its algorithm ${JSON.stringify(name.slice(0, 100))} is none for a key of the type ${type}`)
  }
  return algorithm.kind === 'ecdsa' ? algorithm.curve.hash : undefined
}

const USER_PRESENT = 0x01

/** The data that a security key really signs: hashes of the data and of its application, its flags and its counter. */
function onSecurityKey(application: string, reader: SshReader, data: Buffer, touch: Touch): Buffer {
  const state = reader.take(5)
  if (touch === 'required' && (state.readUInt8() & USER_PRESENT) === 0) {
    throw new Unproven('is signed by a security key without a touch')
  }
  return Buffer.concat([sha256(application), state, sha256(data)])
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}

/** The signature in the form of node:crypto. */
function signatureBytes({ algorithm }: SshPublicKey, value: Buffer): Buffer {
  switch (algorithm.kind) {
    case 'ed25519':
      if (value.length !== 64) throw new MalformedSsh('it has not 64 bytes')
      return value
    case 'rsa':
      return leftPadded(value, algorithm.bytes)
    case 'ecdsa': {
      const reader = new SshReader(value)
      const numbers = [reader.magnitude(), reader.magnitude()]
      reader.end()
      return Buffer.concat(numbers.map((number) => leftPadded(number, algorithm.curve.bytes)))
    }
  }
}

function leftPadded(bytes: Buffer, length: number): Buffer {
  if (bytes.length > length) throw new MalformedSsh('it is longer than its key')
  return Buffer.concat([Buffer.alloc(length - bytes.length), bytes])
}

function isValid(key: SshPublicKey, hash: string | undefined, data: Buffer, signature: Buffer): boolean {
  try {
    return verify(hash, data, { key: key.public, dsaEncoding: 'ieee-p1363' }, signature)
  } catch {
    // OpenSSL does not compute with some numbers, such as an exponent of thousands of bits.
    return false
  }
}
