import { expect, test } from 'vitest'
import { skill } from '../e2e/world.ts'
import { memoryOf } from '../support/effort.ts'
import { GitServer } from '../support/git/git-server.ts'
import type { GitRequest } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { Figures, numberOf } from '../support/http/prometheus.ts'
import { Scene } from './scene.ts'

test.each([
  [429, 'rate-limited'],
  [503, 'source-unreachable'],
])(
  '20: a host that answers %d and requests a pause gets it from all of its sources, and no other host does',
  async (status, code) => {
    await using scene = await Scene.set()
    await using other = await GitServer.start()
    await using elsewhere = await Repository.create()
    await elsewhere.commit({ 'far/SKILL.md': skill('far', 'first') })
    const near = ['team', 'one', 'two', 'three']
    const far = [`url: ${other.serve('far', elsewhere)}`, 'every: 1s']
    const limits = 'limits: { fetch: { concurrency: 1, concurrency_per_host: 1 } }'
    await scene.home.configure({ ...sourcesOf(scene, near), far }, [limits])
    await scene.play([...near, 'far'])

    const before = scene.git.requests.length
    scene.git.fault = { kind: 'status', status, headers: { 'retry-after': '3' } }
    await scene.daemon.said((line) => line.includes(`"code":"${code}"`))
    await scene.updated('far', await elsewhere.commit({ 'far/SKILL.md': skill('far', 'second') }))
    while (scene.git.requests.length - before < 6) await scene.git.requested(() => true, scene.git.requests.length)
    const asked = scene.git.requests.slice(before)
    scene.git.fault = { kind: 'none' }

    expect(pausesMs(asked).filter((ms) => ms < 3000)).toEqual([])
    await scene.recovers()
    await allUpdated(scene, near)
    await scene.expectWell()
  },
)

test('eleven repositories are looked at while the twelfth of their host hangs', async () => {
  await using scene = await Scene.set()
  const well = ['team', ...Array.from({ length: 10 }, (_, index) => `well-${index}`)]
  // It hangs as long as it is let.
  await scene.home.configure(sourcesOf(scene, [...well, 'hung']), ['limits: { fetch: { connect_timeout: 1h } }'])
  await scene.play([...well, 'hung'])

  const before = scene.git.requests.length
  scene.git.fault = { kind: 'hang-before', of: 'hung' }
  await scene.git.requested(({ url }) => url.startsWith('/hung.git/'), before)
  for (let round = 0; round < 2; round += 1) await allUpdated(scene, well)
  scene.git.fault = { kind: 'none' }
  await scene.git.goAway()
  await scene.git.comeBack()

  await scene.recovers()
  await allUpdated(scene, [...well, 'hung'])
  await scene.expectWell()
})

test('23, P6: a host that is down for long is asked no more often, and takes up neither log nor memory', async () => {
  await using scene = await Scene.set()
  const all = ['team', ...Array.from({ length: 15 }, (_, index) => `other-${index}`)]
  await scene.home.configure(sourcesOf(scene, all))
  await scene.play(all)
  const before = scene.daemon.stderr.length
  const asked = scene.git.requests.length

  scene.git.fault = { kind: 'status', status: 500 }
  await expect.poll(async () => failedPulls(scene), LONG).toBeGreaterThan(60)
  const early = await memoryOf(scene.daemon.pid)
  const requests = scene.git.requests.slice(asked)
  await scene.git.goAway()
  await expect.poll(async () => failedPulls(scene), LONG).toBeGreaterThan(240)
  const late = await memoryOf(scene.daemon.pid)
  await scene.witness.looksAgain()
  scene.git.fault = { kind: 'none' }
  await scene.git.comeBack()

  const ofOne = [...Map.groupBy(requests, ({ url }) => url.split('/')[1]).values()]
  expect(ofOne).toHaveLength(all.length)
  expect(ofOne.flatMap(gapsMs).filter((ms) => ms < 1000)).toEqual([])
  expect(late.now - early.now).toBeLessThan(64 * 2 ** 20)
  await scene.recovers()
  await allUpdated(scene, all)
  const events = scene.daemon.stderr
    .slice(before)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).event)
  expect(events.filter((event) => event === 'pull-failed')).toHaveLength(all.length)
  expect(events.filter((event) => event !== 'source-updated').length).toBeLessThanOrEqual(2 * all.length)
  await scene.expectWell()
})

/** Sources of the same host and content, each with an address of its own, so that none shares a listing with another. */
function sourcesOf(scene: Scene, ids: readonly string[]): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(ids.map((id) => [id, [`url: ${scene.git.serve(id, scene.repository)}`, 'every: 1s']]))
}

/** Resolves once each of the sources has a commit that is made now. */
async function allUpdated(scene: Scene, ids: readonly string[]): Promise<void> {
  const commit = await scene.commit()
  for (const id of ids) await scene.updated(id, commit)
}

/**
 * How long the host was left alone after each of its answers. Two looks of one host can be under way at once: the one after
 * the next was begun by somebody who had heard an answer.
 */
function pausesMs(requests: readonly GitRequest[]): readonly number[] {
  return requests.slice(2).map(({ atMs }, index) => atMs - requests[index]!.atMs)
}

function gapsMs(requests: readonly GitRequest[]): readonly number[] {
  return requests.slice(1).map(({ atMs }, index) => atMs - requests[index]!.atMs)
}

/** How many looks at its sources failed since the daemon was started. */
async function failedPulls(scene: Scene): Promise<number> {
  const figures = new Figures(await (await fetch(new URL('/metrics', await scene.daemon.line()))).text())
  const failed = figures
    .samples('skillsyncd_source_pulls_total')
    .filter(({ labels }) => labels?.['outcome'] === 'failed')
  return failed.reduce((sum, { value }) => sum + numberOf(value), 0)
}

/** For what takes as long as the machine takes. */
const LONG = { timeout: 500_000, interval: 500 } as const
