import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { relative } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFailed, test } from 'vitest'
import { isTemporary } from '../../../src/sync/store/files/atomic.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { Dice } from '../../fuzz/dice.ts'
import { lawRuns } from '../../support/law-runs.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { verifyCurrent } from './samples.ts'

const CHILD = fileURLToPath(new URL('crash-child.ts', import.meta.url))
const BUILT = new URL('../../../dist/sync/store/store.js', import.meta.url).href
const STRIPPING = ['--experimental-strip-types', '--no-warnings']

/** More calls than one round of the child makes, from its start to the end of its first collection. */
const CALLS = 360

/** Of the calls that are chosen; `CRASH_SEED` chooses those of an earlier run. */
const SEED = Number(process.env['CRASH_SEED'] ?? randomInt(2 ** 31))

interface Ended {
  readonly signal: NodeJS.Signals | null
  readonly lines: readonly string[]
}

async function runChild(state: string, first: number, call: number, moment: 'before' | 'in'): Promise<Ended> {
  const args = [...STRIPPING, CHILD, BUILT, state, `${first}`, `${call}`, moment]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const closed = once(child, 'close')
  const [said, complained] = await Promise.all([text(child.stdout), text(child.stderr)])
  const signal: NodeJS.Signals | null = (await closed)[1]

  expect(complained).toBe('')
  return { signal, lines: said.split('\n').filter((line) => line !== '') }
}

/** Which round of the child is served, by what it published; 0 before the first. Throws unless all of it is whole. */
async function roundServed(store: Store): Promise<number> {
  await verifyCurrent(store)
  const [held] = (await store.generations.current())?.sources ?? []
  if (held === undefined) return 0
  const [skill] = (await store.snapshots.read(held.snapshot)).skills
  return Number(skill?.name?.slice('skill-'.length))
}

async function litterIn(store: Store): Promise<string[]> {
  const names = await Promise.all(
    [
      store.folder.path,
      ...(['skills', 'snapshots', 'generations', 'sources'] as const).map((name) => store.folder.at(name)),
    ].map((folder) => readdir(folder)),
  )
  return [...names.flat().filter(isTemporary), ...(await readdir(store.folder.at('tmp')))]
}

describe.each(['before', 'in'] as const)('a process that is killed %s a call to the file system', (moment) => {
  test('comes back to the old generation or the new one, whole, many times in a row', async () => {
    await using folder = await temporaryFolder()
    let published = 0
    const dice = new Dice(SEED, 0)
    onTestFailed(() => void process.stderr.write(`It was with CRASH_SEED=${SEED}\n`))

    for (let kill = 0; kill < lawRuns(40, 1 / 2); kill += 1) {
      const call = 1 + dice.below(CALLS)
      const { signal, lines } = await runChild(folder.path, published + 1, call, moment)
      const acknowledged = Number(lines.at(-1) ?? published)
      const store = await Store.open(folder.path)
      const found = await roundServed(store)
      await store.sweep()

      expect(signal).toBe('SIGKILL')
      expect([acknowledged, acknowledged + 1], `killed ${moment} call ${call}`).toContain(found)
      expect(await litterIn(store)).toEqual([])
      expect(await roundServed(store)).toBe(found)
      published = found
    }

    expect(published).toBeGreaterThan(0)
  })
})

test('nothing gets its name before its bytes are on the disk, nor before the names of what it needs are', async () => {
  await using folder = await temporaryFolder()
  await Store.open(folder.path)

  const { lines } = await runChild(folder.path, 1, 0, 'in')

  const steps = lines.map((line) => shortened(line, folder.path))
  const published = steps.findIndex((step) => /^rename (?:skills|docs)\/\* /.test(step))
  const written = steps.slice(0, published).filter((step) => /^sync (?:skills|docs)\/\*/.test(step))
  expect(written.sort()).toEqual([...DRAFT, ...DRAFT, ...DOCS].sort())
  const renames = ['rename docs/* docs/*', 'rename skills/* skills/*', 'rename skills/* skills/*']
  expect(steps.slice(published, published + renames.length).sort()).toEqual(renames)
  expect(steps.slice(published + renames.length)).toEqual([
    'sync skills',
    'sync docs',
    'sync snapshots/*',
    'rename snapshots/* snapshots/*.json',
    'sync snapshots',
    'sync generations/*',
    'rename generations/* generations/1.json',
    'sync generations',
    'sync *',
    'rename * current',
    'sync ',
  ])
})

/** What has to be synced of a skill before it gets its name. */
const DRAFT = [
  'sync skills/*',
  'sync skills/*/skill-*',
  'sync skills/*/skill-*/SKILL.md',
  'sync skills/*/skill-*/references',
  'sync skills/*/skill-*/references/deep',
  'sync skills/*/skill-*/references/deep/own.md',
  'sync skills/*/skill-*/references/shared.md',
  'sync skills/*/skill-*/run.sh',
]

const DOCS = ['sync docs/*', 'sync docs/*/deep', 'sync docs/*/deep/page.md', 'sync docs/*/index.md']

/** What the child did, with paths from the state folder and a `*` for all that differs from run to run. */
function shortened(line: string, state: string): string {
  const [what, ...paths]: string[] = JSON.parse(line)
  const short = paths.map((path) => relative(state, path).replaceAll(/\.tmp-\w+|[0-9a-f]{64}|(?<=skill-)\d/g, '*'))
  return [what, ...short].join(' ')
}
