/** The text without anything that its context marks as a secret, whatever its origin. */
export function withoutSecrets(text: string): string {
  return without(PLACES, text.includes('@') ? without(BEFORE_AN_AT, text) : text)
}

function without(places: readonly RegExp[], text: string): string {
  return places.reduce((text, place) => text.replace(place, `$1${HIDDEN}`), text)
}

/** Replaces a secret. */
export const HIDDEN = '***'

/**
 * The text before a secret, and the secret. Repetitions are bounded: the text may come from an attacker that wants to
 * keep us busy.
 */
const BEFORE_AN_AT: readonly RegExp[] = [
  /\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#]{1,4096}(?=@)/gi,
  // An unencoded password, if no port follows the colon. Stops at the next address, so that each is read once.
  /\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#:@[]{0,256}:(?!\d{1,5}[/?#])(?:(?!:\/\/)[^\s@"]){1,4096}(?=@)/gi,
]

const PLACES: readonly RegExp[] = [
  /([?&](?:[a-z_-]{0,30}token|key|password|secret|sig|signature)=)[^&\s#"']+/gi,
  /\b((?:proxy-)?authorization["']?\s{0,8}[:=]\s{0,8}["']?)[^\r\n"']+/gi,
  /\b((?:private-token|x-api-key|(?:set-)?cookie)["']?\s{0,8}[:=]\s{0,8}["']?)[^\r\n"']+/gi,
  /\b((?:basic|bearer)\s{1,8})[a-z0-9._~+/=-]{8,}/gi,
  // Tokens of well-known hosts, tokens that are JSON (RFC 7519), and private keys.
  /()(?<![\w-])(?:gh[opsur]_|github_pat_|sks_|gl(?:pat|dt|rt|ptt)-|xox[abeoprs]-)[\w.-]{16,16384}/g,
  /()(?<![\w.-])eyJ[\w-]{8,4096}\.[\w-]{2,16384}\.[\w-]{16,4096}/g,
  /()-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,65536}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
]
