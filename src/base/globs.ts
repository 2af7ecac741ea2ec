import picomatch from 'picomatch'

/** Whether a skill path matches one of the globs. */
export function matcher(globs: readonly string[]): (path: string) => boolean {
  if (globs.length === 0) return () => false
  const matches = picomatch([...globs], { dot: true, flags: 's' })
  // The root's own skill has the empty path, which no glob matches but the one for everything.
  return (path) => (path === '' ? globs.includes('**') : matches(path))
}

/** Whether a name matches the glob: in a name a slash is a character like others. */
export function nameMatcher(glob: string): (name: string) => boolean {
  return picomatch(glob, { dot: true, bash: true, flags: 's' })
}
