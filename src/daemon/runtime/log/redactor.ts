import { HIDDEN, withoutSecrets } from '../../../sync/skill/secret-patterns.ts'

/**
 * Removes secrets from what leaves the process: the secrets that were added, and text that its context marks as a
 * secret.
 */
export class Redactor {
  /**
   * Each secret with the forms in which it can appear. The newest is last, and the oldest is dropped: a credential that
   * is renewed each hour for years must not fill the memory.
   */
  readonly #secrets = new Map<string, readonly string[]>()
  #forms: readonly string[] | undefined

  /** Registers a secret. From now on it is removed wherever it appears: plain, in a URL, in JSON or in base64. */
  add(secret: string): void {
    if (secret.trim() === '') return
    const forms = this.#secrets.get(secret) ?? formsOf(secret)
    this.#secrets.delete(secret)
    this.#secrets.set(secret, forms)
    for (const oldest of [...this.#secrets.keys()].slice(0, -MOST_SECRETS)) this.#secrets.delete(oldest)
    this.#forms = undefined
  }

  clean(text: string): string {
    this.#forms ??= [...new Set([...this.#secrets.values()].flat())]
    return withoutSecrets(without(this.#forms, text))
  }

  /** Cleans each text in plain data, but not the keys. */
  cleanAll(value: unknown): unknown {
    if (typeof value === 'string') return this.clean(value)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((item) => this.cleanAll(item))
    return Object.fromEntries(Object.entries(value).map(([name, below]) => [name, this.cleanAll(below)]))
  }
}

/** True if a value with this name is a secret, whatever it is. */
export function isSecretName(name: string): boolean {
  return /(?:authorization|cookie|passphrase|password|secret|token|(?:api|private)[_-]?key)$/i.test(name)
}

const MOST_SECRETS = 1_000

function formsOf(secret: string): readonly string[] {
  const bare = secret.trim()
  const parts = [secret, bare, ...linesOf(bare)]
  const ways = [same, inJson, inJsonTwice, inAddresses, inBase64]
  return [...new Set(ways.flatMap((way) => parts.flatMap(way)))]
}

/** A key is often quoted line by line. Short lines and header lines (`-----BEGIN …`) are not secret. */
function linesOf(secret: string): string[] {
  const lines = secret.split(/\s*[\r\n]+\s*/)
  return lines.length === 1 ? [] : lines.filter((line) => line.length >= 16 && !line.startsWith('-----')).slice(0, 200)
}

function same(secret: string): string {
  return secret
}

function inJson(secret: string): string {
  return JSON.stringify(secret).slice(1, -1)
}

/** Quoted JSON is quoted again if another program passes it on. */
function inJsonTwice(secret: string): string {
  return inJson(inJson(secret))
}

/** Encoded as in a URL's path, query and user; hexadecimal digits can have either case. */
function inAddresses(secret: string): string[] {
  const text = secret.toWellFormed()
  const url = new URL('http://host')
  url.password = text
  const forms = [encodeURIComponent(text), new URLSearchParams([['', text]]).toString().slice(1), url.password]
  return forms.flatMap((form) => [form, form.replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())])
}

/**
 * Leaves out the last bytes, whose encoding depends on what follows. Skips very short secrets, which would match in any
 * text.
 */
function inBase64(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const whole = bytes.subarray(0, bytes.length - (bytes.length % 3))
  return whole.length < 6 ? [] : [whole.toString('base64'), whole.toString('base64url')]
}

/** Hides each occurrence of the forms. Overlapping ones are removed together, so that no part of either remains. */
function without(forms: readonly string[], text: string): string {
  const found: [from: number, to: number][] = []
  for (const form of forms) {
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + 1)) found.push([at, at + form.length])
  }
  const parts: string[] = []
  let end = 0
  for (const [from, to] of found.toSorted(([a], [b]) => a - b)) {
    if (from >= end) parts.push(text.slice(end, from), HIDDEN)
    end = Math.max(end, to)
  }
  parts.push(text.slice(end))
  return parts.join('')
}
