import { isSyncErrorCode } from '../../sync/model/sync-error.ts'
import type { Remedy, SyncErrorCode } from '../../sync/model/sync-error.ts'

/** The meaning of a code, for people. */
export interface CodeText {
  /** The fact; for a check of the machine, all that it looks at. */
  readonly meaning: string
  /** The next step for the operator, unless each message has its own. */
  readonly fix?: string
}

/** The codes of all errors that commands and the control socket give to an operator. */
export type OperatorErrorCode = SyncErrorCode | keyof typeof OPERATOR_ERRORS

/** The meaning of each code, and the exit status of a command that fails with it; 2 if the request contradicts the configuration. */
export const OPERATOR_ERRORS = {
  'already-there': { status: 1, meaning: 'What is to be made exists already' },
  'ambiguous-commit': { status: 1, meaning: 'The first digits of an id fit several commits' },
  'ambiguous-skill': { status: 1, meaning: 'A name can mean several skills; the message lists them' },
  'bad-answer': { status: 1, meaning: 'The daemon, or another server, answered in an unexpected form' },
  'bad-config': { status: 2, meaning: 'The configuration is not usable; the message has file, line and column' },
  'bad-request': { status: 1, meaning: 'The request contradicts itself, or what is there' },
  'cannot-link': { status: 1, meaning: 'A skill cannot be put into the folder of an agent' },
  'cannot-listen': {
    status: 1,
    meaning: 'The address for clients cannot be used: the port is taken, or the address is not of this machine',
  },
  'cannot-unlink': { status: 1, meaning: 'A skill cannot be removed from the folder of an agent' },
  'connection-lost': { status: 1, meaning: 'The daemon ended before it answered' },
  disabled: { status: 1, meaning: 'The skill is disabled' },
  'file-refused': {
    status: 1,
    meaning: 'A file of this user is not read or written: it is a link, too large, of another user, or changes',
  },
  'state-in-use': { status: 1, meaning: 'Another process writes the state folder; the message names it' },
  internal: { status: 1, meaning: 'A fault of the program' },
  'lock-of-repository': { status: 2, meaning: 'The lock is followed from a repository: it is changed there' },
  'needs-restart': { status: 2, meaning: 'The changed key applies at the next start alone' },
  'no-config': { status: 1, meaning: 'There is no configuration file' },
  'no-daemon': { status: 1, meaning: 'No daemon runs with this configuration' },
  'no-home': { status: 2, meaning: 'The home folder of this user is not known' },
  'no-skills': { status: 3, meaning: 'No SKILL.md is in the folder that is searched' },
  'nothing-served': { status: 1, meaning: 'Nothing is served yet' },
  'nothing-to-decide': { status: 1, meaning: 'Nothing waits for a decision' },
  'other-config': { status: 2, meaning: 'The daemon that runs has another configuration' },
  'other-state': { status: 1, meaning: 'Another process writes that state folder' },
  'other-version': { status: 1, meaning: 'The daemon is another version of this program' },
  'scan-failed': { status: 1, meaning: 'The scanner gives no answer' },
  stopped: { status: 1, meaning: 'The work was stopped' },
  'template-refused': { status: 1, meaning: 'The values do not fit the template of the MCP server' },
  'timed-out': { status: 1, meaning: 'The daemon did not answer in time' },
  'token-exists': { status: 1, meaning: 'A token has that name' },
  'unknown-code': { status: 1, meaning: 'No code has that name' },
  'unknown-commit': { status: 1, meaning: 'No stored or upstream commit has that id' },
  'unknown-generation': { status: 1, meaning: 'No stored generation has that number' },
  'unknown-method': { status: 1, meaning: 'The daemon does not know the request' },
  'unknown-plugin': { status: 1, meaning: 'No plugin has that name' },
  'unknown-recall': { status: 1, meaning: 'No recall has that id' },
  'unknown-skill': { status: 1, meaning: 'No skill has that name' },
  'unknown-source': { status: 2, meaning: 'No source of the configuration has that id' },
  'unknown-template': { status: 1, meaning: 'The MCP server has no such template' },
  'unknown-token': { status: 1, meaning: 'No token has that name' },
  'uri-refused': { status: 1, meaning: 'The URI cannot be added to the source' },
  withheld: { status: 1, meaning: 'The skill is withheld: its findings say why' },
} as const

/** A request of an operator that failed. The message says what to try. */
export class OperatorError extends Error implements Remedy {
  override readonly name = 'OperatorError'
  readonly code: OperatorErrorCode
  /** The next step, if the message has none. */
  readonly fix: string | undefined
  readonly place: string | undefined

  constructor(code: OperatorErrorCode, message: string, options: { cause?: unknown } & Remedy = {}) {
    super(message, options)
    this.code = code
    this.fix = options.fix
    this.place = options.place
  }

  get exitStatus(): 1 | 2 | 3 {
    return isOwnCode(this.code) ? OPERATOR_ERRORS[this.code].status : 1
  }
}

/** The code with that text. A daemon of another version may send codes that this one does not have: they are `internal`. */
export function operatorErrorCodeOf(text: string): OperatorErrorCode {
  return isSyncErrorCode(text) || isOwnCode(text) ? text : 'internal'
}

function isOwnCode(text: string): text is keyof typeof OPERATOR_ERRORS {
  return Object.hasOwn(OPERATOR_ERRORS, text)
}
