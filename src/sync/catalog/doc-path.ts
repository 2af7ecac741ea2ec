import { contractUri, readContractUri } from './contract-uri.ts'
import { baseName } from '../../base/paths.ts'

/**
 * The reason why no URI below `resource://docs/` leads to a path, for the author of the file; `undefined` if one does.
 */
export function whyUnaddressed(path: string): string | undefined {
  if (path.includes('\\')) return 'The path holds a backslash, which no URI may carry'
  if (/\p{Cc}/u.test(path)) return 'The path holds a control character, and nobody would see what its URI names'
  if (baseName(path) === '.md') return 'The file has an ending and no name before it'
  return readContractUri(contractUri({ kind: 'doc', path })).ok ? undefined : 'No URI can name the file'
}
