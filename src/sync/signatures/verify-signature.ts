import { createHash } from 'node:crypto'
import { Late, TRUST_LIMITS, Unproven } from '../model/signers.ts'
import type { Proven, Signed, Signer, TrustedSigners } from '../model/signers.ts'
import type { Proof } from '../model/tree.ts'
import { dateText } from './allowed-signers.ts'
import { openpgpSignerOf } from './openpgp-signature.ts'
import { sshSignerOf } from './ssh-signature.ts'
import type { SignatureClaim } from './ssh-signature.ts'

/** The objects to verify: raw, without git's header. */
export interface Claimed extends Proof {
  /** The full ref that led here. A signed tag counts only under its own name: the host can put it under any. */
  readonly ref?: string
}

/**
 * Verifies that trusted signers signed what the trust requires. Never throws for the content of the objects or of the
 * trust.
 */
export async function prove(claimed: Claimed, trust: TrustedSigners, now = new Date()): Promise<Proven> {
  const { require } = trust
  try {
    const commit = require === 'tag' ? undefined : await commitSigner(claimed, trust, now)
    const tag = require === 'commit' ? undefined : await tagSigner(claimed, trust, now)
    return { kind: 'proved', ...(commit !== undefined && { commit }), ...(tag !== undefined && { tag }) }
  } catch (error) {
    if (error instanceof Late) return { kind: 'late', why: error.message }
    if (error instanceof Unproven) return { kind: 'refused', why: error.message }
    throw error
  }
}

function commitSigner({ commit }: Claimed, trust: TrustedSigners, now: Date): Promise<Signer> {
  return nameSubject('the commit', () => signerOf(claimOfCommit(commit), trust, now))
}

async function tagSigner({ commit, tag, ref }: Claimed, trust: TrustedSigners, now: Date): Promise<Signer> {
  if (tag === undefined) throw new Unproven('a signed tag is required, and no annotated tag led to the commit')
  return nameSubject('the tag', () => {
    const name = `refs/tags/${nameOfTag(tag)}`
    if (ref !== undefined && ref !== name) throw new Unproven(`is "${name}", and was found as "${ref}"`)
    return signerOf(claimOfTag(tag, commit), trust, now)
  })
}

async function nameSubject(subject: string, find: () => Promise<Signer>): Promise<Signer> {
  try {
    return await find()
  } catch (error) {
    if (error instanceof Late) throw new Late(`${subject} ${error.message}`)
    if (error instanceof Unproven) throw new Unproven(`${subject} ${error.message}`)
    throw error
  }
}

async function signerOf(claim: SignatureClaim, trust: TrustedSigners, now: Date): Promise<Signer> {
  const { ends, ...signer } = await signedBy(claim, trust, now)
  const isLate = ends !== undefined && trust.graceMs !== undefined && now.getTime() > ends * 1000 + trust.graceMs
  if (isLate) throw new Late(`is signed by the key ${signer.fingerprint}, which expired on ${dateText(ends)}`)
  return signer
}

async function signedBy(
  claim: SignatureClaim,
  { allowedSigners, keyring }: TrustedSigners,
  now: Date,
): Promise<Signed> {
  const { signature } = claim
  if (signature.startsWith('-----BEGIN SSH SIGNATURE-----')) {
    if (allowedSigners === undefined) throw new Unproven('is signed with SSH, and no allowed signers are configured')
    return sshSignerOf(claim, allowedSigners)
  }
  if (signature.startsWith('-----BEGIN PGP ')) {
    if (keyring === undefined) throw new Unproven('is signed with OpenPGP, and no keyring is configured')
    return openpgpSignerOf(claim, keyring, now)
  }
  if (signature.startsWith('-----BEGIN SIGNED MESSAGE-----')) {
    throw new Unproven('is signed with X.509, which is not supported')
  }
  throw new Unproven('has a signature of no known form')
}

// The signed part of an object is determined as in git (commit.c, tag.c, gpg-interface.c). If git would accept an
// object that it does not write itself, such as one with two signatures, we refuse the object.

interface Field {
  readonly name: string
  /** The unchanged lines, with the line break at the end. */
  readonly text: string
}

/** The signature in a commit, and the data that it covers. Throws `Unproven` if there is none. */
export function claimOfCommit(commit: Uint8Array): SignatureClaim {
  const { fields, rest } = split(commit)
  const isSha256 = /^tree [0-9a-f]{64}\n$/.test(fields[0]?.text ?? '')
  if (!isSha256 && !/^tree [0-9a-f]{40}\n$/.test(fields[0]?.text ?? '')) throw new Unproven('is not a commit')
  const kept = withoutSignatures(fields)
  const wanted = isSha256 ? 'gpgsig-sha256' : 'gpgsig'
  const signature = fields.find(({ name }) => name === wanted)
  if (signature === undefined) throw new Unproven('is not signed')
  const armored = signature.text.slice(wanted.length + 1).replaceAll('\n ', '\n')
  return claim(Buffer.concat([kept, rest]), armored, secondsOf(fields, 'committer'))
}

/** The lines that begin a signature at the end of a tag. */
const BEGINNINGS = [
  '-----BEGIN SSH SIGNATURE-----',
  '-----BEGIN PGP SIGNATURE-----',
  '-----BEGIN PGP MESSAGE-----',
  '-----BEGIN SIGNED MESSAGE-----',
]

/** The signature at the end of a tag of the commit, and the data that it covers. Throws `Unproven` if there is none. */
export function claimOfTag(tag: Uint8Array, commit: Uint8Array): SignatureClaim {
  const { fields, rest } = split(tag)
  expectTagOf(fields, commit)
  // The last one, so that a tag's message can mention signatures.
  const at = Math.max(...BEGINNINGS.map((beginning) => rest.lastIndexOf(`\n${beginning}`)))
  if (at === -1) throw new Unproven('is not signed')
  const payload = Buffer.concat([withoutSignatures(fields), rest.subarray(0, at + 1)])
  return claim(payload, rest.toString('latin1', at + 1), secondsOf(fields, 'tagger'))
}

/** The name in the tag object itself. */
function nameOfTag(tag: Uint8Array): string {
  const field = split(tag).fields.find(({ name }) => name === 'tag')?.text ?? ''
  return Buffer.from(field.slice('tag '.length, -1), 'latin1').toString('utf8')
}

/** Splits an object into the fields of its header, and the rest with the empty line before it. */
function split(object: Uint8Array): { readonly fields: readonly Field[]; readonly rest: Buffer } {
  const bytes = Buffer.from(object.buffer, object.byteOffset, object.byteLength)
  const end = bytes.indexOf('\n\n') + 1
  if (end === 0) throw new Unproven('has no end of its header')
  // Latin-1 preserves each byte.
  const header = bytes.toString('latin1', 0, end)
  if (header.includes('\0')) throw new Unproven('has a zero byte in its header')
  const texts = header.match(/[^\n]*\n(?: [^\n]*\n)*/g) ?? []
  return { fields: texts.map((text) => ({ name: /^[^ \n]*/.exec(text)?.[0] ?? '', text })), rest: bytes.subarray(end) }
}

/**
 * The header at the time of the signature. A commit can have a second signature, over its form in the other object
 * format; neither covers the other.
 */
function withoutSignatures(fields: readonly Field[]): Buffer {
  const signatures = fields.filter(({ name }) => name.startsWith('gpgsig'))
  const odd = signatures.find(({ name, text }) => !/^gpgsig(?:-sha256)?$/.test(name) || text[name.length] !== ' ')
  if (odd !== undefined) throw new Unproven(`has the unknown header ${JSON.stringify(odd.name.slice(0, 100))}`)
  if (new Set(signatures.map(({ name }) => name)).size < signatures.length) throw new Unproven('has several signatures')
  const kept = fields.filter((field) => !signatures.includes(field))
  return Buffer.from(kept.map(({ text }) => text).join(''), 'latin1')
}

function expectTagOf([object, type]: readonly Field[], commit: Uint8Array): void {
  const [, id = ''] = /^object ([0-9a-f]{40}|[0-9a-f]{64})\n$/.exec(object?.text ?? '') ?? []
  if (type?.text !== 'type commit\n') throw new Unproven('is a tag of something else than a commit')
  const hash = createHash(id.length === 64 ? 'sha256' : 'sha1')
  const found = hash.update(`commit ${commit.length}\0`).update(commit).digest('hex')
  if (found !== id) throw new Unproven('is a tag of another commit')
}

/** The date of the object, beside the name of its committer or tagger. */
function secondsOf(fields: readonly Field[], name: 'committer' | 'tagger'): number {
  const person = fields.find((field) => field.name === name)?.text ?? ''
  const seconds = Number(/^[^\n]*> *([0-9]{1,11}) +[+-][0-9]+\n$/.exec(person)?.[1])
  // In git, 0 is no date, and it would judge by the clock.
  if (!(seconds > 0)) throw new Unproven(`has no readable date of its ${name}`)
  return seconds
}

function claim(payload: Buffer, signature: string, seconds: number): SignatureClaim {
  if (signature.length > TRUST_LIMITS.signatureBytes) {
    throw new Unproven(`has a signature of over ${TRUST_LIMITS.signatureBytes} bytes`)
  }
  return { payload, signature, seconds }
}
