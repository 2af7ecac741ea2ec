import { join } from 'node:path'
import './run-the-build.ts'
import { runGit } from '../test/support/git/repository.ts'
import { startSeenOver } from './daemon.ts'
import type { SeenDaemon } from './daemon.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import type { Ground } from './ground.ts'
import { Client } from './serve-clients.ts'
import { makeSkills } from './skills.ts'
import { runAlone } from './table.ts'
import { serveAll } from './upstream.ts'

const { inParallel } = await import('../src/base/async/parallel.ts')

/** Many small sources: a daemon over repositories of one skill each. */
export async function measureSources(ground: Ground): Promise<Figure[]> {
  const [few, many] = ground.quick ? [20, 40] : [1_000, 5_000]
  const skills = Array.from({ length: many }, (_, number) => makeSkills(1, { number, pages: 2 }))
  await using served = await serveAll(skills)
  const urls = served.all.map(({ url }) => url)
  return [...(await measureFew(ground, urls.slice(0, few))), await measureGrowth(ground, few, urls)]
}

/** Until all are served, against clones of them; and what a daemon that has them takes. */
async function measureFew(ground: Ground, urls: readonly string[]): Promise<Figure[]> {
  const count = urls.length
  const [first, again, polls, clones] = [
    `${count} sources`,
    `restart with ${count}`,
    `CPU of ${count} polls`,
    `${count} git clones`,
  ]
  const all = await rounds(ground.quick ? 1 : 3, [
    async (): Promise<Times> => {
      const folder = await ground.fresh()
      const firstMs = await servedMs(folder, urls)
      return { [first]: firstMs, ...(await measureKept(folder, urls, [again, polls])) }
    },
    async () => ({ [clones]: await timed(async () => cloneAll(await ground.fresh(), urls)) }),
    async () => ({ 'three seconds': 3_000, 'a minute': 60_000 }),
  ])
  return [
    figureOf('sources', all, [first, clones], 2),
    figureOf('sources', all, [again, 'three seconds'], 1),
    figureOf('sources', all, [polls, 'a minute'], 0.05),
  ]
}

/** From the start of the program until all are served. */
async function servedMs(folder: string, urls: readonly string[]): Promise<number> {
  const startMs = performance.now()
  await using daemon = await startOverAll(folder, urls)
  await daemon.sync()
  const ms = performance.now() - startMs
  await expectListed(daemon, urls.length)
  return ms
}

/** A daemon that has them: until it lists them, and the processor time of a poll of each. */
async function measureKept(
  folder: string,
  urls: readonly string[],
  [again, polls]: readonly [string, string],
): Promise<Times> {
  const startMs = performance.now()
  await using daemon = await startOverAll(folder, urls)
  await expectListed(daemon, urls.length)
  const ms = performance.now() - startMs
  await daemon.sync()
  const beforeMs = await daemon.child.cpuMs()
  await daemon.sync()
  return { [again]: ms, [polls]: (await daemon.child.cpuMs()) - beforeMs }
}

async function expectListed(daemon: SeenDaemon, count: number): Promise<void> {
  const client = await Client.open('modern', daemon.url)
  const pages = await client.pages()
  const listed = pages.reduce((sum, { body }) => sum + Object(JSON.parse(body)).result.skills.length, 0)
  if (listed !== count) throw new Error(`${listed} skills of ${count} are listed`)
}

/** Times for five times as many. */
async function measureGrowth(ground: Ground, few: number, urls: readonly string[]): Promise<Figure> {
  const [large, small] = [`${urls.length} sources`, `${few} sources`]
  const all = await rounds(1, [
    async () => ({ [large]: await servedMs(await ground.fresh(), urls) }),
    async () => ({ [small]: await servedMs(await ground.fresh(), urls.slice(0, few)) }),
  ])
  return figureOf('sources', all, [large, small], 6)
}

async function startOverAll(folder: string, urls: readonly string[]): Promise<SeenDaemon> {
  const sources = Object.fromEntries(urls.map((url, index) => [`source-${index + 1}`, [`url: ${url}`]]))
  const rest = [`limits: { fetch: { concurrency: ${AT_ONCE}, concurrency_per_host: ${AT_ONCE} } }`]
  return startSeenOver(folder, sources, { rest })
}

async function cloneAll(folder: string, urls: readonly string[]): Promise<void> {
  const clone = async ([index, url]: readonly [number, string]): Promise<void> =>
    void (await runGit(['clone', '--quiet', '--depth', '1', url, join(folder, String(index))]))
  await inParallel([...urls.entries()], AT_ONCE, clone, new AbortController().signal)
}

const AT_ONCE = 8

await runAlone(import.meta.url, measureSources)
