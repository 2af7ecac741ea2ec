import { createHash } from 'node:crypto'
import { Unproven } from '../model/signers.ts'
import type { Signed } from '../model/signers.ts'
import { principalOf, readAllowedSigners } from './allowed-signers.ts'
import type { PresentedKey } from './allowed-signers.ts'
import { certifiedType, readCertificate, touchOf } from './ssh-certificate.ts'
import { expectSignedBy, fingerprintOf, readSshKey } from './ssh-key.ts'
import { fromBase64, MalformedSsh, SshReader, sshStrings } from './ssh-wire.ts'

/**
 * The namespace that git signs for. A signature for another one, such as a file or a mail, proves nothing about a
 * commit.
 */
const NAMESPACE = 'git'

/** A signature, and the data that it is claimed to cover. */
export interface SignatureClaim {
  readonly payload: Buffer
  /** Armored. */
  readonly signature: string
  /** The time of the signature by the claim of its signer, in seconds since 1970. */
  readonly seconds: number
}

/** The signer, by the list. Throws `Unproven` if the signature is not a valid one of an allowed signer. */
export function sshSignerOf({ payload, signature, seconds }: SignatureClaim, allowedSigners: string): Signed {
  const signers = readAllowedSigners(allowedSigners)
  try {
    const signed = readSshSignature(signature)
    // The key must be in the list first: an unknown key never reaches the arithmetic.
    const named = principalOf(signed.presented, signers, { namespace: NAMESPACE, seconds })
    expectSigned(signed, payload)
    return { scheme: 'ssh', ...named, fingerprint: fingerprintOf(signed.presented.key) }
  } catch (error) {
    if (error instanceof MalformedSsh) throw new Unproven(`has an SSH signature that cannot be read: ${error.message}`)
    throw error
  }
}

interface SshSignature {
  readonly presented: PresentedKey
  readonly hash: 'sha256' | 'sha512'
  readonly value: Buffer
}

const MAGIC = 'SSHSIG'

/** The format of OpenSSH's PROTOCOL.sshsig. */
function readSshSignature(armored: string): SshSignature {
  const reader = new SshReader(dearmor(armored))
  if (reader.take(MAGIC.length).toString('latin1') !== MAGIC) throw new MalformedSsh('it does not begin as one')
  const version = reader.uint32()
  if (version !== 1) throw new MalformedSsh(`its version is ${version}, not 1`)
  const presented = readPresented(reader.string())
  const namespace = reader.text()
  if (namespace !== NAMESPACE) {
    throw new Unproven(`has a signature for ${JSON.stringify(namespace.slice(0, 100))}, not for "${NAMESPACE}"`)
  }
  if (reader.string().length > 0) throw new MalformedSsh('its reserved field is not empty')
  const hash = reader.text()
  if (hash !== 'sha256' && hash !== 'sha512') {
    throw new MalformedSsh(`its hash is ${JSON.stringify(hash.slice(0, 100))}, not sha256 or sha512`)
  }
  const value = reader.string()
  reader.end()
  return { presented, hash, value }
}

/** Accepts only the form that git writes, so that no byte of it can differ. */
function dearmor(armored: string): Buffer {
  const [, body] =
    /^-----BEGIN SSH SIGNATURE-----\n((?:[A-Za-z0-9+/=]+\n)+)-----END SSH SIGNATURE-----\n*$/.exec(armored) ?? []
  if (body === undefined) throw new MalformedSsh('it is not in its armor')
  return fromBase64(body.replaceAll('\n', ''))
}

function readPresented(blob: Buffer): PresentedKey {
  if (certifiedType(new SshReader(blob).text()) === undefined) return { key: readSshKey(blob), certificate: undefined }
  const certificate = readCertificate(blob)
  return { key: certificate.key, certificate }
}

function expectSigned({ presented, hash, value }: SshSignature, payload: Buffer): void {
  const digest = createHash(hash).update(payload).digest()
  const signed = Buffer.concat([Buffer.from(MAGIC), sshStrings(NAMESPACE, '', hash, digest)])
  // The list of signers has no option to waive it; a certificate has.
  const touch = presented.certificate === undefined ? 'required' : touchOf(presented.certificate)
  expectSignedBy(presented.key, value, signed, touch)
}
