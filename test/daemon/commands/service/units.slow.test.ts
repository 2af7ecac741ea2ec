import { expect, test } from 'vitest'
import { analyze } from '../../../../src/daemon/commands/service/analyze.ts'
import { launchAgent } from '../../../../src/daemon/commands/service/launch-agent.ts'
import { systemUnits, userUnits, commandLine } from '../../../../src/daemon/commands/service/units.ts'
import type { Service, ServiceFile } from '../../../../src/daemon/commands/service/units.ts'
import { environmentOf } from '../../../../src/daemon/config/environment.ts'
import { programFiles } from '../../../../src/daemon/program-files.ts'
import { neededProgram } from '../../../support/process/has-program.ts'

const ENVIRONMENT = environmentOf({ PATH: process.env['PATH'] }, '/')
const NEVER = new AbortController().signal

const SERVICE: Service = {
  program: await programFiles(),
  config: '/etc/skillsyncd/skillsyncd.yaml',
  state: '/home/ada/.local/state/skillsyncd',
  http: { host: '127.0.0.1', port: 8741 },
  folders: [],
}

const SCOPES = [
  ['system', async (service: Service) => systemUnits(service)],
  ['user', async (service: Service) => userUnits(service, '/home/ada/.config')],
] as const

test.each(SCOPES)('the %s units have no fault, and are exposed no more than was promised', async (scope, unitsOf) => {
  neededProgram('systemd-analyze')

  const checked = await analyze(await unitsOf(SERVICE), scope, ENVIRONMENT, NEVER)

  expect(checked?.flatMap(({ said }) => said)).toEqual([])
  expect(checked?.map(({ ok }) => ok)).toEqual([true, true])
})

test.each([
  ['a key that is misspelt', 'WatchdogSec=', 'WatchdgSec=', [false, true]],
  ['a service type that is none', 'Type=notify', 'Type=notified', [false, true]],
  ['a sandbox with a hole', 'CapabilityBoundingSet=', '# ', [true, false]],
])('%s is found', async (_, before, after, oks) => {
  neededProgram('systemd-analyze')
  const [service, socket] = await systemUnits(SERVICE)
  const spoilt = { path: service!.path, text: service!.text.replace(`\n${before}`, `\n${after}`) }

  const checked = await analyze([spoilt, socket!], 'system', ENVIRONMENT, NEVER)

  expect(spoilt.text).not.toBe(service!.text)
  expect(checked?.map(({ ok }) => ok)).toEqual(oks)
})

test('without systemd nothing is said of the units', async () => {
  const bare = environmentOf({ PATH: '/nonexistent' }, '/')

  expect(await analyze(await systemUnits(SERVICE), 'system', bare, NEVER)).toBeUndefined()
})

test('the units start this program with this Node, and reload it the same way', async () => {
  const { node, main, folder } = SERVICE.program
  const [system] = await systemUnits(SERVICE)
  const [user] = await userUnits(SERVICE, '/home/ada/.config')
  const options = '--config /etc/skillsyncd/skillsyncd.yaml --state'

  expect(linesOf(system!, 'ExecStart')).toEqual([`${node} ${main} start ${options} /var/lib/skillsyncd`])
  expect(linesOf(system!, 'ExecReload')).toEqual([`${node} ${main} reload ${options} /var/lib/skillsyncd`])
  expect(linesOf(system!, 'Documentation')).toEqual([`file:${folder}/systemd/README.md`])
  expect(user!.path).toBe('/home/ada/.config/systemd/user/skillsyncd.service')
  expect(linesOf(user!, 'ExecStart')).toEqual([`${node} ${main} start ${options} /home/ada/.local/state/skillsyncd`])
  expect(linesOf(user!, 'ReadWritePaths')).toEqual(['/home/ada/.local/state/skillsyncd'])
})

test('the service of a user can write the folders that it keeps, also where one was removed', async () => {
  const folders = ['/home/ada/.claude/skills', '/srv/50% off']

  const [user] = await userUnits({ ...SERVICE, folders }, '/home/ada/.config')

  expect(linesOf(user!, 'ReadWritePaths')).toEqual([
    '/home/ada/.local/state/skillsyncd -/home/ada/.claude/skills "-/srv/50%% off"',
  ])
})

test('what systemd itself starts again never comes to the limit of starts', async () => {
  for (const [, unitsOf] of SCOPES) {
    const [unit] = await unitsOf(SERVICE)
    const [pause, within, most] = ['RestartSec', 'StartLimitIntervalSec', 'StartLimitBurst'].map((key) =>
      Number.parseInt(linesOf(unit!, key)[0] ?? '', 10),
    )

    expect(pause! * most!).toBeGreaterThan(within!)
  }
})

test('the units accept what the systemd-notify program sends for the daemon', async () => {
  for (const [, unitsOf] of SCOPES) {
    const [unit] = await unitsOf(SERVICE)

    expect(linesOf(unit!, 'NotifyAccess')).toEqual(['all'])
  }
})

test.each([
  ['127.0.0.1', 8741, '127.0.0.1:8741'],
  ['localhost', 80, '127.0.0.1:80'],
  ['::1', 8741, '[::1]:8741'],
  ['skills.example.com', 8741, undefined],
  ['127.0.0.1', 0, undefined],
])('the socket for %s and port %i is %s', async (host, port, expected) => {
  const [, socket] = await systemUnits({ ...SERVICE, http: { host, port } })

  expect(socket && linesOf(socket, 'ListenStream')).toEqual(expected && [expected])
})

test('a word of a command line is one word, and nothing in it is expanded', () => {
  const words = ['/opt/a b/node', 'plain-1.2/x', '100%', '$HOME', 'it"s', String.raw`a\b`, "it's", '']

  expect(commandLine(words)).toBe(String.raw`"/opt/a b/node" plain-1.2/x 100%% "$$HOME" "it\"s" "a\\b" "it's" ""`)
})

test('the property list names the same command, its log and what wrote it', async () => {
  const { node, main } = SERVICE.program
  const { path, text } = await launchAgent({ ...SERVICE, config: '/Users/ada/a & b <c>.yaml' }, '/Users/ada')

  const strings = [...text.matchAll(/<string>(.*)<\/string>/g)].map(([, value]) => value)
  expect(path).toBe('/Users/ada/Library/LaunchAgents/dev.skillsyncd.plist')
  expect(strings).toEqual([
    'dev.skillsyncd',
    node,
    main,
    'start',
    '--config',
    '/Users/ada/a &amp; b &lt;c&gt;.yaml',
    '--state',
    SERVICE.state,
    'Background',
    '/opt/homebrew/bin:/usr/local/bin:/usr/bin:/bin',
    '/dev/null',
    '/Users/ada/Library/Logs/skillsyncd.log',
  ])
  expect(text).toMatch(/^<\?xml .*\n<!-- Written by skillsyncd service install/)
})

function linesOf({ text }: ServiceFile, key: string): readonly string[] {
  return text.split('\n').flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []))
}
