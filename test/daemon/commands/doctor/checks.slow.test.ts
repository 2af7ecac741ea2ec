import { chmod, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createPlainServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Check, CheckResult, Ground } from '../../../../src/daemon/cli/check.ts'
import { credentialChecks } from '../../../../src/daemon/commands/doctor/credential-checks.ts'
import { folderChecks } from '../../../../src/daemon/commands/doctor/folder-checks.ts'
import { hostChecks } from '../../../../src/daemon/commands/doctor/host-checks.ts'
import { listenChecks } from '../../../../src/daemon/commands/doctor/listen-checks.ts'
import { programChecks } from '../../../../src/daemon/commands/doctor/program-checks.ts'
import { serviceChecks } from '../../../../src/daemon/commands/doctor/service-checks.ts'
import { stateChecks, whyNoFolder } from '../../../../src/daemon/commands/doctor/state-checks.ts'
import { writerChecks } from '../../../../src/daemon/commands/doctor/writer-checks.ts'
import { environmentOf } from '../../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../../src/daemon/configuration.ts'
import type { WholeConfig } from '../../../../src/daemon/configuration.ts'
import { newLease, replaceLease } from '../../../../src/daemon/control/lease-renewal.ts'
import { COMMAND_FEATURES } from '../../../../src/daemon/features.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { setDisabled } from '../../../support/decided.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { Authority } from '../../../support/http/certificates.ts'
import { ProxyServer } from '../../../support/http/proxy-server.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { sourceId } from '../../../sync/store/samples.ts'

const NEVER = new AbortController().signal

test('the programs for ssh are asked for their versions, and those that are missing are named with who needs them', async () => {
  const lines = ['  - id: vault', '    url: git@127.0.0.1:team/vault.git']

  const there = await looked(programChecks(ground(lines)))
  const gone = await looked(programChecks(ground([...lines, 'programs: { ssh: no-such-ssh }'])))

  expect(there.map(({ verdict, subject }) => `${verdict} ${subject ?? ''}`)).toEqual(['ok ', 'ok git', 'ok ssh'])
  expect(there[1]?.message).toMatch(/^git version \d/)
  expect(there[2]?.message).toMatch(/^OpenSSH_\d/)
  expect(gone[2]).toMatchObject({ verdict: 'fail', subject: 'no-such-ssh', fix: expect.stringContaining('"vault"') })
})

test('a program that fails when it is asked for its version is told apart from one that is not there', async () => {
  await using folder = await temporaryFolder()
  const ssh = join(folder.path, 'ssh')
  await writeFile(ssh, '#!/bin/sh\necho no library >&2\nexit 127\n', { mode: 0o755 })
  const lines = (command: string) => [
    '  - id: vault',
    '    url: git@127.0.0.1:team/vault.git',
    `programs: { ssh: ${command} }`,
  ]

  const broken = await looked(programChecks(ground(lines(ssh))))
  const gone = await looked(programChecks(ground(lines('no-such-ssh'))))

  expect(broken[2]).toMatchObject({
    verdict: 'fail',
    message: 'asked for its version, it ended with status 127: no library',
  })
  expect(gone[2]).toMatchObject({ verdict: 'fail', message: expect.stringContaining('there is no such program') })
})

test('where a source wants the git program it is needed, over http(s) and on this disk not an old one, and ssh is not', async () => {
  await using folder = await temporaryFolder()
  const old = join(folder.path, 'git')
  await writeFile(old, '#!/bin/sh\necho git version 2.30.2\n', { mode: 0o755 })
  const lines = (url: string, git: string) => [
    '  - id: a',
    `    url: ${url}`,
    '    backend: system',
    `programs: { git: ${git} }`,
  ]
  const states = async (url: string, git: string) =>
    (await looked(programChecks(ground(lines(url, git)))))
      .slice(1)
      .map(({ verdict, message }) => `${verdict} ${message}`)

  expect(await states('https://git.example.com/a.git', 'git')).toEqual([
    expect.stringMatching(/^ok git version .*"a"$/),
  ])
  expect(await states('https://git.example.com/a.git', 'no-such-git')).toEqual([expect.stringMatching(/^fail /)])
  expect(await states('https://git.example.com/a.git', old)).toEqual([
    expect.stringMatching(/^fail .*git 2\.31 or newer is required$/),
  ])
  expect(await states('file:///srv/a.git', old)).toEqual([
    expect.stringMatching(/^fail git version 2\.30\.2 is too old for repositories on this disk/),
  ])
})

test('over http no program is needed, and none is looked for', async () => {
  const found = await looked(programChecks(ground(['  - id: a', '    url: https://git.example.com/a.git'])))

  expect(found.map(({ check }) => check)).toEqual(['node'])
})

test('a program that the operator chose is looked for where programs are, and not run', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'server'), '#!/bin/sh\ntouch "$0.ran"\n', { mode: 0o755 })
  await writeFile(join(folder.path, 'plain'), 'no program', { mode: 0o644 })
  const lines = (command: string) => ['  - id: a', `    mcp: { command: ${command} }`]

  const found = await Promise.all(
    ['server', 'plain', 'none'].map(async (name) => looked(programChecks(ground(lines(name), { PATH: folder.path })))),
  )

  expect(found.map(([, checked]) => checked?.verdict)).toEqual(['ok', 'fail', 'fail'])
  expect(found[0]?.[1]?.message).toContain(join(folder.path, 'server'))
  await expect(chmod(join(folder.path, 'server.ran'), 0o644)).rejects.toThrow('ENOENT')
})

test('a state folder that can be written is well, and nothing of the look stays in it', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'format'), '4\n')
  await chmod(folder.path, 0o700)

  const [first] = await looked(stateChecks(inState(folder.path)))

  expect(first).toMatchObject({ check: 'state-folder', verdict: 'ok', message: expect.stringContaining('sync') })
  expect(await readdir(folder.path)).toEqual(['format'])
})

test('a disk that keeps no permissions is found before the first start refuses it', async () => {
  await using folder = await temporaryFolder()
  const made: string[] = []
  // As a disk mounted with umask=0 has each folder.
  const onOpenDisk = async (path: string) => {
    made.push(path)
    await mkdir(path)
    await chmod(path, 0o777)
  }

  expect(await whyNoFolder(folder.path)).toBeUndefined()
  expect(await whyNoFolder(folder.path, onOpenDisk)).toContain('the disk keeps no permissions')
  const refused = async (path: string): Promise<void> => {
    await mkdir(path)
    throw Object.assign(new Error('EPERM: operation not permitted, chmod'), { code: 'EPERM', syscall: 'chmod' })
  }
  expect(await whyNoFolder(folder.path, refused)).toBe('permission denied')
  expect(await readdir(folder.path)).toEqual([])
  expect(made).toHaveLength(1)
  expect(await readdir(folder.path)).toEqual([])
})

test.each([
  ['that is not there is made later', 'state', undefined, 'ok', 'first start'],
  ['below a file cannot be made', 'format/state', undefined, 'fail', 'not a folder'],
  ['of another version is refused', '.', '99\n', 'fail', 'run the version that wrote it'],
] as const)('a state folder %s', async (_, path, format, verdict, message) => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'format'), format ?? '4\n')

  const found = await looked(stateChecks(inState(join(folder.path, path))))

  expect(found.find(({ check }) => check === 'state-folder')).toMatchObject({
    verdict,
    message: expect.stringContaining(message),
  })
})

test('a state folder that others can write to fails, with what closes it', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'format'), '4\n')
  await chmod(folder.path, 0o777)

  const found = await looked(stateChecks(inState(folder.path)))

  expect(found).toContainEqual(
    expect.objectContaining({
      check: 'state-folder',
      verdict: 'fail',
      message: expect.stringContaining(`chmod -R go-w "${folder.path}"`),
      fix: expect.any(String),
    }),
  )
})

test('decisions are looked at: whole, had from their copy, or lost, each with what to do', async () => {
  await using folder = await temporaryFolder()
  const { decisions } = await Store.open(folder.path)
  await setDisabled(decisions, sourceId('team'), 'a', true)
  const judged = async (): Promise<Partial<CheckResult> | undefined> =>
    (await looked(stateChecks(inState(folder.path)))).find(({ check }) => check.startsWith('decisions'))

  const whole = await judged()
  await writeFile(decisions.file, '{')
  const copied = await judged()
  await writeFile(decisions.copy, '{')
  const lost = await judged()
  for (const path of [decisions.file, decisions.copy]) await rm(path)
  const gone = await judged()

  expect(gone).toMatchObject({ verdict: 'fail', message: expect.stringContaining('missing'), fix: expect.any(String) })
  expect(whole).toMatchObject({ verdict: 'ok' })
  expect(copied).toMatchObject({
    verdict: 'fail',
    message: expect.stringContaining('its copy'),
    fix: expect.any(String),
  })
  expect(lost).toMatchObject({ verdict: 'fail', message: expect.stringContaining('nor'), fix: expect.any(String) })
})

test.runIf(process.platform === 'linux')('a state folder in memory is warned of', async () => {
  const found = await looked(stateChecks(inState('/dev/shm/skillsyncd-of-no-test')))

  expect(found).toContainEqual(
    expect.objectContaining({ check: 'disk', verdict: 'warn', message: expect.stringContaining('in memory') }),
  )
})

test('room is judged by what the limit of the disk still allows', async () => {
  await using folder = await temporaryFolder()
  const judged = async (bytes: string): Promise<string | undefined> =>
    (await looked(stateChecks(inState(folder.path, [`limits: { disk: { bytes: ${bytes} } }`])))).find(
      ({ check }) => check === 'disk',
    )?.verdict

  expect([await judged('1MiB'), await judged('999999TiB')]).toEqual(['ok', 'warn'])
})

test('a socket whose path is too long for the system is told before anybody starts', async () => {
  await using folder = await temporaryFolder()
  const runtime = join(folder.path, 'x'.repeat(120))

  const found = await looked(writerChecks(ground(NONE, { XDG_RUNTIME_DIR: runtime })))

  expect(found[0]).toMatchObject({ check: 'socket', verdict: 'fail', fix: expect.stringContaining('XDG_RUNTIME_DIR') })
})

test('a folder for the socket that others could use is told', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'skillsyncd'), { mode: 0o755 })

  const found = await looked(writerChecks(ground(NONE, { XDG_RUNTIME_DIR: folder.path })))

  expect(found[0]).toMatchObject({ check: 'socket', verdict: 'fail', message: expect.stringContaining('mode 755') })
})

test('without a runtime folder the socket is in a folder that only the lock names', async () => {
  const [socket, lock] = await looked(writerChecks(ground(NONE)))

  expect(socket).toMatchObject({ check: 'socket', verdict: 'ok', message: expect.stringContaining('its lock names') })
  expect(lock).toMatchObject({ check: 'writer', verdict: 'ok' })
})

test('a lock is told by what became of its holder: gone, silent, or there and saying nothing', async () => {
  await using folder = await temporaryFolder()
  const socket = join(folder.path, 's')
  const holder = { socket, command: 'start', nonce: '0'.repeat(16) }
  const ask = async (pid: number): Promise<CheckResult | undefined> => {
    await writeFile(join(folder.path, 'daemon.lock'), JSON.stringify({ ...holder, pid }))
    return (await looked(writerChecks(inState(folder.path))))[1]
  }

  const gone = await ask(2 ** 30)
  const silent = await ask(process.pid)
  await using _listener = await listening(
    createPlainServer((taken) => taken.resume()),
    socket,
  )
  const mute = await ask(process.pid)

  expect(gone).toMatchObject({ check: 'writer', verdict: expect.stringMatching(/ok|warn/) })
  expect(silent).toMatchObject({ verdict: 'fail', message: expect.stringContaining('does not listen') })
  expect(mute).toMatchObject({ verdict: 'fail', message: expect.stringContaining('does not answer') })
})

test.each([
  [true, 'process 7 (skillsyncd start) of another container or machine writes the state folder and renews its lease'],
  [false, 'did not renew its lease for 5 s'],
])('a holder in another container is told by its lease, renewed: %s', async (isRenewed, message) => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'daemon.lock')
  const nonce = '0'.repeat(16)
  const elsewhere = { pid: 7, pidNamespace: 'pid:[1]', socket: join(folder.path, 's'), command: 'start', nonce }
  await writeFile(file, JSON.stringify({ ...elsewhere, lease: nonce }))
  const clock = new FakeClock()
  const looking = looked(writerChecks({ ...inState(folder.path), clock }))
  await expect.poll(() => clock.waiting).toBe(1)
  if (isRenewed) await replaceLease(file, nonce, newLease())

  await clock.advance(5_000)
  const [, lock] = await looking

  expect(lock).toMatchObject({ check: 'writer', verdict: 'warn', message: expect.stringContaining(message) })
})

test('a port that another program has is named, and a free one is free', async () => {
  await using taken = await listening(createPlainServer(), 0)
  const { port } = portOf(taken)

  const busy = await looked(listenChecks(ground([...NONE, `serve: { http: { port: ${port} } }`]), '/nowhere'))
  const free = await looked(listenChecks(ground([...NONE, 'serve: { http: { port: 0 } }'])))

  expect(busy[0]).toMatchObject({ check: 'listen', verdict: 'fail', subject: `127.0.0.1:${port}` })
  expect(busy[0]?.fix).toContain('serve.http')
  expect(free[0]).toMatchObject({ check: 'listen', verdict: 'ok' })
})

test.each([
  ['for the service', 'echo 127.0.0.1:$PORT skillsyncd.socket skillsyncd.service', 'ok', 'skillsyncd.socket'],
  ['for another service', 'echo "[::]:$PORT   web.socket   web.service"', 'warn', 'web.service'],
  ['and does not say so', 'exit 1', 'unknown', 'does not report it'],
  [
    'on another port',
    'echo 127.0.0.1:1$PORT skillsyncd.socket skillsyncd.service',
    'fail',
    `node (process ${process.pid}) listens there`,
  ],
])('a port on which systemd listens %s is told so', async (_, script, verdict, message) => {
  await using folder = await temporaryFolder()
  await using held = await listening(createPlainServer(), 0)
  const { port } = portOf(held)
  await writeFile(join(folder.path, 'systemctl'), `#!/bin/sh\nPORT=${port}\n${script}\n`, { mode: 0o755 })
  const lines = [...NONE, `serve: { http: { port: ${port} } }`]

  const found = await looked(listenChecks(ground(lines, { PATH: folder.path }), folder.path))

  expect(found[0]).toMatchObject({ check: 'listen', verdict, message: expect.stringContaining(message) })
})

test('an address that other machines reach needs a token', async () => {
  await using folder = await temporaryFolder()
  const state = `state: ${join(folder.path, 'state')}`

  const found = await looked(listenChecks(ground([...NONE, 'serve: { http: { host: 0.0.0.0, port: 0 } }', state])))

  expect(found).toContainEqual(
    expect.objectContaining({ check: 'tokens', verdict: 'fail', fix: 'Make one with skillsyncd hub token add NAME' }),
  )
})

test('more connections than files can be open are warned of', async () => {
  const judged = async (connections: number): Promise<CheckResult | undefined> =>
    (await looked(listenChecks(ground([...NONE, `limits: { http: { connections: ${connections} } }`])))).at(-1)

  expect(await judged(1)).toMatchObject({ check: 'descriptors', verdict: 'ok' })
  expect(await judged(1_000_000)).toMatchObject({
    verdict: 'warn',
    fix: expect.stringContaining('LimitNOFILE=1000512'),
  })
})

test('secrets are named with who needs them, whatever is wrong with them, and never shown', async () => {
  await using folder = await temporaryFolder()
  const [canary, open, twoLines] = ['canary-of-doctor', 'canary-in-the-open', 'canary-one\ncanary-two']
  await writeFile(join(folder.path, 'good'), canary, { mode: 0o600 })
  await writeFile(join(folder.path, 'open'), open, { mode: 0o644 })
  await writeFile(join(folder.path, 'lines'), twoLines, { mode: 0o600 })
  const source = (id: string, token: string) => [
    `  - id: ${id}`,
    `    url: https://git.example.com/${id}.git`,
    `    auth: { token: { ${token} } }`,
  ]
  const lines = [
    ...source('a', `file: ${folder.path}/good`),
    ...source('b', `file: ${folder.path}/good`),
    ...source('c', `file: ${folder.path}/open`),
    ...source('d', `file: ${folder.path}/lines`),
    ...source('e', `file: ${folder.path}/none`),
    ...source('f', 'env: SET'),
    ...source('g', 'env: NOT_SET'),
    ...source('h', 'credential: handed-over'),
  ]

  const found = await looked(credentialChecks(ground(lines, { SET: canary })))

  expect(found.map(({ verdict }) => verdict)).toEqual(['ok', 'warn', 'fail', 'fail', 'ok', 'fail', 'unknown'])
  expect(found[0]?.message).toContain('for "a", "b"')
  expect(found[1]?.message).toContain('everybody on this machine (mode 644)')
  expect(JSON.stringify(found)).not.toContain('canary')
})

test('a secret of several lines is one that a program can have', async () => {
  const gate = 'gate: { command: /bin/true, env: { KEY: { env: KEY } } }'

  const found = await looked(
    credentialChecks(
      ground(['  - { id: a, url: https://git.example/a.git }', gate], { KEY: 'canary-one\ncanary-two' }),
    ),
  )

  expect(found).toMatchObject([{ check: 'secret', verdict: 'ok' }])
})

test('the secret of the client for sign-in is among those that are looked at', async () => {
  const page = 'page: { client_id: skills, client_secret: { env: GONE } }'
  const serve = `serve: { http: { public_url: 'https://a.example' }, oauth: { issuer: 'https://b.example', ${page} } }`

  const found = await looked(credentialChecks(ground(['  - { id: a, url: https://git.example/a.git }', serve])))

  expect(found).toMatchObject([{ check: 'secret', verdict: 'fail', subject: 'environment variable "GONE"' }])
  expect(found[0]?.message).toContain('for sign-in to the page')
})

test('a key that ssh would refuse is told, and so is that no host is known', async () => {
  await using folder = await temporaryFolder()
  const key = join(folder.path, 'id')
  await writeFile(key, 'canary-key', { mode: 0o640 })
  const auth = `{ ssh: { key: { file: ${key} }, known_hosts: ${folder.path}/known } }`
  const lines = ['  - id: vault', '    url: git@127.0.0.1:team/vault.git', `    auth: ${auth}`]

  const before = await looked(credentialChecks(ground(lines)))
  await chmod(key, 0o600)
  await writeFile(join(folder.path, 'known'), '')
  const after = await looked(credentialChecks(ground(lines)))

  expect(before).toMatchObject([
    { check: 'secret', verdict: 'fail', message: expect.stringContaining('ssh refuses') },
    { check: 'trust', verdict: 'fail', subject: 'vault' },
  ])
  expect(after.map(({ verdict }) => verdict)).toEqual(['ok', 'ok'])
})

test('each host is asked once, without a credential, whoever needs it', async () => {
  const requests: IncomingMessage[] = []
  await using host = await answering((request, response) => {
    requests.push(request)
    response.writeHead(404).end()
  })
  const { origin } = host
  const source = (id: string) => [`  - id: ${id}`, `    url: ${origin}/${id}.git`, '    auth: { token: { env: T } }']

  const found = await looked(hostChecks(ground([...source('a'), ...source('b')], { T: 'canary' })))

  expect(found[0]).toMatchObject({ check: 'host', verdict: 'ok', subject: origin })
  expect(found[0]?.message).toContain('for "a", "b"')
  expect(requests.map(({ method, headers }) => [method, headers.authorization])).toEqual([['HEAD', undefined]])
})

test('what is wrong on the way to a host is told by its class, each with its own mend', async () => {
  await using refused = await answering(() => {})
  const { origin: closed } = refused
  await refused[Symbol.asyncDispose]()
  const authority = new Authority()
  await using strange = await listening(createTlsServer(authority.vouchFor(['127.0.0.1'])), 0)
  await using down = await answering((_, response) => void response.writeHead(503).end())
  await using behind = await answering((_, response) => void response.writeHead(200).end())
  await using proxy = await ProxyServer.start(behind.origin)
  proxy.access = 'Basic nobody'
  const at = async (url: string, ...more: string[]): Promise<CheckResult | undefined> =>
    (await looked(hostChecks(ground(['  - id: a', `    url: ${url}/a.git`, ...more]))))[0]

  const found = {
    closed: await at(closed),
    strange: await at(`https://127.0.0.1:${portOf(strange).port}`),
    down: await at(down.origin),
    proxy: await at('https://git.example.com', `    proxy: { url: ${proxy.url} }`),
    unknown: await at(`https://${'x'.repeat(64)}.invalid`),
  }

  expect(found.closed).toMatchObject({ verdict: 'fail', message: expect.stringContaining('ECONNREFUSED') })
  expect(found.strange).toMatchObject({
    verdict: 'fail',
    message: expect.stringContaining('not from a trusted authority'),
  })
  expect(found.down).toMatchObject({ verdict: 'warn', message: expect.stringContaining('503') })
  expect(found.proxy).toMatchObject({ verdict: 'fail', message: expect.stringContaining('407') })
  expect(found.unknown).toMatchObject({ verdict: 'fail', message: expect.stringContaining('does not resolve') })
})

test.each([
  [0, undefined, []],
  [-60, undefined, ['warn']],
  [3_600, undefined, ['fail']],
  // It was kept on the way for so long.
  [-3_600, '3600', []],
])('the clock of a host that is %i s from ours is told where it matters', async (seconds, age, states) => {
  const clock = new FakeClock()
  const date = new Date(clock.now().getTime() + seconds * 1000).toUTCString()
  await using host = await answering((_, response) => {
    response.sendDate = false
    response.writeHead(200, { date, ...(age !== undefined && { age }) }).end()
  })

  const found = await looked(hostChecks(ground(['  - id: a', `    url: ${host.origin}/a.git`])))

  expect(found.filter(({ check }) => check === 'clock').map(({ verdict }) => verdict)).toEqual(states)
})

test('a host for ssh is told by its greeting', async () => {
  await using ssh = await listening(
    createPlainServer((socket) => socket.end('SSH-2.0-Test\u0007\r\n')),
    0,
  )
  await using web = await listening(
    createPlainServer((socket) => socket.end('HTTP/1.1 400 Bad\r\n')),
    0,
  )
  const at = async (server: Held): Promise<CheckResult | undefined> => {
    const url = `ssh://git@127.0.0.1:${portOf(server).port}/team.git`
    return (await looked(hostChecks(ground(['  - id: a', `    url: ${url}`]))))[0]
  }

  expect(await at(ssh)).toMatchObject({ verdict: 'ok', message: String.raw`it answers (SSH-2.0-Test\u{7}), for "a"` })
  expect(await at(web)).toMatchObject({ verdict: 'warn' })
})

test('folders are looked at, and counted against what the system watches for one user', async () => {
  await using folder = await temporaryFolder()
  const [skills, limits] = [join(folder.path, 'skills'), join(folder.path, 'limits')]
  await mkdir(join(skills, 'a', 'b'), { recursive: true })
  await mkdir(limits)
  await symlink(skills, join(skills, 'loop'))
  const judged = async (watches: number): Promise<CheckResult[]> => {
    await writeFile(join(limits, 'max_user_watches'), `${watches}\n`)
    await writeFile(join(limits, 'max_user_instances'), '128\n')
    return looked(folderChecks(ground(['  - id: a', `    path: ${skills}`]), limits))
  }

  const [folderThere, enough] = await judged(6)
  const [, tooFew] = await judged(5)
  const [gone] = await looked(folderChecks(ground(['  - id: a', `    path: ${folder.path}/none`])))

  expect(folderThere).toMatchObject({ check: 'folder', verdict: 'ok', subject: 'a' })
  expect(enough).toMatchObject({ check: 'watches', verdict: 'ok', message: expect.stringMatching(/^3 folders/) })
  expect(tooFew).toMatchObject({ verdict: 'warn', fix: expect.stringContaining('fs.inotify.max_user_watches') })
  expect(gone).toMatchObject({ check: 'folder', verdict: 'fail' })
})

test.each([
  ['runs', 'ActiveState=active\nUnitFileState=enabled', 'ok'],
  ['is not started with the machine', 'ActiveState=active\nUnitFileState=disabled', 'warn'],
  ['does not run', 'ActiveState=inactive\nUnitFileState=enabled', 'warn'],
  ['failed', 'ActiveState=failed\nUnitFileState=enabled', 'fail'],
])('a unit that %s is told so', async (_, properties, verdict) => {
  await using folder = await temporaryFolder()
  const script = `#!/bin/sh\n[ "$1" = --system ] || exit 1\nprintf 'LoadState=loaded\\n${properties.replace('\n', '\\n')}\\n'\n`
  await writeFile(join(folder.path, 'systemctl'), script, { mode: 0o755 })

  const found = await looked(serviceChecks(ground(NONE, { PATH: folder.path }), folder.path))

  expect(found).toMatchObject([{ check: 'service', verdict, subject: 'skillsyncd.service (system)' }])
})

test('without systemd and without a unit there is nothing to fix, and a manager that does not answer is not known to have none', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'systemctl'), `#!/bin/sh\necho LoadState=not-found\n`, { mode: 0o755 })

  const found = [
    await looked(serviceChecks(ground(NONE), join(folder.path, 'none'))),
    await looked(serviceChecks(ground(NONE, { PATH: folder.path }), folder.path)),
    await looked(serviceChecks(ground(NONE, { PATH: '/nowhere' }), folder.path)),
  ].flat()

  expect(found.map(({ verdict }) => verdict)).toEqual(['ok', 'ok', 'unknown', 'unknown'])
})

const CHECKS_OF_FEATURES = await COMMAND_FEATURES.checks()
const NONE = ['  - id: none', '    url: https://git.example.com/none.git']

function ground(lines: readonly string[], variables: Readonly<Record<string, string>> = {}): Ground<WholeConfig> {
  const environment = environmentOf({ PATH: process.env['PATH'], ...variables }, '/home/nobody')
  const text = ['sources:', ...lines, ...(lines.some((line) => line.startsWith('state:')) ? [] : ['state: /nowhere'])]
  const config = parseConfig(text.join('\n'), '/etc/skillsyncd.yaml', environment)
  if (Array.isArray(config)) throw new Error(JSON.stringify(config))
  const asked = CHECKS_OF_FEATURES.flatMap((checks) => checks.asked?.(config) ?? [])
  const means = { environment, redactor: new Redactor(), clock: new FakeClock() }
  return { config, whole: config, asked, features: COMMAND_FEATURES, ...means }
}

function inState(state: string, lines: readonly string[] = []): Ground<WholeConfig> {
  return ground([...NONE, ...lines, `state: ${state}`])
}

async function looked(checks: readonly Check[]): Promise<CheckResult[]> {
  return (await Promise.all(checks.map(async (check) => check.look(NEVER).catch(failedAs(check))))).flat()
}

/** The result that the runner makes of it. */
function failedAs({ name, subject }: Check): (error: unknown) => CheckResult[] {
  return (error) => [
    { check: name, ...(subject !== undefined && { subject }), verdict: 'fail', message: String(error), fix: '' },
  ]
}

interface Held extends AsyncDisposable {
  readonly server: Server
}

async function listening(server: Server, at: number | string): Promise<Held> {
  await new Promise<void>((resolve) => {
    if (typeof at === 'string') server.listen(at, resolve)
    else server.listen(at, '127.0.0.1', resolve)
  })
  const sockets = new Set<{ destroy(): unknown }>()
  server.on('connection', (socket) => sockets.add(socket))
  const dispose = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    await new Promise<void>((resolve) => void server.close(() => resolve()))
  }
  return { server, [Symbol.asyncDispose]: dispose }
}

function portOf({ server }: Held): AddressInfo {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('It does not listen on a port')
  return address
}

async function answering(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Held & { readonly origin: string }> {
  const held = await listening(createServer(answer), 0)
  return { ...held, origin: `http://127.0.0.1:${portOf(held).port}` }
}
