import { HIDDEN, withoutSecrets } from '../../sync/skill-md/secret-patterns.ts'

/** Takes secrets out of what leaves the process: those it was told of, and what looks like one by where it stands. */
export class Redactor {
  /** With the forms in which each is met. The newest last, so that a credential renewed each hour for years does not fill the memory. */
  readonly #secrets = new Map<string, readonly string[]>()
  #forms: readonly string[] | undefined

  /** From now on the secret is taken out wherever it is met: as it is, and as it stands in an address, in JSON or in base64. */
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

  /** Plain data with each text in it cleaned, the names of its keys left as they are. */
  cleanAll(value: unknown): unknown {
    if (typeof value === 'string') return this.clean(value)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((item) => this.cleanAll(item))
    return Object.fromEntries(Object.entries(value).map(([name, below]) => [name, this.cleanAll(below)]))
  }
}

/** Whether a value with this name is a secret, whatever it is. */
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

/** A key is quoted line by line. Short lines, and those that say what it is, are no secret. */
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

/** What was quoted once is quoted again by whoever passes it on. */
function inJsonTwice(secret: string): string {
  return inJson(inJson(secret))
}

/** In its path, its query and its user; hexadecimal digits are written either way. */
function inAddresses(secret: string): string[] {
  const text = secret.toWellFormed()
  const url = new URL('http://host')
  url.password = text
  const forms = [encodeURIComponent(text), new URLSearchParams([['', text]]).toString().slice(1), url.password]
  return forms.flatMap((form) => [form, form.replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())])
}

/** As far as what follows it cannot change. Of a very short one that is found in any text. */
function inBase64(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const whole = bytes.subarray(0, bytes.length - (bytes.length % 3))
  return whole.length < 6 ? [] : [whole.toString('base64'), whole.toString('base64url')]
}

/** Wherever one of the forms is met. Two that overlap are taken out together, so that neither leaves a rest. */
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
