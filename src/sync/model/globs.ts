import picomatch from 'picomatch'

/** Whether a skill path, or a name, matches one of the globs. */
export function matcher(globs: readonly string[]): (path: string) => boolean {
  if (globs.length === 0) return () => false
  const matches = picomatch([...globs], { dot: true })
  // The root's own skill has the empty path, which no glob matches but the one for everything.
  return (path) => (path === '' ? globs.includes('**') : matches(path))
}
