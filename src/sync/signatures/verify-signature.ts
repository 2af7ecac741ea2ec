import { Late, Unproven } from '../model/signers.ts'
import type { Proven, Signed, Signer, TrustedSigners } from '../model/signers.ts'
import type { Proof } from '../model/tree.ts'
import { dateText } from './allowed-signers.ts'
import { openpgpSignerOf } from './openpgp-signature.ts'
import { claimOfCommit, claimOfTag, nameOfTag } from './signed-object.ts'
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
