import { execFile } from 'node:child_process'
import { chmod, chown, cp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { lockHolderOf } from '../../src/daemon/control/daemon-lock.ts'
import { filesIn } from '../scenarios/hub.ts'
import { hasProgram } from '../support/process/has-program.ts'
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
  expect(there.filter((name) => name !== 'audit' && name !== 'usage')).toEqual([])
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

describe.skipIf(!IS_ROOT)(`with another user that runs it${IS_ROOT ? '' : ', but only root can start that'}`, () => {
  test('a state folder that is made read-only under the daemon is served on, and written again once it may be', async () => {
    await using scene = await Scene.set()
    const { home } = scene
    await belongToAnother(scene)
    await scene.play()

    await permit(home.state, 'a-w')
    await scene.commit()
    expect(await scene.problem('store-failed')).toContain('EACCES')
    await scene.witness.looksAgain()
    await permit(home.state, 'u+w')

    await scene.recovers()
    await scene.expectWell()
  })

  test('a start on a state folder that was made read-only serves what is stored, says so, and writes once it may', async () => {
    await using scene = await Scene.set()
    const { home } = scene
    await belongToAnother(scene)
    const first = home.start('start')
    await first.said((line) => line.includes('"source-updated"'))
    const seen = await listingAt(await first.line())
    expect(await first.stop()).toMatchObject({ status: 0 })
    await permit(home.state, 'a-w')
    const commit = await scene.commit()

    const daemon = home.start('start')

    expect(await listingAt(await daemon.line())).toEqual(seen)
    const told = await daemon.said((line) => line.includes('"served-read-only"'))
    expect(JSON.parse(told)).toMatchObject({ level: 'error', code: 'store-failed' })
    await permit(home.state, 'u+w')
    await daemon.said((line) => line.includes('"recovered"') && line.includes('"served-read-only"'))
    await daemon.said((line) => line.includes('"source-updated"') && line.includes(commit))
    expect(await daemon.stop()).toMatchObject({ status: 0 })
  })

  test('a daemon that cannot write its lock is found without a runtime folder, and otherwise nothing says that none runs', async () => {
    await using scene = await Scene.set()
    const { home } = scene
    await belongToAnother(scene)
    await permit(home.state, 'a-w')
    const own = { ...home.env }
    delete home.env['XDG_RUNTIME_DIR']
    const daemon = home.start('start')
    await daemon.said((line) => line.includes('"started"'))

    const status = await home.run('status', '--json')
    home.env['TMPDIR'] = home.state
    const apart = [await home.run('status'), await home.run('stop')]
    Object.assign(home.env, own)
    const stopped = await home.run('stop')

    expect(JSON.parse(status.stdout)).toMatchObject({ daemon: { pid: daemon.pid } })
    for (const { stdout, stderr } of apart) expect(stdout + stderr).toContain('no daemon is found')
    expect(stopped).toMatchObject({ status: 0, stdout: `stopped process ${daemon.pid}\n` })
    await permit(home.state, 'u+w')
  })

  test.each([
    { what: 'that others can write to', done: async (file: string) => chmod(file, 0o666), says: '(mode 666)' },
    {
      what: 'of another user',
      done: async (file: string) => chown(file, NOBODY, NOBODY),
      says: `is user ${NOBODY}; see what it is`,
    },
  ])(
    'a database $what is refused by name, by the daemon and by who reads, and left as it is',
    async ({ done, says }) => {
      await using scene = await Scene.set()
      const { home } = scene
      expect(await home.run('sync')).toMatchObject({ status: 0 })
      await done(join(home.state, 'store.db'))
      const seen = await filesIn(home.state)

      for (const command of ['start', 'list']) {
        const refused = await home.run(command)
        expect(refused, command).toMatchObject({ status: 1, stdout: '' })
        expect(refused.stderr).toContain(`"${join(home.state, 'store.db')}"`)
        expect(refused.stderr).toContain(says)
      }

      expect(await filesIn(home.state)).toEqual(seen)
    },
  )
})

const OBSTACLE = hasProgram('strace') ? '' : ': there is no strace'

test.skipIf(OBSTACLE !== '').each([
  { when: 'at the first start', isFirst: true },
  { when: 'with what was stored elsewhere', isFirst: false },
])(
  `a file system without shared memory is refused $when, with the reason and the remedy${OBSTACLE}`,
  async ({ isFirst }) => {
    await using scene = await Scene.set()
    const { home } = scene
    if (!isFirst) await home.run('sync')
    const index = join(home.state, 'store.db-shm')
    const refusal = ['-e', 'trace=mmap', '-e', 'inject=mmap:error=ENODEV', '-o', '/dev/null']
    home.under = ['strace', '-f', '-qq', '-P', index, ...refusal]

    const refused = await home.run('start')

    expect(refused).toMatchObject({ status: 1, stdout: '' })
    expect(refused.stderr).toContain(`Cannot open the database "${join(home.state, 'store.db')}"`)
    expect(refused.stderr).toContain('shares no memory or locks between processes, as most network file systems')
    expect(refused.stderr).toContain('use a local disk, or follow a hub')
    home.under = []
    expect(await home.run('sync')).toMatchObject({ status: 0 })
  },
)

test.each(['3', '5'])(
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
    expect(refused.stderr).toContain(`its format is "${format}" and this version knows "4"`)
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

/** From now on the programs of the home are those of a user without rights, to whom the state folder belongs. */
async function belongToAnother(scene: Scene): Promise<void> {
  const { home } = scene
  expect(await home.run('sync')).toMatchObject({ status: 0 })
  await scene.commit()
  await openUp(home)
  await give(home.state)
  home.under = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--']
}

async function permit(folder: string, mode: 'a-w' | 'u+w'): Promise<void> {
  await promisify(execFile)('chmod', ['-R', mode, folder])
}

async function give(folder: string, user = NOBODY): Promise<void> {
  const below = await readdir(folder, { recursive: true })
  for (const path of ['', ...below]) await chown(join(folder, path), user, user)
}
