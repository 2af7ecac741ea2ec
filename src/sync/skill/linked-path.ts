/**
 * The path that a link of a skill names, decoded and without query and fragment. `undefined` if the link leads to an
 * address of another kind or to a place in the same file, or only shows the syntax of links.
 */
export function linkedPath(target: string): string | undefined {
  if (isElsewhere(target) || isExample(target)) return undefined
  const path = pathOf(target)
  return path === '' ? undefined : path
}

/** True for an address of another kind, or a place in the same file. */
function isElsewhere(target: string): boolean {
  if (target === '' || target.startsWith('#') || target.startsWith('?') || target.startsWith('//')) return true
  return /^[A-Za-z][A-Za-z0-9+.-]+:/.test(target) && !/^file:/i.test(target)
}

/** True for a target that only shows the syntax of a link: a word instead of a path, or a placeholder. */
function isExample(target: string): boolean {
  return HOLES.test(target) || EXAMPLES.has(target.toLowerCase())
}

const HOLES = /[{}<>*$|`[\]…]|\.{3}/

const EXAMPLES: ReadonlySet<string> = new Set(['url', 'link', 'path', 'href', 'src', 'target', 'uri', 'image', 'file'])

function pathOf(target: string): string {
  const end = target.search(/[?#]/)
  const path = end === -1 ? target : target.slice(0, end)
  try {
    return decodeURIComponent(path)
  } catch (error) {
    // A percent sign that begins no escape is literal.
    if (error instanceof URIError) return path
    throw error
  }
}

/** True if the path does not depend on the place of the link. */
export function isAbsolute(path: string): boolean {
  return (
    path.startsWith('/') || path.startsWith('\\') || path.startsWith('~/') || /^(?:[A-Za-z]:[\\/]|file:)/i.test(path)
  )
}

/** The path in the skill; `undefined` if it leads out of the skill. A backslash counts as a slash. */
export function resolveInSkill(folder: string, path: string): string | undefined {
  const segments = folder === '' ? [] : folder.split('/')
  for (const segment of path.replaceAll('\\', '/').split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment !== '..') segments.push(segment)
    else if (segments.pop() === undefined) return undefined
  }
  return segments.join('/')
}
