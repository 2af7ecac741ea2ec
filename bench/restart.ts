import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { modernHttp } from '../test/support/peer.ts'
import { temporaryFolder } from '../test/support/temporary.ts'
import { startDaemon } from './daemon.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Extent, Figure, Times } from './figure.ts'
import { runAlone } from './table.ts'
import { serveSkills } from './upstream.ts'

const run = promisify(execFile)

/** From the start of a daemon that has a generation on the disk to its first listing, with the git server gone. */
export async function measureRestart({ quick }: Extent): Promise<Figure[]> {
  const count = quick ? 20 : 200
  await using folder = await temporaryFolder()
  const url = await syncOnce(folder.path, count)
  const all = await rounds(quick ? 3 : 21, [
    () => measureOurs(folder.path, url, count),
    async () => ({ 'bare Node': await timed(() => run(process.execPath, ['--eval', ''])) }),
  ])
  return [
    figureOf('restart', all, ['listening', 'bare Node']),
    figureOf('restart', all, ['first listing', 'bare Node']),
  ]
}

/** Leaves a generation in the folder, and no git server. Says where that was. */
async function syncOnce(folder: string, count: number): Promise<string> {
  await using upstream = await serveSkills(count)
  await using daemon = await startDaemon(folder, upstream.url)
  await daemon.sync()
  return upstream.url
}

async function measureOurs(folder: string, url: string, count: number): Promise<Times> {
  const startMs = performance.now()
  await using daemon = await startDaemon(folder, url, 'error')
  const listeningMs = performance.now() - startMs
  await using peer = await modernHttp(daemon.url)
  const { result } = await peer.call('skills/list')
  const listedMs = performance.now() - startMs
  if (result.skills.length !== count) throw new Error(`${result.skills.length} skills of ${count} are listed`)
  return { listening: listeningMs, 'first listing': listedMs }
}

await runAlone(import.meta.url, measureRestart)
