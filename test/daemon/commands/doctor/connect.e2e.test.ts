import { cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { ProxyServer } from '../../../support/http/proxy-server.ts'
import { ReverseProxy, type Habit } from '../../../support/http/reverse-proxy.ts'
import { MAIN, Program } from '../../../support/process/program.ts'
import { connected, failuresOf, serving, statesOf, WELL } from './connected.ts'

async function behind(origin: string, habit: Habit): Promise<ReverseProxy> {
  const proxy = await ReverseProxy.before(origin)
  onTestFinished(() => proxy[Symbol.asyncDispose]())
  proxy.habit = habit
  return proxy
}

test('clients of both eras list, read, verify and subscribe at the address of the daemon that runs', async () => {
  const { world, origin } = await serving()
  const proxy = await behind(origin, { kind: 'passes' })

  const configured = await connected(world)
  const through = await connected(world, proxy.origin)
  const text = await world.home.command('doctor', '--connect', `${origin}/mcp`)

  for (const end of [configured, through]) {
    expect(statesOf(end)).toEqual(WELL)
    expect(end).toMatchObject({ status: 0, counts: { ok: 11, warn: 0, fail: 0 } })
  }
  expect([configured.url, through.url]).toEqual([`${origin}/mcp`, `${proxy.origin}/mcp`])
  expect(configured.eras.map(({ client }) => client)).toEqual([
    '@modelcontextprotocol/sdk',
    '@modelcontextprotocol/client',
  ])
  expect(text).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^ok {4}connect 2026 read: 1 file, \d+ bytes/m),
  })
})

test('a token is taken from a file or the variable, is shown nowhere, and what is missing or wrong is named', async () => {
  const { world, origin, token } = await serving(['public_url: https://skills.example.com'])
  const { home } = world
  const [file, wrong] = [join(home.path, 'token'), join(home.path, 'wrong')]
  await writeFile(file, `${token}\n`)
  await writeFile(wrong, 'not-a-token-of-theirs')

  const none = await connected(world, origin)
  const refused = await connected(world, origin, '--token-file', wrong)
  const given = await connected(world, origin, '--token-file', file)
  home.env['SKILLSYNCD_TOKEN'] = token
  const variable = await connected(world, origin)

  expect([none.status, refused.status, given.status, variable.status]).toEqual([3, 3, 0, 0])
  expect(statesOf(none)).toEqual({ 2025: ['open fail'], 2026: ['open fail'] })
  for (const { message, fix } of failuresOf(none))
    expect([message, fix]).toEqual([expect.stringContaining('401'), expect.stringContaining('--token-file FILE')])
  for (const { fix } of failuresOf(refused)) expect(fix).toContain('The token is not valid there')
  for (const end of [given, variable]) expect(statesOf(end)).toEqual(WELL)
  expect([none, refused, given, variable].map(({ text }) => text).join()).not.toContain(token)
})

test('a proxy that holds streams back, or says nothing, is named where each era waits for it, and nothing else fails', async () => {
  const { world, origin } = await serving()
  const holding = await behind(origin, { kind: 'buffers' })
  const silent = await behind(origin, { kind: 'hangs' })

  // Each waits out the time of a step, so they do it together.
  const [held, unanswered] = await Promise.all([connected(world, holding.origin), connected(world, silent.origin)])

  expect([held.status, unanswered.status]).toEqual([3, 3])
  expect(statesOf(held)).toEqual({
    2025: ['open ok', 'list ok', 'read ok', 'subscribe ok', 'stream fail', 'unsubscribe ok'],
    2026: ['open ok', 'list ok', 'read ok', 'subscribe fail'],
  })
  for (const { message, fix } of failuresOf(held))
    expect([message, fix]).toEqual([
      expect.stringMatching(/^nothing came within \d+ s$/),
      expect.stringContaining('proxy_buffering off'),
    ])
  expect(statesOf(unanswered)).toEqual({ 2025: ['open fail'], 2026: ['open fail'] })
  for (const { fix } of failuresOf(unanswered)) expect(fix).toContain('accepts the connection')
})

test('a proxy that changes or refuses what it passes on is named as the likely cause, with exit status 3', async () => {
  const { world, origin } = await serving()

  for (const { what, habit, steps, says } of HABITS) {
    const proxy = await behind(origin, habit)
    const end = await connected(world, proxy.origin)

    expect(end.status, what).toBe(3)
    expect(
      failuresOf(end).map(({ step }) => step),
      what,
    ).toEqual(steps)
    for (const { message, fix } of failuresOf(end)) expect(`${message}; ${fix}`, what).toMatch(says)
  }
})

const HABITS: readonly { what: string; habit: Habit; steps: readonly string[]; says: RegExp }[] = [
  {
    what: 'ends streams',
    habit: { kind: 'cuts streams' },
    steps: ['stream', 'subscribe'],
    says: /ends streams of events/,
  },
  {
    what: 'drops the headers of the protocol',
    habit: { kind: 'drops headers', starting: 'mcp-' },
    steps: ['open', 'open'],
    says: /drops or changes headers/,
  },
  {
    what: 'changes what is read',
    habit: { kind: 'rewrites', from: 'first', to: 'worst' },
    steps: ['read', 'read'],
    says: /Something on the way changes what is sent/,
  },
  {
    what: 'does not reach the daemon',
    habit: { kind: 'answers', status: 502, type: 'text/html', body: '<h1>Bad Gateway</h1>' },
    steps: ['open', 'open'],
    says: /which it does not reach/,
  },
  {
    what: 'wants a person to sign in',
    habit: { kind: 'answers', status: 200, type: 'text/html', body: '<form>' },
    steps: ['open', 'open'],
    says: /requires a person to sign in/,
  },
  {
    what: 'leads elsewhere',
    habit: { kind: 'answers', status: 301, type: 'text/plain', body: '', location: 'https://skills.example.com/mcp' },
    steps: ['open', 'open'],
    says: /Give that address instead/,
  },
  {
    what: 'has nothing at that path',
    habit: { kind: 'answers', status: 404, type: 'text/plain', body: 'Not Found' },
    steps: ['open', 'open'],
    says: /There is no MCP server at this path/,
  },
]

test('the proxy of the environment is asked, and a name that the daemon does not know is named', async () => {
  const { world, origin, token } = await serving(['allowed_hosts: [skills.example.com]'])
  const { home } = world
  await using proxy = await ProxyServer.start(origin)
  home.env['http_proxy'] = proxy.url
  home.env['SKILLSYNCD_TOKEN'] = token

  const known = await connected(world, 'http://skills.example.com/mcp')
  const other = await connected(world, 'http://other.example.com/mcp')

  expect(statesOf(known)).toEqual(WELL)
  expect(proxy.requests.length).toBeGreaterThan(10)
  expect(other.status).toBe(3)
  for (const { fix } of failuresOf(other)) expect(fix).toContain('serve.http.public_url or allowed_hosts')
})

test('without the package of the older era the other one is tried, and one sentence says how to install it', async () => {
  const { world, origin } = await serving()
  const { home } = world
  const program = await withoutSdk(home.path)

  const end = await new Program(process.execPath, [program, 'doctor', '--connect', origin], home).ended()
  const strict = await new Program(process.execPath, [program, 'doctor', '--connect', origin, '--strict'], home).ended()

  expect([end.status, strict.status]).toEqual([0, 3])
  expect(end.stdout).toContain('?     connect 2025: @modelcontextprotocol/sdk is not installed')
  expect(end.stdout).toContain('→ npm install --global @modelcontextprotocol/sdk@1 brings it')
  expect(end.stdout).toContain('ok    connect 2026 unsubscribe: done')
})

test('what is no address, more than one, or a secret in it is wrong usage', async () => {
  const { world } = await serving()
  const { home } = world

  const ends = await Promise.all([
    home.command('doctor', '--connect', 'team'),
    home.command('doctor', '--connect', 'http://ada:secret@127.0.0.1/mcp'),
    home.command('doctor', '--connect', 'http://127.0.0.1/mcp', 'http://127.0.0.2/mcp'),
    home.command('doctor', '--connect', '--token-file', join(home.path, 'none')),
    home.command('doctor', '--token-file', 'x'),
    home.command('doctor', '--connect', '--offline'),
  ])

  expect(ends.map(({ status }) => status)).toEqual([2, 2, 2, 2, 2, 2])
})

test('Ctrl-C ends it at once, whatever it waits for', async () => {
  const { world, origin } = await serving()
  const proxy = await behind(origin, { kind: 'hangs' })
  const doctor = world.home.start('doctor', '--connect', proxy.origin)
  await expect.poll(() => proxy.taken).toBeGreaterThan(0)

  doctor.process.kill('SIGINT')
  const end = await doctor.ended()

  expect(end.status).not.toBe(0)
})

/** The program in a folder where all packages are but that one. */
async function withoutSdk(folder: string): Promise<string> {
  const root = fileURLToPath(new URL('../../../../', import.meta.url))
  const copy = join(folder, 'installed')
  await cp(dirname(MAIN), join(copy, 'dist/program'), { recursive: true })
  await cp(join(root, 'package.json'), join(copy, 'package.json'))
  await mkdir(join(copy, 'node_modules/@modelcontextprotocol'), { recursive: true })
  for (const name of await readdir(join(root, 'node_modules')))
    if (name !== '@modelcontextprotocol')
      await symlink(join(root, 'node_modules', name), join(copy, 'node_modules', name))
  for (const name of ['client', 'server'])
    await symlink(
      join(root, 'node_modules/@modelcontextprotocol', name),
      join(copy, 'node_modules/@modelcontextprotocol', name),
    )
  return join(copy, 'dist/program/main.js')
}
