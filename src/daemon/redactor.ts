/** Takes secrets out of what leaves the process: those it was told of, and what looks like one by where it stands. */
export class Redactor {
  /** The newest last, so that a credential renewed each hour for years does not fill the memory. */
  readonly #secrets = new Set<string>()

  /** From now on the secret is taken out wherever it is met, as it is and as it stands in an address. */
  add(secret: string): void {
    const bare = secret.trim()
    for (const form of [secret, bare, encodeURIComponent(bare.toWellFormed())]) {
      this.#secrets.delete(form)
      if (form !== '') this.#secrets.add(form)
    }
    for (const oldest of [...this.#secrets].slice(0, -MOST_SECRETS)) this.#secrets.delete(oldest)
  }

  clean(text: string): string {
    // Longest first, so that a secret within another leaves no rest of that.
    const secrets = [...this.#secrets].sort((a, b) => b.length - a.length)
    const rest = secrets.reduce((text, secret) => text.replaceAll(secret, HIDDEN), text)
    return PLACES.reduce((text, place) => text.replace(place, `$1${HIDDEN}`), rest)
  }
}

/** Whether a value with this name is a secret, whatever it is. */
export function isSecretName(name: string): boolean {
  return /(?:authorization|cookie|passphrase|password|secret|token)$/i.test(name)
}

const MOST_SECRETS = 1_000

const HIDDEN = '***'

/** What precedes a secret, and the secret. Repetitions are bounded: the text may come from whoever wants us busy. */
const PLACES: readonly RegExp[] = [
  /\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#]{1,4096}(?=@)/gi,
  /([?&](?:[a-z_-]{0,30}token|key|password|secret|sig|signature)=)[^&\s#"']+/gi,
  /\b((?:proxy-)?authorization["']?\s{0,8}[:=]\s{0,8}["']?)[^\r\n"']+/gi,
  /\b((?:private-token|x-api-key|(?:set-)?cookie)["']?\s{0,8}[:=]\s{0,8}["']?)[^\r\n"']+/gi,
  /\b((?:basic|bearer)\s{1,8})[a-z0-9._~+/=-]{8,}/gi,
]
