import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Store } from '../../../src/sync/store/store.ts'
import { skill, World } from '../../e2e/world.ts'
import { faultsIn } from '../../support/checks.ts'
import { damageObject } from '../../support/damage.ts'
import { describePostgres } from '../../support/describe-postgres.ts'

const RINGS = ['rings: [{ id: canary, principals: [ada] }, { id: stable, min_age: 3d }]']

test('verify finds a damaged file, and a damaged snapshot, that only a later ring serves', async () => {
  await using world = await ringed()
  const { home } = world
  const { snapshot, document } = await inLastRing(home.state)
  expect(await verified(world)).toEqual([])

  damageObject(home.state, document)
  const ofFile = await verified(world)
  damageObject(home.state, snapshot)
  const ofSnapshot = await verified(world)

  expect(ofFile).toMatchObject([{ check: 'file-damaged', subject: 'team/alpha/SKILL.md' }])
  expect(ofSnapshot).toMatchObject([
    { check: 'snapshot-damaged', subject: 'team', fix: expect.stringContaining('skillsyncd promote team --now') },
  ])
})

test('a backup has what each ring serves, and since when', async () => {
  await using world = await ringed()
  const { home } = world
  const [file, other] = [join(home.path, 'backup'), join(home.path, 'other')]

  expect(await home.command('store', 'backup', file)).toMatchObject({ status: 0 })
  expect(await home.command('store', 'restore', file, '--state', other)).toMatchObject({ status: 0 })

  expect(await ringsIn(world, other)).toEqual(await ringsIn(world, home.state))
  expect(await home.command('verify', '--state', other)).toMatchObject({ status: 0 })
})

describePostgres('skillsyncd store copy', (server) => {
  test('keeps what each ring serves, and since when, into a database and back', async () => {
    await using world = await ringed()
    const { home } = world
    const other = join(home.path, 'other')
    home.env['DATABASE'] = await server.createDatabase()
    await configured(world, ['store: { postgres: { url: { env: DATABASE } } }'])

    expect(await home.command('store', 'copy', '--to', 'postgres')).toMatchObject({ status: 0 })
    expect(await home.command('store', 'copy', '--from', 'postgres', '--state', other)).toMatchObject({ status: 0 })

    await configured(world)
    expect(await ringsIn(world, other)).toEqual(await ringsIn(world, home.state))
    expect(await home.command('verify', '--state', other)).toMatchObject({ status: 0 })
  })
})

/** A world whose last ring serves the commit before the newest one. */
async function ringed(): Promise<World> {
  const world = await World.create()
  await configured(world)
  await world.synced()
  expect(await world.home.command('promote', '--now')).toMatchObject({ status: 0 })
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  await world.synced()
  return world
}

async function configured({ home, git, repository }: World, more: readonly string[] = []): Promise<void> {
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h'] }, [...RINGS, ...more])
}

async function verified({ home }: World): Promise<readonly object[]> {
  return faultsIn((await home.command('verify', '--json')).stdout)
}

async function ringsIn({ home }: World, state: string): Promise<readonly any[]> {
  const { rings } = JSON.parse((await home.command('status', '--rings', '--json', '--state', state)).stdout)
  expect(rings[1].sources).toMatchObject([{ source: 'team' }])
  return rings
}

/** The snapshot that the last ring serves, and the document of its only skill. */
async function inLastRing(state: string): Promise<{ readonly snapshot: string; readonly document: string }> {
  using store = await Store.openExisting(state)
  const generation = await store?.generations.newest()
  const step = generation?.rings?.trails[0]?.steps.find(({ since }) => since['stable'] !== undefined)
  const snapshot = step && (await store?.snapshots.readWhole(step.snapshot))
  const [file] = snapshot?.skills[0]?.files ?? []
  if (step === undefined || file === undefined) throw new Error('The last ring serves nothing')
  return { snapshot: step.snapshot, document: file.sha256 }
}
