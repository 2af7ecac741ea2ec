import { isIP } from 'node:net'
import { z } from 'zod'
import { isSourceId } from '../../../sync/model/source-id.ts'
import type { Schedule } from '../../../sync/model/source.ts'
import { readUpstreamSkillUri } from '../../../sync/model/uris/upstream-uri.ts'
import { isKeyName, parseVerifier } from '../../../sync/transparency-log/signed-note.ts'
import { cronTimeOf, isCronExpression, nextTimeMs } from '../../runtime/cron-time.ts'
import { gitUrlFault, isSshAddress, OF_WINDOWS, unparsedPart, WINDOWS_PATH } from './address-faults.ts'

// The value types that keys share. Each validates itself, so that one pass finds every fault of a file.

const CONTROL = /\p{Cc}/u
const CONTROL_BUT_BREAKS = /(?![\t\n\r])\p{Cc}/u
const CONTROL_FOUND = 'contains a control character'

/** Makes a schema once for each choice of arguments: a file has few of the keys, and each command makes the schemas of all. */
function shared<Asked extends readonly unknown[], Made>(make: (...asked: Asked) => Made): (...asked: Asked) => Made {
  const made = new Map<string, Made>()
  return (...asked) => {
    const key = JSON.stringify(asked)
    const known = made.get(key) ?? make(...asked)
    made.set(key, known)
    return known
  }
}

/** A part that few files have, made when a file has it. It is no default itself. */
export function later<Part extends z.ZodType>(make: () => Part): z.ZodLazy<Part> {
  const part = z.lazy(make)
  // An optional key asks for it before it has a value.
  Object.defineProperty(part._zod, 'optin', { value: undefined })
  return part
}

/** A mapping with these keys alone, which few files have. */
export function mapping<Keys extends z.core.$ZodShape>(keys: () => Keys) {
  return later(() => z.strictObject(keys()))
}

/** Text of one line. */
export const line = shared((maximum: number = 4096): z.ZodString => {
  return z.string().min(1).max(maximum).refine(isPlain, CONTROL_FOUND)
})

/** Text of any number of lines. */
export function prose(maximum: number): z.ZodString {
  return z
    .string()
    .min(1)
    .max(maximum)
    .refine((text) => !CONTROL_BUT_BREAKS.test(text), CONTROL_FOUND)
}

function isPlain(text: string): boolean {
  return !CONTROL.test(text)
}

/** A file or folder; made absolute later, when the folder of the configuration is known. */
export const path = shared((): z.ZodString => {
  return line().refine((text) => !WINDOWS_PATH.test(text), OF_WINDOWS)
})

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const DURATION = /^([1-9][0-9]{0,8})(ms|s|m|h|d)$/

/** `250ms`, `30s`, `5m`, `1h`, `30d`, converted to milliseconds. */
export const duration = shared(({ least = '1ms', most = '3650d' } = {}) => {
  const [leastMs, mostMs] = [durationMs(least), durationMs(most)]
  const form = 'must be a duration such as 30s, 5m or 1h (ms, s, m, h or d)'
  return z
    .string({ error: form })
    .regex(DURATION, form)
    .transform(durationMs)
    .refine((ms) => ms >= leastMs, `must be ${least} at least`)
    .refine((ms) => ms <= mostMs, `must be ${most} at most`)
})

/** The milliseconds of a duration; `undefined` if the text is not a duration. */
export function durationOf(text: string): number | undefined {
  return DURATION.test(text) ? durationMs(text) : undefined
}

function durationMs(text: string): number {
  return measure(text, DURATION, UNITS_MS)
}

function measure(text: string, shape: RegExp, units: Readonly<Record<string, number>>): number {
  const [, count, unit = ''] = shape.exec(text) ?? []
  return Number(count) * (units[unit] ?? Number.NaN)
}

/** The shortest text for a number of milliseconds. */
export function durationText(ms: number): string {
  return scaleText(ms, Object.entries(UNITS_MS))
}

const UNITS_BYTES: Readonly<Record<string, number>> = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 }
const BYTES = /^([1-9][0-9]{0,8})(B|KiB|MiB|GiB|TiB)$/

/** `64KiB`, `16MiB`, `2GiB`, or a bare number of bytes. */
export const bytes = shared(() => {
  const form = 'must be a size such as 64KiB, 16MiB or 2GiB (B, KiB, MiB, GiB or TiB)'
  const text = z
    .string()
    .regex(BYTES, form)
    .transform((size) => measure(size, BYTES, UNITS_BYTES))
  return z.union([text, z.int().min(1)], { error: form })
})

/** The shortest text for a number of bytes. */
export function shortestBytesText(size: number): string {
  return scaleText(size, Object.entries(UNITS_BYTES))
}

function scaleText(value: number, units: readonly (readonly [string, number])[]): string {
  const [unit, factor] = units.findLast(([, factor]) => value % factor === 0) ?? ['', 1]
  return `${value / factor}${unit}`
}

/** A whole number, at least 1. */
export const count = shared((most: number = 1_000_000_000): z.ZodInt => {
  return z.int().min(1).max(most)
})

const PERCENT = /^(?:100|[0-9]{1,2}(?:\.[0-9]{1,2})?)%$/

/** `5%`, `0.25%`; converted to a fraction of one. */
export function percent() {
  const form = 'must be a percentage such as 5% or 0.25%'
  return z.string({ error: form }).regex(PERCENT, form).transform(fractionOfPercent)
}

/** The fraction of a percentage; `undefined` if the text is not one. */
export function percentOf(text: string): number | undefined {
  return PERCENT.test(text) ? fractionOfPercent(text) : undefined
}

function fractionOfPercent(text: string): number {
  return Math.round(Number(text.slice(0, -1)) * 100) / 10_000
}

/** A TCP port; 0 picks a free one. */
export const port = shared((): z.ZodInt => {
  return z.int().min(0).max(65_535)
})

/** The address or host name to listen on. */
export const host = shared(() => {
  const form = 'must be an address or a host name, without a port and without brackets'
  return line(253).refine((text) => isIP(text) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text), form)
})

/** The id of a source or of a pack. */
export const id = shared(() => {
  const form = 'must be 1 to 64 of a-z, 0-9 and single inner hyphens'
  return z
    .string()
    .meta({ pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$', maxLength: 64 })
    .transform((text, context) => {
      if (isSourceId(text)) return text
      context.issues.push({ code: 'custom', input: text, message: form })
      return z.NEVER
    })
})

/** Five fields, or six with seconds first; also `@hourly` and similar. */
export function cron() {
  const form = 'is not a cron expression; write minute, hour, day of month, month, day of week, such as "*/5 * * * *"'
  return line(200)
    .refine((text) => isCronExpression(text), { error: form, abort: true })
    .refine(comesRound, 'names a day that does not exist')
}

/** The times of repeated work: a duration between two, or a cron expression. */
export const times = shared((range: { readonly least?: string; readonly most?: string }) => {
  const [period, expression] = [duration(range), cron()]
  const written = z.string({ error: TIMES }).meta({ pattern: TIMES_PATTERN })
  return written.transform((text, context): Schedule => {
    // Text with fewer fields is a duration with a space in it.
    const read = (/^@|\S\s+\S+\s+\S/.test(text) ? expression : period).safeParse(text)
    if (typeof read.data === 'number') return { kind: 'every', periodMs: read.data }
    if (read.data !== undefined) return { kind: 'cron', expression: read.data }
    const [issue] = read.error?.issues ?? []
    context.issues.push({
      code: 'custom',
      input: text,
      message: issue?.code === 'invalid_format' ? TIMES : (issue?.message ?? TIMES),
    })
    return z.NEVER
  })
})

const TIMES_PATTERN = `${DURATION.source}|^@[A-Za-z]+$|^\\s*\\S+(\\s+\\S+){4,5}\\s*$`
const TIMES = 'must be a duration such as 30s, 5m or 1h (ms, s, m, h or d), or a cron expression'

/** False for February 31, for example. The start date is fixed, so that the answer never changes. */
function comesRound(expression: string): boolean {
  return Number.isFinite(nextTimeMs(cronTimeOf(expression), Date.UTC(2024, 0, 1)))
}

/** Globs over paths that are relative to a source's root. */
export const globs = shared(() => {
  return z.array(
    line(1024)
      .refine((glob) => !glob.startsWith('/'), 'is relative to the root; write it without the leading slash')
      .refine((glob) => !glob.startsWith('!'), 'must not begin with "!"; use `exclude`')
      // As ignore files mean it. A glob with a slash at its end matches no path.
      .overwrite((glob) => glob.replace(/(?<!^|\\)\/+$/, '/**')),
  )
})

/** A folder inside a repository. The empty text and a dot mean the repository itself. */
export const folder = shared(() => {
  return (
    z
      .string()
      .max(4096)
      .refine(isPlain, CONTROL_FOUND)
      // Other tools and other systems write "./skills/", "/skills" and "skills\\pdf" for the same folder.
      .transform((text) =>
        text
          .split(/[/\\]/)
          .filter((part) => part !== '' && part !== '.')
          .join('/'),
      )
      .refine(
        (text) => !text.split('/').includes('..'),
        'must be a path inside the repository, such as skills or packages/skills',
      )
  )
})

/** Follows the rules of git-check-ref-format; a full commit id also satisfies them. */
export const ref = shared(() => {
  return line(1024).refine(
    (text) => !/[ ~^:?*[\\]|\.\.|@\{|\/\/|^[-/]|[/.]$|\.lock$/.test(text),
    'must be a branch, a tag, refs/… or a full commit id',
  )
})

/** The name of a branch, without what its ref begins with. */
export function branch() {
  return ref().refine((text) => text !== 'HEAD' && !/^refs\/|(?:^|\/)\./.test(text), 'must be the name of a branch')
}

/**
 * The address of a git repository. Normalized as the WHATWG defines, so that two spellings of one address are equal.
 */
export const gitUrl = shared(() => {
  return line().transform((text, context) => {
    const message = gitUrlFault(text)
    if (message === undefined) return isSshAddress(text) ? text : new URL(text).href
    context.issues.push({ code: 'custom', input: text, message })
    return z.NEVER
  })
})

/** The address of a git repository that our own client of git can push to. */
export function pushUrl() {
  return gitUrl().refine((url) => /^https?:/.test(url), 'must be an http(s) address, with a token in `auth`')
}

/** A prefix of git repository addresses; it contains at least a host. */
export function addressPrefix(): z.ZodString {
  return line().superRefine((text, context) => {
    const message = prefixFault(text)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
}

function prefixFault(text: string): string | undefined {
  // The short form of all addresses at one host over ssh.
  return /^[\w.-]+@[\w.-]+:?$/.test(text) ? undefined : gitUrlFault(text)
}

/** The address of a web endpoint, http or https. */
export const webUrl = shared(() => {
  return line().superRefine((text, context) => {
    const url = URL.parse(text)
    if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return
    const part = url === null && /^https?:/i.test(text) ? unparsedPart(text) : undefined
    context.addIssue({
      code: 'custom',
      message: part ?? 'must be an http(s) address without a user name or a password',
    })
  })
})

/** The endpoint of an MCP server. It is written to the lock, which must contain no secret, so none is allowed in it. */
export function serverUrl() {
  return webUrl().refine((text) => {
    const url = URL.parse(text)
    return url === null || (url.search === '' && url.hash === '')
  }, 'must not contain a query or a fragment; a credential goes into `auth`')
}

/** The public key of a log, as `skillsyncd hub channel keys` prints it. */
export function logKey() {
  return line(1_000).refine(
    (text) => parseVerifier(text) !== undefined,
    'must be the public key of a channel, NAME+ID+KEY, as skillsyncd hub channel keys prints it at the hub',
  )
}

/** The public key of a witness, as `skillsyncd hub channel new-key --witness` prints it. */
export function witnessKey() {
  return line(1_000).refine(
    (text) => parseVerifier(text, 'cosignature') !== undefined,
    'must be the public key of a witness, NAME+ID+KEY of type 4, as skillsyncd hub channel new-key --witness prints it',
  )
}

/** The name of a log: that of its key, and the first line of its checkpoints. */
export function logName() {
  return line(200).refine(isKeyName, 'must be a name without spaces and +, such as skills.example.com/channel')
}

/** The SKILL.md of a skill that the operator wants from a server. */
export function skillUriScalar() {
  return line().superRefine((text, context) => {
    const read = readUpstreamSkillUri(text)
    if (!read.ok) context.addIssue({ code: 'custom', message: `cannot be added: ${read.why}` })
  })
}
