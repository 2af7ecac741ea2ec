import { createHash } from 'node:crypto'
import { printable } from '../../../base/text/printable.ts'
import { diskFix, SyncError, type Remedy, type SyncErrorCode } from '../../model/sync-error.ts'
import type { HostAccess } from '../../upstream/http/host-access.ts'
import { gitFailureOf, proxyRefusal } from '../../upstream/http/http-failure.ts'
import type { HttpTrace, Traced } from '../../upstream/http/http-trace.ts'
import { LIMIT_KEYS, namedLimit } from '../../upstream/upstream.ts'
import type { GitHost } from '../objects/git-host.ts'
import { knownHostLines } from './git-ssh-config.ts'

/** The facts about a failed run of git. */
export interface FailedRun {
  readonly what: string
  readonly status: number | undefined
  /** The output of git, including messages of the remote. */
  readonly stderr: string
  /** The log of ssh, which the remote cannot influence. */
  readonly ssh: string
  /** The request and the answers over http(s). */
  readonly http: { readonly way: HostAccess; readonly trace: HttpTrace } | undefined
  /** The working directory. */
  readonly folder: string
  readonly reach: GitHost
}

/**
 * Converts a failed run into an error. The output of git and ssh is written for terminals, so at most one line of it is
 * passed on.
 */
export async function programFailure(failed: FailedRun): Promise<SyncError> {
  const answered = answerFailure(failed)
  if (answered !== undefined) return answered
  const run = { ...failed, what: throughProxy(failed) }
  const { what } = run
  const missing = missingOf(run)
  if (missing !== undefined) return new SyncError('git-missing', `${what}: ${missing}`)
  const host = await hostFailure(run)
  if (host !== undefined) return new SyncError('tls-failed', `${what}: ${host}`)
  const refused = refusal(run)
  if (refused !== undefined) return refused
  const read = readAs(OF_SSH, run.ssh, run) ?? readAs(OF_GIT, run.stderr, run)
  if (read !== undefined) return read
  const said = saidBy(run)
  return new SyncError('source-unreachable', `${what}: ${said === '' ? 'git gives no reason' : `git says "${said}"`}`)
}

/** Returns the failure that an HTTP answer shows, which is more specific than git's message. */
function answerFailure(run: FailedRun): SyncError | undefined {
  if (run.http === undefined) return undefined
  const { way, trace } = run.http
  const failures = [trace.listing, trace.last].map((answer) => answer && failureIn(answer, way, run))
  return failures.find((failure) => failure !== undefined)
}

function failureIn(answer: Traced, { headers, route: { proxy } }: HostAccess, run: FailedRun): SyncError | undefined {
  const isOfProxy = answer.method === 'CONNECT' || (proxy !== undefined && answer.status === 407)
  if (!isOfProxy) {
    // git prints the text of a refusal, line by line.
    const text = [...run.stderr.matchAll(/^remote: (.*)$/gm)].map(([, line]) => line).join('\n')
    return gitFailureOf({ ...answer, text }, run.what, Object.keys(headers).length > 0)
  }
  if (answer.status === 200) return undefined
  return proxyRefusal(answer.status, throughProxy(run), Object.keys(proxy?.headers ?? {}).length > 0)
}

function throughProxy({ what, http }: FailedRun): string {
  const proxy = http?.way.route.proxy
  return proxy === undefined ? what : `${what} through the proxy "${proxy.url}"`
}

function readAs(readings: readonly Reading[], text: string, run: FailedRun): SyncError | undefined {
  for (const [code, shape, why, remedy] of readings) {
    const found = shape.exec(text)
    if (found !== null) return new SyncError(code, `${run.what}: ${why(found, run)}`, remedy)
  }
  return undefined
}

type Reading = readonly [SyncErrorCode, RegExp, (found: RegExpExecArray, run: FailedRun) => string, remedy?: Remedy]

/** Checked in this order; the first match counts. */
const OF_SSH: readonly Reading[] = [
  [
    'dns-failed',
    /Could not resolve hostname ([^\n:]+)/,
    ([, name]) => `the host name ${printableText(name)} does not resolve`,
  ],
  [
    'credentials-rejected',
    /Server accepts key: [^]*Permission denied \(([^\n)]*)\)/,
    () => 'the host knows the key, but it cannot be used: its passphrase is missing or wrong',
  ],
  [
    'credentials-rejected',
    /Load key [^\n]*: (bad permissions|invalid format|error in libcrypto)/,
    ([, why]) =>
      `the key cannot be used: ${why === 'bad permissions' ? 'others may read it' : 'it is not a private key'}`,
  ],
  [
    'credentials-rejected',
    /Permission denied \(([^\n)]*)\)/,
    ([, methods]) =>
      `the host accepts none of the offered keys; it accepts ${printableText(methods)}, and only keys are tried`,
  ],
  [
    'credentials-rejected',
    /Too many authentication failures/,
    () => 'the host was offered too many keys; name one in `auth`',
  ],
  [
    'source-unreachable',
    /(?:Connection|Operation) (timed out|refused)[^\n]*|(Network is unreachable|No route to host)/,
    ([line]) => `the connection failed (${printableText(line)})`,
  ],
  [
    'tls-failed',
    /Unable to negotiate with [^\n]*: (no matching [^\n.]*)/,
    ([, why]) => `host and ssh have no common ground: ${printableText(why)}`,
  ],
]

const OF_GIT: readonly Reading[] = [
  [
    'dns-failed',
    /Could not resolve (?:host|proxy): ([^\n]+)/,
    ([, name]) => `the host name ${printableText(name)} does not resolve`,
  ],
  [
    'tls-failed',
    /unable to access [^\n]*?': ((?:[^\n]*\b(?:SSL|TLS|certificate|gnutls)\b)[^\n]*)/i,
    ([, why]) => `no trusted connection (${printableText(why)})`,
  ],
  [
    'source-unreachable',
    /unable to access [^\n]*?': (Failed to connect[^\n]*|[^\n]*timed out[^\n]*)/,
    ([, why]) => `the connection failed (${printableText(why)})`,
  ],
  [
    'git-missing',
    /Unable to find remote helper for '(\w+)'|'remote-(https?)' is not a git command/,
    ([, one, other]) => `the part of git that speaks ${one ?? other} is not there`,
  ],
  // The permission is in variables that a git before 2.31 ignores.
  [
    'unsupported',
    /transport '(https?)' not allowed/,
    () => 'the git program is too old for it: git 2.31 or newer is required',
  ],
  [
    'ref-not-found',
    /mismatched algorithms|does not support this repository's object format|protocol error: expected sha\/ref, got/,
    () => 'the ids of the repository are of another kind',
  ],
  [
    'limit-exceeded',
    /died of signal (?:25|31)\b|File size limit exceeded|File too large/,
    (_, { reach }) => `more comes than ${namedLimit('packBytes', reach.limits)} bytes`,
    { place: LIMIT_KEYS.packBytes },
  ],
  ['limit-exceeded', /[Oo]ut of memory|Cannot allocate memory/, () => 'it needs more memory than git is given'],
  [
    'store-failed',
    /No space left on device|Disk quota exceeded/,
    () => 'no space is left for scratch',
    { fix: diskFix('ENOSPC') },
  ],
  [
    'repository-not-found',
    /(?:repository|project)[^\n]{0,200}(?:not found|could not be found|does not exist)|not appear to be a git repository|not a git repository/i,
    () => 'there is no such repository, or the key may not read it',
  ],
  [
    'unsupported',
    /unknown repository extension|unknown value for[^\n]*|Expected git repo version[^\n]*|(?:unknown|unrecognized) option[^\n]*/,
    ([line]) => `the git program is too old for it (${printableText(line)})`,
  ],
  [
    'source-unreachable',
    /detected dubious ownership/,
    () => 'it belongs to another user, and this git program does not let that be allowed for one folder',
    { fix: 'Run skillsyncd as the owner of the repository' },
  ],
  [
    'content-refused',
    /(?:error: )?(?:object |in (?:tree|commit|tag|blob) )?[0-9a-f]{40,64}: ([A-Za-z]+: [^\n]*)|fsck error in (?:packed )?object/,
    ([, why]) => `git refuses an object${why === undefined ? '' : ` (${printableText(why)})`}`,
  ],
  ['content-refused', /is corrupt|inflate: data stream error|hash mismatch|SHA1 COLLISION/, () => 'it is damaged'],
]

/** The remote lacks these objects, or refuses to serve them. */
export class ObjectsRefusedError extends SyncError {
  readonly ids: readonly string[]
  /** True if the remote serves only objects that a ref points to, so it may have them. */
  readonly isUnadvertised: boolean

  constructor(message: string, ids: readonly string[], isUnadvertised: boolean) {
    super('ref-not-found', message)
    this.ids = ids
    this.isUnadvertised = isUnadvertised
  }
}

function refusal({ what, stderr }: FailedRun): ObjectsRefusedError | undefined {
  const found = [
    ...stderr.matchAll(/(not our ref|unadvertised object|couldn't find remote ref) ([0-9a-f]{64}|[0-9a-f]{40})\b/g),
  ]
  if (found.length === 0) return undefined
  const ids = found.map(([, , id = '']) => id)
  const isUnadvertised = found.some(([, why]) => why === 'unadvertised object')
  const why = isUnadvertised ? 'gives out only what a branch or a tag points to' : 'does not have it'
  return new ObjectsRefusedError(`${what}: the server ${why} (${ids[0]})`, ids, isUnadvertised)
}

function missingOf({ status, stderr, ssh, reach: { programs } }: FailedRun): string | undefined {
  if (status === 127 || status === 126) return `the git program ("${programs.git}") is not there, or cannot be run`
  const isAbsent = ssh === '' && /(?:cannot run|not found|No such file or directory|Permission denied)/.test(stderr)
  if (
    !isAbsent ||
    !stderr
      .split('\n')
      .some((line) => line.includes(programs.ssh) && /^(?:sh|\/bin\/sh|error|.*: (?:line )?\d+):/.test(line))
  )
    return undefined
  return `the ssh program ("${programs.ssh}") is not there, or cannot be run`
}

/** Returns why the host is not trusted, with the fingerprints. */
async function hostFailure({ ssh, folder }: FailedRun): Promise<string | undefined> {
  if (!/Host key verification failed|host key is known for|Host key for [^\n]* has changed/.test(ssh)) return undefined
  const [, type, sent] = /Server host key: (\S+) (SHA256:\S+)/.exec(ssh) ?? []
  const presented =
    sent === undefined ? 'it presents a key' : `it presents ${printableText(type)} ${printableText(sent)}`
  const line = Number(/Offending (?:\S+ )?key in [^\n]*?:(\d+)/.exec(ssh)?.[1])
  if (/has changed and you have requested strict checking/.test(ssh)) {
    const known = fingerprintOf((await knownHostLines(folder))[line - 1])
    const expected = known === undefined ? 'another is known' : `${known} is known (line ${line})`
    return `the host key has changed: ${presented}, and ${expected}. Nothing was accepted; ask the operator of the host before you change the known hosts`
  }
  if (/revoked/i.test(ssh)) return `the host key is revoked: ${presented}`
  return `the host key is unknown: ${presented}, and the known hosts have none for it. Compare the fingerprint with the operator of the host, then add the key to the known hosts`
}

function fingerprintOf(line: string | undefined): string | undefined {
  const [, type, key] = /(?:^|\s)((?:ssh|ecdsa|sk)-\S+)\s+([A-Za-z0-9+/]+=*)/.exec(line ?? '') ?? []
  if (type === undefined || key === undefined) return undefined
  return `${printableText(type)} SHA256:${createHash('sha256').update(key, 'base64').digest('base64').replace(/=+$/, '')}`
}

/** Returns the most informative line: git's own message, else the last line. */
function saidBy({ stderr }: FailedRun): string {
  const lines = stderr.split(/[\r\n]+/).filter((line) => line.trim() !== '' && !IDLE_TALK.test(line))
  return printableText(lines.find((line) => /^(?:fatal|error|ERROR)\b/.test(line)) ?? lines.at(-1))
}

const IDLE_TALK = /Could not read from remote repository|correct access rights|repository exists\.|^remote: *(?:=+)?$/

function printableText(text: string | undefined): string {
  return printable(text ?? '')
}
