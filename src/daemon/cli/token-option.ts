import type { Environment } from '../config/environment.ts'
import { whyNotOpened } from '../runtime/disk-error-text.ts'
import type { Redactor } from '../runtime/log/redactor.ts'
import { readBounded } from '../runtime/plain-file.ts'
import { UsageError } from '../runtime/usage-error.ts'

/** The token of a file, or of the environment variable; `undefined` if there is neither. */
export async function tokenFor(
  file: string | undefined,
  { variable }: Pick<Environment, 'variable'>,
  redactor: Redactor,
): Promise<string | undefined> {
  const text = file === undefined ? variable(TOKEN_VARIABLE) : await textOf(file)
  const token = text?.trim()
  if (token === undefined || token === '') {
    if (file !== undefined) throw new UsageError(`--token-file "${file}" holds no token`)
    return undefined
  }
  redactor.add(token)
  return token
}

const TOKEN_VARIABLE = 'SKILLSYNCD_TOKEN'

async function textOf(file: string): Promise<string> {
  const bytes = await readBounded(file, TOKEN_BYTES).catch((error: unknown) => {
    throw new UsageError(`--token-file "${file}" cannot be read: ${whyNotOpened(error)}`, { cause: error })
  })
  if (bytes === undefined || bytes.length > TOKEN_BYTES)
    throw new UsageError(`--token-file "${file}" is not a file of a token`)
  return Buffer.from(bytes).toString('utf8')
}

const TOKEN_BYTES = 16_384
