import { join } from 'node:path'
import { runGit } from '../test/support/git/repository.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import type { Ground } from './ground.ts'
import { Commits } from './notify.ts'
import { makeSkills } from './skills.ts'
import { openSources } from './source.ts'
import { runAlone } from './table.ts'
import { serveAll } from './upstream.ts'

/** One skill of many has changed: fetched, stored and published, against `git fetch` and `git checkout` of the same commit. */
export async function measureChange(ground: Ground): Promise<Figure[]> {
  if (process.argv.includes('--large')) return measureLarge(ground)
  const [few, many] = ground.quick ? [20, 40] : [1_000, 10_000]
  const small = await sidesOf(ground, few)
  const large = await sidesOf(ground, many)
  const all = await rounds(ground.quick ? 2 : 15, [small.ours, large.ours, small.git, large.git], async () => {
    await small.commit()
    await large.commit()
  })
  return [
    figureOf('change', all, [`one of ${few}`, `git fetch, checkout of ${few}`]),
    figureOf('change', all, [`one of ${many}`, `git fetch, checkout of ${many}`], 0.6),
    figureOf('change', all, [`one of ${many}`, `one of ${few}`], 3),
    figureOf('change', all, [`git fetch, checkout of ${many}`, `git fetch, checkout of ${few}`]),
  ]
}

/** How it goes on to grow: the same change beside nine more such sources. Only where it is asked for. */
async function measureLarge(ground: Ground): Promise<Figure[]> {
  const [each, more] = [10_000, 9]
  const contents = makeSkills(each)
  await using others = await serveAll(Array.from({ length: more }, () => contents))
  const alone = await sidesOf(ground, each)
  const total = each * (more + 1)
  const amid = await storeOf(
    ground,
    each,
    total,
    others.all.map(({ url }) => url),
  )
  const all = await rounds(5, [alone.ours, amid, alone.git], () => alone.commit())
  return [
    figureOf('change', all, [`one of ${total}`, `git fetch, checkout of ${each}`]),
    figureOf('change', all, [`one of ${total}`, `one of ${each}`]),
  ]
}

interface Sides {
  readonly commit: () => Promise<void>
  readonly ours: () => Promise<Times>
  readonly git: () => Promise<Times>
}

/** A store and a clone, of the same repository. Both are there already when a commit comes. */
async function sidesOf(ground: Ground, count: number): Promise<Sides> {
  const upstream = await ground.skills(count)
  const ours = await storeOf(ground, count, count, [])
  const clone = join(await ground.fresh(), 'clone')
  await runGit(['clone', '--quiet', '--depth', '1', upstream.url, clone])
  const commits = new Commits(upstream)
  return {
    commit: () => commits.next(),
    ours,
    git: async () => ({ [`git fetch, checkout of ${count}`]: await timed(() => checkedOut(clone)) }),
  }
}

/** What pulls the repository of so many skills, into a store that has those of others besides: `total` in all. */
async function storeOf(
  ground: Ground,
  count: number,
  total: number,
  others: readonly string[],
): Promise<Sides['ours']> {
  const { url } = await ground.skills(count)
  const sources = await openSources([url, ...others], join(await ground.fresh(), 'state'))
  await sources.pull()
  const pullChange = async (): Promise<void> => {
    const updated = await sources.pull(url)
    if (updated !== 1) throw new Error('The commit was not noticed')
  }
  return async () => ({ [`one of ${total}`]: await timed(pullChange) })
}

async function checkedOut(clone: string): Promise<void> {
  await runGit(['-C', clone, 'fetch', '--quiet', '--depth', '1', 'origin', 'main'])
  await runGit(['-C', clone, 'checkout', '--quiet', '--detach', 'FETCH_HEAD'])
}

await runAlone(import.meta.url, measureChange)
