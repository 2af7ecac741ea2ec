import { TRUST_LIMITS, Unproven } from '../model/signers.ts'
import { certifiedType, expectCertified } from './ssh-certificate.ts'
import type { SshCertificate } from './ssh-certificate.ts'
import { fingerprintOf, isKeyType, readSshKey } from './ssh-key.ts'
import type { SshPublicKey } from './ssh-key.ts'
import { fromBase64, MalformedSsh } from './ssh-wire.ts'

/** One line of the list: the principals whose signatures by this key count, and the period. */
export interface AllowedSigner {
  /** Patterns, separated by commas. */
  readonly principals: string
  readonly key: SshPublicKey
  /** True if the key signs only certificates, and no data itself. */
  readonly isAuthority: boolean
  /** Patterns of the namespaces that the key may sign for; `undefined` for all. */
  readonly namespaces: string | undefined
  /** Seconds since 1970, both included. */
  readonly validAfter: number | undefined
  readonly validBefore: number | undefined
}

/** The key that a signature names as its own, with the certificate that proves its owner, if there is one. */
export interface PresentedKey {
  readonly key: SshPublicKey
  readonly certificate: SshCertificate | undefined
}

/**
 * Reads the list in the form of ssh-keygen(1), ALLOWED SIGNERS. Throws `Unproven` with the line that cannot be read:
 * skipping the line could skip an end of validity.
 */
export function readAllowedSigners(text: string): readonly AllowedSigner[] {
  if (Buffer.byteLength(text) > TRUST_LIMITS.allowedSignersBytes) {
    throw unusable(`they are over ${TRUST_LIMITS.allowedSignersBytes} bytes`)
  }
  const lines = text.replace(/^\uFEFF/, '').split('\n')
  return lines.flatMap((raw, index) => {
    const line = raw.replace(/^[ \t]+|[ \t\r]+$/g, '')
    if (line === '' || line.startsWith('#')) return []
    try {
      return [readLine(line)]
    } catch (error) {
      if (error instanceof MalformedSsh) throw unusable(`line ${index + 1}: ${error.message}`)
      throw error
    }
  })
}

function unusable(why: string): Unproven {
  return new Unproven(`cannot be checked, because the allowed signers cannot be read: ${why}`)
}

function readLine(line: string): AllowedSigner {
  if (/(?!\t)\p{Cc}/u.test(line)) throw new MalformedSsh('it contains a control character')
  const [whole, quoted, bare] = /^(?:"([^"]+)"|([^\s"]+))[ \t]+/.exec(line) ?? []
  const principals = quoted ?? bare
  if (whole === undefined || principals === undefined)
    throw new MalformedSsh('it has no principals with a key after them')
  expectPatterns(principals)
  const rest = line.slice(whole.length)
  if (/^(?:ssh|ecdsa|sk)-/.test(rest)) return { principals, ...readOptions(''), key: readKey(rest) }
  const options = endOfOptions(rest)
  return { principals, ...readOptions(rest.slice(0, options)), key: readKey(rest.slice(options).trimStart()) }
}

function expectPatterns(list: string): void {
  const patterns = list.split(',')
  if (patterns.includes('')) throw new MalformedSsh('it has an empty pattern')
  if (patterns.some((pattern) => pattern.length > MOST_PATTERN_CHARACTERS)) {
    throw new MalformedSsh(`it has a pattern of over ${MOST_PATTERN_CHARACTERS} characters`)
  }
}

/** The length of the options, which end at the first blank outside of quotes. */
function endOfOptions(text: string): number {
  return /^(?:[^ \t"\\]|\\"?|"(?:[^"\\]|\\"?)*")*/.exec(text)?.[0].length ?? 0
}

function readKey(text: string): SshPublicKey {
  const [type = '', encoded = ''] = text.split(/[ \t]+/)
  if (certifiedType(type) !== undefined) {
    throw new MalformedSsh('it has a certificate; name the key itself, or its authority with cert-authority')
  }
  if (!isKeyType(type)) throw new MalformedSsh(`${JSON.stringify(type.slice(0, 100))} is not a supported type of key`)
  const key = readSshKey(fromBase64(encoded))
  if (key.type !== type) throw new MalformedSsh(`its key is of the type ${key.type}`)
  return key
}

type Options = Pick<AllowedSigner, 'isAuthority' | 'namespaces' | 'validAfter' | 'validBefore'>

const OPTION = /^([a-z-]+)(?:="((?:[^"\\]|\\"|\\(?!"))*)")?(?:,(?=.)|$)/i

function readOptions(text: string): Options {
  const found = new Map<string, string | undefined>()
  for (let rest = text; rest !== '';) {
    const [whole, name, value] = OPTION.exec(rest) ?? []
    if (whole === undefined || name === undefined) throw new MalformedSsh('its options cannot be read')
    const option = name.toLowerCase()
    if (found.has(option)) throw new MalformedSsh(`it has the option ${option} twice`)
    found.set(option, checkedOption(option, value))
    rest = rest.slice(whole.length)
  }
  const [validAfter, validBefore] = [timeOf(found.get('valid-after')), timeOf(found.get('valid-before'))]
  if (validAfter !== undefined && validBefore !== undefined && validBefore <= validAfter) {
    throw new MalformedSsh('its valid-before is not after its valid-after')
  }
  return { isAuthority: found.has('cert-authority'), namespaces: found.get('namespaces'), validAfter, validBefore }
}

const WITH_VALUE: Readonly<Record<string, boolean>> = {
  'cert-authority': false,
  namespaces: true,
  'valid-after': true,
  'valid-before': true,
}

function checkedOption(option: string, value: string | undefined): string | undefined {
  if (!Object.hasOwn(WITH_VALUE, option)) throw new MalformedSsh(`it has the unknown option ${JSON.stringify(option)}`)
  if (WITH_VALUE[option] !== (value !== undefined)) {
    throw new MalformedSsh(
      `its option ${option} needs ${WITH_VALUE[option] === true ? 'a value in quotes' : 'no value'}`,
    )
  }
  const plain = value?.replaceAll(String.raw`\"`, '"')
  if (option === 'namespaces' && plain !== undefined) expectPatterns(plain)
  return plain
}

const TIME = /^(\d{4})(\d{2})(\d{2})(?:(\d{2})(\d{2})(\d{2})?)?(Z?)$/i

/**
 * `YYYYMMDD` or `YYYYMMDDHHMM[SS]`, in the time zone of this machine unless a `Z` follows. Returns seconds since 1970.
 */
function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const [whole, year, month, day, hour = 0, minute = 0, second = 0, zone] = TIME.exec(text) ?? []
  if (whole === undefined)
    throw new MalformedSsh('its time is not in the form YYYYMMDD or YYYYMMDDHHMM[SS], with or without Z')
  const parts = [Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)] as const
  const utc = new Date(Date.UTC(...parts))
  // The 31st of February would silently become the 3rd of March.
  const isReal = utc.toISOString().startsWith(isoOf(parts))
  const date = zone === '' ? new Date(...parts) : utc
  if (!isReal || date.getTime() <= 0) throw new MalformedSsh('its time is not a time of a calendar')
  return date.getTime() / 1000
}

function isoOf([year, month, day, hour, minute, second]: readonly number[]): string {
  const [y, m, d, h, min, s] = [year, (month ?? 0) + 1, day, hour, minute, second].map((part) =>
    String(part).padStart(2, '0'),
  )
  return `${y?.padStart(4, '0')}-${m}-${d}T${h}:${min}:${s}.`
}

/**
 * The principal that a key signs as, and the end of its validity in seconds since 1970; `undefined` if it has no end.
 */
export interface NamedSigner {
  readonly principal: string
  readonly ends: number | undefined
}

/**
 * The principal that the key signs as, by this list, for this namespace, at this time. Throws `Unproven` if there is
 * none. Decides as git does: the first line with the key names the principals, and a line must allow one of them.
 */
export function principalOf(
  presented: PresentedKey,
  signers: readonly AllowedSigner[],
  { namespace, seconds }: { readonly namespace: string; readonly seconds: number },
): NamedSigner {
  const having = signers.filter((signer) => hasKey(signer, presented))
  if (having.length === 0)
    throw new Unproven(`is signed by ${nameOf(presented)}, which is not among the allowed signers`)
  if (presented.certificate !== undefined) expectCertified(presented.certificate, seconds)
  const inTime = having.filter((signer) => isInTime(signer, seconds))
  if (inTime.length === 0)
    throw new Unproven(`is signed by ${nameOf(presented)}, and dated ${timesOf(having, seconds)}`)
  const named = inTime.map((signer) => principalsOf(signer, presented)).find((names) => names.length > 0) ?? []
  const allowed = inTime.filter(({ namespaces }) => namespaces === undefined || matchesList(namespace, namespaces))
  const principal = named.find(
    (name) => !name.startsWith('!') && allowed.some(({ principals }) => matchesList(name, principals)),
  )
  if (principal !== undefined) {
    const allowing = allowed.filter(({ principals }) => matchesList(principal, principals))
    return { principal, ends: endOf(allowing, presented.certificate) }
  }
  const why = named.length === 0 || allowed.length > 0 ? 'names no principal of its own' : `is not for "${namespace}"`
  throw new Unproven(`is signed by ${nameOf(presented)}, whose line among the allowed signers ${why}`)
}

function hasKey({ key, isAuthority }: AllowedSigner, presented: PresentedKey): boolean {
  const wanted = presented.certificate === undefined ? presented.key : presented.certificate.authority
  return isAuthority === (presented.certificate !== undefined) && key.blob.equals(wanted.blob)
}

/** A line without an end, or with a later one, keeps the key valid; a certificate has an end of its own. */
function endOf(allowing: readonly AllowedSigner[], certificate: SshCertificate | undefined): number | undefined {
  const ofLines = Math.max(...allowing.map(({ validBefore = FOREVER }) => validBefore))
  const end = Math.min(ofLines, Number(certificate?.validBefore ?? FOREVER))
  return end < FOREVER ? end : undefined
}

/** A certificate without an end has all bits set there. */
const FOREVER = 2 ** 64

function nameOf({ key, certificate }: PresentedKey): string {
  if (certificate === undefined) return `the key ${fingerprintOf(key)}`
  return `the key ${fingerprintOf(key)} with a certificate of ${fingerprintOf(certificate.authority)}`
}

function isInTime({ validAfter, validBefore }: AllowedSigner, seconds: number): boolean {
  return (validAfter === undefined || seconds >= validAfter) && (validBefore === undefined || seconds <= validBefore)
}

function timesOf([first]: readonly AllowedSigner[], seconds: number): string {
  const { validAfter, validBefore } = first ?? {}
  const isEarly = validAfter !== undefined && seconds < validAfter
  const [bound, at] = isEarly ? ['before it was valid', validAfter] : ['after it had expired', validBefore]
  return `${dateText(seconds)}, ${bound} (${dateText(at ?? 0)})`
}

/** A time in seconds since 1970, for people. */
export function dateText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000', '')
}

/**
 * The principals that the line lets the key sign as. A name that begins with `!` is none, but still stops git from
 * using the next line.
 */
function principalsOf({ principals }: AllowedSigner, { certificate }: PresentedKey): readonly string[] {
  const patterns = principals.split(',')
  if (certificate === undefined) return patterns
  return certificate.principals.filter((name) => patterns.some((pattern) => matches(name, pattern)))
}

/** The maximum length that OpenSSH compares; a longer pattern matches nothing there. */
const MOST_PATTERN_CHARACTERS = 1022

/**
 * True if the name matches a pattern of the comma-separated list and none of those that begin with `!`: PATTERNS in
 * ssh_config(5), case-sensitive.
 */
export function matchesList(name: string, list: string): boolean {
  const patterns = list.split(',')
  const denied = patterns.some((pattern) => pattern.startsWith('!') && matches(name, pattern.slice(1)))
  return !denied && patterns.some((pattern) => !pattern.startsWith('!') && matches(name, pattern))
}

/** True if the name matches the pattern, in which `*` stands for any characters and `?` for one. */
function matches(name: string, pattern: string): boolean {
  let [at, inPattern] = [0, 0]
  // The place to retry from if the text after the last star does not match: one character further. An earlier star
  // cannot help then.
  let retry: { at: number; readonly inPattern: number } | undefined
  while (at < name.length) {
    const wanted = pattern[inPattern]
    if (wanted === '*') {
      inPattern += 1
      retry = { at, inPattern }
    } else if (wanted === '?' || wanted === name[at]) {
      at += 1
      inPattern += 1
    } else if (retry === undefined) {
      return false
    } else {
      retry.at += 1
      at = retry.at
      inPattern = retry.inPattern
    }
  }
  return /^\**$/.test(pattern.slice(inPattern))
}
