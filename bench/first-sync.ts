import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { runGit } from '../test/support/git/repository.ts'
import { makeBulk } from './bulk.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import { realistic } from './git-contents.ts'
import type { Ground } from './ground.ts'
import { makeSkills } from './skills.ts'
import { eachOf } from './source.ts'
import { runAlone } from './table.ts'
import { serveAll, serveSkills } from './upstream.ts'

const run = promisify(execFile)
const ONE = fileURLToPath(new URL('./first-sync-process.ts', import.meta.url))
const MANY = fileURLToPath(new URL('./first-syncs-process.ts', import.meta.url))

/** First syncs into an empty store, all of them on the disk, against `git clone --depth 1`. */
export async function measureFirstSync(ground: Ground): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const size of ground.quick ? QUICK : FULL) figures.push(...(await measureSize(ground, size)))
  return [...figures, await measureFromDisk(ground), await measureLittleOfMuch(ground), await measureMany(ground)]
}

interface Size {
  readonly count: number
  readonly rounds: number
  readonly target?: number
}

const FULL: readonly Size[] = [
  { count: 10, rounds: 11 },
  { count: 100, rounds: 11 },
  { count: 200, rounds: 11, target: 0.8 },
  { count: 1_000, rounds: 7 },
  { count: 10_000, rounds: 5, target: 0.8 },
]
const QUICK: readonly Size[] = [{ count: 20, rounds: 2, target: 0.8 }]

async function measureSize(ground: Ground, { count, rounds: times, target }: Size): Promise<Figure[]> {
  const { url, skills } = await ground.skills(count)
  console.log(`first-sync: ${skills.summary}`)
  const [first, whole, clone, durable] = [
    `first sync of ${count}`,
    `whole process of ${count}`,
    `git clone of ${count}`,
    `git clone of ${count}, synced`,
  ]
  const all = await rounds(times, [
    async () => {
      const { ms, wholeMs } = await firstSync(ground, [ONE, url], count)
      return { [first]: ms, [whole]: wholeMs }
    },
    async () => ({ [clone]: await cloneMs(ground, url) }),
    async () => ({ [durable]: await cloneMs(ground, url, true) }),
  ])
  return [
    figureOf('first-sync', all, [first, clone], target),
    figureOf('first-sync', all, [whole, clone], count === 200 ? 2 : undefined),
    figureOf('first-sync', all, [first, durable]),
  ]
}

/** The same repository by a `file:` address, against HTTP. */
async function measureFromDisk(ground: Ground): Promise<Figure> {
  const count = ground.quick ? 20 : 1_000
  const { url, repository } = await ground.skills(count)
  const [disk, http] = [`first sync of ${count}, file:`, `first sync of ${count}, http:`]
  const all = await rounds(ground.quick ? 2 : 7, [
    async () => ({ [disk]: (await firstSync(ground, [ONE, `file://${repository.folder}`], count)).ms }),
    async () => ({ [http]: (await firstSync(ground, [ONE, url], count)).ms }),
  ])
  return figureOf('first-sync', all, [disk, http], 1)
}

/** A large repository, of which little is of skills. */
async function measureLittleOfMuch(ground: Ground): Promise<Figure> {
  const mebibytes = ground.quick ? 4 : 100
  const paths = Array.from({ length: mebibytes }, (_, index) => `media/part-${index + 1}.bin`)
  const skills = makeSkills(20)
  await using served = await serveSkills({ ...skills, files: { ...skills.files, ...makeBulk(paths, 2 ** 20) } })
  const [ours, reference] = [`20 skills in ${mebibytes} MiB`, `git clone of ${mebibytes} MiB`]
  const all = await rounds(ground.quick ? 2 : 11, [
    async () => ({ [ours]: (await firstSync(ground, [ONE, served.url], 20)).ms }),
    async () => ({ [reference]: await cloneMs(ground, served.url) }),
  ])
  return figureOf('first-sync', all, [ours, reference], 0.2)
}

/** Many repositories, four at once. */
async function measureMany(ground: Ground): Promise<Figure> {
  const contents = ground.quick ? realistic(5, 12) : realistic(50, 60)
  const skills = contents.reduce((sum, { documents }) => sum + documents.length, 0)
  await using served = await serveAll(contents)
  const urls = served.all.map(({ url }) => url)
  const [ours, reference] = [`${urls.length} first syncs`, `${urls.length} git clones`]
  const all = await rounds(ground.quick ? 2 : 7, [
    async () => ({ [ours]: (await firstSync(ground, [MANY, ...urls], skills)).ms }),
    async (): Promise<Times> => {
      const folder = await ground.fresh()
      const numbered = [...urls.entries()]
      const cloneAll = async () => eachOf(numbered, ([at, url]) => cloned(url, join(folder, String(at))))
      return { [reference]: await timed(cloneAll) }
    },
  ])
  return figureOf('first-sync', all, [ours, reference], 0.6)
}

/** In a fresh process, started with the addresses and a folder of its own. */
async function firstSync(
  ground: Ground,
  [program, ...urls]: readonly [string, ...string[]],
  count: number,
): Promise<{ readonly ms: number; readonly wholeMs: number }> {
  const state = join(await ground.fresh(), 'state')
  const args = program === ONE ? [...urls, state] : [state, ...urls]
  const startMs = performance.now()
  const { stdout } = await run(process.execPath, [program, ...args])
  const wholeMs = performance.now() - startMs
  const { ms, skills }: { ms: number; skills: number } = JSON.parse(stdout)
  if (skills !== count) throw new Error(`The first sync serves ${skills} skills of ${count}`)
  return { ms, wholeMs }
}

async function cloneMs(ground: Ground, url: string, isDurable = false): Promise<number> {
  const folder = join(await ground.fresh(), 'clone')
  return timed(async () => {
    await cloned(url, folder)
    // So that it survives a power cut, as the first sync does.
    if (isDurable) await run('sync', ['-f', folder])
  })
}

async function cloned(url: string, folder: string): Promise<void> {
  await runGit(['clone', '--quiet', '--depth', '1', url, folder])
}

await runAlone(import.meta.url, measureFirstSync)
