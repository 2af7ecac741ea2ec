import picomatch from 'picomatch'

/** Returns a predicate that is true if a skill path matches one of the globs. */
export function matcher(globs: readonly string[]): (path: string) => boolean {
  if (globs.length === 0) return () => false
  const matches = picomatch([...globs], { dot: true, flags: 's' })
  // The skill in the root has the empty path, which only the glob for everything matches.
  return (path) => (path === '' ? globs.includes('**') : matches(path))
}

/** Returns a predicate that is true if a name matches the glob. A slash in a name is an ordinary character. */
export function nameMatcher(glob: string): (name: string) => boolean {
  return picomatch(glob, { dot: true, bash: true, flags: 's' })
}
