import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, copyFile, readFile, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { SshAccess } from '../../../../src/sync/git/objects/git-host.ts'
import { freePort } from '../../../support/free-port.ts'
import { Repository } from '../../../support/git/repository.ts'
import { fingerprintOf, SshHost } from '../../../support/git/ssh-host.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { portOf } from '../../upstream/front.ts'
import { ACCESS, reach, STEADY } from '../../upstream/reached.ts'
import { contentOf, failureOf } from '../../upstream/served.ts'

const host = await SshHost.start({ password: true })
const withPassphrase = host.makeKey('locked', PASSPHRASE())
await host.allow(withPassphrase)
ACCESS.set(`127.0.0.1:${host.port}`, host.access)
afterAll(() => host[Symbol.asyncDispose]())

const FILES = { 'a/SKILL.md': 'one\n'.repeat(20), 'a/b/c.txt': 'two\n', 'd.md': 'three\n' }

test('a repository on a host of ssh is read, files and all', async () => {
  await using repository = await sample()
  await using reached = await reach(host.url(repository.folder))

  await using tree = await reached.tree()

  expect(await contentOf(tree)).toEqual(FILES)
})

test('an address like that of scp is read', async () => {
  await using repository = await sample()
  await using folder = await temporaryFolder()
  // There is no place for a port in such an address: what is started in place of ssh puts it in.
  const ssh = join(folder.path, 'ssh')
  await writeFile(ssh, `#!/bin/sh\nexec ssh -p ${host.port} "$@"\n`, { mode: 0o755 })
  const user = new URL(host.url('/')).username
  await using reached = await reach(`${user}@127.0.0.1:${repository.folder}`, { ssh, access: host.access })

  await using tree = await reached.tree()

  expect(await contentOf(tree)).toEqual(FILES)
})

test('a key that comes as text is used, and is gone with the fetch', async () => {
  await using repository = await sample()
  const text = (await readFile(host.key, 'utf8')).trimEnd()
  const access = { ...host.access, key: { kind: 'text', text, name: 'variable' } } as const
  await using reached = await reach(host.url(repository.folder), { access })

  const revision = await reached.upstream.resolve(STEADY)

  expect(revision.ref).toBe('refs/heads/main')
  expect(await reached.scratch()).toEqual([])
})

test('a key with a passphrase is used, and neither is met in an argument, an environment or an error', async () => {
  await using repository = await sample()
  const text = await readFile(withPassphrase, 'utf8')
  const access = { ...host.access, key: { kind: 'text', text, name: 'variable' }, passphrase: PASSPHRASE() } as const
  await using folder = await temporaryFolder()
  const seen = join(folder.path, 'seen')
  const watched = await watching(folder.path, 'git', seen)
  await using reached = await reach(host.url(repository.folder), { access, git: watched })

  await using tree = await reached.tree()
  await contentOf(tree)

  const processes = await readFile(seen, 'latin1')
  expect(processes).toContain('ls-remote')
  expect(processes).toContain('StrictHostKeyChecking=yes')
  expectNoSecret(processes, text)
})

test.each([
  ['no passphrase', undefined],
  ['another passphrase', 'not this one'],
])('a locked key with %s fails at once, and nobody is asked', async (_, passphrase) => {
  await using repository = await sample()
  const text = await readFile(withPassphrase, 'utf8')
  const access = { ...host.access, key: { kind: 'text', text, name: 'variable' }, passphrase } as const
  await using reached = await reach(host.url(repository.folder), { access })

  const failure = await failureOf(reached.upstream.resolve(STEADY))

  expect(failure).toMatchObject({ code: 'credentials-rejected', message: expect.stringContaining('passphrase') })
  expectNoSecret(failure.message, text)
})

test('a host that offers to ask for a password is not let ask', async () => {
  await using repository = await sample()
  const key = host.makeKey('stranger')
  await using reached = await reach(host.url(repository.folder), { access: { ...host.access, key: fileKey(key) } })

  const failure = await failureOf(reached.upstream.resolve(STEADY))

  expect(failure).toMatchObject({ code: 'credentials-rejected', message: expect.stringContaining('password') })
})

test('a host whose key has changed is refused with both fingerprints, and nothing is accepted', async () => {
  await using repository = await sample()
  await using folder = await temporaryFolder()
  const knownHosts = join(folder.path, 'known hosts')
  const other = host.makeKey('other')
  const lines = `# by hand\n${await host.knownAs('other')}`
  await writeFile(knownHosts, lines)
  await using reached = await reach(host.url(repository.folder), { access: { ...host.access, knownHosts } })

  const failure = await failureOf(reached.upstream.resolve(STEADY))

  expect(failure).toMatchObject({ code: 'tls-failed', message: expect.stringContaining('has changed') })
  expect(failure.message).toContain(host.fingerprint)
  expect(failure.message).toContain(fingerprintOf(other))
  expect(await readFile(knownHosts, 'utf8')).toBe(lines)
  expect(await reached.scratch()).toEqual([])
})

test('a host that nobody knows is refused with its fingerprint, and is not known afterwards', async () => {
  await using repository = await sample()
  await using folder = await temporaryFolder()
  const knownHosts = join(folder.path, 'known_hosts')
  await writeFile(knownHosts, '')
  await using reached = await reach(host.url(repository.folder), { access: { ...host.access, knownHosts } })

  const failure = await failureOf(reached.upstream.resolve(STEADY))

  expect(failure).toMatchObject({ code: 'tls-failed', message: expect.stringContaining('unknown') })
  expect(failure.message).toContain(host.fingerprint)
  expect(await readFile(knownHosts, 'utf8')).toBe('')
  expect(await readdir(folder.path)).toEqual(['known_hosts'])
})

test('known hosts that are not there are a failure that names the file', async () => {
  await using reached = await reach(host.url('/x'), { access: { ...host.access, knownHosts: '/nonexistent/hosts' } })

  await expect(reached.upstream.resolve(STEADY)).rejects.toMatchObject({
    code: 'tls-failed',
    message: expect.stringContaining('"/nonexistent/hosts": no such file'),
  })
})

test('a key that others may read is refused, and the message says how it should be', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'key')
  await copyFile(host.key, path)
  await chmod(path, 0o644)
  await using reached = await reach(host.url('/x'), { access: { ...host.access, key: fileKey(path) } })

  await expect(reached.upstream.resolve(STEADY)).rejects.toMatchObject({
    code: 'credentials-rejected',
    message: expect.stringContaining('mode 644'),
  })
})

test('a text that is no key is refused without a part of it', async () => {
  const text = 'canary-no-key-at-all'
  const key = { kind: 'text', text, name: 'variable' } as const
  await using reached = await reach(host.url('/x'), { access: { ...host.access, key } })

  const failure = await failureOf(reached.upstream.resolve(STEADY))

  expect(failure).toMatchObject({ code: 'credentials-rejected' })
  expect(failure.message).not.toContain(text)
})

test('a repository that the host does not have is not found', async () => {
  await using reached = await reach(host.url('/nonexistent/r.git'))

  await expect(reached.upstream.resolve(STEADY)).rejects.toMatchObject({ code: 'repository-not-found' })
})

test('a name that does not resolve is a failure of names', async () => {
  await using reached = await reach('ssh://git@no-such-host.invalid/r.git')

  await expect(reached.upstream.resolve(STEADY)).rejects.toMatchObject({ code: 'dns-failed' })
})

test('a port where nobody listens is unreachable', async () => {
  await using reached = await reach(`ssh://git@127.0.0.1:${await freePort()}/r.git`)

  await expect(reached.upstream.resolve(STEADY)).rejects.toMatchObject({
    code: 'source-unreachable',
    message: expect.stringContaining('refused'),
  })
})

test.each(['git', 'ssh'] as const)('without the %s program the failure names it', async (name) => {
  const program = `/nonexistent/${name}`
  await using reached = await reach(host.url('/x'), { [name]: program })

  await expect(reached.upstream.resolve(STEADY)).rejects.toMatchObject({
    code: 'git-missing',
    message: expect.stringContaining(program),
  })
})

test('a host that accepts and never says a word is given up, and no process is left', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const limits = { connectMs: 200, idleMs: 200 }
  await using reached = await reach(`ssh://git@127.0.0.1:${portOf(server)}/r.git`, { limits, access: host.access })

  const failure = await failureOf(reached.upstream.resolve(STEADY))

  expect(failure.code).toBe('source-unreachable')
  expect(await processesWith(String(portOf(server)))).toEqual([])
  server.close()
})

test('a host that lets in and never answers is given up, and no process is left', async () => {
  await using repository = await sample()
  await using _ = await hostThat('exec cat')
  await using folder = await temporaryFolder()
  // One that does not end what it has started when it is ended, as git itself does.
  const git = join(folder.path, 'git')
  await writeFile(git, '#!/bin/sh\ngit "$@"\nexit $?\n', { mode: 0o755 })
  const limits = { connectMs: 1000, idleMs: 1000 }
  await using reached = await reach(host.url(repository.folder), { limits, git })

  const failure = await failureOf(reached.upstream.resolve(STEADY))

  expect(failure).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('nothing came') })
  expect(await processesWith(repository.folder)).toEqual([])
})

test('a host that hangs in the middle of a pack is given up, and neither process nor file is left', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'a.md': randomBytes(300_000) })
  await repository.git('config', 'uploadpack.allowFilter', 'false')
  // A busy machine may be silent for longer where nothing hangs.
  await using patient = await reach(host.url(repository.folder))
  const revision = await patient.upstream.resolve(STEADY)
  const limits = { connectMs: 60_000, idleMs: 1000 }
  await using reached = await reach(host.url(repository.folder), { limits })
  // head would keep what it has until there is more, and the client would wait for the first word. Then nothing, until it leaves.
  const stops = 'dd bs=1 count=20000 2> /dev/null; while kill -0 $PPID 2> /dev/null; do sleep 1; done'
  await using _ = await hostThat(`exec 3<&0; git-upload-pack ${repository.folder} <&3 | (${stops})`)

  const failure = await failureOf(reached.upstream.fetch(revision, { byPath: new Map() }, STEADY))

  expect(failure).toMatchObject({
    code: 'source-unreachable',
    message: expect.stringContaining('nothing came within 1000 ms'),
  })
  expect(await processesWith(repository.folder)).toEqual([])
  expect(await reached.scratch()).toEqual([])
})

test('a fetch that is aborted in the middle rejects with the reason, and leaves no process', async () => {
  await using repository = await sample()
  await using reached = await reach(host.url(repository.folder))
  const revision = await reached.upstream.resolve(STEADY)
  await using folder = await temporaryFolder()
  const begun = join(folder.path, 'begun')
  execFileSync('mkfifo', [begun])
  await using _ = await hostThat(`echo > ${begun}; exec cat`)
  const abort = new AbortController()
  const reason = new Error('enough')

  const fetching = reached.upstream.fetch(revision, { byPath: new Map() }, abort.signal)
  await readFile(begun)
  abort.abort(reason)

  await expect(fetching).rejects.toBe(reason)
  expect(await processesWith(repository.folder)).toEqual([])
  expect(await reached.scratch()).toEqual([])
})

test('more bytes than a fetch may have are refused, and nothing is left', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'a.md': Buffer.from(Array.from({ length: 3_000_000 }, (_, n) => (n * n * 7919) >> 5)) })
  await repository.git('config', 'uploadpack.allowFilter', 'false')
  await using reached = await reach(host.url(repository.folder), { limits: { packBytes: 1000 } })

  const failure = await failureOf(reached.tree())

  expect(failure).toMatchObject({ code: 'limit-exceeded', message: expect.stringContaining('limits.repository.bytes') })
  expect(await reached.scratch()).toEqual([])
})

test('a host of version 0 that leaves file contents out and does not hand them out by id gives all of them', async () => {
  await using plain = await SshHost.start({ protocol: false })
  await using repository = await sample()
  await repository.git('config', 'uploadpack.allowAnySHA1InWant', 'false')
  await using reached = await reach(plain.url(repository.folder), { access: plain.access })

  await using tree = await reached.tree()

  expect(await contentOf(tree)).toEqual(FILES)
})

test('names that begin alike are listed together, and nothing else is', async () => {
  await using repository = await sample()
  for (const name of ['v1', 'v1.2', 'v/3', 'w']) await repository.tag(name, { annotated: true })
  const { ProgramTransport } = await import('../../../../src/sync/git/program/program-transport.ts')
  await using folder = await temporaryFolder()
  await using reached = await reach(host.url(repository.folder))
  const transport = new ProgramTransport(
    { kind: 'ssh', url: host.url(repository.folder) },
    { ...reached.reach, scratch: folder.path },
  )

  const refs = await transport.list(['refs/tags/v'], STEADY)

  expect(refs.map(({ name }) => name)).toEqual(['refs/tags/v/3', 'refs/tags/v1', 'refs/tags/v1.2'])
  expect(refs.every(({ peeled }) => peeled !== undefined)).toBe(true)
})

test('what the machine, the user and the repository around configure for git has no say', async () => {
  await using repository = await sample()
  await using around = await temporaryFolder()
  execFileSync('git', ['init', '--quiet', around.path])
  execFileSync('git', ['-C', around.path, 'config', 'url.ssh://nobody@127.0.0.1:1/.insteadOf', 'ssh://'])
  await using reached = await reach(host.url(repository.folder), { scratch: around.path })

  await expect(reached.upstream.resolve(STEADY)).resolves.toMatchObject({ ref: 'refs/heads/main' })
})

function PASSPHRASE(): string {
  return 'canary passphrase 4f2a'
}

async function sample(): Promise<Repository> {
  const repository = await Repository.create()
  await repository.commit(FILES)
  return repository
}

function fileKey(path: string): SshAccess['key'] {
  return { kind: 'file', path, name: 'key of the test' }
}

/** Lets the host do something else for whoever logs in, for a while. What waits for its input ends with the connection. */
async function hostThat(command: string): Promise<AsyncDisposable> {
  await host.run(command)
  return {
    [Symbol.asyncDispose]: async () => {
      await host.run(undefined)
      await host.allow(withPassphrase)
    },
  }
}

/** The command lines of the processes of this machine that are called so and hold the text. */
async function processesWith(text: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  const words = lines.map((line) => line.split('\0'))
  const found = words.filter(([name = '']) => ['git', 'ssh'].includes(basename(name)))
  return found.map((line) => line.join(' ')).filter((line) => line.includes(text))
}

/** A program that notes what all processes show of themselves, whenever the real one is started and while it runs. */
async function watching(folder: string, name: string, seen: string): Promise<string> {
  const path = join(folder, name)
  const note = `cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' >> ${seen}`
  await writeFile(
    path,
    `#!/bin/sh\n( for n in 1 2 3 4 5 6 7 8; do ${note}; sleep 0.05; done ) &\nexec ${name} "$@"\n`,
    { mode: 0o755 },
  )
  return path
}

function expectNoSecret(text: string, key: string): void {
  const lines = key.split('\n').filter((line) => line.length > 20 && !line.includes('PRIVATE KEY'))
  expect(lines.length).toBeGreaterThan(3)
  for (const secret of [...lines, PASSPHRASE()]) expect(text).not.toContain(secret)
}
