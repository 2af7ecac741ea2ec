import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MAIN } from '../support/process/program.ts'
import { World } from './world.ts'

/** What a daemon writes to a file on stderr that is called the stream of the journal, until it has failed to pull. */
async function linesOf(world: World, nameOf: (named: string) => string): Promise<readonly string[]> {
  const file = join(world.home.path, 'stderr')
  const descriptor = openSync(file, 'a')
  const { dev, ino } = fstatSync(descriptor, { bigint: true })
  const env = { ...world.home.env, JOURNAL_STREAM: nameOf(`${dev}:${ino}`) }
  const daemon = spawn(process.execPath, [MAIN, 'start'], {
    env,
    cwd: world.home.path,
    stdio: ['ignore', 'pipe', descriptor],
  })
  closeSync(descriptor)
  const exit = once(daemon, 'exit')
  try {
    await once(daemon.stdout!, 'data')
    await world.home.command('sync')
  } finally {
    daemon.kill('SIGTERM')
    await exit
  }
  return (await readFile(file, 'utf8')).split('\n').slice(0, -1)
}

test('each line has its priority where stderr is the stream of the journal, and is one JSON object behind it', async () => {
  await using world = await World.create()
  world.git.fault = { kind: 'status', status: 500 }

  const lines = await linesOf(world, (named) => named)

  expect(lines.map((line) => line.slice(0, 3))).toEqual(['<6>', '<4>', '<6>'])
  expect(lines.map((line) => JSON.parse(line.slice(3)))).toMatchObject([
    { event: 'started', level: 'info' },
    { event: 'pull-failed', level: 'warn' },
    { event: 'stopping', level: 'info' },
  ])
})

test.each([
  [
    'of another stream, which was handed on',
    (named: string) => named.replace(/\d+$/, (inode) => String(Number(inode) + 1)),
  ],
  ['that is none', () => 'yes'],
  ['that is empty', () => ''],
])('with a JOURNAL_STREAM %s, lines are JSON and nothing else', async (_, nameOf) => {
  await using world = await World.create()

  const lines = await linesOf(world, nameOf)

  expect(lines.length).toBeGreaterThan(1)
  for (const line of lines) expect(JSON.parse(line)).toHaveProperty('event')
})
