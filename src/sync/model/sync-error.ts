import { isObject } from '../../base/json-object.ts'

/** The event that ends a failure: time alone, the operator's work, a decision on what waits, or the end of a choice. */
type FailureEnd = 'itself' | 'person' | 'decision' | 'choice'

/** The facts that hold for each error with one code. */
interface CodeRule {
  readonly meaning: string
  readonly ends: FailureEnd
  /** The next step for the operator, unless the error has its own. SOURCE and ID stand for what the error is about. */
  readonly fix: string
}

const LOOK = 'Review it with skillsyncd diff served upstream --only SOURCE'
const APPROVE = 'skillsyncd approve SOURCE ID'
const DECIDE = `${APPROVE} or skillsyncd reject SOURCE ID`

/** The next step for a process that has lost the lead of its hub. */
export const LEADER = 'Nothing to do if another process of the hub leads now: it publishes this'

/** The next step for a channel that this version does not take. */
export const ASK_HUB = 'Ask the operator of the hub: nothing on this machine changes what its channel has'

/** The next step for a lock that is no lock. */
export const LOCK_UNREADABLE =
  'Put the file of an earlier commit in its place, or move it away: skillsyncd lock then locks again what was locked'

/** All failures of reaching, checking or storing a source. The code is the contract; messages are for people. */
export const SYNC_ERROR_RULES = {
  'source-unreachable': {
    meaning: 'The host cannot be reached, or does not answer as it should',
    ends: 'itself',
    fix: 'Check the address and its port, and what is between: a firewall, a VPN or a proxy',
  },
  'dns-failed': {
    meaning: 'The host name has no address, or the resolver does not answer',
    ends: 'itself',
    fix: 'Check the host name in the address, and the resolver of this machine',
  },
  'tls-failed': {
    meaning: 'The connection is not trusted. Nothing was fetched, and no credential was sent',
    ends: 'itself',
    fix: 'Check the certificate of the host and the clock of this machine; over ssh, the host key and the known hosts',
  },
  'rate-limited': {
    meaning: 'The host requested a pause, which applies to all sources of the host',
    ends: 'itself',
    fix: 'Wait as long as the host requests, or give a credential in `auth`: most hosts allow more with one',
  },
  'log-stale': {
    meaning: 'The newest entry of the channel is older than `max_age` of the source',
    ends: 'itself',
    fix: 'Check that the hub still publishes; `max_age` is the age that is allowed',
  },
  'log-unwitnessed': {
    meaning: 'Too few witnesses have cosigned the newest state of the log',
    ends: 'itself',
    fix: 'Ask the operator of the hub if its witnesses answer, and compare `witnesses`',
  },
  'store-failed': {
    meaning: 'The state folder, or another file of this machine, cannot be read or written',
    ends: 'itself',
    fix: 'The message has the cause; skillsyncd doctor checks the state folder',
  },
  'socket-failed': {
    meaning: 'The daemon cannot listen on the socket for commands',
    ends: 'itself',
    fix: 'Set XDG_RUNTIME_DIR to a folder of this user alone, or unset it',
  },
  // A host locks the account after repeated failed logins.
  'credentials-rejected': {
    meaning: 'The host does not accept the credential, wants one, or the credential cannot be read',
    ends: 'person',
    fix: 'Check that the credential named in `auth` is present, valid and may read the source',
  },
  'repository-not-found': {
    meaning: 'There is no such repository, folder or channel; a git host answers the same for a private one',
    ends: 'person',
    fix: 'Check the address or the folder; a private repository without a credential looks the same',
  },
  'protocol-not-spoken': {
    meaning: 'Something answers at the address, and not in the protocol of the source',
    ends: 'person',
    fix: 'Check that the address is that of a git repository; an MCP server is named with `mcp` in place of `url`',
  },
  'root-not-found': {
    meaning: 'The folder in `root` is not in the commit, is a file, or differs in case',
    ends: 'person',
    fix: 'Set `root` to a folder that is there, or remove it to read the whole repository',
  },
  'ref-not-found': {
    meaning: 'The branch or tag in `ref` is not there, or the repository has no commits',
    ends: 'person',
    fix: 'Check `ref`: branch or tag may be renamed or deleted',
  },
  'ref-ambiguous': {
    meaning: 'A branch and a tag have the same name',
    ends: 'person',
    fix: 'Write the full name: refs/heads/… for the branch, refs/tags/… for the tag',
  },
  'revision-unverified': {
    meaning: 'The commit or tag is not signed by a required signer, or the files that name the signers are unreadable',
    ends: 'person',
    fix: 'Check who signed the commit or the tag, and the files that `signed` names',
  },
  'lock-mismatch': {
    meaning: 'The lock and the configuration, or the lock and what was found, disagree; or the lock cannot be read',
    ends: 'person',
    fix: 'skillsyncd verify lists each difference; skillsyncd lock adds what is missing, skillsyncd update SOURCE moves what is there',
  },
  'skill-recalled': {
    meaning: 'The lock names a skill that is recalled. What was served before stays, without that skill',
    ends: 'person',
    fix: 'Remove it from the lock: skillsyncd update SOURCE, once its source lacks it or `exclude` leaves it out; skillsyncd disable --followers has the reason',
  },
  'not-stored': {
    meaning: 'With --offline or --frozen, the state folder lacks what is to be served',
    ends: 'person',
    fix: 'Run skillsyncd sync once with neither --offline nor --frozen, or copy the state folder of a machine that has it',
  },
  'content-refused': {
    meaning: 'The commit as a whole is not taken, for the path and the reason in the message',
    ends: 'person',
    fix: 'Correct upstream what the message names',
  },
  'push-refused': {
    meaning: 'The git host accepted the credential, and refused to move the branch',
    ends: 'person',
    fix: 'Let this account push in the rules of the branch, or publish to another branch',
  },
  'log-unsigned': {
    meaning: 'None of the keys in `key` has signed the log of the channel, or the log has another name',
    ends: 'person',
    fix: 'Check the address, and compare `key` with what skillsyncd hub channel keys prints at the hub',
  },
  'log-rolled-back': {
    meaning: 'The log of the channel is shorter than this machine has seen it before',
    ends: 'person',
    fix: 'Ask the operator of the hub if the log was restored from a backup; a new log has a new name and key',
  },
  'log-forked': {
    meaning: 'The log of the channel does not continue the one that this machine has seen',
    ends: 'person',
    fix: 'Keep what is served and ask the operator of the hub: the log was replaced, or shows other entries to others',
  },
  'limit-exceeded': {
    meaning: 'Something is larger than this machine accepts. Nothing is trimmed: the commit is not taken',
    ends: 'person',
    fix: 'If the message names no key, this limit is fixed: narrow `include` of the source, or have less of it upstream',
  },
  'git-missing': {
    meaning: 'The source needs git or ssh, which is missing or cannot run',
    ends: 'person',
    fix: 'Install the named program, or name it in `programs`; over http(s), `backend: embedded` needs none',
  },
  unsupported: {
    meaning: 'The source needs something that this version does not have',
    ends: 'person',
    fix: 'The message names what this version cannot do with the source',
  },
  'no-state-folder': {
    meaning: 'There is no state folder at the path: it was removed, or its disk is not mounted',
    ends: 'person',
    fix: 'Mount its disk, or restore the whole folder from a backup; or move away what is left of it and start the daemon, which fetches everything again',
  },
  'folder-unsafe': {
    meaning: 'Another user owns the state folder, can write to it, or put something at its top. Nothing is read there',
    ends: 'person',
    fix: 'Another user could change what is served: do as the message says, or name another folder with `state`',
  },
  'tag-moved': {
    meaning: 'A tag names another commit or tag object than before, or the highest tag of a range is gone',
    ends: 'decision',
    fix: `${LOOK}, then ${DECIDE}; where the lock is followed, skillsyncd update SOURCE`,
  },
  'history-rewritten': {
    meaning: 'A branch was rewritten: the served commit is no longer in its history',
    ends: 'decision',
    fix: `${LOOK}, then ${DECIDE}; where the lock is followed, skillsyncd update SOURCE`,
  },
  'mass-deletion': {
    meaning: 'A commit has no skill where there were some, or fewer than half and over five fewer',
    ends: 'decision',
    fix: `${LOOK}; if the deletion is meant, ${APPROVE}`,
  },
  'budget-exceeded': {
    meaning: 'A commit takes the listing of a pack over its `budget`, and makes it larger than the served one',
    ends: 'decision',
    fix: `${LOOK}, then ${APPROVE}; or raise \`budget\` of the pack`,
  },
  'default-branch-moved': {
    meaning: 'The source has no `ref`, and the default branch changed to one that does not contain the served commit',
    ends: 'decision',
    fix: `${LOOK}; name the branch that is meant in \`ref\`, or ${APPROVE}`,
  },
  'disabled-returns': {
    meaning: 'A disabled skill is at another place, or another skill has its name, URI, SKILL.md or files',
    ends: 'decision',
    fix: `${LOOK}, then ${DECIDE}; skillsyncd enable SKILL lets the skill itself be served again`,
  },
  'awaiting-approval': {
    meaning: '`update: review`, or a gate: the ref moved, and the served commit stays until the new one is approved',
    ends: 'decision',
    fix: `${LOOK}, then ${DECIDE}`,
  },
  held: {
    meaning: 'A person ran skillsyncd hold: the source stays where it is',
    ends: 'choice',
    fix: 'skillsyncd release SOURCE lets it follow its ref again',
  },
  'rolled-back': {
    meaning: 'A person ran skillsyncd rollback: the commit that was left is skipped',
    ends: 'choice',
    fix: 'Nothing: the next commit comes as ever; skillsyncd release SOURCE has the skipped one come again, skillsyncd hold SOURCE keeps the served one',
  },
  rejected: {
    meaning: 'A person ran skillsyncd reject: that commit is skipped',
    ends: 'choice',
    fix: `Nothing: the next commit is considered again; ${APPROVE} approves this one after all`,
  },
} as const satisfies Readonly<Record<string, CodeRule>>

export type SyncErrorCode = keyof typeof SYNC_ERROR_RULES

/** The remedy of one error, where that of its code would be wrong. */
export interface Remedy {
  /** The next step for the operator. */
  readonly fix?: string | undefined
  /** The key, file, entry or folder that the next step concerns. */
  readonly place?: string | undefined
}

/** A failure as plain data: the part of an error that JSON, the store and other processes keep. */
export interface Problem extends Remedy {
  readonly code: SyncErrorCode
  readonly message: string
}

export function plainProblemOf({ code, message, fix, place }: Problem): Problem {
  return { code, message, ...(fix !== undefined && { fix }), ...(place !== undefined && { place }) }
}

/** The problem in a value that was stored or received; `undefined` if it is none. */
export function problemIn(value: unknown): Problem | undefined {
  const { code, message, ...remedy } = isObject(value) ? value : {}
  if (typeof code !== 'string' || !isSyncErrorCode(code) || typeof message !== 'string') return undefined
  return plainProblemOf({ code, message, ...remedyIn(remedy) })
}

/** The remedy in an object that was stored or received. */
export function remedyIn({ fix, place }: { readonly fix?: unknown; readonly place?: unknown }): Remedy {
  return { fix: textIn(fix), place: textIn(place) }
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export interface SyncErrorOptions extends Remedy {
  readonly cause?: unknown
  readonly retryAfterMs?: number | undefined
}

/** An expected failure of the sync side. A foreign error is converted to it where it enters, and only there. */
export class SyncError extends Error implements Problem {
  override readonly name = 'SyncError'
  readonly code: SyncErrorCode
  readonly fix: string | undefined
  readonly place: string | undefined
  /** The delay that the other side requested, in milliseconds. Only with `rate-limited` and `source-unreachable`. */
  readonly retryAfterMs: number | undefined

  constructor(code: SyncErrorCode, message: string, options: SyncErrorOptions = {}) {
    const errno = errnoIn(code, options.cause)
    const isTold = errno === undefined || message.includes(errno)
    super(
      isTold ? message : `${message}: ${diskText(errno)}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.code = code
    this.fix = options.fix ?? (errno && diskFix(errno)) ?? limitFix(options.place)
    this.place = options.place
    this.retryAfterMs = options.retryAfterMs
  }
}

/** The next step for a limit that a key of the configuration has. */
function limitFix(key = ''): string | undefined {
  return /^(?:limits|budgets)\./.test(key) ? `Raise \`${key}\`, or serve less of the source` : undefined
}

/** The word of the operating system for a file that it refused. Connections have codes of their own. */
function errnoIn(code: SyncErrorCode, cause: unknown): string | undefined {
  if (code !== 'store-failed' && code !== 'source-unreachable') return undefined
  if (!isSystemError(cause) || cause.syscall === 'connect' || typeof cause.code !== 'string') return undefined
  return /^E[A-Z0-9]+$/.test(cause.code) ? cause.code : undefined
}

/** The next step after a refusal of the operating system; `undefined` for one that has no cause of its own. */
export function diskFix(errno: string): string | undefined {
  return DISK_FIXES.get(errno)
}

const FULL = 'Free space and inodes on the disk of the place that the message names: df -h and df -i show both'
const DENIED =
  'Run the command as the owner of that place, as the daemon runs (ls -ld shows the owner; sudo -u OWNER skillsyncd …), or give this user the permission on it'
const OTHER_KIND = 'Something else is at that place: move it away, or name another place'
const TOO_MANY_OPEN = 'Raise the limit of open files: LimitNOFILE= of the service, or ulimit -n'
const DISK_FAULT = 'Check the disk: the log of the kernel (dmesg) has its faults'

/** The word of the operating system for a refusal, in plain words. */
export function diskText(errno: string): string {
  const words = DISK_WORDS.get(errno)
  return words === undefined ? errno : `${words} (${errno})`
}

/** Plain words for the refusals of the operating system that people meet. */
export const DISK_WORDS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is nothing of that name'],
  ['ENOTDIR', 'a part of the path is not a folder'],
  ['EACCES', 'permission denied'],
  ['EPERM', 'permission denied'],
  ['EROFS', 'the disk cannot be written to'],
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the quota of this user is used up'],
  ['ELOOP', 'a link in it leads to itself'],
  ['ENAMETOOLONG', 'the name is too long'],
  ['EMFILE', 'this process has too many open files'],
  ['ENFILE', 'this machine has too many open files'],
  ['EIO', 'the disk has a fault'],
])

const DISK_FIXES: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', FULL],
  ['EDQUOT', FULL],
  ['EACCES', DENIED],
  ['EPERM', DENIED],
  ['EROFS', 'Mount the disk of that place writable, or name a place on another disk'],
  ['ENOENT', 'Make what is missing at that place, or name another place'],
  ['ENOTDIR', OTHER_KIND],
  ['EISDIR', OTHER_KIND],
  ['EMFILE', TOO_MANY_OPEN],
  ['ENFILE', TOO_MANY_OPEN],
  ['ELOOP', 'Links at that place lead in a circle: mend them, or name another place'],
  ['ENAMETOOLONG', 'The path is too long for that disk: name a shorter one'],
  ['EIO', DISK_FAULT],
  ['ESTALE', DISK_FAULT],
])

/** The refusal of a request to the network. `attempt` begins the message. */
export function offlineError(attempt: string): SyncError {
  const fix = 'Run it without --offline'
  return new SyncError('source-unreachable', `${attempt} --offline forbids network access`, { fix })
}

/**
 * Stored content is gone, or has other bytes. It can be fetched again. A disk that fails at the moment is the plain
 * `SyncError`, which says nothing about the stored content.
 */
export class Damaged extends SyncError {
  constructor(message: string) {
    super('store-failed', message, { fix: 'skillsyncd verify lists what is damaged; skillsyncd sync fetches it again' })
  }
}

/** For `.catch`, if work that fails in an expected way is left, or tried again later. */
export function unlessSyncError(error: unknown): void {
  if (!(error instanceof SyncError)) throw error
}

/** For `.catch`, if damaged content counts as absent. */
export function undefinedIfDamaged(error: unknown): undefined {
  if (error instanceof Damaged) return undefined
  throw error
}

/** The host itself refused the credential that it got: the provider must not issue the same one again. */
export class CredentialRefused extends SyncError {
  constructor(message: string, options: SyncErrorOptions = {}) {
    super('credentials-rejected', message, options)
  }
}

/** The host answers 403: it knows who asks, or does not ask, and forbids the request itself. */
export class RequestForbidden extends SyncError {
  constructor(message: string) {
    super('credentials-rejected', message)
  }
}

/** The host named a commit and then does not have it: a replica that lags behind another one, or a damaged answer. */
export class CommitContradicted extends SyncError {
  constructor(cause: SyncError) {
    const message = `${cause.message}, and it named the commit a moment ago: a replica of it may lag`
    const fix = 'Wait until the replicas of the host have caught up'
    super('source-unreachable', message, { cause, fix })
  }
}

/**
 * No currently trusted signer signed the object. An unreadable list of signers is the plain `SyncError`, and proves
 * nothing.
 */
export class NotSigned extends SyncError {
  constructor(message: string) {
    super('revision-unverified', message)
  }
}

/** The signing key no longer counts for new content. Content that is already here, or is locked, may stay. */
export class SignedLate extends NotSigned {}

/**
 * The error to report if the thrown one may be a `SuppressedError`: work failed, and then the disposal of its
 * resources. The result is the failure of the work if it is ours, with the failure of the disposal as a cause. A bug in
 * the program stays as it is.
 */
export function unwrapSuppressed(thrown: unknown): unknown {
  if (!isSuppressed(thrown)) return thrown
  const [first, later] = [unwrapSuppressed(thrown.suppressed), unwrapSuppressed(thrown.error)]
  if (!isExpected(later)) return thrown
  if (!(first instanceof SyncError)) return isAbort(first) ? first : thrown
  first.cause = first.cause === undefined ? later : new AggregateError([first.cause, later], textOf(first.cause, later))
  return first
}

/** The built-in class, or the compiler's own if the runtime has none yet. */
function isSuppressed(thrown: unknown): thrown is Error & { readonly error: unknown; readonly suppressed: unknown } {
  return thrown instanceof Error && thrown.name === 'SuppressedError' && 'error' in thrown && 'suppressed' in thrown
}

function isExpected(error: unknown): error is Error {
  return error instanceof SyncError || isSystemError(error)
}

/** True if the error comes from the operating system. */
export function isSystemError(error: unknown): error is Error & { readonly code: unknown; readonly syscall: unknown } {
  return error instanceof Error && 'syscall' in error && 'code' in error
}

/** An error that `isSystemError` accepts, with a code that another thread has sent. Its call is not known. */
export function systemErrorWith(code: string): Error {
  return Object.assign(new Error(`A call of the operating system ended with ${code} on another thread`), {
    code,
    syscall: 'unknown',
  })
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

function textOf(cause: unknown, later: Error): string {
  return `${cause instanceof Error ? cause.message : String(cause)}; then ${later.message}`
}

/** The source that an error is about, and its waiting revision, if any. */
export interface ErrorSubject {
  readonly source: string
  readonly commit?: string | undefined
  readonly tag?: string | undefined
}

/**
 * The next step for the operator: that of the error, or of its code. Status and the command line show it under the
 * error. With a subject, its commands can be pasted: they name exactly what waits, by the tag object if there is one,
 * since that names the commit too.
 */
export function mendOf({ code, fix }: Pick<Problem, 'code' | 'fix'>, about?: ErrorSubject): string {
  if (fix !== undefined) return fix
  const general = SYNC_ERROR_RULES[code].fix
  if (about === undefined) return general
  return general.replaceAll('SOURCE', about.source).replaceAll(/\bID\b/g, about.tag ?? about.commit ?? 'ID')
}

/** True if the operator chose this state: there is nothing to fix. */
export function isByChoice(code: SyncErrorCode): boolean {
  return SYNC_ERROR_RULES[code].ends === 'choice'
}

/** True if the revision upstream waits until the operator approves or rejects it. */
export function isAwaitingDecision(code: SyncErrorCode): boolean {
  return SYNC_ERROR_RULES[code].ends === 'decision'
}

/**
 * True if the failure may pass by itself, so that an early retry is useful. A failure that needs the operator gets only
 * the regular checks.
 */
export function isPassing(code: SyncErrorCode): boolean {
  return SYNC_ERROR_RULES[code].ends === 'itself'
}

/** The only check of the format, for codes that a version of skillsyncd stored. */
export function isSyncErrorCode(text: string): text is SyncErrorCode {
  return Object.hasOwn(SYNC_ERROR_RULES, text)
}
