import { EditRefused, lineAt } from './edit-refused.ts'
import type { SettingsEdit } from './settings-edit.ts'

/** The login of a hub in netrc; the password is its token. */
const LOGIN = 'token'

/** The token that git sends to that host; `undefined` if the text has none. */
export function netrcToken(text: string, host: string): string | undefined {
  return entriesOf(text).find(({ machine }) => machine === host.toLowerCase() || machine === undefined)?.password?.text
}

/**
 * Has netrc give the token to a host. Throws `EditRefused` if the host has another login, or several; the message has no
 * password.
 */
export function withNetrcToken(text: string, host: string, token: string): SettingsEdit {
  const done = { changed: [`machine ${host}`], shown: [`+machine ${host}, with a token that is not shown`] }
  const entries = entriesOf(text)
  const [entry, second] = entries.filter(({ machine }) => machine === host.toLowerCase())
  if (second !== undefined) throw refusal(text, second.start, `machine ${host} is there twice`)
  if (entry === undefined) {
    const line = `machine ${host} login ${LOGIN} password ${token}`
    return { text: withLine(text, line, isOpenEnded(text, entries)), ...done }
  }
  if (entry.login?.text !== LOGIN || entry.password === undefined)
    throw refusal(text, entry.start, `machine ${host} has another login than "${LOGIN}"`)
  const { start, text: before } = entry.password
  if (before === token) return { text, changed: [], shown: [] }
  return { text: text.slice(0, start) + token + text.slice(start + before.length), ...done }
}

interface NetrcEntry {
  readonly start: number
  /** In lower case; `undefined` for `default`. */
  readonly machine: string | undefined
  login?: Word
  password?: Word
}

interface Word {
  readonly start: number
  readonly text: string
}

/** Reads the words as curl does, which git uses: a macro ends at an empty line, and `#` begins a comment. */
function entriesOf(text: string): readonly NetrcEntry[] {
  const entries: NetrcEntry[] = []
  const words = new Words(text)
  for (let word = words.next(); word !== undefined; word = words.next()) {
    const { start, text: keyword } = word
    if (keyword === 'default') entries.push({ start, machine: undefined })
    else if (keyword.startsWith('#')) words.skipLine(start)
    else if (keyword === 'macdef') words.skipMacro()
    else {
      const value = words.next()
      if (value === undefined) throw refusal(text, start, 'a word is missing at the end')
      if (value.text.startsWith('"')) throw refusal(text, value.start, 'words in quotes are not read here')
      // Names of hosts have no case, for curl either.
      if (keyword === 'machine') entries.push({ start, machine: value.text.toLowerCase() })
      else if (!['login', 'password', 'account', 'protocol', 'port'].includes(keyword))
        throw refusal(text, start, 'a keyword of netrc is expected')
      const entry = entries.at(-1)
      if (entry === undefined) throw refusal(text, start, '"machine" is expected first')
      if (keyword === 'login') entry.login = value
      if (keyword === 'password') entry.password = value
    }
  }
  return entries
}

class Words {
  readonly #text: string
  readonly #pattern = /[^ \t\r\n]+/g

  constructor(text: string) {
    this.#text = text
  }

  next(): Word | undefined {
    const found = this.#pattern.exec(this.#text)
    // A pattern without a match begins anew.
    if (found === null) this.#pattern.lastIndex = this.#text.length
    return found === null ? undefined : { start: found.index, text: found[0] }
  }

  skipLine(from: number): void {
    this.#pattern.lastIndex = endOf(this.#text, /\n/g, from)
  }

  skipMacro(): void {
    this.#pattern.lastIndex = endOf(this.#text, /\n[ \t]*\r?\n/g, this.#pattern.lastIndex)
  }
}

function endOf(text: string, pattern: RegExp, from: number): number {
  pattern.lastIndex = from
  return pattern.test(text) ? pattern.lastIndex : text.length
}

/** True if a line at the end would come too late, or into a macro. */
function isOpenEnded(text: string, entries: readonly NetrcEntry[]): boolean {
  return entries.some(({ machine }) => machine === undefined) || /(?:^|\s)macdef\s/.test(text)
}

function withLine(text: string, line: string, isFirst: boolean): string {
  const eol = /\r?\n/.exec(text)?.[0] ?? '\n'
  if (isFirst) return `${line}${eol}${text}`
  return `${text}${text === '' || text.endsWith('\n') ? '' : eol}${line}${eol}`
}

function refusal(text: string, offset: number, why: string): EditRefused {
  return new EditRefused('invalid', `line ${lineAt(text, offset)}: ${why}`)
}
