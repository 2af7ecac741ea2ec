/** All failures of reaching, checking or storing a source. The code is the contract; messages are for people. */
export type SyncErrorCode =
  | 'source-unreachable'
  | 'dns-failed'
  | 'tls-failed'
  | 'rate-limited'
  | 'credentials-rejected'
  | 'repository-not-found'
  | 'ref-not-found'
  | 'ref-ambiguous'
  | 'tag-moved'
  | 'history-rewritten'
  | 'mass-deletion'
  | 'budget-exceeded'
  | 'default-branch-moved'
  | 'disabled-returns'
  | 'awaiting-approval'
  | 'paused'
  | 'pinned'
  | 'rolled-back'
  | 'rejected'
  | 'revision-unverified'
  | 'lock-mismatch'
  | 'skill-recalled'
  | 'not-stored'
  | 'content-refused'
  | 'push-refused'
  | 'log-unsigned'
  | 'log-rolled-back'
  | 'log-forked'
  | 'log-stale'
  | 'log-unwitnessed'
  | 'limit-exceeded'
  | 'git-missing'
  | 'unsupported'
  | 'store-failed'
  | 'no-state-folder'
  | 'socket-failed'
  | 'folder-unsafe'

/** An expected failure of the sync side. A foreign error is converted to it where it enters, and only there. */
export class SyncError extends Error {
  override readonly name = 'SyncError'
  readonly code: SyncErrorCode
  /** The delay that the other side requested, in milliseconds. Only with `rate-limited` and `source-unreachable`. */
  readonly retryAfterMs: number | undefined

  constructor(code: SyncErrorCode, message: string, options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.retryAfterMs = options.retryAfterMs
  }
}

/**
 * Stored content is gone, or has other bytes. It can be fetched again. A disk that fails at the moment is the plain
 * `SyncError`, which says nothing about the stored content.
 */
export class Damaged extends SyncError {
  constructor(message: string) {
    super('store-failed', message)
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
  constructor(message: string) {
    super('credentials-rejected', message)
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
export function isSystemError(error: unknown): error is Error & { readonly code: unknown } {
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

/** The source that an error is about, and its waiting revision. */
export interface ErrorSubject {
  readonly source: string
  readonly commit: string
  readonly tag?: string | undefined
}

/**
 * The next step for the operator, one sentence per code. Status and the command line show it under the error. With a
 * subject, its commands can be pasted: they name exactly what waits, by the tag object if there is one, since that
 * names the commit too.
 */
export function mendOf(code: SyncErrorCode, about?: ErrorSubject): string {
  if (about === undefined) return MENDS[code]
  return MENDS[code].replaceAll('SOURCE', about.source).replaceAll(/\bID\b/g, about.tag ?? about.commit)
}

/** True if the operator chose this state: there is nothing to fix. */
export function isByChoice(code: SyncErrorCode): boolean {
  return code === 'paused' || code === 'pinned' || code === 'rolled-back' || code === 'rejected'
}

/** True if the revision upstream waits until the operator approves or rejects it. */
export function isAwaitingDecision(code: SyncErrorCode): boolean {
  return AWAITING_DECISION.has(code)
}

const AWAITING_DECISION: ReadonlySet<SyncErrorCode> = new Set([
  'tag-moved',
  'history-rewritten',
  'default-branch-moved',
  'mass-deletion',
  'budget-exceeded',
  'disabled-returns',
  'awaiting-approval',
])

/** The only check of the format, for codes that a version of skillsyncd stored. */
export function isSyncErrorCode(text: string): text is SyncErrorCode {
  return Object.hasOwn(MENDS, text)
}

/**
 * True if the failure may pass by itself, so that an early retry is useful. A failure that needs the operator gets only
 * the regular checks.
 */
export function isPassing(code: SyncErrorCode): boolean {
  return PASSING[code]
}

const PASSING: Readonly<Record<SyncErrorCode, boolean>> = {
  'source-unreachable': true,
  'dns-failed': true,
  'tls-failed': true,
  'rate-limited': true,
  // A host locks the account after repeated failed logins.
  'credentials-rejected': false,
  'repository-not-found': false,
  'ref-not-found': false,
  'ref-ambiguous': false,
  'tag-moved': false,
  'history-rewritten': false,
  'mass-deletion': false,
  'budget-exceeded': false,
  'revision-unverified': false,
  'lock-mismatch': false,
  'skill-recalled': false,
  'not-stored': false,
  'content-refused': false,
  'push-refused': false,
  'log-unsigned': false,
  'log-rolled-back': false,
  'log-forked': false,
  'log-stale': true,
  'log-unwitnessed': true,
  'limit-exceeded': false,
  'git-missing': false,
  unsupported: false,
  'default-branch-moved': false,
  'disabled-returns': false,
  'awaiting-approval': false,
  paused: false,
  pinned: false,
  'rolled-back': false,
  rejected: false,
  'store-failed': true,
  'no-state-folder': false,
  'socket-failed': true,
  'folder-unsafe': false,
}

const LOOK = 'Review it with skillsyncd diff served upstream --only SOURCE'
const APPROVE = 'skillsyncd approve SOURCE ID'
const DECIDE = `${APPROVE} or skillsyncd reject SOURCE ID`

const MENDS: Readonly<Record<SyncErrorCode, string>> = {
  'source-unreachable': 'It is retried with growing delay; if it stays, check the address and the network',
  'dns-failed': 'Check the host name in the address, and the resolver of this machine',
  'tls-failed':
    'Check the certificate of the host and the clock of this machine; over ssh, the host key and the known hosts',
  'rate-limited': 'Nothing to do: the host requested a pause, and the daemon waits',
  'credentials-rejected': 'Check that the credential named in `auth` is present, valid and may read the repository',
  'repository-not-found': 'Check the address, or the folder; a private repository without a credential looks the same',
  'ref-not-found': 'Check `ref`; the branch or tag may have been renamed or deleted',
  'ref-ambiguous': 'Write the full name: refs/heads/… for the branch, refs/tags/… for the tag',
  'tag-moved': `${LOOK}, then ${DECIDE}; where the lock is followed, skillsyncd update SOURCE`,
  'history-rewritten': `${LOOK}, then ${DECIDE}; where the lock is followed, skillsyncd update SOURCE`,
  'mass-deletion': `${LOOK}; if the deletion is meant, ${APPROVE}`,
  'budget-exceeded': `${LOOK}, then ${APPROVE}; or raise \`budget\` of the pack`,
  'default-branch-moved': `${LOOK}; name the branch that is meant in \`ref\`, or ${APPROVE}`,
  'disabled-returns': `${LOOK}, then ${DECIDE}; skillsyncd enable lets the skill itself be served again`,
  'awaiting-approval': `${LOOK}, then ${DECIDE}`,
  paused: 'skillsyncd resume ends the pause',
  pinned: 'skillsyncd resume lets it follow its ref again',
  'rolled-back':
    'skillsyncd resume lets it follow its ref again; without --hold the next commit is served without a decision',
  rejected: `Nothing to do: the next commit is considered again; ${APPROVE} approves this one after all`,
  'revision-unverified': 'Check who signed the commit or the tag, and the files that `signed` names',
  'lock-mismatch':
    'skillsyncd verify lists each difference; skillsyncd lock adds what is missing, update moves what is there',
  'skill-recalled':
    'Remove it from the lock: skillsyncd update SOURCE, once its source lacks it or `exclude` leaves it out; skillsyncd recall has the reason',
  'not-stored':
    'Run skillsyncd sync once with neither --offline nor --frozen, or copy the state folder of a machine that has it',
  'content-refused': 'The repository contains something that is never served; the message names it',
  'push-refused': 'Let this account push in the rules of the branch, or publish to another branch',
  'log-unsigned':
    'Check the address, and that `key` has the public key that the hub prints with skillsyncd channel keys',
  'log-rolled-back':
    'Nothing newer is lost here: ask the operator of the hub if the log was restored from a backup; a new log has a new name, and a new key for `follow`',
  'log-forked':
    'Keep what is served and ask the operator of the hub: the log was replaced, or shows other entries to others; compare the checkpoints',
  'log-stale': 'Check that the hub still publishes; `max_age` is the age that is allowed',
  'log-unwitnessed':
    'It is retried with growing delay; ask the operator of the hub if its witnesses answer, and compare `witnesses` with the keys that the hub has',
  'limit-exceeded': 'Raise the limit that the message names, or narrow `root` and `include`',
  'git-missing': 'Install the program that the message names, or use an http(s) address',
  unsupported: 'The message names what this version cannot do with the source',
  'store-failed': 'Check the space and the permissions of the state folder',
  'no-state-folder':
    'Mount its disk, or restore the whole folder from a backup; or move away what is left of it and start the daemon, which fetches everything again; or name another folder with `state` or --state',
  'socket-failed':
    'Set XDG_RUNTIME_DIR to a folder of this user alone, or unset it: the daemon then makes a folder of its own below TMPDIR',
  'folder-unsafe':
    'Another user could change what is served: do as the message says, or name another folder with `state`',
}
