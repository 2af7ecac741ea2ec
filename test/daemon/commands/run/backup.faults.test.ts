import { mkdir, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { World, skill } from '../../../e2e/world.ts'
import { TinyDisk } from '../../../support/process/tiny-disk.ts'

const OBSTACLE = await TinyDisk.obstacle()

describe.skipIf(OBSTACLE !== undefined)(`a full disk${OBSTACLE === undefined ? '' : `: ${OBSTACLE}`}`, () => {
  test('ends a backup, and nothing of it is left there', async () => {
    await using world = await largeWorld()
    const { home } = world
    const folder = join(home.path, 'backups')
    await mkdir(folder)
    const disk = await TinyDisk.at(home, folder, { bytes: 2 ** 20, inodes: 100 })

    const end = await home.run('store', 'backup', join(folder, 'backup'))
    const room = await home.run('store', 'backup', join(home.path, 'backup'))

    expect(end).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('database or disk is full') })
    expect(await readdir(disk.path())).toEqual([])
    expect(room).toMatchObject({ status: 0 })
  })

  test('ends a restore, and the folder is as it was', async () => {
    await using world = await largeWorld()
    const { home } = world
    const [file, state] = [join(home.path, 'backup'), join(home.path, 'small', 'state')]
    await home.run('store', 'backup', file)
    const disk = await TinyDisk.at(home, dirname(state), { bytes: 2 ** 20, inodes: 100 })

    const end = await home.run('store', 'restore', file, '--state', state)
    const list = await home.run('list', '--state', state)

    expect(end).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('database or disk is full') })
    expect(await readdir(disk.path('state'))).not.toContain('store.db')
    expect(list).toMatchObject({ status: 0, stdout: '' })
  })
})

/** A world with more than fits on the disk. */
async function largeWorld(): Promise<World> {
  const world = await World.create()
  await world.repository.commit({ 'large/SKILL.md': skill('large', 'l'), 'large/data.txt': 'data '.repeat(400_000) })
  await world.synced()
  return world
}
