import { UsageError } from '../../runtime/usage-error.ts'

/** The commit that a command line names, in full or by its first digits. */
export function commitNamed(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const commit = text.toLowerCase()
  if (/^[0-9a-f]{4,64}$/.test(commit)) return commit
  throw new UsageError(`"${text}" is not a commit; give its id, or at least the first four digits of it`)
}
