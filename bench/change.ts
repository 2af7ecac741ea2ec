import { join } from 'node:path'
import { runGit } from '../test/support/repository.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import type { Ground } from './ground.ts'
import { Commits } from './notify.ts'
import { openSources } from './source.ts'
import { runAlone } from './table.ts'

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
    figureOf('change', all, [`one of ${many}`, `git fetch, checkout of ${many}`], 1),
    figureOf('change', all, [`one of ${many}`, `one of ${few}`], 3),
    figureOf('change', all, [`git fetch, checkout of ${many}`, `git fetch, checkout of ${few}`]),
  ]
}

/** How it goes on to grow, up to nearly what one source may name. Only where it is asked for. */
async function measureLarge(ground: Ground): Promise<Figure[]> {
  const [many, most] = [10_000, 20_000]
  const small = await sidesOf(ground, many)
  const large = await sidesOf(ground, most)
  const all = await rounds(5, [small.ours, large.ours, small.git, large.git], async () => {
    await small.commit()
    await large.commit()
  })
  return [
    figureOf('change', all, [`one of ${most}`, `git fetch, checkout of ${most}`]),
    figureOf('change', all, [`one of ${most}`, `one of ${many}`]),
    figureOf('change', all, [`git fetch, checkout of ${most}`, `git fetch, checkout of ${many}`]),
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
  const folder = await ground.fresh()
  const sources = await openSources([upstream.url], join(folder, 'state'))
  await sources.pull()
  const clone = join(folder, 'clone')
  await runGit(['clone', '--quiet', '--depth', '1', upstream.url, clone])
  const commits = new Commits(upstream)
  const pullChange = async (): Promise<void> => {
    const updated = await sources.pull()
    if (updated !== 1) throw new Error('The commit was not noticed')
  }
  return {
    commit: () => commits.next(),
    ours: async () => ({ [`one of ${count}`]: await timed(pullChange) }),
    git: async () => ({ [`git fetch, checkout of ${count}`]: await timed(() => checkedOut(clone)) }),
  }
}

async function checkedOut(clone: string): Promise<void> {
  await runGit(['-C', clone, 'fetch', '--quiet', '--depth', '1', 'origin', 'main'])
  await runGit(['-C', clone, 'checkout', '--quiet', '--detach', 'FETCH_HEAD'])
}

await runAlone(import.meta.url, measureChange)
