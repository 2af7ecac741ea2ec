import { Unproven } from '../model/signers.ts'
import { expectSignedBy, isKeyType, readKeyFields, readSshKey } from './ssh-key.ts'
import type { SshPublicKey, Touch } from './ssh-key.ts'
import { MalformedSsh, SshReader } from './ssh-wire.ts'

/** An authority's statement about a key. Nothing in it is proved before `expectCertified`. */
export interface SshCertificate {
  readonly key: SshPublicKey
  /** The key of the authority. */
  readonly authority: SshPublicKey
  readonly isOfUser: boolean
  readonly principals: readonly string[]
  /** Seconds since 1970, the first included and the second not. */
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly criticalOptions: readonly string[]
  readonly extensions: readonly string[]
  /** The bytes that the authority signed, and its signature. */
  readonly signed: Buffer
  readonly signature: Buffer
}

const SUFFIX = '-cert-v01@openssh.com'

/** The type of the certified key; `undefined` if the type is not one of a certificate. */
export function certifiedType(type: string): string | undefined {
  if (!type.endsWith(SUFFIX)) return undefined
  const plain = type.slice(0, -SUFFIX.length)
  return [plain, `${plain}@openssh.com`].find(isKeyType)
}

/** Reads a certificate in wire form (PROTOCOL.certkeys). Throws `MalformedSsh`. */
export function readCertificate(blob: Buffer): SshCertificate {
  const reader = new SshReader(blob)
  const type = certifiedType(reader.text())
  if (type === undefined) throw new MalformedSsh('it is of a certificate of no known type')
  // The nonce: random data that makes the signed bytes unpredictable.
  reader.string()
  const key = readKeyFields(type, reader)
  reader.uint64() // the serial number
  const kind = reader.uint32()
  reader.string() // the id of the certificate, for logs
  const principals = namesIn(reader.string(), (names) => names.text())
  const validAfter = reader.uint64()
  const validBefore = reader.uint64()
  const [criticalOptions, extensions] = [namesIn(reader.string(), optionName), namesIn(reader.string(), optionName)]
  reader.string() // reserved
  const authority = readSshKey(reader.string())
  const signed = blob.subarray(0, reader.position)
  const signature = reader.string()
  reader.end()
  const isOfUser = kind === 1
  return {
    key,
    authority,
    isOfUser,
    principals,
    validAfter,
    validBefore,
    criticalOptions,
    extensions,
    signed,
    signature,
  }
}

/** The limit of OpenSSH. */
const MOST_NAMES = 256

function namesIn(bytes: Buffer, next: (reader: SshReader) => string): readonly string[] {
  const reader = new SshReader(bytes)
  const names: string[] = []
  while (!reader.isAtEnd) {
    if (names.length === MOST_NAMES) throw new MalformedSsh(`its certificate has over ${MOST_NAMES} names in a row`)
    names.push(next(reader))
  }
  return names
}

function optionName(reader: SshReader): string {
  const name = reader.text()
  reader.string()
  return name
}

/** Throws `Unproven` unless the authority signed the certificate, and for a signer of this kind and time. */
export function expectCertified(certificate: SshCertificate, seconds: number): void {
  expectAuthoritySigned(certificate)
  const { isOfUser, principals, validAfter, validBefore, criticalOptions } = certificate
  const at = BigInt(seconds)
  if (!isOfUser) throw new Unproven('is signed with the certificate of a host; one of a user is needed')
  if (at < validAfter || at >= validBefore) throw new Unproven('is dated outside of the time of its certificate')
  // By the format, a certificate without principals is for everyone; OpenSSH refuses it here, and so do we.
  if (principals.length === 0) throw new Unproven('is signed with a certificate that names no principal')
  const [option] = criticalOptions
  if (option !== undefined) {
    const name = JSON.stringify(option.slice(0, 100))
    throw new Unproven(`is signed with a certificate that has the critical option ${name}, which has no meaning here`)
  }
}

function expectAuthoritySigned({ authority, signed, signature }: SshCertificate): void {
  try {
    expectSignedBy(authority, signature, signed, 'required')
  } catch (error) {
    if (error instanceof Unproven) throw new Unproven('is signed with a certificate that its authority did not sign')
    throw error
  }
}

/** `waived` if the authority allows signatures without a touch of the security key. */
export function touchOf({ extensions }: SshCertificate): Touch {
  return extensions.includes('no-touch-required') ? 'waived' : 'required'
}
