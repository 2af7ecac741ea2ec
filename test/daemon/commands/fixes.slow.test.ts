import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseOptions } from '../../../src/daemon/command-line.ts'
import { COMMANDS } from '../../../src/daemon/command-table.ts'
import { World, skill } from '../../e2e/world.ts'
import { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'
import { Authority } from '../../support/http/certificates.ts'
import { Home } from '../../support/process/program.ts'

/** A port of this machine at which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

test.each([
  ['a host', (port: number) => `http://127.0.0.1:${port}/x.git`, /^ {2}Check the address and its port/m],
  ['a port of ssh', (port: number) => `ssh://git@127.0.0.1:${port}/x.git`, /^ {2}Check the address and its port/m],
])('%s that cannot be reached: no command promises to try again', async (_, urlOf, step) => {
  await using home = await Home.create()
  const url = urlOf(await closedPort())

  const ends = [await home.command('add', url)]
  await home.configure({ far: [`url: ${url}`] })
  ends.push(await home.command('add', url), await home.command('sync'), await home.command('doctor'))

  for (const { status, stdout, stderr } of ends) {
    expect(status).not.toBe(0)
    expect(stdout + stderr).not.toMatch(/retr(?:y|ied)|tries again|tried again|by itself/)
  }
  expect(ends[0]?.stderr).toMatch(step)
})

test('a proxy that cannot be reached is named with the places of its address, and is well without it', async () => {
  await using world = await World.create()
  const { home } = world
  const proxy = `proxy: { url: "http://127.0.0.1:${await closedPort()}" }`
  await home.configure({ team: [`url: ${world.git.serve('team', world.repository)}`, proxy] })

  const failed = await home.command('sync')
  await home.configure({ team: [`url: ${world.git.serve('team', world.repository)}`, 'proxy: none'] })

  expect(failed.stdout + failed.stderr).toContain(
    'Correct the address of the proxy, in `proxy` of the source or in HTTP_PROXY',
  )
  expect(await home.command('sync')).toMatchObject({ status: 0 })
})

test('an authority of its own: each of the two settings that are named lets the source in', async () => {
  const authority = new Authority()
  await using git = await GitServer.start(authority.vouchFor(['127.0.0.1']))
  await using repository = await Repository.create()
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'first') })
  await using home = await Home.create()
  const url = git.serve('team', repository)
  const file = join(home.path, 'ca.pem')
  await writeFile(file, authority.cert)

  const refused = await home.run('add', url)
  await home.configure({ team: [`url: ${url}`, `ca: ${file}`] })
  const byKey = await home.run('sync')
  await home.configure({ team: [`url: ${url}`] })
  home.env['NODE_EXTRA_CA_CERTS'] = file
  const byVariable = await home.run('sync', '--state', join(home.path, 'other'))

  expect(refused.stderr).toMatch(/`ca: FILE` of the source.*NODE_EXTRA_CA_CERTS=FILE/)
  expect([byKey.status, byVariable.status]).toEqual([0, 0])
})

test('an empty repository: a first commit is what it lacks', async () => {
  await using world = await World.create()
  const { home } = world
  const empty = join(home.path, 'empty')
  execFileSync('git', ['init', '-q', '-b', 'main', empty])

  const failed = await home.command('add', empty)
  await mkdir(join(empty, 'beta'))
  await writeFile(join(empty, 'beta/SKILL.md'), skill('beta', 'b'))
  execFileSync('git', ['-C', empty, 'add', '.'])
  execFileSync('git', ['-C', empty, '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'first'])

  expect(failed.stderr).toMatch(/the repository has no commits .*\n {2}Push a first commit/)
  expect(await home.command('add', empty)).toMatchObject({ status: 0 })
})

test('a path that is not there is told without a word of credentials', async () => {
  await using world = await World.create()
  const path = join(world.home.path, 'none')

  const failed = await world.home.command('add', path)
  await mkdir(join(path, 'beta'), { recursive: true })
  await writeFile(join(path, 'beta/SKILL.md'), skill('beta', 'b'))

  expect(failed.stderr).toContain('Check the path')
  expect(failed.stderr).not.toMatch(/private|credential/)
  expect(await world.home.command('add', path)).toMatchObject({ status: 0 })
})

test('a port in use: the program is named, and what the message says frees the port', async () => {
  await using world = await World.create()
  const { home } = world
  const script = "require('node:net').createServer().listen(0,'127.0.0.1',function(){console.log(this.address().port)})"
  const other = spawn(process.execPath, ['-e', script])
  onTestFinished(() => void other.kill())
  const [line] = await once(other.stdout, 'data')
  const port = String(line).trim()
  const text = await readFile(home.configFile, 'utf8')
  await writeFile(home.configFile, text.replace('port: 0', `port: ${port}`))

  const failed = await home.run('start')
  const doctor = await home.command('doctor', '--offline')
  const [, kill = ''] = /\((kill \d+);/.exec(failed.stderr) ?? []

  expect(failed).toMatchObject({ status: 1, stderr: expect.stringContaining(`(process ${other.pid}) listens there`) })
  expect(failed.stderr).not.toContain('--port 0')
  expect(doctor.stdout).toContain(`(process ${other.pid}) listens there`)
  const [, pid = ''] = kill.split(' ')
  expect(Number(pid)).toBe(other.pid)
  const ended = once(other, 'exit')
  process.kill(Number(pid))
  await ended
  expect(await home.start('start').line()).toContain(`:${port}/`)
})

test('a backup into a folder that is not there: the command that is named makes it', async () => {
  await using world = await World.create()
  await world.synced()
  const file = join(world.home.path, 'a folder', 'b.db')

  const failed = await world.home.command('store', 'backup', file)
  const [, make = ''] = /^ {2}(mkdir -p .+), or/m.exec(failed.stderr) ?? []
  execFileSync('/bin/sh', ['-c', make])

  expect(failed.stderr).toContain('there is nothing of that name (ENOENT)')
  expect(failed.stderr).not.toContain('state folder')
  expect(await world.home.command('store', 'backup', file)).toMatchObject({ status: 0 })
})

test('a name of a skill that is mistyped: the one that was meant is named, for each command that takes one', async () => {
  await using world = await World.create()
  await world.synced()

  for (const command of ['show', 'why', 'preview', 'disable']) {
    const failed = await world.home.command(command, 'alhpa')
    const [, meant = ''] = /did you mean "(.+)"\?/.exec(failed.stderr) ?? []

    expect(failed.status, command).toBe(1)
    expect(await world.home.command(command, meant), command).toMatchObject({ status: 0 })
  }
})

test('a person who declines approved nothing, and the line that is named approves it', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await world.synced()
  await home.configure({ team: [`url: ${world.git.serve('team', repository)}`, 'update: review'] })
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  await home.command('sync')

  const declined = await home.typing(['n'], 'approve', 'team')
  const [, line = ''] = /nothing was approved; skillsyncd (.+) approves it later/.exec(declined.stderr) ?? []

  expect(declined.status).toBe(3)
  expect(declined.stderr).not.toContain('id of')
  expect(await home.command(...line.split(' '))).toMatchObject({ status: 0 })
})

test('every command takes the options that the help lists for all commands', async () => {
  for (const [name, { load }] of COMMANDS) {
    const command = await load()

    expect(parseOptions(command, ['-c', 'x', '--state', 'y', '--json']).values, name).toMatchObject({
      config: 'x',
      json: true,
    })
  }
})
