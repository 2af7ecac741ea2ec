import { expect, test } from 'vitest'
import { Store } from '../../../src/sync/store/store.ts'
import { skill } from '../../e2e/world.ts'
import { changeDatabase, loseObject } from '../../support/damage.ts'
import { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'
import { Home } from '../../support/process/program.ts'

const SNAPSHOTS = "label = 'snapshot'"
const GENERATIONS = 'digest IN (SELECT generation FROM head)'

const HARMS = [
  { name: 'no snapshots', sql: `DELETE FROM object WHERE ${SNAPSHOTS}` },
  { name: 'snapshots of nothing', sql: `UPDATE object SET bytes = x'' WHERE ${SNAPSHOTS}` },
  { name: 'no generations', sql: `DELETE FROM object WHERE ${GENERATIONS}` },
  { name: 'generations of nothing', sql: `UPDATE object SET bytes = x'' WHERE ${GENERATIONS}` },
  { name: 'neither, and no head', sql: 'DELETE FROM object; DELETE FROM head' },
]

test.each(HARMS)(
  'a start with $name, while upstream is away, says what is lost and serves nothing in its place',
  async ({ sql }) => {
    await using scene = await Scene.set()
    changeDatabase(scene.home.state, sql)
    await scene.git.goAway()

    const daemon = scene.home.start('start')
    const told = JSON.parse(await daemon.said((line) => line.includes('"served-lost"') && line.includes('"team"')))
    await daemon.line()
    const status = await scene.home.command('status', '--check', '--json')

    expect(told).toMatchObject({
      level: 'error',
      code: 'store-failed',
      message: expect.stringContaining('nothing of it is served'),
    })
    const { skills, servedLost } = JSON.parse(status.stdout)
    expect([status.status, skills]).toEqual([3, 0])
    expect(servedLost).toMatchObject([{ source: 'team' }, { source: 'other' }])
    await scene.git.comeBack()
    await daemon.said(
      (line) => line.includes('"recovered"') && line.includes('"served-lost"') && line.includes('"team"'),
    )
    await daemon.said(
      (line) => line.includes('"recovered"') && line.includes('"served-lost"') && line.includes('"other"'),
    )
    expect(JSON.parse((await scene.home.command('status', '--json')).stdout)).toMatchObject({
      skills: 2,
      servedLost: [],
    })
  },
)

test('of two sources the one whose snapshot is whole is served by a start that finds the other one lost', async () => {
  await using scene = await Scene.set()
  loseObject(scene.home.state, await snapshotOf(scene.home, 'other'))

  const status = await scene.home.command('status', '--json')
  const verified = await scene.home.command('verify', '--json')

  const { skills, servedLost, sources } = JSON.parse(status.stdout)
  expect([skills, servedLost]).toMatchObject([1, [{ source: 'other' }]])
  expect(sources[0]).toMatchObject({ id: 'team', served: { commit: scene.commit } })
  expect(verified.status).toBe(3)
})

class Scene implements AsyncDisposable {
  readonly home: Home
  readonly git: GitServer
  readonly commit: string
  readonly #repositories: readonly Repository[]

  private constructor(home: Home, git: GitServer, commit: string, repositories: readonly Repository[]) {
    this.home = home
    this.git = git
    this.commit = commit
    this.#repositories = repositories
  }

  /** Two sources of one skill each, one that follows a branch and one that names its commit, which were pulled once. */
  static async set(): Promise<Scene> {
    const [home, git] = [await Home.create(), await GitServer.start()]
    const [team, other] = [await Repository.create(), await Repository.create()]
    const commit = await team.commit({ 'alpha/SKILL.md': skill('alpha', 'a') })
    const pinned = await other.commit({ 'beta/SKILL.md': skill('beta', 'b') })
    await home.configure({
      team: [`url: ${git.serve('team', team)}`, 'every: 1s'],
      other: [`url: ${git.serve('other', other)}`, `ref: ${pinned}`, 'every: 1s'],
    })
    expect(await home.command('sync')).toMatchObject({ status: 0 })
    return new Scene(home, git, commit, [team, other])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
    await this.git[Symbol.asyncDispose]()
    for (const repository of this.#repositories) await repository[Symbol.asyncDispose]()
  }
}

async function snapshotOf({ state }: Home, source: string): Promise<string> {
  using store = await Store.openExisting(state)
  const held = (await store?.generations.current())?.sources.find((candidate) => candidate.source === source)
  return held!.snapshot
}
