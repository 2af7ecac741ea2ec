import { join } from 'node:path'
import type { SshAccess, SshPrivateKey } from '../../sync/git/objects/git-host.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { utf8 } from '../../sync/skill/frontmatter.ts'
import { whyNotOpened } from '../runtime/disk-error-text.ts'
import type { Redactor } from '../runtime/log/redactor.ts'
import { readBounded } from '../runtime/plain-file.ts'
import { ifHomeIsKnown } from './environment.ts'
import type { Environment } from './environment.ts'

/** The authentication to the host of a source. It names secrets and never contains one. */
export type HostAuth = FixedAccess | GitHubApp | CredentialHelper | SshKeyAccess

/** Credentials that are sent as they are read. */
export type FixedAccess =
  | { readonly kind: 'none' }
  | { readonly kind: 'basic'; readonly username: string; readonly password: SecretReference }
  | { readonly kind: 'header'; readonly name: string; readonly value: SecretReference }
  | { readonly kind: 'bearer'; readonly token: SecretReference }

/** A private key for ssh, and the known hosts. */
export interface SshKeyAccess {
  readonly kind: 'ssh'
  readonly key: SecretReference
  readonly passphrase: SecretReference | undefined
  /** Absolute. `undefined` for the known hosts of the user and of the system. */
  readonly knownHosts: string | undefined
}

/** An installation of a GitHub App; GitHub issues it a token that is valid for an hour. */
export interface GitHubApp {
  readonly kind: 'github-app'
  readonly appId: number
  readonly installationId: number
  readonly privateKey: SecretReference
  readonly apiUrl: string
}

/** A program that speaks the protocol of git's credential helpers. */
export interface CredentialHelper {
  readonly kind: 'helper'
  readonly command: string
  readonly args: readonly string[]
  /** The variables of its environment in addition to PATH and HOME. */
  readonly env: Readonly<Record<string, ProgramValue>>
  readonly timeoutMs: number
}

/** A variable of a program: a plain value, or the reference of a secret. */
export type ProgramValue = { readonly kind: 'value'; readonly value: string } | SecretReference

/** The place that a secret is read from. */
export type SecretReference =
  | { readonly kind: 'env'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'credential'; readonly name: string }

/** GitHub, GitLab and Gitea accept an access token as a password over git, with any user name. */
export const TOKEN_USERNAME = 'x-access-token'

/**
 * The headers to send. The secret is read at each call, so that a renewed secret is used at once. An unreadable secret
 * is `credentials-rejected`. The redactor receives each secret first.
 */
export async function headersOf(
  access: FixedAccess,
  environment: Environment,
  redactor: Redactor,
): Promise<Readonly<Record<string, string>>> {
  switch (access.kind) {
    case 'none':
      return {}
    case 'basic': {
      const password = await readSecret(access.password, environment, redactor)
      return { authorization: basicOf(access.username, password, redactor) }
    }
    case 'header':
      return { [access.name.toLowerCase()]: await readSecret(access.value, environment, redactor) }
    case 'bearer':
      return { authorization: `Bearer ${await readSecret(access.token, environment, redactor)}` }
    default:
      return access satisfies never
  }
}

/** The value of an Authorization header. */
export function basicOf(username: string, password: string, redactor: Redactor): string {
  const credentials = Buffer.from(`${username}:${password}`, 'utf8').toString('base64')
  for (const secret of [password, credentials]) redactor.add(secret)
  return `Basic ${credentials}`
}

/** A description of the credential for people; `undefined` if nothing is sent. Never contains a secret. */
export function credentialOf(access: HostAuth): string | undefined {
  switch (access.kind) {
    case 'none':
      return undefined
    case 'basic':
      return secretNameOf(access.password)
    case 'bearer':
      return secretNameOf(access.token)
    case 'header':
      return `header "${access.name}" from ${secretNameOf(access.value)}`
    case 'github-app':
      return `GitHub App ${access.appId}, installation ${access.installationId}, key from ${secretNameOf(access.privateKey)}`
    case 'helper':
      return `credential helper "${access.command}"`
    case 'ssh':
      return secretNameOf(access.key)
    default:
      return access satisfies never
  }
}

/** Returns a reader of the ssh credentials. The redactor receives each secret first; only ssh reads a key in a file. */
export function sshAccessOf(access: HostAuth, environment: Environment, redactor: Redactor): () => Promise<SshAccess> {
  return async () => {
    const known = ifHomeIsKnown(() => join(environment.home, '.ssh', 'known_hosts')) ?? '/dev/null'
    const users = { knownHosts: known, systemHosts: true }
    if (access.kind !== 'ssh') {
      const agent = environment.variable('SSH_AUTH_SOCK')
      return { key: undefined, passphrase: undefined, agent, ...users }
    }
    const key = await sshKeyOf(access.key, environment, redactor)
    const passphrase = access.passphrase && (await readSecret(access.passphrase, environment, redactor))
    const { knownHosts } = access
    const hosts = knownHosts === undefined ? users : { knownHosts, systemHosts: false }
    return { key, passphrase, agent: undefined, ...hosts }
  }
}

async function sshKeyOf(
  reference: SecretReference,
  environment: Environment,
  redactor: Redactor,
): Promise<SshPrivateKey> {
  const name = secretNameOf(reference)
  if (reference.kind === 'file') return { kind: 'file', path: reference.path, name }
  const text = await rawSecret(reference, environment)
  if (text === undefined || isBlank(text)) throw new BlankSecretError(name, text)
  redactor.add(text)
  return { kind: 'text', text, name }
}

/** Returns a reader of a secret that is never sent, with the rules of `readSecret`. */
export function secretOf(
  reference: SecretReference,
  environment: Environment,
  redactor: Redactor,
): () => Promise<string> {
  return async () => readSecret(reference, environment, redactor)
}

/** A secret that is unset or only white space: its file may be in the middle of a write. It is never sent. */
export class BlankSecretError extends SyncError {
  constructor(name: string, secret: string | undefined) {
    const why = (secret ?? '') === '' ? 'it is not set, or empty' : 'it contains only white space'
    super('credentials-rejected', `Cannot use the ${name}: ${why}`, { fix: SECRET })
  }
}

function isBlank(secret: string): boolean {
  return secret.trim() === ''
}

/** Reads a secret and registers it with the redactor. `lines` allows several lines, as in a private key. */
export async function readSecret(
  reference: SecretReference,
  environment: Environment,
  redactor: Redactor,
  shape: 'line' | 'lines' = 'line',
): Promise<string> {
  const name = secretNameOf(reference)
  const secret = await rawSecret(reference, environment)
  if (secret === undefined || isBlank(secret)) throw new BlankSecretError(name, secret)
  redactor.add(secret)
  const control = shape === 'line' ? /\p{Cc}/u : /(?![\t\n\r])\p{Cc}/u
  // A second line is always a mistake, and no header could carry it.
  if (control.test(secret))
    throw rejection(`Cannot use the ${name}: it holds a line break or another control character`)
  return secret
}

async function rawSecret(reference: SecretReference, environment: Environment): Promise<string | undefined> {
  if (reference.kind === 'env') return environment.variable(reference.name)
  const name = secretNameOf(reference)
  if (reference.kind === 'file') return readSecretFile(reference.path, name)
  if (environment.credentials === undefined)
    throw rejection(`Cannot read the ${name}: CREDENTIALS_DIRECTORY is not set`)
  return readSecretFile(join(environment.credentials, reference.name), name)
}

/** The origin of a secret, for people. */
export function secretNameOf(reference: SecretReference): string {
  if (reference.kind === 'env') return `environment variable "${reference.name}"`
  if (reference.kind === 'file') return `credential file "${reference.path}"`
  return `credential "${reference.name}"`
}

const MAXIMUM_BYTES = 65_536

async function readSecretFile(path: string, name: string): Promise<string> {
  const bytes = await readBounded(path, MAXIMUM_BYTES).catch((cause: unknown) => {
    throw rejection(`Cannot read the ${name}: ${whyNotOpened(cause)}`, cause)
  })
  if (bytes === undefined) throw rejection(`Cannot read the ${name}: it is not a plain file`)
  if (bytes.length > MAXIMUM_BYTES) throw rejection(`Cannot use the ${name}: it is over ${MAXIMUM_BYTES} bytes`)
  const text = utf8(bytes)
  if (text === undefined) throw rejection(`Cannot use the ${name}: it is not valid UTF-8`)
  return text.replace(/\r?\n$/, '')
}

function rejection(message: string, cause?: unknown): SyncError {
  return new SyncError('credentials-rejected', message, { cause, fix: SECRET })
}

/** Many keys name a secret, and not `auth` alone. */
const SECRET = 'Set it so that the user that runs skillsyncd can read it, or name another secret in the configuration'

/** The authorization server whose tokens are accepted. */
export interface OAuthConfig {
  readonly issuer: string
  /** The audience that a token must have; `undefined` for the address of MCP. */
  readonly audience: string | undefined
  /** The scopes that a token must have, all of them, to open everything. */
  readonly scopes: readonly string[]
  /** `at+jwt`: only tokens of that type (RFC 9068, 2.1). `jwt`: also those that name no type of their own. */
  readonly tokenType: 'at+jwt' | 'jwt'
  /** Keys that were fetched longer ago are not used. */
  readonly keysMaxAgeMs: number
  /** The client for sign-in to the page; `undefined` if people sign in with tokens alone. */
  readonly page: PageClient | undefined
}

/** The page as a client of the authorization server (OpenID Connect). */
export interface PageClient {
  readonly clientId: string
  /** `undefined` for a public client. */
  readonly clientSecret: SecretReference | undefined
  /** The scopes to request in addition to `openid`. */
  readonly scopes: readonly string[]
  /** The duration of a sign-in; `undefined`: until the ID token expires. */
  readonly sessionMs: number | undefined
}

/** The configured proxy: none, a named one, or the one of the usual environment variables. */
export type ProxyChoice =
  | { readonly kind: 'none' }
  | { readonly kind: 'variables' }
  | { readonly kind: 'named'; readonly url: string; readonly access: FixedAccess }
