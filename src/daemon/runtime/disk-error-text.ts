import { codeOf } from '../../base/error-code.ts'
import { DISK_WORDS } from '../../sync/model/sync-error.ts'

/** The reason why a file could not be opened, as text. */
export function whyNotOpened(cause: unknown): string {
  const code = codeOf(cause)
  if (code === 'ENOENT') return 'no such file'
  return code === undefined ? 'it cannot be opened' : whyNotUsed({ code })
}

/** The reason why a path that the operator named cannot be used: as text if the code is not plain, else the code. */
export function whyNotUsed({ code }: { readonly code: string }): string {
  return code === 'EEXIST' ? 'it is not a folder' : (DISK_WORDS.get(code) ?? code)
}
