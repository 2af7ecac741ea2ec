import type * as OpenPgp from 'openpgp'
import type { Key, SignaturePacket, Subkey } from 'openpgp'
import { TRUST_LIMITS, Unproven } from '../model/signers.ts'
import type { Signed } from '../model/signers.ts'
import type { SignatureClaim } from './ssh-signature.ts'

type Library = typeof OpenPgp

/** Loads a megabyte of code that most installations never need. */
function loadLibrary(): Promise<Library> {
  return import('openpgp')
}

/**
 * The signer, by the keyring. Throws `Unproven` if the signature is not a valid one by a key in it. The key must have
 * been valid at the date in the signature; a signature with an expiry must be valid now.
 */
export async function openpgpSignerOf(
  { payload, signature }: SignatureClaim,
  keyring: string,
  now: Date,
): Promise<Signed> {
  const library = await loadLibrary()
  const keys = await readKeyring(library, keyring)
  const packet = await readPacket(library, signature)
  expectUsable(library, packet, now)
  const candidates = keys.filter((key) => key.getKeys(packet.issuerKeyID).length > 0)
  if (candidates.length === 0)
    throw new Unproven(`is signed by the key ${issuerOf(packet)}, which is not in the keyring`)
  const refusals: Unproven[] = []
  for (const key of candidates) {
    try {
      return await signerBy(library, key, packet, payload)
    } catch (error) {
      if (!(error instanceof Unproven)) throw error
      refusals.push(error)
    }
  }
  throw refusals[0] ?? new Unproven('is not signed')
}

/** Every key of the keyring, in any number of armored blocks. */
async function readKeyring(library: Library, text: string): Promise<readonly Key[]> {
  if (Buffer.byteLength(text) > TRUST_LIMITS.keyringBytes)
    throw unusable(`it is over ${TRUST_LIMITS.keyringBytes} bytes`)
  if (text.includes('-----BEGIN PGP PRIVATE KEY')) throw unusable('it holds a private key')
  const blocks = text
    .replaceAll('\r\n', '\n')
    .split(/^(?=-----BEGIN PGP PUBLIC KEY BLOCK-----)/m)
    .filter((block) => block.trim() !== '')
  if (blocks.length === 0) throw unusable('it is empty')
  const keys = await Promise.all(blocks.map((block, index) => readBlock(library, block, index + 1)))
  return mergeKeys(keys.flat())
}

/** Merges all copies of a key, such as one that was added again after it was revoked. */
async function mergeKeys(keys: readonly Key[]): Promise<readonly Key[]> {
  const whole = new Map<string, Key>()
  for (const key of keys) {
    const fingerprint = key.getFingerprint()
    const earlier = whole.get(fingerprint)
    const both = earlier === undefined ? key : await translateRejection(earlier.update(key), unusable)
    whole.set(fingerprint, both)
  }
  return [...whole.values()]
}

async function readBlock(library: Library, armoredKeys: string, number: number): Promise<readonly Key[]> {
  if (!isOneBlock(armoredKeys, 'PUBLIC KEY BLOCK')) {
    throw unusable(`block ${number} of it is not an armored block of public keys`)
  }
  return translateRejection(library.readKeys({ armoredKeys }), (reason) => unusable(`block ${number} of it: ${reason}`))
}

/**
 * True if nothing precedes or follows the block, and there is no second one: the library would read the first and
 * ignore the rest.
 */
function isOneBlock(text: string, kind: string): boolean {
  const [begin, end] = [`-----BEGIN PGP ${kind}-----\n`, `\n-----END PGP ${kind}-----`]
  const block = text.trimEnd()
  return block.startsWith(begin) && block.endsWith(end) && !block.slice(begin.length, -end.length).includes('-----')
}

function unusable(why: string): Unproven {
  return new Unproven(`cannot be checked, because the keyring cannot be read: ${why}`)
}

async function readPacket(library: Library, armoredSignature: string): Promise<SignaturePacket> {
  if (!isOneBlock(armoredSignature, 'SIGNATURE')) throw unreadable('it is not in its armor')
  const signature = await translateRejection(library.readSignature({ armoredSignature }), unreadable)
  const [packet] = signature.packets
  // Of two signatures, one could be valid and the other not. git accepts neither, and neither do we.
  if (signature.packets.length > 1) throw unreadable('it holds more than one signature')
  // The library uses another packet class for an unknown version or algorithm.
  if (!(packet instanceof library.SignaturePacket)) throw unreadable('it is of a form that is not supported')
  return packet
}

function unreadable(why: string): Unproven {
  return new Unproven(`has an OpenPGP signature that cannot be read: ${why}`)
}

/** The checks of a signature that need no key. */
function expectUsable({ enums }: Library, packet: SignaturePacket, now: Date): void {
  const { binary } = enums.signature
  // A signature of another type, such as a standalone one, covers something else or nothing.
  if (packet.signatureType !== binary) throw unreadable('it is not one of a document')
  const { sha256, sha384, sha512, sha3_256, sha3_512 } = enums.hash
  const hash = packet.hashAlgorithm ?? undefined
  if (hash === undefined || ![sha256, sha384, sha512, sha3_256, sha3_512].includes(hash)) {
    throw new Unproven(`has an OpenPGP signature made with ${hashName(enums, hash)}, which is too weak`)
  }
  const expiry = packet.getExpirationTime()
  if (expiry instanceof Date && expiry <= now) {
    throw new Unproven(`has an OpenPGP signature that expired on ${dateText(expiry)}`)
  }
}

function hashName(enums: Library['enums'], hash: number | undefined): string {
  const [name] = Object.entries(enums.hash).find(([, value]) => value === hash) ?? []
  return name === undefined ? `the unknown hash ${hash}` : `the hash ${name.toUpperCase()}`
}

function dateText(date: Date): string {
  return date.toISOString().replace('.000', '')
}

/** The full fingerprint if the signature has it, else the shorter id. */
function issuerOf({ issuerFingerprint, issuerKeyID }: SignaturePacket): string {
  const hex = issuerFingerprint === null ? issuerKeyID.toHex() : Buffer.from(issuerFingerprint).toString('hex')
  return hex.toUpperCase()
}

async function signerBy(library: Library, key: Key, packet: SignaturePacket, payload: Buffer): Promise<Signed> {
  const fingerprint = key.getFingerprint().toUpperCase()
  const refusal = (why: string) => new Unproven(`is signed by the key ${fingerprint}, which ${why}`)
  const { signing, ends } = await signingKeyOf(key, packet, refusal)
  await expectSigned(library, signing, packet, payload)
  const { user } = await translateRejection(key.getPrimaryUser(), (reason) => refusal(`names no signer: ${reason}`))
  return { scheme: 'openpgp', principal: user.userID?.userID ?? '', fingerprint, ends }
}

/**
 * The key or the subkey that signed, if it may sign, is not revoked and had not expired; and the earlier expiry of the
 * two.
 */
async function signingKeyOf(
  key: Key,
  { issuerKeyID, created }: SignaturePacket,
  refusal: (why: string) => Unproven,
): Promise<{ readonly signing: Key | Subkey; readonly ends: number | undefined }> {
  // Without a date: a revoked key is refused for any reason and any time of revocation, since the date of a signature
  // is only a claim of the key's holder. An extended expiry renews the key, with everything that it signed before.
  const signing = await translateRejection(key.getSigningKey(issuerKeyID, null), (reason) =>
    refusal(`may not sign: ${reason}`),
  )
  const expiries = [await key.getExpirationTime(), await signing.getExpirationTime()]
  for (const expiry of expiries) {
    if (expiry === null) throw refusal('is not confirmed by its owner')
    if (expiry instanceof Date && !(created !== null && created < expiry)) {
      throw refusal(`expired on ${dateText(expiry)}, before it signed`)
    }
  }
  if (created === null || signing.getCreationTime() > created) throw refusal('is newer than its signature')
  const ends = Math.min(...expiries.map((expiry) => (expiry instanceof Date ? expiry.getTime() / 1000 : Infinity)))
  return { signing, ends: ends === Infinity ? undefined : ends }
}

async function expectSigned(
  library: Library,
  signing: Key | Subkey,
  packet: SignaturePacket,
  payload: Buffer,
): Promise<void> {
  const message = await library.createMessage({ binary: new Uint8Array(payload) })
  const [literal] = message.packets
  const doesNotHold = (reason: string) => new Unproven(`has an OpenPGP signature that does not hold: ${reason}`)
  if (literal === undefined) throw doesNotHold('it is of nothing')
  // Verified at its own date: its expiry was checked before.
  const verified = packet.verify(
    signing.keyPacket,
    library.enums.signature.binary,
    literal,
    packet.created ?? undefined,
    true,
  )
  await translateRejection(verified, doesNotHold)
}

/** Any rejection by the library, whatever it throws, is a fault of the input. */
async function translateRejection<T>(work: Promise<T>, refusal: (reason: string) => Unproven): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw refusal(error instanceof Error ? (error.message.split('\n')[0] ?? '').slice(0, 200) : 'no reason was given')
  }
}
