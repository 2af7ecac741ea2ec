import type { Programs } from '../src/sync/git/objects/git-host.ts'
import type { GitSource } from '../src/sync/model/source.ts'
import { SshHost } from '../test/support/git/ssh-host.ts'
import type { ServedRepositories } from './upstream.ts'

/** Who speaks git for a source, and over what. */
export interface Backend {
  readonly name: string
  readonly road: keyof Roads
  /** What its source says to be reached so, besides its address. */
  readonly settings?: Partial<GitSource>
}

export const BACKENDS: readonly Backend[] = [
  { name: 'embedded, http', road: 'http' },
  { name: 'embedded, disk', road: 'disk' },
  { name: 'isomorphic-git, http', road: 'http', settings: { backend: 'isomorphic' } },
  { name: 'git program, http', road: 'http', settings: { backend: 'system' } },
  { name: 'git program, ssh', road: 'ssh' },
]

/** One way to the repositories, the same for ours and for git itself. */
export interface Road {
  readonly urls: readonly string[]
  /** What git is told on its command line to go there. */
  readonly options: readonly string[]
  readonly programs: Programs
}

interface Roads {
  readonly http: Road
  readonly disk: Road
  /** Not where there is no sshd. */
  readonly ssh: Road | undefined
}

export async function roadsTo({ all }: ServedRepositories): Promise<Roads & AsyncDisposable> {
  const host = await SshHost.start().catch(() => undefined)
  const folders = all.map(({ repository }) => repository.folder)
  const programs = programsFor(host)
  return {
    http: { urls: all.map(({ url }) => url), options: [], programs },
    disk: { urls: folders.map((folder) => `file://${folder}`), options: [], programs },
    ssh: host && { urls: folders.map((folder) => host.url(folder)), options: optionsFor(host), programs },
    [Symbol.asyncDispose]: async () => host?.[Symbol.asyncDispose](),
  }
}

function programsFor(host: SshHost | undefined): Programs {
  const access: Programs['access'] = async () => {
    if (host === undefined) throw new Error('There is no host of ssh here')
    return { ...host.access, passphrase: undefined, agent: undefined, systemHosts: false }
  }
  return { git: 'git', ssh: 'ssh', path: process.env['PATH'] ?? '', access }
}

/** The settings that ours makes for ssh, as far as they matter to its pace. */
function optionsFor({ key, knownHosts }: SshHost): string[] {
  const known = ['-o', `UserKnownHostsFile=${knownHosts}`, '-o', 'StrictHostKeyChecking=yes', '-o', 'BatchMode=yes']
  return ['-c', `core.sshCommand=${['ssh', '-F', 'none', '-i', key, ...known].join(' ')}`]
}
