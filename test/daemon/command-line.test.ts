import { once } from 'node:events'
import { PassThrough, Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { run } from '../../src/daemon/cli.ts'
import { commandFirst, commandIn, isFamily } from '../../src/daemon/command-line.ts'
import { environmentOf } from '../../src/daemon/config/environment.ts'
import { Home } from '../support/process/program.ts'

test.each([
  ['--json status', 'status --json'],
  ['-q --config x.yaml status team', 'status team -q --config x.yaml'],
  ['--state=/s -c x.yaml list --served', 'list --state=/s -c x.yaml --served'],
  ['--config a.yaml status --config b.yaml', 'status --config a.yaml --config b.yaml'],
  ['--json mcp-source mirror hub', 'mcp-source mirror hub --json'],
  ['hub --config a.yaml --state /s token list', 'hub token list --config a.yaml --state /s'],
  ['--json hub -c a.yaml token list --all', 'hub token list --json -c a.yaml --all'],
  ['hub --json', 'hub --json'],
  ['show --config a.yaml pdf', 'show --config a.yaml pdf'],
  ['--json show -- -skill', 'show --json -- -skill'],
  ['--json --version', '--version --json'],
  ['status --json', 'status --json'],
  ['--json', '--json'],
  ['--unknown status', '--unknown status'],
])('%s is read as %s', (given, meant) => {
  expect(commandFirst(given.split(' ')).join(' ')).toBe(meant)
})

test('a command of a family is found behind options', async () => {
  const { command, args } = await commandIn(commandFirst(['--json', 'mcp-source', 'mirror', 'hub']))

  expect(command.name).toBe('mcp-source mirror')
  expect(args).toEqual(['hub', '--json'])
  expect(isFamily(['mcp-source', '--json'])).toBe(true)
  expect(isFamily(['mcp-source', '--json', 'mirror', 'hub'])).toBe(false)
})

test('control characters of a wrong command do not reach the terminal', async () => {
  await using home = await Home.create()

  const ends = [await home.command('mcp-source', '\u001B[2J'), await home.command('\u001B[2J')]

  expect(ends.map(({ status }) => status)).toEqual([2, 2])
  for (const { stderr } of ends) expect(stderr).not.toContain('\u001B')
})

test.each([
  [['status', '--json'], 'once'],
  [['mcp', '--json'], 'never'],
  [['start', '--json'], 'never'],
])('a failure of %j is written to stdout as JSON %s', async (args, times) => {
  await using home = await Home.create()

  const end = await home.command(...args, '--config', `${home.path}/absent.yaml`)

  expect(end.status).toBe(2)
  expect(end.stderr).toContain('absent.yaml')
  expect(end.stdout === '' ? 'never' : JSON.parse(end.stdout).exitStatus === 2 && 'once').toBe(times)
})

test.each([
  [['doctor'], [3]],
  [['--json', 'doctor'], [3]],
  [['status'], []],
])('only a command whose system calls may hang ends the process: %j', async (args, ends) => {
  await using home = await Home.create()
  const process = new FakeProcess()

  await run([...args, '--config', `${home.path}/absent.yaml`], process, environmentOf(home.env, home.path))

  expect(process.soon).toEqual(ends)
})

test.each([
  [['status'], [0]],
  [['--quiet', 'mcp'], [0]],
  [['--quiet', 'start'], []],
])('%j ends when its output has no reader: %j', async (args, exits) => {
  await using home = await Home.create()
  const process = new FakeProcess()
  await run([...args, '--config', `${home.path}/absent.yaml`], process, environmentOf(home.env, home.path))

  process.stdout.destroy(Object.assign(new Error('read enough'), { code: 'EPIPE' }))
  await once(process.stdout, 'error')

  expect(process.exits).toEqual(exits)
})

class FakeProcess {
  readonly stdin = new PassThrough()
  readonly stdout = new Writable({ write: (_, __, done) => done() })
  readonly stderr = new Writable({ write: (_, __, done) => done() })
  readonly exits: number[] = []
  readonly soon: number[] = []

  on(): void {}

  exit(status: number): never {
    this.exits.push(status)
    return undefined as never
  }

  endSoon(status: number): void {
    this.soon.push(status)
  }
}
