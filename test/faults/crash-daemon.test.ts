import { randomInt } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFailed, test } from 'vitest'
import { Dice } from '../fuzz/dice.ts'
import { modernHttp } from '../support/clients/peer.ts'
import { hasProgram } from '../support/process/has-program.ts'
import { Commits, litterIn, NOTHING_YET } from './commits.ts'
import { servedFiles } from './served-files.ts'

const KILLS = 30

/** Of what is random; `CRASH_SEED` has an earlier run again, as far as the machine is as quick. */
const SEED = Number(process.env['CRASH_SEED'] ?? randomInt(2 ** 31))

test('a daemon that is killed thirty times while commits come in never serves but one of them, whole, and never an older one', async () => {
  await using scene = await Commits.set()
  let newest = NOTHING_YET
  const dice = new Dice(SEED, 0)
  onTestFailed(() => void process.stderr.write(`It was with CRASH_SEED=${SEED}\n`))

  for (let kill = 0; kill < KILLS; kill += 1) {
    const daemon = scene.home.start('start')
    const reader = await modernHttp(await daemon.line())
    const since = scene.git.requests.length
    await scene.commit()
    if (kill % 2 === 0) await scene.git.requested(({ body }) => body.includes(`want ${scene.tip}`), since)
    for (let reads = dice.below(40); reads >= 0; reads -= 1) {
      newest = await scene.servedTo(reader, newest)
    }
    await daemon.kill()

    newest = scene.commitOf(await servedFiles(scene.home.state), newest)
  }
  const daemon = scene.home.start('start')
  const reader = await modernHttp(await daemon.line())
  while (newest < scene.count) newest = await scene.servedTo(reader, newest)
  const ended = await daemon.stop()

  expect(ended.status).toBe(0)
  expect(await litterIn(scene.home.state)).toEqual([])
  expect(await readdir(join(scene.home.path, 'run', 'skillsyncd'))).toEqual([])
})

const OBSTACLE = hasProgram('strace') ? '' : ': there is no strace'

test.skipIf(OBSTACLE !== '')(
  `SIGTERM in the middle of a publish on a slow disk ends it in time, and leaves no partial files${OBSTACLE}`,
  async () => {
    await using scene = await Commits.set()
    await scene.home.command('sync')
    await scene.commit()
    const log = join(scene.home.path, 'calls')
    const slow = `inject=fsync:delay_enter=${SLOW_US}`
    // With -D it is strace that is started by the daemon: whoever kills the daemon leaves neither.
    scene.home.under = ['strace', '-D', '-f', '-qq', '-y', '-o', log, '-e', 'trace=fsync', '-e', slow]
    const traced = scene.home.start('start')
    // The files of a skill are being brought to the disk.
    await traced.said((line) => line.includes('"started"'))
    const before = await readFile(log, 'utf8')
    const synced = async (): Promise<string> => (await readFile(log, 'utf8')).slice(before.length)
    await expect.poll(synced).toMatch(/fsync\(\d+<[^>]*\/store\.db-wal/)

    const ended = await traced.stop()

    expect(ended).toMatchObject({ status: 0, signal: null })
    // Of those that were still to come, only a few were made: a service manager waits for half a minute.
    expect((await readFile(log, 'utf8')).split('\n').length * SLOW_US).toBeLessThan(STOP_US)
    scene.commitOf(await servedFiles(scene.home.state), 1)
    expect(await litterIn(scene.home.state)).toEqual([])
    expect(await readdir(scene.home.state)).not.toContain('daemon.lock')
  },
)

const SLOW_US = 200_000

/** `TimeoutStopSec` of our units. */
const STOP_US = 30_000_000
