import { constants, open } from 'node:fs/promises'
import { join } from 'node:path'
import { utf8 } from '../../sync/model/frontmatter.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { SshAccess, SshKey } from '../../sync/upstream/upstream.ts'
import { codeOf } from '../error-code.ts'
import type { Redactor } from '../redactor.ts'
import type { Environment } from './environment.ts'

/** How we prove to the host of a source who we are. It names secrets and never holds one. */
export type Access =
  | { readonly kind: 'none' }
  | { readonly kind: 'basic'; readonly username: string; readonly password: SecretReference }
  | SshKeyAccess

/** A private key for ssh, and the hosts that are known. */
export interface SshKeyAccess {
  readonly kind: 'ssh'
  readonly key: SecretReference
  readonly passphrase: SecretReference | undefined
  /** Absolute. Undefined for those of the user and of the system. */
  readonly knownHosts: string | undefined
}

/** Where a secret is read from. */
export type SecretReference =
  | { readonly kind: 'env'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'credential'; readonly name: string }

/** GitHub, GitLab and Gitea take an access token as a password over git, whatever the user name is. */
export const TOKEN_USERNAME = 'x-access-token'

/**
 * What reads the value of the Authorization header. The secret is read anew by each call, so that one that was renewed is
 * used at once; one that cannot be read is `credentials-rejected`. Whatever was read is told to the redactor first.
 */
export function authorizationOf(
  access: Access,
  environment: Environment,
  redactor: Redactor,
): () => Promise<string | undefined> {
  return async () => {
    if (access.kind === 'none' || access.kind === 'ssh') return undefined
    const password = await readSecret(access.password, environment)
    const credentials = Buffer.from(`${access.username}:${password}`, 'utf8').toString('base64')
    for (const secret of [password, credentials]) redactor.add(secret)
    return `Basic ${credentials}`
  }
}

/** What reads a secret that is sent nowhere, in the same way. */
export function secretOf(
  reference: SecretReference,
  environment: Environment,
  redactor: Redactor,
): () => Promise<string> {
  return async () => {
    const secret = await readSecret(reference, environment)
    redactor.add(secret)
    return secret
  }
}

/** What the secret is read from, for people; undefined where none is sent. */
export function credentialOf(access: Access): string | undefined {
  if (access.kind === 'none') return undefined
  return nameOf(access.kind === 'ssh' ? access.key : access.password)
}

/** How we prove over ssh who we are. What is read is told to the redactor first; a key in a file is read by ssh alone. */
export function sshAccessOf(access: Access, environment: Environment, redactor: Redactor): () => Promise<SshAccess> {
  return async () => {
    const known = join(environment.home, '.ssh', 'known_hosts')
    const users = { knownHosts: known, systemHosts: true }
    if (access.kind !== 'ssh') {
      const agent = environment.variable('SSH_AUTH_SOCK')
      return { key: undefined, passphrase: undefined, agent, ...users }
    }
    const key = await sshKeyOf(access.key, environment, redactor)
    const passphrase = access.passphrase && (await readSecret(access.passphrase, environment))
    if (passphrase !== undefined) redactor.add(passphrase)
    const { knownHosts } = access
    const hosts = knownHosts === undefined ? users : { knownHosts, systemHosts: false }
    return { key, passphrase, agent: undefined, ...hosts }
  }
}

async function sshKeyOf(reference: SecretReference, environment: Environment, redactor: Redactor): Promise<SshKey> {
  const name = nameOf(reference)
  if (reference.kind === 'file') return { kind: 'file', path: reference.path, name }
  const text = await rawSecret(reference, environment)
  if (text === undefined || text === '') throw rejected(`Cannot use the ${name}: it is not set, or empty`)
  // By its lines too: whoever repeats a part of it repeats lines.
  for (const secret of [text, ...text.split('\n').filter((line) => line.length >= KEY_LINE)]) redactor.add(secret)
  return { kind: 'text', text, name }
}

/** A line of a key is longer than anything else that is printed by chance. */
const KEY_LINE = 24

/** The secret as it is now. Whoever reads it tells the redactor before it is used. */
export async function readSecret(reference: SecretReference, environment: Environment): Promise<string> {
  const name = nameOf(reference)
  const secret = await rawSecret(reference, environment)
  if (secret === undefined || secret === '') throw rejected(`Cannot use the ${name}: it is not set, or empty`)
  // A second line is never meant, and no header could carry it.
  if (/\p{Cc}/u.test(secret))
    throw rejected(`Cannot use the ${name}: it holds a line break or another control character`)
  return secret
}

async function rawSecret(reference: SecretReference, environment: Environment): Promise<string | undefined> {
  if (reference.kind === 'env') return environment.variable(reference.name)
  const name = nameOf(reference)
  if (reference.kind === 'file') return readSecretFile(reference.path, name)
  if (environment.credentials === undefined) throw rejected(`Cannot read the ${name}: CREDENTIALS_DIRECTORY is not set`)
  return readSecretFile(join(environment.credentials, reference.name), name)
}

function nameOf(reference: SecretReference): string {
  if (reference.kind === 'env') return `environment variable "${reference.name}"`
  if (reference.kind === 'file') return `credential file "${reference.path}"`
  return `credential "${reference.name}"`
}

const MAXIMUM_BYTES = 65_536

async function readSecretFile(path: string, name: string): Promise<string> {
  const bytes = await readBounded(path).catch((cause: unknown) => {
    throw rejected(`Cannot read the ${name}: ${reasonOf(cause)}`, cause)
  })
  if (bytes === undefined) throw rejected(`Cannot read the ${name}: it is not a plain file`)
  if (bytes.length > MAXIMUM_BYTES) throw rejected(`Cannot use the ${name}: it is over ${MAXIMUM_BYTES} bytes`)
  const text = utf8(bytes)
  if (text === undefined) throw rejected(`Cannot use the ${name}: it is not valid UTF-8`)
  return text.replace(/\r?\n$/, '')
}

/** The bytes of a plain file, one more than the bound at most. Undefined for what is none: a pipe would block for ever. */
async function readBounded(path: string): Promise<Uint8Array | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!(await file.stat()).isFile()) return undefined
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAXIMUM_BYTES + 1), 0, MAXIMUM_BYTES + 1, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

function reasonOf(cause: unknown): string {
  const code = codeOf(cause)
  if (code === 'ENOENT') return 'no such file'
  if (code === 'EACCES') return 'permission denied'
  return code ?? 'it cannot be opened'
}

function rejected(message: string, cause?: unknown): SyncError {
  return new SyncError('credentials-rejected', message, { cause })
}
