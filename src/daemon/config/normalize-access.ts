import { join, resolve } from 'node:path'
import { TOKEN_USERNAME } from './auth.ts'
import type { CredentialHelper, FixedAccess, HostAuth, ProgramValue, ProxyChoice, SecretReference } from './auth.ts'
import type { HostConfig } from './config.ts'
import type { Environment } from './environment.ts'
import type { ConfigFile } from './schema/schema.ts'

/** Makes a path of the file absolute: it is resolved from the folder of the file. */
export type Absolute = (path: string) => string

/** One entry of `sources`. */
export type SourceEntry = NonNullable<ConfigFile['sources']>[number]

/** The credential of an entry. */
export type AuthEntry = NonNullable<SourceEntry['auth']>

type HelperEntry = NonNullable<AuthEntry['helper']>

/** The place that a secret is read from. */
export type SecretEntry = NonNullable<AuthEntry['token']>

/** The access to one host. */
type HostEntry = Pick<NonNullable<ConfigFile['publish']>[number], 'auth' | 'ca' | 'proxy'>

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
export function proxyOf(proxy: SourceEntry['proxy'], absolute: Absolute): ProxyChoice {
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
