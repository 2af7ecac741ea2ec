import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { SshPrivateKey } from '../../../src/sync/git/objects/git-host.ts'
import { freePort } from '../free-port.ts'
import { neededProgram } from '../process/has-program.ts'
import { temporaryFolder } from '../temporary.ts'

/** What an ssh host does for whoever logs in, in place of the command that was asked for; undefined runs that. */
type Command = string | undefined

/** A real sshd on loopback, with a host key and one user key of its own. */
export class SshHost implements AsyncDisposable {
  readonly port: number
  /** The private key that is let in. */
  readonly key: string
  /** The known hosts of somebody who has met this host. */
  readonly knownHosts: string
  readonly #folder: { readonly path: string } & AsyncDisposable
  readonly #stop: () => Promise<void>

  private constructor(port: number, folder: { readonly path: string } & AsyncDisposable, stop: () => Promise<void>) {
    this.port = port
    this.#folder = folder
    this.#stop = stop
    this.key = join(folder.path, 'key')
    this.knownHosts = join(folder.path, 'known_hosts')
  }

  /** `protocol`: whether clients may say which version of git's protocol they speak, as the large hosts let them. */
  static async start({ protocol = true, password = false } = {}): Promise<SshHost> {
    // Only an absolute path lets sshd start itself again for each connection.
    const sshd = neededProgram('sshd')
    const folder = await temporaryFolder()
    const at = (name: string) => join(folder.path, name)
    makeKey(at('key'))
    makeKey(at('host_key'))
    const port = await freePort()
    // Started by root, it wants a folder to shut itself up in.
    if (userInfo().uid === 0) await mkdir('/run/sshd', { recursive: true })
    await writeFile(at('sshd_config'), CONFIG({ port, folder: folder.path, protocol, password }))
    const host = new SshHost(port, folder, await listening(sshd, at('sshd_config')))
    await host.run(undefined)
    await writeFile(host.knownHosts, await host.knownAs('host_key'))
    return host
  }

  /** The address of a repository on this host. */
  url(folder: string): string {
    return `ssh://${userInfo().username}@127.0.0.1:${this.port}${folder}`
  }

  /** What the host does for whoever logs in from now on. */
  async run(command: Command): Promise<void> {
    const options = command === undefined ? 'restrict' : `restrict,command="${command.replaceAll('"', '\\"')}"`
    await writeFile(
      join(this.#folder.path, 'authorized_keys'),
      `${options} ${await readFile(`${this.key}.pub`, 'utf8')}`,
    )
  }

  /** Lets another key in. */
  async allow(key: string): Promise<void> {
    await appendFile(join(this.#folder.path, 'authorized_keys'), await readFile(`${key}.pub`, 'utf8'))
  }

  /** How it is reached by somebody who has the key and knows the host. */
  get access(): { readonly key: SshPrivateKey; readonly knownHosts: string } {
    return { key: { kind: 'file', path: this.key, name: 'key of the test' }, knownHosts: this.knownHosts }
  }

  /** The fingerprint of its host key. */
  get fingerprint(): string {
    return fingerprintOf(join(this.#folder.path, 'host_key'))
  }

  /** A line of known hosts that says that this host has the key in a file of its folder. */
  async knownAs(name: string): Promise<string> {
    return `[127.0.0.1]:${this.port} ${await readFile(join(this.#folder.path, `${name}.pub`), 'utf8')}`
  }

  /** Makes a key in the folder of this host, and returns its path. */
  makeKey(name: string, passphrase = ''): string {
    const path = join(this.#folder.path, name)
    makeKey(path, passphrase)
    return path
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop()
    await this.#folder[Symbol.asyncDispose]()
  }
}

export function fingerprintOf(key: string): string {
  return execFileSync(neededProgram('ssh-keygen'), ['-l', '-f', `${key}.pub`], { encoding: 'utf8' }).split(' ')[1] ?? ''
}

function makeKey(path: string, passphrase = ''): void {
  execFileSync(neededProgram('ssh-keygen'), ['-q', '-t', 'ed25519', '-N', passphrase, '-C', 'test', '-f', path])
}

function CONFIG(of: { port: number; folder: string; protocol: boolean; password: boolean }): string {
  return [
    `Port ${of.port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${of.folder}/host_key`,
    `AuthorizedKeysFile ${of.folder}/authorized_keys`,
    'PidFile none',
    // The folder of a test lies below one that everybody may write to.
    'StrictModes no',
    'UsePAM no',
    'PermitRootLogin yes',
    'PubkeyAuthentication yes',
    `PasswordAuthentication ${of.password ? 'yes' : 'no'}`,
    'KbdInteractiveAuthentication no',
    'LogLevel INFO',
    'MaxStartups 100',
    // The login shell and git read no configuration of the machine; a shell may start a hundred processes for its own.
    `SetEnv HOME=${of.folder}`,
    // Each fetch logs in a few times: the key exchanges that withstand quantum computers cost 0.1 s each.
    'KexAlgorithms curve25519-sha256',
    ...(of.protocol ? ['AcceptEnv GIT_PROTOCOL'] : []),
    '',
  ].join('\n')
}

/** Starts sshd and waits until it listens. Returns what ends it, with all who are logged in. */
async function listening(program: string, config: string): Promise<() => Promise<void>> {
  const sshd = spawn(program, ['-D', '-e', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'], detached: true })
  const ended = once(sshd, 'exit')
  const lines: string[] = []
  const listens = new Promise<void>((resolve, reject) => {
    createInterface({ input: sshd.stderr }).on('line', (line) => {
      lines.push(line)
      if (line.includes('Server listening')) resolve()
    })
    sshd.once('error', reject)
    void ended.then(() => reject(new Error(`sshd ended: ${lines.join('\n')}`)))
  })
  await listens
  return async () => {
    sshd.kill('SIGTERM')
    await ended
  }
}
