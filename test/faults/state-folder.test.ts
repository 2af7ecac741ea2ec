import { chmod, chown, cp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { lockHolderOf } from '../../src/daemon/control/daemon-lock.ts'
import { filesIn } from '../scenarios/hub.ts'
import { Home } from '../support/process/program.ts'
import type { Program } from '../support/process/program.ts'
import { Scene } from './scene.ts'
import { listingAt } from './witness.ts'

const RIVALS = 4

test('of daemons that are started at once on one state folder exactly one serves, and the others name it', async () => {
  await using scene = await Scene.set()
  const { home } = scene

  const winner = await onlyOne(startTogether(home))

  await scene.play(['team'], winner)
  const rivals = startTogether(home)
  for (const rival of rivals) expect((await rival.ended()).stderr).toContain(`process ${winner.pid} (skillsyncd start)`)
  await scene.recovers()
  await scene.expectWell()
  const seen = await listingAt(await winner.line())
  await winner.kill()

  const heir = await onlyOne(startTogether(home))

  expect(await listingAt(await heir.line())).toEqual(seen)
})

test('a state folder that came from another machine, lock and all, is taken over and served', async () => {
  await using scene = await Scene.set()
  await using other = await Home.create()
  await scene.play()
  await scene.expectWell()
  const seen = await listingAt(await scene.daemon.line())
  await scene.daemon.kill()
  await cp(scene.home.state, other.state, { recursive: true, preserveTimestamps: true })
  await cp(scene.home.configFile, other.configFile)
  // There its number is that of another process, which lives.
  const lock = join(other.state, 'daemon.lock')
  const holder = { ...JSON.parse(await readFile(lock, 'utf8')), pid: process.pid, bootId: 'of the other machine' }
  await writeFile(lock, JSON.stringify(holder))
  await scene.git.goAway()

  const daemon = other.start('start')

  expect(await listingAt(await daemon.line())).toEqual(seen)
  expect(await lockHolderOf(other.state)).toMatchObject({ pid: daemon.pid })
})

test('a state folder that is removed under a daemon is not made again in part: it serves on, says so, and the next start begins anew', async () => {
  await using scene = await Scene.set()
  const { home } = scene
  await scene.play()
  const seen = await listingAt(await scene.daemon.line())
  await rm(home.state, { recursive: true, maxRetries: 20 })
  await scene.commit()

  const synced = await home.run('sync')
  const there = await readdir(home.state).catch(() => [])

  expect(synced.stdout).toContain('(no-state-folder): Cannot write the state folder')
  expect(synced.stdout).toContain('restore the whole folder from a backup; or move away what is left')
  expect(there.filter((name) => name !== 'audit')).toEqual([])
  expect(await listingAt(await scene.daemon.line())).toEqual(seen)
  await scene.daemon.kill()
  const anew = home.start('start')
  await anew.said((line) => line.includes('"source-updated"'))
  expect(await listingAt(await anew.line())).not.toEqual([])
})

const IS_ROOT = process.getuid?.() === 0

describe.skipIf(!IS_ROOT)(`with another user${IS_ROOT ? '' : ', but only root can be somebody else'}`, () => {
  test('a state folder of somebody else is refused by name and left as it is, and served once it is given', async () => {
    await using scene = await Scene.set()
    const { home } = scene
    expect(await home.run('sync')).toMatchObject({ status: 0 })
    const seen = await filesIn(home.state)
    await openUp(home)
    home.under = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--']

    const refused = await home.run('start')

    expect(refused).toMatchObject({ status: 1, stdout: '' })
    expect(refused.stderr).toContain(`"${home.state}`)
    expect(refused.stderr).toContain('EACCES')
    expect(await filesIn(home.state)).toEqual(seen)
    await give(home.state)
    await scene.commit()
    await scene.play()
    await scene.recovers()
    await scene.expectWell()
  })

  test('root serves no state folder of another user and leaves it as it is, and serves it once it is given', async () => {
    await using scene = await Scene.set()
    const { home } = scene
    expect(await home.run('sync')).toMatchObject({ status: 0 })
    await give(home.state)
    const seen = await filesIn(home.state)

    const refused = await home.run('start')

    expect(refused).toMatchObject({ status: 1, stdout: '' })
    expect(refused.stderr).toContain(`sudo -u '#${NOBODY}' skillsyncd`)
    expect(refused.stderr).toContain(`chown -R 0 "${home.state}"`)
    expect(await filesIn(home.state)).toEqual(seen)
    await give(home.state, 0)
    await scene.commit()
    await scene.play()
    await scene.recovers()
    await scene.expectWell()
  })
})

test.each(['0', '3'])(
  'a state folder of format %s is refused untouched, and both ways back that are named lead back',
  async (format) => {
    await using scene = await Scene.set()
    const { home } = scene
    await scene.play()
    await scene.expectWell()
    const seen = await listingAt(await scene.daemon.line())
    expect(await scene.daemon.stop()).toMatchObject({ status: 0 })
    const file = join(home.state, 'format')
    const known = await readFile(file, 'utf8')
    await writeFile(file, `${format}\n`)
    const before = await filesIn(home.state)

    const refused = await home.run('start')

    expect(refused).toMatchObject({ status: 1, stdout: '' })
    expect(refused.stderr).toContain(`its format is "${format}" and this version knows "1" and "2"`)
    expect(refused.stderr).toContain('run the version that wrote it, or move the folder away')
    expect(await filesIn(home.state)).toEqual(before)

    const aside = `${home.state}.aside`
    await rename(home.state, aside)
    const anew = home.start('start')
    await anew.said((line) => line.includes('"source-updated"'))
    expect(await listingAt(await anew.line())).toEqual(seen)
    await anew.stop()

    await scene.git.goAway()
    await rm(home.state, { recursive: true })
    await rename(aside, home.state)
    await writeFile(file, known)
    const back = home.start('start')
    expect(await listingAt(await back.line())).toEqual(seen)
  },
)

function startTogether(home: Home): readonly Program[] {
  return Array.from({ length: RIVALS }, () => home.start('start'))
}

/** The one that serves. All others have ended, with 1. */
async function onlyOne(rivals: readonly Program[]): Promise<Program> {
  const lines = await Promise.allSettled(rivals.map(async (rival) => rival.line()))
  const serving = rivals.filter((_, at) => lines[at]?.status === 'fulfilled')
  expect(serving).toHaveLength(1)
  for (const rival of rivals.filter((one) => one !== serving[0]))
    expect(await rival.ended()).toMatchObject({ status: 1, stdout: '' })
  return serving[0]!
}

const NOBODY = 65_534

/** Lets everybody see all that the home has beside the state folder, and write where programs write. */
async function openUp(home: Home): Promise<void> {
  for (const name of ['run', 'tmp']) await give(join(home.path, name))
  for (const folder of [home.path, dirname(home.state)]) await chmod(folder, 0o755)
}

async function give(folder: string, user = NOBODY): Promise<void> {
  const below = await readdir(folder, { recursive: true })
  for (const path of ['', ...below]) await chown(join(folder, path), user, user)
}
