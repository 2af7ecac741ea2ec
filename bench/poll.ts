import './run-the-build.ts'
import { join } from 'node:path'
import { runGit } from '../test/support/repository.ts'
import { temporaryFolder } from '../test/support/temporary.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Extent, Figure } from './figure.ts'
import { openSource } from './source.ts'
import { runAlone } from './table.ts'
import { serveSkills } from './upstream.ts'

/** An unchanged poll of one source, in a process that polled it before, against `git ls-remote`. */
export async function measurePoll({ quick }: Extent): Promise<Figure[]> {
  await using folder = await temporaryFolder()
  await using upstream = await serveSkills(quick ? 20 : 200)
  const source = await openSource(upstream.url, join(folder.path, 'state'))
  await source.firstSync()
  const all = await rounds(quick ? 3 : 41, [
    async () => ({ resolve: await timed(() => source.resolve()) }),
    async () => ({ 'whole pull': await timed(() => source.pullUnchanged()) }),
    async () => ({ 'bare request': await timed(() => askForRefs(upstream.url)) }),
    async () => ({ 'git ls-remote': await timed(() => runGit(['ls-remote', '--symref', upstream.url, 'HEAD'])) }),
  ])
  return [
    figureOf('poll', all, ['resolve', 'git ls-remote'], 1),
    figureOf('poll', all, ['whole pull', 'git ls-remote']),
    figureOf('poll', all, ['bare request', 'git ls-remote']),
  ]
}

/** The one request of a poll with nothing around it: what the server and the loopback take. */
async function askForRefs(url: string): Promise<void> {
  const headers = { 'content-type': 'application/x-git-upload-pack-request', 'git-protocol': 'version=2' }
  const body = '0014command=ls-refs\n00010009peel\n000csymrefs\n0014ref-prefix HEAD\n0000'
  const answer = await fetch(`${url}/git-upload-pack`, { method: 'POST', headers, body })
  if (!(await answer.text()).includes('HEAD')) throw new Error('The server did not list its refs')
}

await runAlone(import.meta.url, measurePoll)
