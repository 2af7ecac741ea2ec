/** The signer of a commit or a tag. */
export interface Signer {
  readonly scheme: 'ssh' | 'openpgp'
  /** SSH: the name in the list of allowed signers, or in the certificate. OpenPGP: the primary user id of the key. */
  readonly principal: string
  /**
   * SSH: `SHA256:…` as `ssh-keygen -l` prints it; for a certificate, that of the certified key. OpenPGP: that of the
   * primary key, upper-case hex.
   */
  readonly fingerprint: string
}

/** A signer with the end of the validity of its key, in seconds since 1970; `undefined` if the key does not expire. */
export interface Signed extends Signer {
  readonly ends: number | undefined
}

/** The signers of one revision that were required and found. */
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

/** The objects that must be signed. */
export type Requirement = 'commit' | 'tag' | 'both'

/** The trusted signers. The texts are those of the files at this moment: a removed signer no longer counts. */
export interface TrustedSigners {
  readonly require: Requirement
  /** In the allowed-signers format of ssh-keygen(1). `undefined`: no SSH signature is valid. */
  readonly allowedSigners: string | undefined
  /** Armored OpenPGP public keys. `undefined`: no OpenPGP signature is valid. */
  readonly keyring: string | undefined
  /**
   * The time after the end of its validity in which a key is still accepted, whatever date its signature has.
   * `undefined`: forever.
   */
  readonly graceMs?: number | undefined
}

/** The result of checking the required signatures. `why` ends the sentence "Cannot take commit …:". */
export type Proven =
  | { readonly kind: 'proved'; readonly commit?: Signer; readonly tag?: Signer }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'late'; readonly why: string }

/** The error for a signature that does not count. The message is a predicate of the commit or tag: "is not signed". */
export class Unproven extends Error {
  override readonly name = 'Unproven'
}

/**
 * The signature counts by its date, but the validity of its key ended longer ago than the grace period of the trust.
 */
export class Late extends Unproven {}

/** Limits on the data that is read to check a signature. */
export const TRUST_LIMITS = { signatureBytes: 65_536, allowedSignersBytes: 2 ** 20, keyringBytes: 2 ** 20 } as const
