import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { acquireLock, lockHolderOf } from '../../../../src/daemon/control/daemon-lock.ts'
import { World } from '../../../e2e/world.ts'

test('stop ends the daemon cleanly, and is done when the process has released its state', async () => {
  await using world = await World.create()
  const { home } = world
  const daemon = home.start('start')
  await daemon.line()

  const stopped = await home.command('stop', '--json')
  const holder = await lockHolderOf(home.state)
  const next = home.start('start')
  await next.line()

  expect(stopped).toMatchObject({ status: 0, stderr: '' })
  expect(holder).toBeUndefined()
  expect(JSON.parse(stopped.stdout)).toEqual({ pid: daemon.pid, isManaged: false })
  expect(await daemon.ended()).toMatchObject({ status: 0, signal: null })
  expect((await home.command('stop')).stdout).toBe(`stopped process ${next.pid}\n`)
})

test('where no daemon runs stop says so', async () => {
  await using world = await World.create()

  const end = await world.home.command('stop')

  expect(end).toMatchObject({ status: 1, stdout: '' })
  expect(end.stderr).toContain(`Cannot stop: no daemon runs for "${world.home.state}"`)
})

test('a daemon that lives and does not answer at its socket is named by each command, and is not called absent', async () => {
  await using world = await World.create()
  const { home } = world
  await home.run('sync')
  const me = { pid: process.pid, socket: join(home.state, 'no.sock'), command: 'start' }
  const taken = await acquireLock(home.state, me)
  if ('heldBy' in taken) throw new Error('The lock is held')
  await using _lock = taken
  const silent = `process ${process.pid} (skillsyncd start) has the lock and does not answer at its socket`

  const ends = [await home.run('status'), await home.run('stop'), await home.run('reload')]
  const json = await home.run('status', '--json')
  const added = await home.run('add', '--offline', 'https://git.example.com/kit')
  const removed = await home.run('remove', 'kit')

  for (const { stdout, stderr } of [...ends, added, removed]) {
    expect(stdout + stderr).toContain(silent)
    expect(stdout + stderr).not.toContain('no daemon runs')
  }
  expect(ends.map(({ status }) => status)).toEqual([0, 1, 1])
  expect(JSON.parse(json.stdout).elsewhere).toMatchObject({ pid: process.pid, command: 'start', isAlive: true })
})

test('a process that serves one client is not stopped', async () => {
  await using world = await World.create()
  const client = world.home.start('mcp')
  await world.home.command('sync')

  const end = await world.home.command('stop')

  expect(end.status).toBe(1)
  expect(end.stderr).toMatch(/skillsyncd mcp\) is not a daemon|no daemon runs/)
  expect(client.process.exitCode).toBeNull()
})

test('a daemon with a configuration and a state folder of its own is found from any folder', async () => {
  await using world = await World.create()
  const { home } = world
  const [file, state] = [join(home.path, 'apart.yaml'), join(home.path, 'apart')]
  await writeFile(file, `${await readFile(home.configFile, 'utf8')}state: ${state}\n`)
  await writeFile(home.configFile, '')
  const daemon = home.start('start', '--config', file)
  await daemon.line()
  await rm(home.configFile)

  const status = await home.command('status', '--json')
  const stopped = await home.command('stop')
  const after = await home.command('status')

  expect(status).toMatchObject({ status: 0, stderr: '' })
  expect(JSON.parse(status.stdout)).toMatchObject({ daemon: { pid: daemon.pid }, sources: [{ id: 'team' }] })
  expect(stopped).toMatchObject({ status: 0, stdout: `stopped process ${daemon.pid}\n` })
  expect(after).toMatchObject({ status: 2, stderr: expect.stringContaining('Cannot find a configuration') })
})

test('where two daemons run without a configuration to find, both are named', async () => {
  await using world = await World.create()
  const { home } = world
  const text = await readFile(home.configFile, 'utf8')
  const files = ['one', 'two'].map((name) => join(home.path, `${name}.yaml`))
  for (const [index, file] of files.entries()) {
    await writeFile(file, `${text}state: ${join(home.path, `state-${index}`)}\n`)
    await home.start('start', '--config', file).line()
  }
  await rm(home.configFile)

  const end = await home.command('status')
  const second = await home.command('remove', 'team', '--state', join(home.path, 'state-1'))
  const neither = await home.command('status', '--state', join(home.path, 'state-2'))

  expect(end).toMatchObject({ status: 2, stdout: '' })
  expect(end.stderr).toContain('Several daemons run')
  for (const file of files) expect(end.stderr).toContain(`--config ${file}`)
  expect(second).toMatchObject({ status: 2, stderr: expect.stringContaining('Cannot remove every source') })
  expect(neither).toMatchObject({ status: 2, stderr: expect.stringContaining('Cannot find a configuration') })
})
