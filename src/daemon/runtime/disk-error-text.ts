import { codeOf } from '../../base/error-code.ts'

/** The reason why a file could not be opened, as text. */
export function whyNotOpened(cause: unknown): string {
  const code = codeOf(cause)
  if (code === 'ENOENT') return 'no such file'
  return code === undefined ? 'it cannot be opened' : whyNotUsed({ code })
}

/** The reason why a path that the operator named cannot be used: as text if the code is not plain, else the code. */
export function whyNotUsed({ code }: { readonly code: string }): string {
  return WORDS.get(code) ?? code
}

const WORDS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is nothing of that name'],
  ['ENOTDIR', 'a part of the path is not a folder'],
  ['EEXIST', 'it is not a folder'],
  ['EACCES', 'permission denied'],
  ['EPERM', 'permission denied'],
  ['EROFS', 'the disk cannot be written to'],
  ['ENOSPC', 'the disk is full'],
  ['ELOOP', 'a link in it leads to itself'],
  ['ENAMETOOLONG', 'the name is too long'],
])
