import type { Signer, Signers } from '../../sync/model/signers.ts'

/** The signers as text, one for each signed object. */
export function signersTexts(signers: Signers | undefined): string[] {
  const text = (what: string, signer: Signer | undefined): string[] =>
    signer === undefined ? [] : [`${what} by ${signer.principal} (${signer.scheme} ${signer.fingerprint})`]
  return [...text('commit', signers?.commit), ...text('tag', signers?.tag)]
}
