import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

/**
 * The type of the signatures of a key. `note`: of the text of a note (c2sp.org/signed-note). `cosignature`: of the head of
 * a log and a time, by a witness of that log (c2sp.org/tlog-cosignature).
 */
export type SignatureType = 'note' | 'cosignature'

/** A public key that verifies notes (c2sp.org/signed-note). */
export interface NoteVerifier {
  readonly type: SignatureType
  /** A name without spaces and `+`, such as an address without its scheme. */
  readonly name: string
  /** The first four bytes of a digest of the name, the type and the key. */
  readonly id: number
  readonly key: KeyObject
}

/** A private key that signs notes. */
export interface NoteSigner extends NoteVerifier {
  readonly secret: KeyObject
}

/** A note whose text at least one known key has signed. */
export interface OpenedNote {
  /** Ends with a line break. */
  readonly text: string
  /** The keys whose signatures are valid, in the order of the note. */
  readonly signers: readonly NoteVerifier[]
}

/** The reason why a note is not accepted. */
export class NoteRefusedError extends Error {}

/** Signs the text, which ends with a line break and has no other control character. */
export function signNote(text: string, signers: readonly NoteSigner[]): string {
  if (!isNoteText(text)) throw new TypeError('A note ends with a line break and has no other control character')
  const lines = signers.map((signer) => {
    if (signer.type !== 'note') throw new TypeError(`The key "${signer.name}" signs with a time`)
    return signatureLine(signer, sign(null, Buffer.from(text), signer.secret))
  })
  return `${text}\n${lines.join('')}`
}

/** The line that a witness adds to the head of a log with this text: it has seen no larger one at this time. */
export function cosignatureLine(text: string, signer: NoteSigner, at: Date): string {
  if (signer.type !== 'cosignature') throw new TypeError(`The key "${signer.name}" signs without a time`)
  const time = Buffer.alloc(TIME_BYTES)
  time.writeBigUInt64BE(BigInt(Math.floor(at.getTime() / 1_000)))
  const signature = sign(null, cosignedMessage(text, time.readBigUInt64BE()), signer.secret)
  return signatureLine(signer, Buffer.concat([time, signature]))
}

function signatureLine({ name, id }: NoteSigner, signature: Uint8Array): string {
  const start = Buffer.alloc(4)
  start.writeUInt32BE(id)
  return `${DASH}${name} ${Buffer.concat([start, signature]).toString('base64')}\n`
}

function cosignedMessage(text: string, seconds: bigint): Buffer {
  return Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`)
}

/**
 * Returns the text of the note and its signers. Throws `NoteRefusedError` if the form is wrong, if a signature of a known key
 * is invalid, or if there is none. Signatures of unknown keys are ignored.
 */
export function openNote(note: string, verifiers: readonly NoteVerifier[]): OpenedNote {
  const [text, lines] = partsOf(note)
  const signers: NoteVerifier[] = []
  for (const line of lines) {
    const { name, id, signature } = signatureIn(line)
    const verifier = verifiers.find((one) => one.name === name && one.id === id)
    if (verifier === undefined || signers.includes(verifier)) continue
    if (!isSignatureOf(text, verifier, signature))
      throw new NoteRefusedError(`the signature of the key "${name}" is invalid`)
    signers.push(verifier)
  }
  if (signers.length === 0) throw new NoteRefusedError('no known key has signed it')
  return { text, signers }
}

function isSignatureOf(text: string, { type, key }: NoteVerifier, signature: Buffer): boolean {
  if (type === 'note') return verify(null, Buffer.from(text), key, signature)
  if (signature.length !== TIME_BYTES + SIGNATURE_BYTES) return false
  const seconds = signature.readBigUInt64BE()
  // A witness states the time (c2sp.org/tlog-witness); 0 would leave it out.
  if (seconds === 0n || seconds > MOST_SECONDS) return false
  return verify(null, cosignedMessage(text, seconds), key, signature.subarray(TIME_BYTES))
}

/** The signature lines of a note, each with its line break, by the keys that can verify them. */
export function signatureLines(note: string, verifiers: readonly NoteVerifier[]): ReadonlyMap<NoteVerifier, string> {
  const lines = new Map<NoteVerifier, string>()
  for (const line of partsOf(note)[1]) {
    const { name, id } = signatureIn(line)
    const verifier = verifiers.find((one) => one.name === name && one.id === id)
    if (verifier !== undefined && !lines.has(verifier)) lines.set(verifier, `${line}\n`)
  }
  return lines
}

function partsOf(note: string): readonly [text: string, signatures: readonly string[]] {
  if (note.length > MOST_CHARACTERS) throw new NoteRefusedError(`it has over ${MOST_CHARACTERS} characters`)
  const at = note.lastIndexOf('\n\n')
  if (at === -1) throw new NoteRefusedError('it has no signatures')
  const [text, signatures] = [note.slice(0, at + 1), note.slice(at + 2)]
  if (!isNoteText(text) || !isNoteText(signatures)) throw new NoteRefusedError('it has the wrong form')
  return [text, signatures.slice(0, -1).split('\n')]
}

/** Every valid note is well-formed UTF-8, whose only control character is the line break. */
function isNoteText(text: string): boolean {
  // eslint-disable-next-line no-control-regex
  return text.endsWith('\n') && text.isWellFormed() && !/[\u0000-\u0009\u000B-\u001F]/.test(text)
}

interface NoteSignature {
  readonly name: string
  readonly id: number
  readonly signature: Buffer
}

function signatureIn(line: string): NoteSignature {
  const [, name = '', base64 = ''] = /^\u2014 (\S+) ([A-Za-z\d+/]+={0,2})$/.exec(line) ?? []
  const bytes = Buffer.from(base64, 'base64')
  if (!isKeyName(name) || bytes.length < 5 || bytes.toString('base64') !== base64)
    throw new NoteRefusedError('it has a line that is no signature')
  return { name, id: bytes.readUInt32BE(), signature: bytes.subarray(4) }
}

const DASH = '\u2014 '
const SIGNATURE_BYTES = 64
/** A cosignature begins with its time, in seconds since 1970. */
const TIME_BYTES = 8
const MOST_SECONDS = 2n ** 63n - 1n
/** Far more than a checkpoint with a hundred signatures has. */
const MOST_CHARACTERS = 2 ** 16

/** Returns the public key in its text form: `name+id+base64`. */
export function verifierText({ name, id, key, type }: NoteVerifier): string {
  const typed = Buffer.concat([Buffer.of(TYPE_BYTES[type]), rawPublicKey(key)])
  return `${name}+${id.toString(16).padStart(8, '0')}+${typed.toString('base64')}`
}

/** Parses a public key of this type in its text form. `undefined` if it is none, or none for Ed25519. */
export function parseVerifier(text: string, type: SignatureType = 'note'): NoteVerifier | undefined {
  const parts = keyParts(text, type)
  if (parts === undefined) return undefined
  const verifier = verifierOf(parts.name, parts.bytes, type)
  return verifier.id === parts.id ? verifier : undefined
}

/** The parts of the text of a key, public or private; both have 32 bytes. */
function keyParts(
  text: string,
  type: SignatureType,
): { readonly name: string; readonly id: number; readonly bytes: Uint8Array } | undefined {
  const [, name = '', hex = '', base64 = ''] = /^([^+]+)\+([\da-f]{8})\+([A-Za-z\d+/]+={0,2})$/.exec(text) ?? []
  const typed = Buffer.from(base64, 'base64')
  if (!isKeyName(name) || typed.length !== 1 + KEY_BYTES || typed[0] !== TYPE_BYTES[type]) return undefined
  return { name, id: Number.parseInt(hex, 16), bytes: typed.subarray(1) }
}

/** Returns a private key in its text form, as golang.org/x/mod/sumdb/note has it: `PRIVATE+KEY+name+id+base64`. */
export function signerText({ name, id, type }: NoteVerifier, seed: Uint8Array): string {
  const typed = Buffer.concat([Buffer.of(TYPE_BYTES[type]), seed])
  return `${SECRET_START}${name}+${id.toString(16).padStart(8, '0')}+${typed.toString('base64')}`
}

/** Parses a private key of this type in its text form. `undefined` if it is none, or none for Ed25519. */
export function parseSigner(text: string, type: SignatureType = 'note'): NoteSigner | undefined {
  if (!text.startsWith(SECRET_START)) return undefined
  const parts = keyParts(text.slice(SECRET_START.length), type)
  if (parts === undefined) return undefined
  const signer = signerOf(parts.name, parts.bytes, type)
  return signer.id === parts.id ? signer : undefined
}

const SECRET_START = 'PRIVATE+KEY+'

/** Returns the signer of this name with the seed of an Ed25519 key, 32 bytes (RFC 8032, section 5.1.5). */
export function signerOf(name: string, seed: Uint8Array, type: SignatureType = 'note'): NoteSigner {
  if (!isKeyName(name)) throw new TypeError(`"${name}" is no name of a key`)
  const secret = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' })
  return { ...verifierOf(name, rawPublicKey(createPublicKey(secret)), type), secret }
}

/** Returns the same key under another name, and so with another id. */
export function renamedSigner({ key, secret, type }: NoteSigner, name: string): NoteSigner {
  if (!isKeyName(name)) throw new TypeError(`"${name}" is no name of a key`)
  return { ...verifierOf(name, rawPublicKey(key), type), secret }
}

function verifierOf(name: string, raw: Uint8Array, type: SignatureType): NoteVerifier {
  const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: 'der', type: 'spki' })
  const digest = createHash('sha256').update(`${name}\n`).update(Buffer.of(TYPE_BYTES[type])).update(raw).digest()
  return { type, name, id: digest.readUInt32BE(), key }
}

function rawPublicKey(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(-KEY_BYTES)
}

/** True for a name that may stand in a signature line. */
export function isKeyName(name: string): boolean {
  return name !== '' && name.isWellFormed() && !/[\s+\p{Cc}]/u.test(name)
}

/** The types in c2sp.org/signed-note: Ed25519 signatures, and Ed25519 cosignatures. */
const TYPE_BYTES: Readonly<Record<SignatureType, number>> = { note: 1, cosignature: 4 }
const KEY_BYTES = 32
/** The bytes before the 32 of an Ed25519 key in DER (RFC 8410). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
