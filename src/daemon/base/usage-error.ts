/** The command line is not one that we understand. Ends with exit status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
