/** An invalid command line. The command ends with exit status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
