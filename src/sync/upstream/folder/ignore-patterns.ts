/** A pattern of an ignore file of git. Texts and paths are raw bytes, written as Latin-1. */
export interface IgnorePattern {
  /** As it is written, without the spaces at its end. */
  readonly text: string
  /** The number of its line, from 1. */
  readonly line: number
  /** True if it takes back in what an earlier pattern ignores. */
  readonly isNegative: boolean
  readonly isForFolders: boolean
  /** `path`: from the folder of the ignore file. `onStep` is called for each step of the comparison. */
  readonly matches: (path: string, name: string, onStep: () => void) => boolean
}

/**
 * Parses an ignore file as git does. The comparison takes time in proportion to the path and to the pattern: a regular
 * expression with several stars would not.
 */
export function parseIgnorePatterns(text: string): readonly IgnorePattern[] {
  const lines = text.replace(/^\u{ef}\u{bb}\u{bf}/u, '').split('\n')
  return lines.flatMap((line, index) => (line === '' || line.startsWith('#') ? [] : [patternOf(line, index + 1)]))
}

function patternOf(text: string, line: number): IgnorePattern {
  const [untilNul = ''] = text.replace(/\r$/, '').split('\0', 1)
  const written = withoutEndSpaces(untilNul)
  const isNegative = written.startsWith('!')
  const body = isNegative ? written.slice(1) : written
  const isForFolders = body.endsWith('/')
  const matches = matcherOf(isForFolders ? body.slice(0, -1) : body)
  return { text: written, line, isNegative, isForFolders, matches }
}

/** A space behind a backslash is part of the pattern. */
function withoutEndSpaces(text: string): string {
  let end = text.length
  while (text[end - 1] === ' ') end -= 1
  let slashes = 0
  while (text[end - 1 - slashes] === '\\') slashes += 1
  return text.slice(0, slashes % 2 === 1 ? end + 1 : end)
}

function matcherOf(glob: string): IgnorePattern['matches'] {
  const special = glob.search(/[*?[\\]/)
  if (!glob.includes('/')) {
    if (special === -1) return (_path, name) => name === glob
    const rest = glob.slice(1)
    if (glob.startsWith('*') && !/[*?[\\]/.test(rest)) return (_path, name) => name.endsWith(rest)
    const tokens = tokensOf(glob)
    return (_path, name, onStep) => tokens !== undefined && isMatch(tokens, name, onStep)
  }
  const from = glob.startsWith('/') ? 1 : 0
  if (special === -1) return (path) => path === glob.slice(from)
  // Git compares the plain beginning first, and reads the rest as a pattern of its own.
  const beginning = glob.slice(from, special)
  const tokens = tokensOf(glob.slice(special))
  return (path, _name, onStep) =>
    tokens !== undefined && path.startsWith(beginning) && isMatch(tokens, path.slice(beginning.length), onStep)
}

/**
 * A part of a pattern. `star` repeats within a segment and `stars` over segments; `maybe` may be left out together with
 * the `stars` and the slash behind it.
 */
type Token = { readonly kind: 'star' | 'stars' | 'maybe' } | { readonly kind: 'one'; readonly of: ReadonlySet<string> }

/** `undefined` if the pattern matches nothing: it has a set without an end, or ends with a backslash. */
function tokensOf(glob: string): readonly Token[] | undefined {
  const tokens: Token[] = []
  for (let at = 0; at < glob.length;) {
    const char = glob[at] ?? ''
    if (char === '*') {
      const end = glob.length - glob.slice(at).replace(/^\*+/, '').length
      const isOverSegments = end - at > 1 && (at === 0 || glob[at - 1] === '/') && /^(?:$|\\?\/)/.test(glob.slice(end))
      if (isOverSegments && glob[end] === '/') tokens.push({ kind: 'maybe' })
      tokens.push({ kind: isOverSegments ? 'stars' : 'star' })
      at = end
    } else if (char === '[') {
      const set = setAt(glob, at + 1)
      if (set === undefined) return undefined
      tokens.push({ kind: 'one', of: set.of })
      at = set.end
    } else {
      if (char === '\\') at += 1
      const plain = glob[at]
      if (plain === undefined) return undefined
      tokens.push({ kind: 'one', of: char === '?' ? NO_SLASH : new Set(plain) })
      at += 1
    }
  }
  return tokens
}

/** Reads a set such as `[a-z]` as git does; `at` is behind its bracket. */
function setAt(glob: string, at: number): { readonly of: ReadonlySet<string>; readonly end: number } | undefined {
  const isNegative = glob[at] === '!' || glob[at] === '^'
  const start = isNegative ? at + 1 : at
  const named = new Set<string>()
  let before: string | undefined
  let now = start
  for (; now === start || glob[now] !== ']'; now += 1) {
    const name = /^\[:([^\]]*):\]/.exec(glob.slice(now, now + LONGEST_NAME))?.[1]
    const next = glob[now + 1]
    if (name !== undefined) {
      const members = NAMED_SETS.get(name)
      if (members === undefined) return undefined
      for (const member of ASCII) if (members.test(member)) named.add(member)
      now += name.length + 3
      before = undefined
    } else if (glob[now] === '-' && before !== undefined && next !== undefined && next !== ']') {
      now += next === '\\' ? 2 : 1
      const last = glob[now]
      if (last === undefined) return undefined
      for (const member of ALL) if (member >= before && member <= last) named.add(member)
      before = undefined
    } else {
      if (glob[now] === '\\') now += 1
      before = glob[now]
      if (before === undefined) return undefined
      named.add(before)
    }
  }
  return { of: new Set([...NO_SLASH].filter((member) => named.has(member) !== isNegative)), end: now + 1 }
}

/** Follows all ways through the pattern at once. */
function isMatch(tokens: readonly Token[], text: string, onStep: () => void): boolean {
  let active = new Set<number>()
  enter(tokens, 0, active)
  for (const char of text) {
    const next = new Set<number>()
    for (const at of active) {
      onStep()
      const token = tokens[at]
      if (token?.kind === 'one' && token.of.has(char)) enter(tokens, at + 1, next)
      else if (token?.kind === 'stars' || (token?.kind === 'star' && char !== '/')) enter(tokens, at, next)
    }
    if (next.size === 0) return false
    active = next
  }
  return active.has(tokens.length)
}

/** Adds a place in the pattern, with those that can be reached from it without a character. */
function enter(tokens: readonly Token[], at: number, places: Set<number>): void {
  if (places.has(at)) return
  places.add(at)
  const kind = tokens[at]?.kind
  if (kind === 'maybe') enter(tokens, at + 3, places)
  if (kind !== undefined && kind !== 'one') enter(tokens, at + 1, places)
}

const ALL: readonly string[] = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code))
/** Git knows no other letters in named sets. */
const ASCII = ALL.slice(0, 128)
const NO_SLASH: ReadonlySet<string> = new Set(ALL.filter((char) => char !== '/'))

const NAMED_SETS: ReadonlyMap<string, RegExp> = new Map([
  ['alnum', /[a-z0-9]/i],
  ['alpha', /[a-z]/i],
  ['blank', /[ \t]/],
  ['cntrl', /\p{Cc}/u],
  ['digit', /[0-9]/],
  ['graph', /[!-~]/],
  ['lower', /[a-z]/],
  ['print', /[ -~]/],
  ['punct', /[!-/:-@[-`{-~]/],
  ['space', /[\t-\r ]/],
  ['upper', /[A-Z]/],
  ['xdigit', /[0-9a-f]/i],
])

/** Longer than each of them with its brackets. */
const LONGEST_NAME = 64
