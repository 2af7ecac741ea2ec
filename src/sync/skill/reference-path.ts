/** True if the path leads from the skill's folder to a Markdown file below `references/`, in any spelling. */
export function isReferencePath(written: string): boolean {
  // None of our URIs can contain a backslash, and no file system allows a NUL.
  if (written.startsWith('/') || written.includes('\\') || written.includes('\0')) return false
  const path = referencePathOf(written)
  return !path.split('/').includes('..') && path.startsWith('references/') && /[^/]\.md$/i.test(path)
}

/** The path as Python's PurePosixPath normalizes it: no empty segment and no `.` segment; `..` stays. */
export function referencePathOf(written: string): string {
  return written
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
    .join('/')
}
