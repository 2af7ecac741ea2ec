import { join } from 'node:path'
import './run-the-build.ts'
import { runGit } from '../test/support/git/repository.ts'
import { startSeen } from './daemon.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Figure } from './figure.ts'
import type { Ground } from './ground.ts'
import { runAlone } from './table.ts'
import { serveFolders } from './upstream.ts'

const { inParallel } = await import('../src/base/async/parallel.ts')

/** The marketplace as a git remote, against git's own server of the same repository. */
export async function measureMarketplace(ground: Ground): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const skills of ground.quick ? [20] : [200, 10_000]) figures.push(...(await measureClones(ground, skills)))
  return figures
}

async function measureClones(ground: Ground, skills: number): Promise<Figure[]> {
  const { url } = await ground.skills(skills)
  await using daemon = await startSeen(await ground.fresh(), url, { serve: ['marketplace: { name: bench }'] })
  await daemon.sync()
  const remote = new URL('/marketplace.git', daemon.url).href
  const copy = join(await ground.fresh(), 'copy.git')
  const first = await timed(() => clone(remote, copy))
  await using served = await serveFolders([copy])
  const [reference = ''] = served.urls
  const [ours, theirs] = [`clone of ${skills}`, `git http-backend, ${skills}`]
  const times = await rounds(ground.quick ? 1 : 5, [
    async () => ({ [ours]: await timed(async () => clone(remote, await folderIn(ground))) }),
    async () => ({ [theirs]: await timed(async () => clone(reference, await folderIn(ground))) }),
  ])
  const many = ground.quick ? 4 : 100
  const [cpu, cpuOfGit] = [`CPU of ${many} clones of ${skills}`, `CPU of git http-backend, ${many} clones`]
  const all = {
    [cpu]: await cpuOfClones(await ground.fresh(), many, remote, daemon.child),
    [cpuOfGit]: await cpuOfClones(await ground.fresh(), many, reference, served),
  }
  const both = times.map((each) => ({ ...each, [`first ${ours}`]: first }))
  return [
    figureOf('marketplace', both, [`first ${ours}`, theirs]),
    figureOf('marketplace', times, [ours, theirs], 1),
    figureOf('marketplace', [all], [cpu, cpuOfGit], 1),
  ]
}

/** Processor time of a server, while clones are made several at a time. */
async function cpuOfClones(
  folder: string,
  count: number,
  url: string,
  server: { cpuMs(): Promise<number> },
): Promise<number> {
  const before = await server.cpuMs()
  const one = async (index: number): Promise<void> => clone(url, join(folder, String(index)))
  await inParallel(Array(count).keys(), AT_ONCE, one, new AbortController().signal)
  return (await server.cpuMs()) - before
}

const AT_ONCE = 8

async function clone(url: string, folder: string): Promise<void> {
  await runGit(['clone', '--quiet', '--bare', url, folder])
}

async function folderIn(ground: Ground): Promise<string> {
  return join(await ground.fresh(), 'clone.git')
}

await runAlone(import.meta.url, measureMarketplace)
