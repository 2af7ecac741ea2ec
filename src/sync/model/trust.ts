/** Who signed, and with which key. */
export interface Signer {
  readonly scheme: 'ssh' | 'openpgp'
  /** As the list of the signers calls the owner of the key. */
  readonly principal: string
  readonly fingerprint: string
}

/** The signers of one revision that were looked for and found. */
export interface Signers {
  readonly commit?: Signer
  readonly tag?: Signer
}
