/** Whether it leads, from the skill's folder, to a Markdown file below `references/`, however it is spelled. */
export function isReferencePath(written: string): boolean {
  // No URI of ours can carry a backslash, and no file system a NUL.
  if (written.startsWith('/') || written.includes('\\') || written.includes('\0')) return false
  const path = referencePathOf(written)
  return !path.split('/').includes('..') && path.startsWith('references/') && /[^/]\.md$/i.test(path)
}

/** The path as Python's PurePosixPath spells it: no empty segment and none that is `.`; `..` stays. */
export function referencePathOf(written: string): string {
  return written
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
    .join('/')
}
