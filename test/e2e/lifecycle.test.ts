import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { askDaemon } from '../../src/daemon/control/control-client.ts'
import { lockHolderOf } from '../../src/daemon/control/daemon-lock.ts'
import { legacyHttp, modernHttp, stdio } from '../support/clients/peer.ts'
import { freePort } from '../support/free-port.ts'
import { Home, MAIN, Program } from '../support/process/program.ts'
import { World, skill } from './world.ts'

test('the first line on stdout is the address of MCP, and there is no second', async () => {
  await using world = await World.create()
  const daemon = world.home.start('start')

  const url = await daemon.line()

  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/)
  await using peer = await modernHttp(url)
  expect(peer.opening.status).toBe(200)
  expect((await daemon.stop()).stdout).toBe(`${url}\n`)
})

test('--port wins over the configuration', async () => {
  await using world = await World.create()
  const port = await freePort()

  const daemon = world.home.start('start', '--port', String(port))

  expect(await daemon.line()).toBe(`http://127.0.0.1:${port}/mcp`)
})

test('a control socket that is swept from its folder, folder and all, comes back by itself', async () => {
  await using world = await World.create()
  const { home } = world
  const daemon = home.start('start')
  await daemon.line()
  const { socket } = (await lockHolderOf(home.state))!
  await rm(dirname(socket), { recursive: true })

  await daemon.said((line) => line.includes('"control-socket-made-again"'))

  expect(JSON.parse((await home.command('status', '--json')).stdout)).toMatchObject({ daemon: { pid: daemon.pid } })
  expect(await daemon.stop()).toMatchObject({ status: 0 })
  expect(existsSync(socket)).toBe(false)
})

test('SIGTERM ends listen streams with their result, and leaves no lock and no socket', async () => {
  await using world = await World.create()
  await world.synced()
  const daemon = world.home.start('start')
  const url = await daemon.line()
  await using modern = await modernHttp(url)
  await using legacy = await legacyHttp(url)
  const uri = 'skill://team/alpha/SKILL.md'
  const heard = await modern.subscribe([uri])
  await heard.next((message) => message.method === 'notifications/subscriptions/acknowledged')
  await legacy.subscribe([uri])
  const { socket } = (await lockHolderOf(world.home.state))!

  const end = await daemon.stop()

  expect(end).toMatchObject({ status: 0, signal: null })
  expect(await heard.next((message) => message.result !== undefined)).toMatchObject({
    result: { resultType: 'complete' },
  })
  expect(existsSync(socket)).toBe(false)
  expect(await readdir(world.home.state)).not.toContain('daemon.lock')
})

test('SIGTERM in the middle of a pull ends it, and leaves no partial files', async () => {
  await using world = await World.create()
  world.git.fault = { kind: 'hang', at: 10, on: 'fetch' }
  const daemon = world.home.start('start')
  await daemon.line()
  await world.git.requested(({ body }) => /command=fetch/.test(body.toString('latin1', 0, 64)))

  const end = await daemon.stop()

  expect(end).toMatchObject({ status: 0, signal: null })
  expect(await readdir(join(world.home.state, 'tmp'))).toEqual([])
  expect(await readdir(join(world.home.state, 'checkouts'))).toEqual([])
  expect((await readdir(world.home.state)).filter((name) => name.startsWith('store.db'))).toEqual(['store.db'])
})

test('a pull of the command line that is interrupted ends with 1 and one sentence', async () => {
  await using world = await World.create()
  world.git.fault = { kind: 'hang-before' }
  const sync = world.home.start('sync', '--quiet')
  await world.git.requested(() => true)

  const end = await sync.stop('SIGINT')

  expect(end).toMatchObject({ status: 1, signal: null, stdout: '', stderr: 'skillsyncd: stopped\n' })
  expect(await readdir(world.home.state)).not.toContain('daemon.lock')
})

test('a second daemon on the same state ends with 1 and names the first', async () => {
  await using world = await World.create()
  const first = world.home.start('start')
  await first.line()

  const second = await world.home.command('start', '--port', '0')

  expect(second).toMatchObject({ status: 1, stdout: '' })
  expect(second.stderr).toContain(`process ${first.pid} (skillsyncd start)`)
  expect(await lockHolderOf(world.home.state)).toMatchObject({ pid: first.pid })
})

test('a daemon takes over from one that was killed', async () => {
  await using world = await World.create()
  const first = world.home.start('start')
  await first.line()
  await first.kill()
  expect(await lockHolderOf(world.home.state)).toMatchObject({ pid: first.pid })

  const second = world.home.start('start')

  await second.line()
  expect(await lockHolderOf(world.home.state)).toMatchObject({ pid: second.pid })
  expect((await world.home.command('status', '--json')).stdout).toContain(`"pid": ${second.pid}`)
})

test('a state folder that somebody else began to use for other things is refused', async () => {
  await using world = await World.create()

  const end = await world.home.command('start', '--state', world.home.path)

  expect(end).toMatchObject({ status: 1, stdout: '' })
  expect(end.stderr).toContain('as the state folder')
  expect(end.stderr).not.toContain('    at ')
})

test('a state folder of a later version is refused, and the way back is named', async () => {
  await using world = await World.create()
  await world.synced()
  const format = join(world.home.state, 'format')
  await writeFile(format, '99\n')

  const end = await world.home.command('start')

  expect(end).toMatchObject({ status: 1, stdout: '' })
  expect(end.stderr).toContain('its format is "99"')
  expect(await readFile(format, 'utf8')).toBe('99\n')
})

test('a port that is in use ends the start with 1, names the program, and says what keeps the address', async () => {
  await using world = await World.create()
  await using other = createServer()
  await once(other.listen(0, '127.0.0.1'), 'listening')
  const { port } = other.address() as AddressInfo

  const end = await world.home.run('start', '--port', String(port))

  expect(end).toMatchObject({ status: 1, stdout: '' })
  expect(end.stderr).toContain(`Cannot listen on 127.0.0.1:${port}`)
  expect(end.stderr).toMatch(
    /\(process \d+\) listens there\n {2}Stop it \(kill \d+; .*; another port in serve\.http\.port is another address for every client\n$/,
  )
  // Nothing tries again: the process has ended.
  expect(end.stderr).not.toMatch(/tried again|retried/)
  expect(await readdir(world.home.state)).not.toContain('daemon.lock')
})

test.each(['0.0.0.0', '::', '192.0.2.1', 'example.com'])('to listen on %s is refused with 2', async (host) => {
  await using world = await World.create()

  const end = await world.home.command('start', '--host', host)

  expect(end).toMatchObject({ status: 2, stdout: '' })
  expect(end.stderr).toContain(`Cannot listen on "${host}"`)
})

test.each(['65536', '-1', 'x', '1.5', '1e3', '0x50', ''])('--port %j is refused with 2', async (port) => {
  await using world = await World.create()

  const end = await world.home.command('start', `--port=${port}`)

  expect(end).toMatchObject({ status: 2, stdout: '' })
  expect(end.stderr).toContain('--port is a number from 0 to 65535')
})

test('`start` asks an mcp that writes to hand over, and that one goes on as a follower', async () => {
  await using world = await World.create()
  await using mcp = await stdio([], 'legacy', world.home.env)
  expect(await lockHolderOf(world.home.state)).toMatchObject({ pid: mcp.process.pid, command: 'mcp' })
  const uri = 'skill://team/alpha/SKILL.md'
  const heard = await mcp.subscribe([uri])

  const daemon = world.home.start('start')
  await daemon.line()
  expect(await lockHolderOf(world.home.state)).toMatchObject({ pid: daemon.pid, command: 'start' })
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'changed') })
  expect(await world.home.command('sync')).toMatchObject({ status: 0 })

  await heard.next(({ method, params }) => method === 'notifications/resources/updated' && params.uri === uri)
  const { result } = await mcp.call('resources/read', { uri })
  expect(result.contents[0].text).toContain('changed')
})

test('of two mcp on one state one writes and one follows; when the writer ends the other takes over', async () => {
  await using world = await World.create(['every: 1s'])
  await using writer = await stdio([], 'legacy', world.home.env)
  await using follower = await stdio([], 'modern', world.home.env)
  expect(await lockHolderOf(world.home.state)).toMatchObject({ pid: writer.process.pid })
  const uri = 'skill://team/alpha/SKILL.md'
  const heard = await follower.subscribe([uri])

  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'by the first') })
  await heard.next(({ method }) => method === 'notifications/resources/updated')
  expect((await follower.call('resources/read', { uri })).result.contents[0].text).toContain('by the first')
  await writer[Symbol.asyncDispose]()
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'by the second') })

  // It looks every ten seconds whether anybody writes.
  await world.git.requested(() => true, world.git.requests.length)
  expect(await lockHolderOf(world.home.state)).toMatchObject({ pid: follower.process.pid, command: 'mcp' })
})

test('the status says since when a source is looked at, not when that was due', async () => {
  await using world = await World.create(['every: 1s'])
  world.git.fault = { kind: 'hang-before' }
  const daemon = world.home.start('start')
  await daemon.line()
  await world.git.requested(() => true)

  const { stdout } = await world.home.command('status')

  expect(stdout).toMatch(/\n {2}fetching \(\d+ s\)\n/)
  expect(stdout).not.toContain('next poll')
  await daemon.stop()
})

test('an mcp that is asked to stop, or loses its client, ends with 0 and leaves no lock', async () => {
  await using world = await World.create()
  const asked = await stdio([], 'legacy', world.home.env)
  const exited = once(asked.process, 'exit')
  asked.process.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
  const alone = await stdio([], 'legacy', world.home.env)
  const left = once(alone.process, 'exit')

  alone.process.stdin.end()

  expect(await left).toEqual([0, null])
  expect(await readdir(world.home.state)).not.toContain('daemon.lock')
})

test('an mcp with no network and nothing stored answers its client within some seconds', async () => {
  await using world = await World.create()
  await world.git[Symbol.asyncDispose]()

  await using mcp = await stdio([], 'legacy', world.home.env)

  expect(mcp.opening.result.serverInfo.name).toBe('skillsyncd')
  expect((await mcp.call('skills/list')).result.skills).toEqual([])
})

test('a daemon whose log and output nobody takes any more goes on', async () => {
  await using world = await World.create(['every: 1s'])
  await world.synced()
  const daemon = world.home.start('start', '--log-level', 'debug')
  const url = await daemon.line()
  daemon.process.stdout.destroy()
  daemon.process.stderr.destroy()
  await using peer = await modernHttp(url)
  const uri = 'skill://team/alpha/SKILL.md'
  const heard = await peer.subscribe([uri])

  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'unheard') })

  await heard.next(({ method, params }) => method === 'notifications/resources/updated' && params.uri === uri)
  expect((await daemon.stop()).status).toBe(0)
})

test('a request on the socket that is no request of ours leaves the daemon alive', async () => {
  await using world = await World.create()
  const daemon = world.home.start('start')
  await daemon.line()
  const { socket } = (await lockHolderOf(world.home.state))!
  const ask = { onEvent: () => {}, signal: new AbortController().signal, timeoutMs: 10_000 }

  for (const params of [undefined, null, {}, { config: 7 }, { config: 'x', sources: 'y' }]) {
    await expect(askDaemon(socket, 'sync', params, ask)).rejects.toMatchObject({ name: 'OperatorError' })
  }

  expect(await world.home.command('status')).toMatchObject({ status: 0 })
  expect((await daemon.stop()).status).toBe(0)
})

test('main.ts imports nothing before it has looked at the version of Node', async () => {
  for (const path of [fileURLToPath(new URL('../../src/daemon/main.ts', import.meta.url)), MAIN]) {
    const text = await readFile(path, 'utf8')

    // `export {}` says only that the file is a module.
    expect(text.replace('export {};', '')).not.toMatch(/^\s*(?:import\b(?!\()|export\b)/m)
    expect(text.indexOf('await import(')).toBeGreaterThan(text.indexOf('process.versions.node'))
  }
})

test('a Node below the floor is told the floor, in one line, with exit status 2', async ({ skip }) => {
  const old = await nodeBelowTheFloor()
  if (old === undefined) return skip('no Node below 24 is on PATH')
  await using home = await Home.create()

  const end = await new Program(old.file, [MAIN, 'status'], home).ended()

  expect(end).toMatchObject({ status: 2, stdout: '' })
  expect(end.stderr).toBe(
    `skillsyncd needs Node 24 or newer; this is ${old.version}. Install the LTS from https://nodejs.org or with your version manager (nvm install 24)\n`,
  )
})

/** The first on PATH that is too old; what npm put there is not looked at. */
async function nodeBelowTheFloor(): Promise<{ readonly file: string; readonly version: string } | undefined> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'))
  for (const folder of folders) {
    const file = join(folder, 'node')
    if (!existsSync(file)) continue
    const { stdout } = await promisify(execFile)(file, ['--version'])
    const [, version = '', major] = /^v((\d+)\.\d+\.\d+)/.exec(stdout) ?? []
    if (Number(major) < 24) return { file, version }
  }
  return undefined
}
