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
  | 'revision-unverified'
  | 'lock-mismatch'
  | 'content-refused'
  | 'limit-exceeded'
  | 'git-missing'
  | 'unsupported'
  | 'store-failed'

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

/** The host itself refused the credential that it was sent: whoever gave it out is not to give out the same again. */
export class CredentialRefused extends SyncError {
  constructor(message: string) {
    super('credentials-rejected', message)
  }
}

/** What a person can try next, one sentence per code. Shown by status and by the command line under the error. */
export function mendOf(code: SyncErrorCode): string {
  return MENDS[code]
}

/** The one check of the rule, for codes that were written down by a version of us. */
export function isSyncErrorCode(text: string): text is SyncErrorCode {
  return Object.hasOwn(MENDS, text)
}

const MENDS: Readonly<Record<SyncErrorCode, string>> = {
  'source-unreachable': 'It is tried again with growing delay; check the address and the network if it stays',
  'dns-failed': 'Check the host name in the address, and the resolver of this machine',
  'tls-failed': 'Check the certificate of the host, and the clock of this machine',
  'rate-limited': 'Nothing to do: the host asked for a pause and it is honoured',
  'credentials-rejected': 'Check that the credential named in `auth` is present, valid and may read the repository',
  'repository-not-found': 'Check the address; a private repository without a credential looks the same',
  'ref-not-found': 'Check `ref`; the branch or tag may have been renamed or deleted',
  'ref-ambiguous': 'Write the full name: refs/heads/… for the branch, refs/tags/… for the tag',
  'tag-moved': 'Look at both commits; the held one is served on until a person decides',
  'history-rewritten': 'Look at both commits; the held one is served on until a person decides',
  'mass-deletion': 'If the deletion is meant, a person has to say so; until then the last skills are served on',
  'revision-unverified': 'Check who signed the commit, and `signed.allowed_signers`',
  'lock-mismatch': 'Compare the lock with the configuration; the message names what differs',
  'content-refused': 'The repository holds something that is never served; the message names it',
  'limit-exceeded': 'Raise the limit that the message names, or narrow `root` and `include`',
  'git-missing': 'Install the git program, or use an http(s) address',
  unsupported: 'The message names what this version cannot do with the source',
  'store-failed': 'Check the space and the permissions of the state folder',
}
