import { spawn } from 'node:child_process'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { neededProgram } from '../process/has-program.ts'
import { temporaryFolder } from '../temporary.ts'
import { Repository, runGit } from './repository.ts'

/** How git is told to sign. */
export interface Signing {
  /** Options of git. */
  readonly options: readonly string[]
}

/** A key of ssh-keygen's making, in a file. */
export interface SshKeyFile extends Signing {
  readonly path: string
  /** The type and the key, as a list of signers has them. */
  readonly line: string
  /** As ssh-keygen prints it. */
  readonly fingerprint: string
}

/** A repository whose commits and tags are signed by the real programs, and a folder for keys. */
export class SigningWorld implements AsyncDisposable {
  readonly repository: Repository
  readonly folder: string
  readonly #disposals: readonly AsyncDisposable[]

  private constructor(repository: Repository, folder: { readonly path: string } & AsyncDisposable) {
    this.repository = repository
    this.folder = folder.path
    this.#disposals = [repository, folder]
  }

  static async create(objectFormat: 'sha1' | 'sha256' = 'sha1'): Promise<SigningWorld> {
    return new SigningWorld(await Repository.create({ objectFormat }), await temporaryFolder())
  }

  async sshKey(name: string, type = 'ed25519', bits?: number): Promise<SshKeyFile> {
    const path = join(this.folder, name)
    const size = bits === undefined ? [] : ['-b', String(bits)]
    await run('ssh-keygen', ['-q', '-t', type, ...size, '-N', '', '-C', name, '-f', path])
    return keyFile(path)
  }

  /** The certificate that the authority gives to the key; what is signed with it shows it. */
  async certified(key: SshKeyFile, authority: SshKeyFile, ...options: readonly string[]): Promise<SshKeyFile> {
    await run('ssh-keygen', ['-q', '-s', authority.path, '-I', 'id', ...options, `${key.path}.pub`])
    const { fingerprint } = key
    const line = await keyLine(`${key.path}-cert.pub`)
    return { path: `${key.path}-cert.pub`, line, fingerprint, options: sshOptions(`${key.path}-cert.pub`) }
  }

  /** The raw commit. */
  async commit(signing?: Signing, { seconds = NOON, message = 'a change' } = {}): Promise<Buffer> {
    const { folder } = this.repository
    const tree = (await runGit(['--git-dir', folder, 'mktree'], { input: '' })).toString().trim()
    const sign = signing === undefined ? [] : ['-S']
    const command = ['commit-tree', ...sign, '-m', message, tree]
    const id = await runGit(['--git-dir', folder, ...(signing?.options ?? []), ...command], { seconds })
    return runGit(['--git-dir', folder, 'cat-file', 'commit', id.toString().trim()])
  }

  /** The raw commit with a header more, signed with the others. */
  async commitWith(key: SshKeyFile, header: string): Promise<Buffer> {
    const payload = (await this.commit()).toString('latin1').replace('\n\n', `\n${header}\n`)
    const signature = await run(
      'ssh-keygen',
      ['-Y', 'sign', '-n', 'git', '-q', '-f', key.path],
      Buffer.from(payload, 'latin1'),
    )
    const folded = signature.toString().trimEnd().replaceAll('\n', '\n ')
    return Buffer.from(payload.replace('\n\n', `\ngpgsig ${folded}\n\n`), 'latin1')
  }

  /** The raw tag object that leads to the commit. */
  async tag(
    commit: Buffer,
    signing?: Signing,
    { seconds = NOON, name = 'v1', message = 'a release' } = {},
  ): Promise<Buffer> {
    const { folder } = this.repository
    const id = await this.repository.object('commit', commit)
    const sign = signing === undefined ? '-a' : '-s'
    const command = ['tag', '--force', sign, '-m', message, name, id]
    await runGit(['--git-dir', folder, ...(signing?.options ?? []), ...command], { seconds })
    return runGit(['--git-dir', folder, 'cat-file', 'tag', `refs/tags/${name}`])
  }

  /** Whether git itself takes the signature of the object. */
  async gitTakes(type: 'commit' | 'tag', object: Buffer, trusting: readonly string[]): Promise<boolean> {
    const id = await this.repository.object(type, object)
    const verify = ['--git-dir', this.repository.folder, ...trusting, `verify-${type}`, id]
    return runGit(verify).then(
      () => true,
      () => false,
    )
  }

  /** Options with which git trusts the signers of the list. */
  async trusting(allowedSigners: string): Promise<readonly string[]> {
    const file = join(this.folder, 'allowed-signers')
    await writeFile(file, allowedSigners)
    return ['-c', `gpg.ssh.allowedSignersFile=${file}`]
  }

  async gpg(name: string): Promise<Gpg> {
    const home = join(this.folder, name)
    neededProgram('gpg')
    await mkdir(home, { mode: 0o700 })
    return new Gpg(home)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const disposal of this.#disposals) await disposal[Symbol.asyncDispose]()
  }
}

/** When things are signed unless it matters: 2025-06-15, 12:00 UTC. */
export const NOON = 1_749_988_800
export const DAY = 86_400

async function keyFile(path: string): Promise<SshKeyFile> {
  const [, fingerprint = ''] = (await run('ssh-keygen', ['-l', '-f', `${path}.pub`])).toString().split(' ')
  return { path, line: await keyLine(`${path}.pub`), fingerprint, options: sshOptions(path) }
}

async function keyLine(path: string): Promise<string> {
  return (await readFile(path, 'utf8')).split(' ').slice(0, 2).join(' ')
}

function sshOptions(path: string): readonly string[] {
  return ['-c', 'gpg.format=ssh', '-c', `user.signingkey=${path}`]
}

/** The gpg program with a keyring of its own. Its agent ends when this is disposed. */
export class Gpg implements AsyncDisposable {
  readonly #home: string

  constructor(home: string) {
    this.#home = home
  }

  /** Makes a key that can sign. Returns its fingerprint. */
  async key(
    user: string,
    { seconds = NOON - DAY, algorithm = 'ed25519', usage = 'sign', expiry = 'never' } = {},
  ): Promise<string> {
    await this.run(seconds, '--quick-generate-key', user, algorithm, usage, expiry)
    const listed = (await this.run(seconds, '--list-keys', '--with-colons', user)).toString()
    return /^fpr:+([0-9A-F]+):/m.exec(listed)?.[1] ?? ''
  }

  /** How git signs with the key at that time, by gpg's clock. */
  async signing(key: string, { seconds = NOON, options = [] as readonly string[] } = {}): Promise<Signing> {
    return { options: ['-c', `gpg.program=${await this.program(seconds, options)}`, '-c', `user.signingkey=${key}`] }
  }

  /** The public keys, armored. */
  async exported(...keys: readonly string[]): Promise<string> {
    return (await this.run(undefined, '--armor', '--export', ...keys)).toString()
  }

  /** Options with which git trusts the keys. */
  async trusting(): Promise<readonly string[]> {
    return ['-c', `gpg.program=${await this.program(undefined, ['--trust-model', 'always'])}`]
  }

  run(seconds: number | undefined, ...args: readonly string[]): Promise<Buffer> {
    return run('gpg', [...this.#options(seconds), ...args])
  }

  /** Revokes the key for the reason: 0 none, 1 compromised, 2 superseded, 3 retired. */
  async revoke(key: string, reason = 0): Promise<void> {
    const answers = `y\n${reason}\n\ny\n`
    const generated = ['--no-batch', '--command-fd', '0', '--gen-revoke', key]
    const options = this.#options(NOON + DAY).filter((option) => option !== '--batch')
    const certificate = await run('gpg', [...options, ...generated], answers)
    await run('gpg', [...this.#options(NOON + DAY), '--import'], certificate)
  }

  async program(seconds: number | undefined, options: readonly string[] = []): Promise<string> {
    const path = `${this.#home}/gpg-${seconds}-${options.join('').replaceAll(/[^a-z0-9]/gi, '')}`
    const words = ['gpg', ...this.#options(seconds), ...options].map((word) => `'${word}'`)
    await writeFile(path, `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`)
    await chmod(path, 0o755)
    return path
  }

  #options(seconds: number | undefined): readonly string[] {
    const clock = seconds === undefined ? [] : ['--faked-system-time', `${seconds}!`]
    const quiet = [
      '--batch',
      '--no-tty',
      '--quiet',
      '--no-auto-check-trustdb',
      '--pinentry-mode',
      'loopback',
      '--passphrase',
      '',
    ]
    return ['--homedir', this.#home, ...quiet, ...clock]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run('gpgconf', ['--homedir', this.#home, '--kill', 'gpg-agent'])
  }
}

/** Runs a program to its end. Returns what it printed; throws what it complained about. Skips the test without it. */
export async function run(program: string, args: readonly string[], input?: string | Uint8Array): Promise<Buffer> {
  const child = spawn(neededProgram(program), args, {
    env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C', TZ: 'UTC' },
  })
  const exit = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [code, stdout, stderr] = await Promise.all([exit, buffer(child.stdout), text(child.stderr)])
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${stderr.trim()}`)
  return stdout
}
