import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import type { Context } from '../../../../src/daemon/cli/command.ts'
import { sync } from '../../../../src/daemon/commands/change/sync.ts'
import { environmentOf } from '../../../../src/daemon/config/environment.ts'
import type { WholeConfig } from '../../../../src/daemon/configuration.ts'
import { lockHolderOf } from '../../../../src/daemon/control/daemon-lock.ts'
import { COMMAND_FEATURES } from '../../../../src/daemon/features.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import { GitServer, type Fault } from '../../../support/git/git-server.ts'
import { Repository } from '../../../support/git/repository.ts'
import { Home } from '../../../support/process/program.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

test('a sync that is stopped while it takes the lock pulls nothing, and gives the lock back', async () => {
  await using folder = await temporaryFolder()
  await using repository = await Repository.create()
  await using git = await GitServer.start()
  const file = join(folder.path, 'skillsyncd.yaml')
  const state = join(folder.path, 'state')
  await writeFile(file, `sources: [{ id: team, url: '${git.serve('team', repository)}' }]\nstate: ${state}\n`)
  const stop = new AbortController()

  const ended = sync.run(contextOf(folder.path, { config: file }, stop.signal))
  stop.abort()

  await expect(ended).rejects.toMatchObject({ name: 'AbortError' })
  expect(git.requests).toEqual([])
  expect(await lockHolderOf(state)).toBeUndefined()
})

test('a sync that is stopped while it pulls ends', async () => {
  await using home = await Home.create()
  await using git = await GitServer.start()
  git.fault = { kind: 'hang-before' }
  await home.configure({ team: [`url: ${git.origin}/team.git`] })
  const program = home.start('sync')
  await git.requested(() => true)

  const end = await program.stop()

  expect(end.status).toBe(1)
  expect(end.stderr).toContain('stopped')
})

test('what an upstream says is printed without what steers a terminal', async () => {
  await using home = await Home.create()
  await using git = await GitServer.start()
  git.fault = saying('ERR \u001B]0;gotcha\u0007 no')
  await home.configure({ team: [`url: ${git.origin}/team.git`] })

  const end = await home.command('sync')

  expect(end.stdout).toContain('gotcha')
  for (const character of ['\u0007', '\u001B']) expect(end.stdout).not.toContain(character)
})

test('a secret that a server says back reaches neither the result, nor the status, nor a file', async () => {
  await using home = await Home.create()
  await using git = await GitServer.start()
  home.env['SKILLS_SECRET'] = 'canary-5b2d8e-secret'
  git.fault = saying('ERR no such thing as canary-5b2d8e-secret')
  await home.configure({ team: [`url: ${git.origin}/team.git`, 'auth: { token: { env: SKILLS_SECRET } }'] })

  const end = await home.command('sync', '--json', '--log-level', 'debug')
  const status = await home.command('status', '--json')

  const record = await readFile(join(home.state, 'sources', 'team.json'), 'utf8')
  for (const text of [end.stdout, end.stderr, status.stdout, record]) {
    expect(text).toContain('no such thing as ***')
    expect(text).not.toContain('canary')
  }
})

/** The answer of a server that has this alone to say. */
function saying(text: string): Fault {
  const body = `001e# service=git-upload-pack\n0000${packet(text)}`
  const headers = { 'Content-Type': 'application/x-git-upload-pack-advertisement' }
  return { kind: 'status', status: 200, headers, body }
}

function packet(text: string): string {
  return `${(text.length + 4).toString(16).padStart(4, '0')}${text}`
}

function contextOf(home: string, values: Context['values'], signal: AbortSignal): Context<WholeConfig> {
  return {
    streams: { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
    environment: environmentOf({}, home),
    redactor: new Redactor(),
    operands: [],
    values,
    json: false,
    quiet: true,
    logLevel: 'error',
    signal,
    result: { isPrinted: false },
    stop: () => {},
    onHangUp: () => {},
    configuration: async () => import('../../../../src/daemon/configuration.ts'),
    becomeWriter: async (...asked) => (await import('../../../../src/daemon/writer.ts')).becomeWriter(...asked),
    features: COMMAND_FEATURES,
    runVariant: async (name) => {
      throw new Error(`${name} is not asked for`)
    },
    commands: new Map(),
  }
}
