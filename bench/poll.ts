import './run-the-build.ts'
import { join } from 'node:path'
import { runGit } from '../test/support/git/repository.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Figure } from './figure.ts'
import type { Ground } from './ground.ts'
import { makeSkills } from './skills.ts'
import { eachOf, openSource, openSources } from './source.ts'
import type { OpenSource } from './source.ts'
import { runAlone } from './table.ts'
import { serveAll } from './upstream.ts'

/** Unchanged polls in a process that polled before, against `git ls-remote`, and against each other where there is more. */
export async function measurePoll(ground: Ground): Promise<Figure[]> {
  return [...(await measureOne(ground)), await measureMany(ground), await measureGrowth(ground)]
}

async function measureOne(ground: Ground): Promise<Figure[]> {
  const { url } = await ground.skills(ground.quick ? 20 : 200)
  const source = await synced(ground, url)
  const all = await rounds(ground.quick ? 3 : 41, [
    async () => ({ resolve: await timed(() => source.resolve()) }),
    async () => ({ 'whole pull': await timed(() => source.pullUnchanged()) }),
    async () => ({ 'bare request': await timed(() => askForRefs(url)) }),
    async () => ({ 'git ls-remote': await timed(() => listRefs(url)) }),
  ])
  return [
    figureOf('poll', all, ['resolve', 'git ls-remote']),
    figureOf('poll', all, ['whole pull', 'git ls-remote'], 0.5),
    figureOf('poll', all, ['bare request', 'git ls-remote']),
  ]
}

/** Many sources of one host, by both as many at once. */
async function measureMany(ground: Ground): Promise<Figure> {
  const count = ground.quick ? 8 : 100
  await using served = await serveAll(
    Array.from({ length: count }, (_, index) => makeSkills(3, { number: index * 100, pages: 2 })),
  )
  const urls = served.all.map(({ url }) => url)
  const sources = await openSources(urls, join(await ground.fresh(), 'state'))
  await sources.pull()
  const [ours, reference] = [`${count} pulls`, `${count} git ls-remotes`]
  const all = await rounds(ground.quick ? 2 : 11, [
    async () => ({ [ours]: await timed(async () => expectNothing(await sources.pull())) }),
    async () => ({ [reference]: await timed(() => eachOf(urls, listRefs)) }),
  ])
  return figureOf('poll', all, [ours, reference], 0.25)
}

/** What a hundred times as many skills add to a pull that finds nothing new. */
async function measureGrowth(ground: Ground): Promise<Figure> {
  const [few, many] = ground.quick ? [20, 40] : [100, 10_000]
  const small = await synced(ground, (await ground.skills(few)).url)
  const large = await synced(ground, (await ground.skills(many)).url)
  const [ours, reference] = [`whole pull of ${many}`, `whole pull of ${few}`]
  const all = await rounds(ground.quick ? 3 : 41, [
    async () => ({ [ours]: await timed(() => large.pullUnchanged()) }),
    async () => ({ [reference]: await timed(() => small.pullUnchanged()) }),
  ])
  return figureOf('poll', all, [ours, reference], 1.2)
}

async function synced(ground: Ground, url: string): Promise<OpenSource> {
  const source = await openSource(url, join(await ground.fresh(), 'state'))
  await source.firstSync()
  return source
}

function expectNothing(updated: number): void {
  if (updated !== 0) throw new Error(`The polls found ${updated} new`)
}

async function listRefs(url: string): Promise<void> {
  await runGit(['ls-remote', '--symref', url, 'HEAD'])
}

/** The one request of a poll with nothing around it: what the server and the loopback take. */
async function askForRefs(url: string): Promise<void> {
  const headers = { 'content-type': 'application/x-git-upload-pack-request', 'git-protocol': 'version=2' }
  const body = '0014command=ls-refs\n00010009peel\n000csymrefs\n0014ref-prefix HEAD\n0000'
  const answer = await fetch(`${url}/git-upload-pack`, { method: 'POST', headers, body })
  if (!(await answer.text()).includes('HEAD')) throw new Error('The server did not list its refs')
}

await runAlone(import.meta.url, measurePoll)
