import { execFile } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { modernHttp } from '../test/support/clients/peer.ts'
import { runGit } from '../test/support/git/repository.ts'
import { countBefore } from './counting-proxy.ts'
import { startDaemon, startSeen } from './daemon.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import type { Ground } from './ground.ts'
import { Client } from './serve-clients.ts'
import { runAlone } from './table.ts'

const run = promisify(execFile)

/** A daemon that has a generation on the disk, with the git server gone: until it serves, and what its memory holds then. */
export async function measureRestart(ground: Ground): Promise<Figure[]> {
  const [small, large] = ground.quick ? [20, 40] : [200, 10_000]
  const stored = await storedSkills(ground, large)
  return [
    ...(await measureSmall(await storedSkills(ground, small), ground.quick)),
    ...(await measureLarge(ground, stored)),
    ...(await measureMemory(stored, await storedSkills(ground, 0))),
  ]
}

async function measureSmall(stored: Stored, quick: boolean): Promise<Figure[]> {
  const all = await rounds(quick ? 3 : 21, [
    () => measureOurs(stored, ['listening', 'first listing']),
    async () => ({ 'bare Node': await timed(() => run(process.execPath, ['--eval', ''])) }),
  ])
  return [
    figureOf('restart', all, ['listening', 'bare Node']),
    figureOf('restart', all, ['first listing', 'bare Node']),
  ]
}

/** Against reading the files of all skills, and against the time that somebody waits without asking what is wrong. */
async function measureLarge(ground: Ground, stored: Stored): Promise<Figure[]> {
  const { folder, count } = stored
  const names = join(folder, 'names')
  const clone = join(await ground.fresh(), 'clone')
  await runGit(['clone', '--quiet', '--depth', '1', (await ground.skills(count)).url, clone])
  const entries = await readdir(join(clone, 'skills'), { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  await writeFile(names, files.map(({ parentPath, name }) => `${join(parentPath, name)}\0`).join(''))
  const [listening, listing] = [`listening with ${count}`, `listing of ${count}`]
  const all = await rounds(ground.quick ? 2 : 11, [
    () => measureOurs(stored, [listening, listing]),
    async () => ({
      [`cat of ${count}`]: await timed(() => run('sh', ['-c', READ, 'sh', names])),
      'half a second': 500,
    }),
  ])
  return [
    figureOf('restart', all, [listening, `cat of ${count}`]),
    figureOf('restart', all, [listing, `cat of ${count}`], 0.3),
    figureOf('restart', all, [listing, 'half a second'], 1),
  ]
}

/** As few processes as there can be. */
const READ = 'xargs -0 -s 2000000 cat < "$1" > /dev/null'

/** What serving takes of the memory, all pages listed, against the bytes of those pages. */
async function measureMemory(stored: Stored, none: Stored): Promise<Figure[]> {
  const without = await held(none)
  const with_ = await held(stored)
  const times = {
    [`heap of ${stored.count}`]: with_.heapKiB - without.heapKiB,
    [`heap, buffers of ${stored.count}`]: with_.memoryKiB - without.memoryKiB,
    [`listing of ${stored.count}`]: with_.listedKiB,
  }
  return [
    figureOf('memory', [times], [`heap of ${stored.count}`, `listing of ${stored.count}`], 3, 'KiB'),
    figureOf('memory', [times], [`heap, buffers of ${stored.count}`, `listing of ${stored.count}`], 2.5, 'KiB'),
  ]
}

async function held({ folder, url }: Stored) {
  await using seen = await startSeen(folder, url)
  const client = await Client.open('modern', seen.url)
  const pages = await client.pages()
  return {
    heapKiB: await seen.child.heapKiB(),
    memoryKiB: Number(await seen.child.tell('memory')),
    listedKiB: pages.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0) / 1_024,
  }
}

/** A folder with a generation of so many skills, and where they came from, which is gone. */
interface Stored {
  readonly folder: string
  readonly url: string
  readonly count: number
}

async function storedSkills(ground: Ground, count: number): Promise<Stored> {
  const folder = await ground.fresh()
  const upstream = await ground.skills(count)
  // Others go on using the git server; what is reached by another address is gone with that.
  await using way = await countBefore(upstream.url)
  await using daemon = await startDaemon(folder, way.url)
  await daemon.sync()
  return { folder, url: way.url, count }
}

async function measureOurs(
  { folder, url, count }: Stored,
  [listening, listing]: readonly [string, string],
): Promise<Times> {
  const startMs = performance.now()
  await using daemon = await startDaemon(folder, url, 'error')
  const listeningMs = performance.now() - startMs
  await using peer = await modernHttp(daemon.url)
  const { result } = await peer.call('skills/list')
  const listedMs = performance.now() - startMs
  const isWhole = result.skills.length === count || result.nextCursor !== undefined
  if (!isWhole) throw new Error(`${result.skills.length} skills of ${count} are listed`)
  return { [listening]: listeningMs, [listing]: listedMs }
}

await runAlone(import.meta.url, measureRestart)
