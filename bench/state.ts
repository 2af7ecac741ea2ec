import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { runGit } from '../test/support/git/repository.ts'
import { startSeen } from './daemon.ts'
import { figureOf } from './figure.ts'
import type { Figure } from './figure.ts'
import type { Ground } from './ground.ts'
import { Commits } from './notify.ts'
import { runAlone } from './table.ts'

const run = promisify(execFile)

/** What a state folder takes of the disk beside a clone, and what its daemon takes of the memory after a first sync. */
export async function measureState(ground: Ground): Promise<Figure[]> {
  return [...(await measureDisk(ground)), await measureMemory(ground)]
}

/** After the first sync, and after many commits, of which the clone fetched each as the daemon did. */
async function measureDisk(ground: Ground): Promise<Figure[]> {
  const [skills, commits] = ground.quick ? [20, 3] : [200, 1_000]
  const upstream = await ground.skills(skills)
  const folder = await ground.fresh()
  const clone = join(folder, 'clone')
  await runGit(['clone', '--quiet', '--depth', '1', upstream.url, clone])
  const sizes = async () => [await kibibytesOf(join(folder, 'state')), await kibibytesOf(clone)] as const
  await (await syncedDaemon(folder, upstream.url))[Symbol.asyncDispose]()
  const [first, cloned] = await sizes()
  await follow(commits, new Commits(upstream), folder, upstream.url)
  const [later, fetched] = await sizes()
  const times = {
    [`state of ${skills}`]: first,
    [`clone of ${skills}`]: cloned,
    [`state after ${commits} commits`]: later,
    [`clone after ${commits} commits`]: fetched,
  }
  return [
    figureOf('state', [times], [`state of ${skills}`, `clone of ${skills}`], undefined, 'KiB'),
    figureOf('state', [times], [`state after ${commits} commits`, `clone after ${commits} commits`], undefined, 'KiB'),
  ]
}

async function follow(count: number, commits: Commits, folder: string, url: string): Promise<void> {
  const clone = join(folder, 'clone')
  await using daemon = await syncedDaemon(folder, url)
  for (let index = 0; index < count; index += 1) {
    await commits.next()
    await daemon.sync()
    await runGit(['-C', clone, 'fetch', '--quiet', '--depth', '1', 'origin', 'main'])
    await runGit(['-C', clone, 'checkout', '--quiet', '--detach', 'FETCH_HEAD'])
  }
}

/** The heap and its buffers: after the first sync, and after a restart with the same state. */
async function measureMemory(ground: Ground): Promise<Figure> {
  const skills = ground.quick ? 20 : 10_000
  const { url } = await ground.skills(skills)
  const folder = await ground.fresh()
  const [first, again] = [`memory after a first sync of ${skills}`, 'memory after a restart']
  const times = { [first]: await memoryOf(folder, url), [again]: await memoryOf(folder, url) }
  return figureOf('state', [times], [first, again], 1.3, 'KiB')
}

async function memoryOf(folder: string, url: string): Promise<number> {
  await using daemon = await syncedDaemon(folder, url)
  return Number(await daemon.child.tell('memory'))
}

async function syncedDaemon(folder: string, url: string) {
  const daemon = await startSeen(folder, url)
  await daemon.sync()
  return daemon
}

/** As the disk has it, in whole blocks. */
async function kibibytesOf(folder: string): Promise<number> {
  const { stdout } = await run('du', ['-sk', folder])
  return Number.parseInt(stdout, 10)
}

await runAlone(import.meta.url, measureState)
