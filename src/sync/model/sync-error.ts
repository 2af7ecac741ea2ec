/** Every way in which reaching, checking or keeping a source can fail. The code is the contract; messages are for people. */
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
  | 'default-branch-moved'
  | 'disabled-returns'
  | 'awaiting-approval'
  | 'paused'
  | 'pinned'
  | 'rolled-back'
  | 'rejected'
  | 'revision-unverified'
  | 'lock-mismatch'
  | 'not-stored'
  | 'content-refused'
  | 'limit-exceeded'
  | 'git-missing'
  | 'unsupported'
  | 'store-failed'
  | 'no-state-folder'
  | 'socket-failed'
  | 'folder-unsafe'

/** An expected failure of the sync side. Whoever meets a foreign error turns it into this once, where it enters. */
export class SyncError extends Error {
  override readonly name = 'SyncError'
  readonly code: SyncErrorCode
  /** How long the other side asked us to stay away, in milliseconds. Only with `rate-limited` and `source-unreachable`. */
  readonly retryAfterMs: number | undefined

  constructor(code: SyncErrorCode, message: string, options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.retryAfterMs = options.retryAfterMs
  }
}

/**
 * Something in the store is not what it was: it is gone, or has other bytes. It can be had again; a disk that says no for
 * the moment is the plain `SyncError`, and says nothing about what lies on it.
 */
export class Damaged extends SyncError {
  constructor(message: string) {
    super('store-failed', message)
  }
}

/** For `.catch`, where what is damaged is as good as not there. */
export function undefinedIfDamaged(error: unknown): undefined {
  if (error instanceof Damaged) return undefined
  throw error
}

/** The host itself refused the credential that it was sent: whoever gave it out is not to give out the same again. */
export class CredentialRefused extends SyncError {
  constructor(message: string) {
    super('credentials-rejected', message)
  }
}

/** Nobody who is trusted now signed it. That a list of signers cannot be read is the plain `SyncError`, and proves nothing. */
export class NotSigned extends SyncError {
  constructor(message: string) {
    super('revision-unverified', message)
  }
}

/** The key that signed it counts no more for what comes now. What was here before, or is locked, may stay. */
export class SignedLate extends NotSigned {}

/**
 * The error to go by where what was thrown may be a `SuppressedError`: work failed, and then the disposal of what it held. That is
 * why the work failed, if it is ours; why the disposal failed becomes a cause of it. A fault of the program stays as it is.
 */
export function unsuppressed(thrown: unknown): unknown {
  if (!isSuppressed(thrown)) return thrown
  const [first, later] = [unsuppressed(thrown.suppressed), unsuppressed(thrown.error)]
  if (!isExpected(later)) return thrown
  if (!(first instanceof SyncError)) return isAbort(first) ? first : thrown
  first.cause = first.cause === undefined ? later : new AggregateError([first.cause, later], textOf(first.cause, later))
  return first
}

/** That of the language, and that of the compiler where there is none yet. */
function isSuppressed(thrown: unknown): thrown is Error & { readonly error: unknown; readonly suppressed: unknown } {
  return thrown instanceof Error && thrown.name === 'SuppressedError' && 'error' in thrown && 'suppressed' in thrown
}

function isExpected(error: unknown): error is Error {
  return error instanceof SyncError || isSystemError(error)
}

/** Whether it comes from the operating system. */
export function isSystemError(error: unknown): error is Error & { readonly code: unknown } {
  return error instanceof Error && 'syscall' in error && 'code' in error
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

function textOf(cause: unknown, later: Error): string {
  return `${cause instanceof Error ? cause.message : String(cause)}; then ${later.message}`
}

/** The source that an error is about, and the revision that waits of it. */
export interface ErrorSubject {
  readonly source: string
  readonly commit: string
  readonly tag?: string | undefined
}

/**
 * What a person can try next, one sentence per code. Shown by status and by the command line under the error. With a subject its
 * commands can be pasted: they name exactly what waits, by the tag object where there is one, since that names the commit too.
 */
export function mendOf(code: SyncErrorCode, about?: ErrorSubject): string {
  if (about === undefined) return MENDS[code]
  return MENDS[code].replaceAll('SOURCE', about.source).replaceAll(/\bID\b/g, about.tag ?? about.commit)
}

/** Whether somebody decided that it be so: there is nothing to mend. */
export function isByChoice(code: SyncErrorCode): boolean {
  return code === 'paused' || code === 'pinned' || code === 'rolled-back' || code === 'rejected'
}

/** The one check of the rule, for codes that were written down by a version of us. */
export function isSyncErrorCode(text: string): text is SyncErrorCode {
  return Object.hasOwn(MENDS, text)
}

/** Whether it may pass by itself, so that it is worth trying again soon. What needs a person is looked at as seldom as ever. */
export function isPassing(code: SyncErrorCode): boolean {
  return PASSING[code]
}

const PASSING: Readonly<Record<SyncErrorCode, boolean>> = {
  'source-unreachable': true,
  'dns-failed': true,
  'tls-failed': true,
  'rate-limited': true,
  // A host locks the account that fails to log in again and again.
  'credentials-rejected': false,
  'repository-not-found': false,
  'ref-not-found': false,
  'ref-ambiguous': false,
  'tag-moved': false,
  'history-rewritten': false,
  'mass-deletion': false,
  'revision-unverified': false,
  'lock-mismatch': false,
  'not-stored': false,
  'content-refused': false,
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

const LOOK = 'Look at it with skillsyncd diff served upstream --only SOURCE'
const APPROVE = 'skillsyncd approve SOURCE ID'
const DECIDE = `${APPROVE} or skillsyncd reject SOURCE ID`

const MENDS: Readonly<Record<SyncErrorCode, string>> = {
  'source-unreachable': 'It is tried again with growing delay; check the address and the network if it stays',
  'dns-failed': 'Check the host name in the address, and the resolver of this machine',
  'tls-failed':
    'Check the certificate of the host and the clock of this machine; over ssh, the host key and the known hosts',
  'rate-limited': 'Nothing to do: the host asked for a pause and it is honoured',
  'credentials-rejected': 'Check that the credential named in `auth` is present, valid and may read the repository',
  'repository-not-found': 'Check the address, or the folder; a private repository without a credential looks the same',
  'ref-not-found': 'Check `ref`; the branch or tag may have been renamed or deleted',
  'ref-ambiguous': 'Write the full name: refs/heads/… for the branch, refs/tags/… for the tag',
  'tag-moved': `${LOOK}, then ${DECIDE}; where the lock is followed, skillsyncd update SOURCE`,
  'history-rewritten': `${LOOK}, then ${DECIDE}; where the lock is followed, skillsyncd update SOURCE`,
  'mass-deletion': `${LOOK}; if the deletion is meant, ${APPROVE}`,
  'default-branch-moved': `${LOOK}; name the branch that is meant in \`ref\`, or ${APPROVE}`,
  'disabled-returns': `${LOOK}, then ${DECIDE}; skillsyncd enable lets the skill itself be served again`,
  'awaiting-approval': `${LOOK}, then ${DECIDE}`,
  paused: 'skillsyncd resume lets it be looked at again',
  pinned: 'skillsyncd unpin lets it move again',
  'rolled-back': 'skillsyncd release lets it move again; without --hold the next commit is taken by itself',
  rejected: `Nothing to do: the next commit is taken; ${APPROVE} takes this one after all`,
  'revision-unverified': 'Check who signed the commit or the tag, and the files that `signed` names',
  'lock-mismatch':
    'skillsyncd verify tells all that differs; skillsyncd lock adds what is missing, update moves what is there',
  'not-stored':
    'Run skillsyncd sync once with neither --offline nor --frozen, or copy the state folder of a machine that has it',
  'content-refused': 'The repository holds something that is never served; the message names it',
  'limit-exceeded': 'Raise the limit that the message names, or narrow `root` and `include`',
  'git-missing': 'Install the program that the message names, or use an http(s) address',
  unsupported: 'The message names what this version cannot do with the source',
  'store-failed': 'Check the space and the permissions of the state folder',
  'no-state-folder':
    'Mount its disk, or restore the whole folder from a backup; or move away what is left of it and start the daemon, which fetches everything anew; or name another folder with `state` or --state',
  'socket-failed':
    'Set XDG_RUNTIME_DIR to a folder of this user alone, or unset it: the daemon then makes a folder of its own below TMPDIR',
  'folder-unsafe':
    'Another user could change what is served: do as the message says, or name another folder with `state`',
}
