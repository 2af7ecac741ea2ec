import { TRUST_LIMITS } from '../../../sync/model/signers.ts'
import type { TrustedSigners } from '../../../sync/model/signers.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { utf8 } from '../../../sync/skill/frontmatter.ts'
import type { SignedBy } from '../../config/config.ts'
import { whyNotOpened } from '../../runtime/disk-error-text.ts'
import { readBounded } from '../../runtime/plain-file.ts'

/**
 * Reads the files. Called before each use, so that a removed key no longer counts. An unreadable file is
 * `revision-unverified`: without it no signature could be valid.
 */
export async function readTrust({
  require,
  allowedSigners,
  keyring,
}: Omit<SignedBy, 'graceMs'>): Promise<TrustedSigners> {
  const { allowedSignersBytes, keyringBytes } = TRUST_LIMITS
  return {
    require,
    allowedSigners: await readText('the allowed signers', allowedSigners, allowedSignersBytes),
    keyring: await readText('the keyring', keyring, keyringBytes),
  }
}

async function readText(what: string, path: string | undefined, maximum: number): Promise<string | undefined> {
  if (path === undefined) return undefined
  const bytes = await readBounded(path, maximum).catch((cause: unknown) => {
    throw unverifiedError(`Cannot read ${what} "${path}": ${whyNotOpened(cause)}`, cause)
  })
  if (bytes === undefined) throw unverifiedError(`Cannot read ${what} "${path}": it is not a plain file`)
  if (bytes.length > maximum) throw unverifiedError(`Cannot use ${what} "${path}": it is over ${maximum} bytes`)
  const text = utf8(bytes)
  if (text === undefined) throw unverifiedError(`Cannot use ${what} "${path}": it is not valid UTF-8`)
  return text
}

function unverifiedError(message: string, cause?: unknown): SyncError {
  return new SyncError('revision-unverified', message, { cause })
}
