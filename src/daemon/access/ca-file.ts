import { X509Certificate } from 'node:crypto'
import { SyncError } from '../../sync/model/sync-error.ts'
import { whyNotOpened } from '../runtime/disk-error-text.ts'
import { readBounded } from '../runtime/plain-file.ts'

/** Reads the certificates of a PEM file and ignores the rest. An unusable certificate is `tls-failed`. */
export async function readAuthorities(path: string): Promise<string> {
  const bytes = await readBounded(path, MAXIMUM_BYTES).catch((cause: unknown) => {
    throw caFailure(`Cannot read the certificates in "${path}": ${whyNotOpened(cause)}`, cause)
  })
  if (bytes === undefined) throw caFailure(`Cannot read the certificates in "${path}": it is not a plain file`)
  if (bytes.length > MAXIMUM_BYTES) {
    throw caFailure(`Cannot use the certificates in "${path}": it is over ${MAXIMUM_BYTES} bytes`)
  }
  const certificates = Buffer.from(bytes).toString('latin1').match(CERTIFICATE) ?? []
  if (certificates.length === 0) throw caFailure(`Cannot use the certificates in "${path}": there is none in PEM form`)
  certificates.forEach((certificate, index) => expectCertificate(certificate, index, path))
  return `${certificates.join('\n')}\n`
}

/** The certificates of a whole system need a quarter of this. */
const MAXIMUM_BYTES = 1_048_576

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function expectCertificate(pem: string, index: number, path: string): void {
  try {
    // A damaged certificate would be skipped silently when the connection is opened.
    void new X509Certificate(pem)
  } catch (cause) {
    throw caFailure(`Cannot use the certificates in "${path}": number ${index + 1} is damaged`, cause)
  }
}

function caFailure(message: string, cause?: unknown): SyncError {
  return new SyncError('tls-failed', message, { cause })
}
