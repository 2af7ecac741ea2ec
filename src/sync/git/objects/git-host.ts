import type { HostAccess } from '../../upstream/http/host-access.ts'
import type { FetchLimits } from '../../upstream/upstream.ts'

/** The context in which a git transport reaches its host. */
export interface GitHost {
  /** The path of a folder for one pull. It is made by the first write, and removed with the pull. */
  readonly scratch: string
  readonly limits: FetchLimits
  /** Credentials, proxy and trust for the host. Called before each use. */
  readonly way: (signal: AbortSignal) => Promise<HostAccess>
  /** Called with the address that answered, the source's own or the target of a redirect, for each listing over HTTP. */
  readonly onAddress?: (url: string) => void
  readonly programs: Programs
}

/** Programs of this machine, for what our own reader does not take, and what they need. */
export interface Programs {
  /** A path, or a name that is looked up in `path`. */
  readonly git: string
  readonly ssh: string
  /** The value of PATH, in which programs are found. */
  readonly path: string
  /** Reads the credentials for ssh. Called before each use. */
  readonly access: () => Promise<SshAccess>
}

/** The credentials of the daemon over ssh, and the host keys that it accepts. */
export interface SshAccess {
  /** Without one, what the user of this process would use: the agent, and the keys in `~/.ssh`. */
  readonly key: SshPrivateKey | undefined
  readonly passphrase: string | undefined
  /** The socket of the user's agent. Not used beside a key. */
  readonly agent: string | undefined
  /** A file in the form of OpenSSH. A host that is not in it is refused. */
  readonly knownHosts: string
  /** True if the known hosts of the system are accepted too. */
  readonly systemHosts: boolean
}

/** A private key, with its name for people: as a file that ssh reads itself, or as text. */
export type SshPrivateKey =
  | { readonly kind: 'file'; readonly path: string; readonly name: string }
  | { readonly kind: 'text'; readonly text: string; readonly name: string }
