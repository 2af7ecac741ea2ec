/** Who signed a commit or a tag. */
export interface Signer {
  readonly scheme: 'ssh' | 'openpgp'
  /** SSH: as the list of allowed signers, or the certificate, calls them. OpenPGP: the primary user id of the key. */
  readonly principal: string
  /**
   * SSH: `SHA256:…` as `ssh-keygen -l` prints it; for a certificate, that of the key it is about. OpenPGP: of the primary
   * key, upper-case hex.
   */
  readonly fingerprint: string
}

/** A signer, and when the validity of the key ends, in seconds since 1970; undefined for one without an end. */
export interface Signed extends Signer {
  readonly ends: number | undefined
}

/** The signers of one revision that were looked for and found. */
export interface Signers {
  readonly commit?: Signer
  readonly tag?: Signer
}

export function isSameSigners(a: Signers | undefined, b: Signers | undefined): boolean {
  return isSameSigner(a?.commit, b?.commit) && isSameSigner(a?.tag, b?.tag)
}

function isSameSigner(a: Signer | undefined, b: Signer | undefined): boolean {
  return a?.scheme === b?.scheme && a?.principal === b?.principal && a?.fingerprint === b?.fingerprint
}

/** What has to be signed. */
export type Requirement = 'commit' | 'tag' | 'both'

/** Whose signatures count. The texts are those of the files at this moment: a signer who was removed counts no more. */
export interface Trust {
  readonly require: Requirement
  /** In the allowed-signers form of ssh-keygen(1). Undefined: no SSH signature is good. */
  readonly allowedSigners: string | undefined
  /** Armored OpenPGP public keys. Undefined: no OpenPGP signature is good. */
  readonly keyring: string | undefined
  /** The time after the end of its validity in which a key is still taken, whatever date its signature bears. Undefined: for ever. */
  readonly graceMs?: number | undefined
}

/** Whether what has to be signed is signed. `why` ends the sentence "Cannot take commit …:". */
export type Proven =
  | { readonly kind: 'proved'; readonly commit?: Signer; readonly tag?: Signer }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'late'; readonly why: string }

/** Why a signature does not count, as what is said of the commit or tag: "is not signed". */
export class Unproven extends Error {
  override readonly name = 'Unproven'
}

/** The signature counts by its date, and the validity of its key ended longer ago than the grace of the trust. */
export class Late extends Unproven {}

/** Bounds on what is read to check a signature. */
export const TRUST_LIMITS = { signatureBytes: 65_536, allowedSignersBytes: 2 ** 20, keyringBytes: 2 ** 20 } as const
