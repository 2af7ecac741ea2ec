import { chmod, open, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SyncError } from '../../model/sync-error.ts'
import type { GitHost, SshAccess, SshPrivateKey } from '../objects/git-host.ts'

/**
 * Writes the files that ssh needs into its working folder, and returns the environment that makes git use them. Secrets
 * are in files of that folder, never in arguments, which every user of the machine can see.
 */
export async function writeSsh(folder: string, { programs, limits }: GitHost): Promise<Record<string, string>> {
  const access = await programs.access()
  if (access.key !== undefined) await writeKey(folder, access.key)
  await expectKnownHosts(access)
  // A link, because ssh might misinterpret characters in the path of the operator's file.
  await symlink(access.knownHosts, join(folder, KNOWN_HOSTS))
  const words = [programs.ssh, ...optionsFor(access, limits)].map(shellQuoted)
  return {
    GIT_SSH_COMMAND: words.join(' '),
    ...(access.passphrase !== undefined ? await writePassphrase(folder, access.passphrase) : {}),
    ...(access.key === undefined && access.agent !== undefined ? { SSH_AUTH_SOCK: access.agent } : {}),
  }
}

/** The name of the known-hosts file in the folder of ssh. */
export const KNOWN_HOSTS = 'known_hosts'

/** Starts a new log of ssh, separate from the output of the remote. The returned function reads it. */
export async function sshLog(folder: string): Promise<() => Promise<string>> {
  const file = join(folder, LOG)
  await rm(file, { force: true })
  return async () => startOf(file).catch(() => '')
}

const LOG = 'ssh.log'
const KEY = 'key'

function optionsFor(access: SshAccess, { connectMs, idleMs }: GitHost['limits']): string[] {
  const seconds = (ms: number) => Math.max(1, Math.ceil(ms / 1000))
  const settings = {
    // With a passphrase, our own program answers its prompt; all other prompts are disabled below.
    BatchMode: access.passphrase === undefined ? 'yes' : 'no',
    NumberOfPasswordPrompts: '1',
    PreferredAuthentications: 'publickey',
    PasswordAuthentication: 'no',
    KbdInteractiveAuthentication: 'no',
    GSSAPIAuthentication: 'no',
    HostbasedAuthentication: 'no',
    StrictHostKeyChecking: 'yes',
    UserKnownHostsFile: KNOWN_HOSTS,
    ...(access.systemHosts ? {} : { GlobalKnownHostsFile: '/dev/null' }),
    UpdateHostKeys: 'no',
    VerifyHostKeyDNS: 'no',
    CheckHostIP: 'no',
    ...(access.key === undefined ? {} : { IdentitiesOnly: 'yes', IdentityAgent: 'none' }),
    AddKeysToAgent: 'no',
    ForwardAgent: 'no',
    ForwardX11: 'no',
    ClearAllForwardings: 'yes',
    PermitLocalCommand: 'no',
    ControlMaster: 'no',
    ControlPath: 'none',
    Tunnel: 'no',
    RequestTTY: 'no',
    ConnectTimeout: String(seconds(connectMs)),
    ConnectionAttempts: '1',
    ServerAliveInterval: String(seconds(idleMs / 2)),
    ServerAliveCountMax: '2',
    // Logs the fingerprint of a rejected host key.
    LogLevel: 'DEBUG1',
  }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  return ['-F', 'none', '-E', LOG, ...options, ...(access.key === undefined ? [] : ['-i', KEY])]
}

async function writeKey(folder: string, key: SshPrivateKey): Promise<void> {
  const file = join(folder, KEY)
  if (key.kind === 'text') {
    const text = key.text.endsWith('\n') ? key.text : `${key.text}\n`
    await writeFile(file, text, { mode: 0o600 })
    return
  }
  const { mode, uid } = await stat(key.path).catch((cause: unknown) => {
    throw rejection(`Cannot read the ${key.name}: ${codeOf(cause)}`, cause)
  })
  // ssh would silently ignore the key.
  if ((mode & 0o077) !== 0 && uid === process.getuid?.()) {
    const shown = (mode & 0o777).toString(8)
    throw rejection(`Cannot use the ${key.name}: others may read it (mode ${shown}); ssh wants it to be 600`)
  }
  await symlink(key.path, file)
}

async function expectKnownHosts({ knownHosts, systemHosts }: SshAccess): Promise<void> {
  // The user's own file may be missing, as on a new machine; then only the system's hosts are known.
  if (systemHosts) return
  await (
    await open(knownHosts, 'r').catch((cause: unknown) => {
      throw new SyncError('tls-failed', `Cannot read the known hosts "${knownHosts}": ${codeOf(cause)}`, { cause })
    })
  ).close()
}

/** Writes a program that answers only the passphrase prompt. */
async function writePassphrase(folder: string, passphrase: string): Promise<Record<string, string>> {
  const askpass = join(folder, 'askpass')
  await writeFile(join(folder, 'passphrase'), `${passphrase}\n`, { mode: 0o600 })
  await writeFile(askpass, ASKPASS, { mode: 0o700 })
  await chmod(askpass, 0o700)
  // Before OpenSSH 8.4, ssh runs the program only if DISPLAY is set.
  return { SSH_ASKPASS: askpass, DISPLAY: 'none' }
}

const ASKPASS = `#!/bin/sh
case "$1" in
  *passphrase*) exec cat "\${0%/*}/passphrase" ;;
  *) exit 1 ;;
esac
`

function shellQuoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** Reads the start of the log, which has the cause; the rest is useless. */
async function startOf(file: string): Promise<string> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(LOG_BYTES), 0, LOG_BYTES, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}

const LOG_BYTES = 65_536

/** Returns the lines of the known-hosts file. */
export async function knownHostLines(folder: string): Promise<readonly string[]> {
  return (await readFile(join(folder, KNOWN_HOSTS), 'utf8').catch(() => '')).split('\n')
}

function codeOf(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'it cannot be opened'
  if (code === 'ENOENT') return 'no such file'
  return code === 'EACCES' ? 'permission denied' : code
}

function rejection(message: string, cause?: unknown): SyncError {
  return new SyncError('credentials-rejected', message, { cause })
}
