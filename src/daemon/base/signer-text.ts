import type { Signer, Signers } from '../../sync/model/signers.ts'

/** Who signed, a text for each object that was. */
export function signersTexts(signers: Signers | undefined): string[] {
  const text = (what: string, signer: Signer | undefined): string[] =>
    signer === undefined ? [] : [`${what} by ${signer.principal} (${signer.scheme} ${signer.fingerprint})`]
  return [...text('commit', signers?.commit), ...text('tag', signers?.tag)]
}
