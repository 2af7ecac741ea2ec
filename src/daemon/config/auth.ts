import { join } from 'node:path'
import { utf8 } from '../../sync/skill-md/frontmatter.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { SshAccess, SshKey } from '../../sync/upstream/git/objects/git-host.ts'
import { whyNotOpened } from '../base/disk-error-text.ts'
import { readBounded } from '../base/plain-file.ts'
import type { Redactor } from '../base/redactor.ts'
import type { Environment } from './environment.ts'

/** How we prove to the host of a source who we are. It names secrets and never holds one. */
export type Access = FixedAccess | GitHubApp | CredentialHelper | SshKeyAccess

/** What is sent as it is read. */
export type FixedAccess =
  | { readonly kind: 'none' }
  | { readonly kind: 'basic'; readonly username: string; readonly password: SecretReference }
  | { readonly kind: 'header'; readonly name: string; readonly value: SecretReference }
  | { readonly kind: 'bearer'; readonly token: SecretReference }

/** A private key for ssh, and the hosts that are known. */
export interface SshKeyAccess {
  readonly kind: 'ssh'
  readonly key: SecretReference
  readonly passphrase: SecretReference | undefined
  /** Absolute. Undefined for those of the user and of the system. */
  readonly knownHosts: string | undefined
}

/** An installation of a GitHub App, which is given a token for an hour. */
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
  /** What it has in its environment besides PATH and HOME. */
  readonly env: Readonly<Record<string, ProgramValue>>
  readonly timeoutMs: number
}

/** What the environment of a program holds: a value that is no secret, or where it is read from. */
export type ProgramValue = { readonly kind: 'value'; readonly value: string } | SecretReference

/** Where a secret is read from. */
export type SecretReference =
  | { readonly kind: 'env'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'credential'; readonly name: string }

/** GitHub, GitLab and Gitea take an access token as a password over git, whatever the user name is. */
export const TOKEN_USERNAME = 'x-access-token'

/**
 * The headers that are sent. The secret is read anew by each call, so that one that was renewed is used at once; one that
 * cannot be read is `credentials-rejected`. Whatever was read is told to the redactor first.
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

/** What proves who we are, for people; undefined where nothing is sent. Never a secret. */
export function credentialOf(access: Access): string | undefined {
  switch (access.kind) {
    case 'none':
      return undefined
    case 'basic':
      return nameOf(access.password)
    case 'bearer':
      return nameOf(access.token)
    case 'header':
      return `header "${access.name}" from ${nameOf(access.value)}`
    case 'github-app':
      return `GitHub App ${access.appId}, installation ${access.installationId}, key from ${nameOf(access.privateKey)}`
    case 'helper':
      return `credential helper "${access.command}"`
    case 'ssh':
      return nameOf(access.key)
    default:
      return access satisfies never
  }
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
    const passphrase = access.passphrase && (await readSecret(access.passphrase, environment, redactor))
    const { knownHosts } = access
    const hosts = knownHosts === undefined ? users : { knownHosts, systemHosts: false }
    return { key, passphrase, agent: undefined, ...hosts }
  }
}

async function sshKeyOf(reference: SecretReference, environment: Environment, redactor: Redactor): Promise<SshKey> {
  const name = nameOf(reference)
  if (reference.kind === 'file') return { kind: 'file', path: reference.path, name }
  const text = await rawSecret(reference, environment)
  if (text === undefined || isBlank(text)) throw new BlankSecret(name, text)
  // By its lines too: whoever repeats a part of it repeats lines.
  for (const secret of [text, ...text.split('\n').filter((line) => line.length >= KEY_LINE)]) redactor.add(secret)
  return { kind: 'text', text, name }
}

/** A line of a key is longer than anything else that is printed by chance. */
const KEY_LINE = 24

/** What reads a secret that is sent nowhere, in the same way. */
export function secretOf(
  reference: SecretReference,
  environment: Environment,
  redactor: Redactor,
): () => Promise<string> {
  return async () => readSecret(reference, environment, redactor)
}

/** A secret that is not set, or holds nothing but white space: it may be in the middle of being written. It is never sent. */
export class BlankSecret extends SyncError {
  constructor(name: string, secret: string | undefined) {
    const why = (secret ?? '') === '' ? 'it is not set, or empty' : 'it holds nothing but white space'
    super('credentials-rejected', `Cannot use the ${name}: ${why}`)
  }
}

function isBlank(secret: string): boolean {
  return secret.trim() === ''
}

/** A secret, which the redactor knows from then on. `lines`: it may have several, as a private key has. */
export async function readSecret(
  reference: SecretReference,
  environment: Environment,
  redactor: Redactor,
  shape: 'line' | 'lines' = 'line',
): Promise<string> {
  const name = nameOf(reference)
  const secret = await rawSecret(reference, environment)
  if (secret === undefined || isBlank(secret)) throw new BlankSecret(name, secret)
  redactor.add(secret)
  const control = shape === 'line' ? /\p{Cc}/u : /(?![\t\n\r])\p{Cc}/u
  // A second line is never meant, and no header could carry it.
  if (control.test(secret)) throw rejected(`Cannot use the ${name}: it holds a line break or another control character`)
  return secret
}

async function rawSecret(reference: SecretReference, environment: Environment): Promise<string | undefined> {
  if (reference.kind === 'env') return environment.variable(reference.name)
  const name = nameOf(reference)
  if (reference.kind === 'file') return readSecretFile(reference.path, name)
  if (environment.credentials === undefined) throw rejected(`Cannot read the ${name}: CREDENTIALS_DIRECTORY is not set`)
  return readSecretFile(join(environment.credentials, reference.name), name)
}

/** What a secret is read from, for people. */
export function nameOf(reference: SecretReference): string {
  if (reference.kind === 'env') return `environment variable "${reference.name}"`
  if (reference.kind === 'file') return `credential file "${reference.path}"`
  return `credential "${reference.name}"`
}

const MAXIMUM_BYTES = 65_536

async function readSecretFile(path: string, name: string): Promise<string> {
  const bytes = await readBounded(path, MAXIMUM_BYTES).catch((cause: unknown) => {
    throw rejected(`Cannot read the ${name}: ${whyNotOpened(cause)}`, cause)
  })
  if (bytes === undefined) throw rejected(`Cannot read the ${name}: it is not a plain file`)
  if (bytes.length > MAXIMUM_BYTES) throw rejected(`Cannot use the ${name}: it is over ${MAXIMUM_BYTES} bytes`)
  const text = utf8(bytes)
  if (text === undefined) throw rejected(`Cannot use the ${name}: it is not valid UTF-8`)
  return text.replace(/\r?\n$/, '')
}

function rejected(message: string, cause?: unknown): SyncError {
  return new SyncError('credentials-rejected', message, { cause })
}

/** The authorization server whose tokens are accepted. */
export interface OAuthConfig {
  readonly issuer: string
  /** What a token must be meant for. Undefined for the address of MCP. */
  readonly audience: string | undefined
  /** What a token must allow, all of them, to open everything. */
  readonly scopes: readonly string[]
  /** `at+jwt`: only tokens of that type (RFC 9068, 2.1). `jwt`: also those that name no type of their own. */
  readonly tokenType: 'at+jwt' | 'jwt'
  /** Keys that were fetched longer ago are not used. */
  readonly keysMaxAgeMs: number
}

/** What the configuration says about a proxy: none, one, or nothing, which leaves it to the usual variables. */
export type ProxyChoice =
  | { readonly kind: 'none' }
  | { readonly kind: 'variables' }
  | { readonly kind: 'named'; readonly url: string; readonly access: FixedAccess }
