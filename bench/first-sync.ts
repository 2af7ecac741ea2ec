import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { runGit } from '../test/support/repository.ts'
import { temporaryFolder } from '../test/support/temporary.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Extent, Figure } from './figure.ts'
import { runAlone } from './table.ts'
import { serveSkills } from './upstream.ts'

const run = promisify(execFile)
const PROCESS = fileURLToPath(new URL('./first-sync-process.ts', import.meta.url))

/** The first sync of a repository into an empty store, all of it on the disk, against `git clone --depth 1`. */
export async function measureFirstSync({ quick }: Extent): Promise<Figure[]> {
  const count = quick ? 20 : 200
  await using folder = await temporaryFolder()
  await using upstream = await serveSkills(count)
  console.log(`first-sync: ${upstream.skills.summary}`)
  const state = join(folder.path, 'state')
  const clone = join(folder.path, 'clone')
  const all = await rounds(quick ? 2 : 11, [
    async () => {
      await settle(folder.path, state)
      return firstSync(upstream.url, state, count)
    },
    async () => {
      await settle(folder.path, clone)
      return { 'git clone': await timed(() => runGit(['clone', '--quiet', '--depth', '1', upstream.url, clone])) }
    },
    async () => {
      await settle(folder.path, clone)
      return { 'git clone, synced': await timed(() => cloneDurably(upstream.url, clone)) }
    },
  ])
  return [
    figureOf('first-sync', all, ['first sync', 'git clone'], 2),
    figureOf('first-sync', all, ['whole process', 'git clone']),
    figureOf('first-sync', all, ['first sync', 'git clone, synced']),
  ]
}

async function firstSync(url: string, state: string, count: number) {
  const startMs = performance.now()
  const { stdout } = await run(process.execPath, [PROCESS, url, state])
  const wholeMs = performance.now() - startMs
  const { ms, skills }: { ms: number; skills: number } = JSON.parse(stdout)
  if (skills !== count) throw new Error(`The first sync serves ${skills} skills of ${count}`)
  return { 'first sync': ms, 'whole process': wholeMs }
}

/** What a clone costs that survives a power cut, as the first sync does. */
async function cloneDurably(url: string, folder: string): Promise<void> {
  await runGit(['clone', '--quiet', '--depth', '1', url, folder])
  await run('sync', ['-f', folder])
}

/** Removes what the last one left, and waits for the disk: nobody is to pay for what others have written. */
export async function settle(folder: string, left: string): Promise<void> {
  await rm(left, { recursive: true, force: true })
  await run('sync', ['-f', folder])
}

await runAlone(import.meta.url, measureFirstSync)
