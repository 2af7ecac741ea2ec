import { join, resolve } from 'node:path'
import { z } from 'zod'
import { TOKEN_USERNAME } from '../auth.ts'
import type { CredentialHelper, FixedAccess, HostAuth, ProgramValue, ProxyChoice, SecretReference } from '../auth.ts'
import type { HostConfig } from '../config.ts'
import type { Environment } from '../environment.ts'
import { duration, later, line, mapping, path, webUrl } from '../schema/scalars.ts'

// The credentials for a source, a gate or a webhook. A secret is referenced here, never written.

const INLINE_SECRET =
  'a secret must not be written here; name it as { env: NAME }, { file: PATH } or { credential: NAME }'

/** Requires exactly one of the keys. Every choice in the configuration has this form. */
export function oneOf(...keys: readonly string[]) {
  const names = keys.map((key) => `\`${key}\``).join(', ')
  return [
    (value: object) => keys.filter((key) => Object.hasOwn(value, key)).length === 1,
    { error: `needs exactly one of ${names}` },
  ] as const
}

/** The place that a secret is read from, at each use. */
export const SECRET = later(() =>
  z
    .strictObject(
      {
        // Only upper case, so that most tokens that are written here by mistake are refused instead of looked up and then
        // quoted.
        env: z
          .string()
          .max(128)
          .regex(/^[A-Z_][A-Z0-9_]*$/, 'must be the name of an environment variable: A-Z, 0-9 and underscores')
          .optional()
          .describe('The name of an environment variable of the daemon.'),
        file: path().optional().describe('A file that contains only the secret; a line break at its end is ignored.'),
        credential: z
          .string()
          .max(255)
          .regex(/^[\w-][\w.-]*$/, 'must be the name of a credential: letters, digits, dots, hyphens and underscores')
          .optional()
          .describe('The name of a credential of the service manager (systemd LoadCredential=).'),
      },
      { error: ({ code, input }) => (code === 'invalid_type' && isWritten(input) ? INLINE_SECRET : undefined) },
    )
    .refine(...oneOf('env', 'file', 'credential'))
    .meta({ id: 'secret' }),
)

function isWritten(input: unknown): boolean {
  return typeof input === 'string' || typeof input === 'number' || typeof input === 'boolean'
}

/** A program to run, never through a shell. */
export const PROGRAM = {
  command: path().describe('The program to run, without a shell; a name is found through PATH.'),
  args: z.array(line()).optional().describe('Its arguments.'),
  env: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
      z.union([z.strictObject({ value: line().describe('The value itself: nothing secret.') }), SECRET], {
        error:
          'must be { value: TEXT } if it is not a secret, else { env: NAME }, { file: PATH } or { credential: NAME }',
      }),
    )
    .optional()
    .describe('Its environment besides PATH and HOME: for each name a secret, or { value: TEXT }.'),
}

function username() {
  return line(255).regex(/^[^:]*$/, 'must not contain a colon')
}

const BASIC = later(() =>
  z
    .strictObject({
      username: username().describe('The user name.'),
      password: SECRET.describe('The password.'),
    })
    .meta({ id: 'basic' }),
)

const SSH = mapping(() => ({
  key: SECRET.describe('The private key; only its user may read the file.'),
  passphrase: SECRET.optional().describe('The passphrase of the key.'),
  known_hosts: path().optional().describe('The keys of the hosts, in the form of OpenSSH; others are refused.'),
}))

const GITHUB_APP = mapping(() => ({
  app_id: z.int().min(1).describe('The id of the app.'),
  installation_id: z.int().min(1).describe('The id of its installation.'),
  private_key: SECRET.describe('Its private key: PEM, RSA, without a passphrase.'),
  api_url: webUrl().optional().describe('The API of a GitHub Enterprise Server: https://HOST/api/v3.'),
}))

const HEADER = later(() =>
  z
    .strictObject({
      name: z
        .string()
        .max(128)
        .regex(/^[A-Za-z0-9-]+$/, 'must be the name of an HTTP header')
        .describe('The name of the HTTP header.'),
      value: SECRET.describe('Its value.'),
    })
    .meta({ id: 'header' }),
)

/** The credential for a proxy. */
const PROXY_AUTH = later(() =>
  z
    .strictObject({
      basic: BASIC.optional().describe('A user name and a password.'),
      header: HEADER.optional().describe('A header of your own.'),
    })
    .refine(...oneOf('basic', 'header')),
)

const FORMS = ['token', 'basic', 'ssh', 'github_app', 'helper', 'header'] as const

/** The credential for a host. It is sent only to the host of the address, and not to another host after a redirect. */
export const AUTH = later(() =>
  z
    .strictObject({
      token: SECRET.optional().describe(
        'An access token. Over git it is the password of `username`; for other servers, without `username`, a bearer token.',
      ),
      username: username()
        .optional()
        .describe('The user name that the git host requires with `token`. Default: x-access-token.'),
      basic: BASIC.optional().describe('A user name and a password.'),
      ssh: SSH.optional().describe(
        'A private key for ssh. Without `auth`, ssh uses its agent and the keys in ~/.ssh, and never ~/.ssh/config.',
      ),
      github_app: GITHUB_APP.optional().describe('A GitHub App, whose tokens are made and renewed as needed.'),
      helper: z
        .strictObject({ ...PROGRAM, timeout: duration().optional().describe('The time limit. Default: 30s.') })
        .optional()
        .describe('A git credential helper, called as git calls it.'),
      header: HEADER.optional().describe('A header of your own, such as X-Api-Key.'),
    })
    .refine(...oneOf(...FORMS))
    .refine((value) => value.username === undefined || value.token !== undefined, {
      error: 'requires `token`',
      path: ['username'],
    })
    .meta({ id: 'auth' }),
)

/** The proxy for a host. */
export const PROXY = later(() =>
  z
    .union(
      [
        z.literal('none'),
        z.strictObject({
          url: webUrl().describe('The address of the proxy.'),
          auth: PROXY_AUTH.optional().describe('The credential for the proxy.'),
        }),
      ],
      { error: 'must be none, or { url: …, auth: … }' },
    )
    .meta({ id: 'proxy' }),
)

/** Makes a path of the file absolute: it is resolved from the folder of the file. */
export type Absolute = (path: string) => string

type AuthEntry = z.output<typeof AUTH>
type HelperEntry = NonNullable<AuthEntry['helper']>
type SecretEntry = z.output<typeof SECRET>
type ProxyEntry = z.output<typeof PROXY> | undefined

/** The access to one host. */
interface HostEntry {
  readonly auth?: AuthEntry | undefined
  readonly ca?: string | undefined
  readonly proxy?: ProxyEntry
}

/** `~` is the home folder of the user. */
export function absolutePath(path: string, folder: string, environment: Environment): string {
  if (path === '~' || path.startsWith('~/')) return join(environment.home, path.slice(1))
  return resolve(folder, path)
}

/** The access to a host, complete. */
export function hostConfigOf({ auth, ca, proxy }: HostEntry, absolute: Absolute): HostConfig {
  return {
    access: accessOf(auth, absolute),
    ca: ca === undefined ? undefined : absolute(ca),
    proxy: proxyOf(proxy, absolute),
  }
}

/** The credential for a git host. */
export function accessOf(auth: AuthEntry | undefined, absolute: Absolute): HostAuth {
  if (auth?.github_app !== undefined) {
    const { app_id: appId, installation_id: installationId, private_key: key, api_url: apiUrl } = auth.github_app
    const privateKey = referenceOf(key, absolute)
    return { kind: 'github-app', appId, installationId, privateKey, apiUrl: apiUrl ?? GITHUB_API }
  }
  if (auth?.ssh !== undefined) {
    const { key, passphrase, known_hosts: hosts } = auth.ssh
    return {
      kind: 'ssh',
      key: referenceOf(key, absolute),
      passphrase: passphrase && referenceOf(passphrase, absolute),
      knownHosts: hosts && absolute(hosts),
    }
  }
  return auth?.helper === undefined ? fixedAccessOf(auth, absolute) : helperOf(auth.helper, absolute)
}

const GITHUB_API = 'https://api.github.com'

/** A credential that is stored, not one that a program or an app makes. */
export function fixedAccessOf(
  auth: (Pick<AuthEntry, 'basic' | 'header'> & Partial<Pick<AuthEntry, 'token' | 'username'>>) | undefined,
  absolute: Absolute,
): FixedAccess {
  if (auth?.basic !== undefined) {
    return { kind: 'basic', username: auth.basic.username, password: referenceOf(auth.basic.password, absolute) }
  }
  if (auth?.token !== undefined) {
    return { kind: 'basic', username: auth.username ?? TOKEN_USERNAME, password: referenceOf(auth.token, absolute) }
  }
  if (auth?.header !== undefined) {
    return { kind: 'header', name: auth.header.name, value: referenceOf(auth.header.value, absolute) }
  }
  return { kind: 'none' }
}

/** The credential for an MCP server or another hub: there a token is a bearer token, unlike for git hosts. */
export function bearerOf(auth: AuthEntry | undefined, absolute: Absolute): HostAuth {
  if (auth?.token === undefined || auth.username !== undefined) return accessOf(auth, absolute)
  return { kind: 'bearer', token: referenceOf(auth.token, absolute) }
}

function helperOf({ command, args = [], env, timeout }: HelperEntry, absolute: Absolute): CredentialHelper {
  return {
    kind: 'helper',
    command: programOf(command, absolute),
    args,
    env: programValuesOf(env, absolute),
    timeoutMs: timeout ?? HELPER_MS,
  }
}

/** The environment variables of a program: values, and the places of secrets. */
export function programValuesOf(env: HelperEntry['env'], absolute: Absolute): Readonly<Record<string, ProgramValue>> {
  const values = Object.entries(env ?? {}).map(([name, entry]): [string, ProgramValue] => [
    name,
    'value' in entry ? { kind: 'value', value: entry.value } : referenceOf(entry, absolute),
  ])
  return Object.fromEntries(values)
}

/** A bare name is looked up in PATH. */
export function programOf(program: string, absolute: Absolute): string {
  return program.includes('/') ? absolute(program) : program
}

const HELPER_MS = 30_000

/** The proxy for a host; without one in the file, the environment variables decide. */
export function proxyOf(proxy: ProxyEntry, absolute: Absolute): ProxyChoice {
  if (proxy === undefined) return { kind: 'variables' }
  if (proxy === 'none') return { kind: 'none' }
  return { kind: 'named', url: new URL(proxy.url).origin, access: fixedAccessOf(proxy.auth, absolute) }
}

/** The place of a secret. */
export function referenceOf(entry: SecretEntry, absolute: Absolute): SecretReference {
  if (entry.env !== undefined) return { kind: 'env', name: entry.env }
  if (entry.file !== undefined) return { kind: 'file', path: absolute(entry.file) }
  return { kind: 'credential', name: entry.credential ?? '' }
}
