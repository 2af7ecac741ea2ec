import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

/** A public key that verifies notes (c2sp.org/signed-note). */
export interface NoteVerifier {
  /** A name without spaces and `+`, such as an address without its scheme. */
  readonly name: string
  /** The first four bytes of a digest of the name and the key. */
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
export class NoteRefused extends Error {}

/** Signs the text, which ends with a line break and has no other control character. */
export function signNote(text: string, signers: readonly NoteSigner[]): string {
  if (!isNoteText(text)) throw new TypeError('A note ends with a line break and has no other control character')
  const lines = signers.map(({ name, id, secret }) => {
    const signature = Buffer.alloc(4 + SIGNATURE_BYTES)
    signature.writeUInt32BE(id)
    sign(null, Buffer.from(text), secret).copy(signature, 4)
    return `${DASH}${name} ${signature.toString('base64')}\n`
  })
  return `${text}\n${lines.join('')}`
}

/**
 * Returns the text of the note and its signers. Throws `NoteRefused` if the form is wrong, if a signature of a known key
 * is invalid, or if there is none. Signatures of unknown keys are ignored.
 */
export function openNote(note: string, verifiers: readonly NoteVerifier[]): OpenedNote {
  const [text, lines] = partsOf(note)
  const signers: NoteVerifier[] = []
  for (const line of lines) {
    const { name, id, signature } = signatureIn(line)
    const verifier = verifiers.find((one) => one.name === name && one.id === id)
    if (verifier === undefined || signers.includes(verifier)) continue
    if (!verify(null, Buffer.from(text), verifier.key, signature))
      throw new NoteRefused(`the signature of the key "${name}" is invalid`)
    signers.push(verifier)
  }
  if (signers.length === 0) throw new NoteRefused('no known key has signed it')
  return { text, signers }
}

function partsOf(note: string): readonly [text: string, signatures: readonly string[]] {
  if (note.length > MOST_CHARACTERS) throw new NoteRefused(`it has over ${MOST_CHARACTERS} characters`)
  const at = note.lastIndexOf('\n\n')
  if (at === -1) throw new NoteRefused('it has no signatures')
  const [text, signatures] = [note.slice(0, at + 1), note.slice(at + 2)]
  if (!isNoteText(text) || !isNoteText(signatures)) throw new NoteRefused('it has the wrong form')
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
  readonly signature: Uint8Array
}

function signatureIn(line: string): NoteSignature {
  const [, name = '', base64 = ''] = /^\u2014 (\S+) ([A-Za-z\d+/]+={0,2})$/.exec(line) ?? []
  const bytes = Buffer.from(base64, 'base64')
  if (!isKeyName(name) || bytes.length < 5 || bytes.toString('base64') !== base64)
    throw new NoteRefused('it has a line that is no signature')
  return { name, id: bytes.readUInt32BE(), signature: bytes.subarray(4) }
}

const DASH = '\u2014 '
const SIGNATURE_BYTES = 64
/** Far more than a checkpoint with a hundred signatures has. */
const MOST_CHARACTERS = 2 ** 16

/** Returns the public key in its text form: `name+id+base64`. */
export function verifierText({ name, id, key }: NoteVerifier): string {
  const typed = Buffer.concat([Buffer.of(ED25519), rawPublicKey(key)])
  return `${name}+${id.toString(16).padStart(8, '0')}+${typed.toString('base64')}`
}

/** Parses a public key in its text form. `undefined` if it is none, or none for Ed25519. */
export function parseVerifier(text: string): NoteVerifier | undefined {
  const parts = keyParts(text)
  if (parts === undefined) return undefined
  const verifier = verifierOf(parts.name, parts.bytes)
  return verifier.id === parts.id ? verifier : undefined
}

/** The parts of the text of a key of either kind; both have 32 bytes. */
function keyParts(
  text: string,
): { readonly name: string; readonly id: number; readonly bytes: Uint8Array } | undefined {
  const [, name = '', hex = '', base64 = ''] = /^([^+]+)\+([\da-f]{8})\+([A-Za-z\d+/]+={0,2})$/.exec(text) ?? []
  const typed = Buffer.from(base64, 'base64')
  if (!isKeyName(name) || typed.length !== 1 + KEY_BYTES || typed[0] !== ED25519) return undefined
  return { name, id: Number.parseInt(hex, 16), bytes: typed.subarray(1) }
}

/** Returns a private key in its text form, as golang.org/x/mod/sumdb/note has it: `PRIVATE+KEY+name+id+base64`. */
export function signerText({ name, id }: NoteVerifier, seed: Uint8Array): string {
  const typed = Buffer.concat([Buffer.of(ED25519), seed])
  return `${SECRET_START}${name}+${id.toString(16).padStart(8, '0')}+${typed.toString('base64')}`
}

/** Parses a private key in its text form. `undefined` if it is none, or none for Ed25519. */
export function parseSigner(text: string): NoteSigner | undefined {
  if (!text.startsWith(SECRET_START)) return undefined
  const parts = keyParts(text.slice(SECRET_START.length))
  if (parts === undefined) return undefined
  const signer = signerOf(parts.name, parts.bytes)
  return signer.id === parts.id ? signer : undefined
}

const SECRET_START = 'PRIVATE+KEY+'

/** Returns the signer of this name with the seed of an Ed25519 key, 32 bytes (RFC 8032, section 5.1.5). */
export function signerOf(name: string, seed: Uint8Array): NoteSigner {
  if (!isKeyName(name)) throw new TypeError(`"${name}" is no name of a key`)
  const secret = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' })
  return { ...verifierOf(name, rawPublicKey(createPublicKey(secret))), secret }
}

/** Returns the same key under another name, and so with another id. */
export function renamedSigner({ key, secret }: NoteSigner, name: string): NoteSigner {
  if (!isKeyName(name)) throw new TypeError(`"${name}" is no name of a key`)
  return { ...verifierOf(name, rawPublicKey(key)), secret }
}

function verifierOf(name: string, raw: Uint8Array): NoteVerifier {
  const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: 'der', type: 'spki' })
  const digest = createHash('sha256').update(`${name}\n`).update(Buffer.of(ED25519)).update(raw).digest()
  return { name, id: digest.readUInt32BE(), key }
}

function rawPublicKey(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(-KEY_BYTES)
}

/** True for a name that may stand in a signature line. */
export function isKeyName(name: string): boolean {
  return name !== '' && name.isWellFormed() && !/[\s+\p{Cc}]/u.test(name)
}

/** The type of signature in c2sp.org/signed-note. */
const ED25519 = 1
const KEY_BYTES = 32
/** The bytes before the 32 of an Ed25519 key in DER (RFC 8410). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
