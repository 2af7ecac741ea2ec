/** The code that the system or Node gave an error, such as `ENOENT`. Undefined for what has none. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
