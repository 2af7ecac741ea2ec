import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/async/clock.ts'
import type { Clock } from '../../src/base/async/clock.ts'
import { environmentOf } from '../../src/daemon/config/environment.ts'
import { parseConfig } from '../../src/daemon/configuration.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import { createLog } from '../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../src/daemon/runtime/log/redactor.ts'
import { Store } from '../../src/sync/store/store.ts'
import { fillFolder } from '../support/content/folder.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { skillText } from '../support/git/scripted-upstream.ts'
import { pullNow } from '../support/pull-now.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { sourceId } from '../sync/store/samples.ts'

test.each(['other/state', '.local/state/skillsyncd/adhoc/0'])(
  'a home is served without the copies that lie in it, with the state in %s',
  async (state) => {
    await using home = await temporaryFolder()
    await fillFolder(home.path, {
      'skills/a/SKILL.md': skillText('a'),
      '.local/state/skillsyncd/adhoc/1/skills/x/b/SKILL.md': skillText('b'),
    })
    const clock = new FakeClock()
    await using daemon = await startedAt(home.path, state, clock)
    await pullNow(daemon)

    const again = await pullNow(daemon)

    expect(again.get(sourceId('home'))?.kind).toBe('unchanged')
    expect(daemon.registry.catalog.listed.map(({ name }) => name)).toEqual(['a'])
  },
)

test('a change that nobody watches for is found by the first call after five seconds, whatever its size and time', async () => {
  await using home = await temporaryFolder()
  const file = join(home.path, 'skills/a/SKILL.md')
  await fillFolder(home.path, { 'skills/a/SKILL.md': skillText('a', 'license: one\n') })
  const clock = new FakeClock()
  await using daemon = await startedAt(home.path, 'state', clock)
  await pullNow(daemon)
  const { atime, mtime } = await stat(file)
  await writeFile(file, skillText('a', 'license: two\n'))
  await utimes(file, atime, mtime)

  await clock.advance(4_000)
  await daemon.parts.scheduler.refresh()
  const early = licenseIn(daemon)
  await clock.advance(1_000)
  await daemon.parts.scheduler.refresh()

  expect([early, licenseIn(daemon)]).toEqual(['one', 'two'])
})

test('a change in a folder that is not watched so far is found by the next call', async () => {
  await using home = await temporaryFolder()
  await fillFolder(home.path, { 'a/SKILL.md': skillText('a') })
  await using daemon = await startedAt(home.path, 'state', systemClock)
  await pullNow(daemon)

  daemon.poll()
  // Nothing that watches has its turn before it is there.
  mkdirSync(join(home.path, 'b'))
  writeFileSync(join(home.path, 'b/SKILL.md'), skillText('b'))
  await daemon.parts.scheduler.refresh()

  expect(namesIn(daemon)).toEqual(['a', 'b'])
})

test('a change that is watched is found by the next call, before it has come to rest', async () => {
  await using home = await temporaryFolder()
  await fillFolder(home.path, { 'a/SKILL.md': skillText('a') })
  const isWatched = Promise.withResolvers<void>()
  await using daemon = await startedAt(home.path, 'state', systemClock, (line) => {
    if (line.includes('folder-watched')) isWatched.resolve()
  })
  daemon.poll()
  await isWatched.promise
  await daemon.parts.scheduler.refresh()
  const before = namesIn(daemon)

  await addSkill(home.path, 'b')
  await daemon.parts.scheduler.refresh()
  const after = namesIn(daemon)
  await rm(join(home.path, 'a'), { recursive: true })
  await daemon.parts.scheduler.refresh()

  expect([before, after, namesIn(daemon)]).toEqual([['a'], ['a', 'b'], ['b']])
})

test('a folder that this process has not looked at is looked at by the first call, whoever did a moment ago', async () => {
  await using home = await temporaryFolder()
  await fillFolder(home.path, { 'a/SKILL.md': skillText('a') })
  const clock = new FakeClock()
  {
    await using daemon = await startedAt(home.path, 'state', clock)
    await pullNow(daemon)
  }
  await using daemon = await startedAt(home.path, 'state', clock)
  await addSkill(home.path, 'b')

  await daemon.parts.scheduler.refresh()

  expect(namesIn(daemon)).toEqual(['a', 'b'])
})

async function addSkill(home: string, name: string): Promise<void> {
  await mkdir(join(home, name))
  await writeFile(join(home, name, 'SKILL.md'), skillText(name))
}

async function startedAt(
  home: string,
  state: string,
  clock: Clock,
  onLine: (line: string) => void = () => {},
): Promise<Daemon> {
  const yaml = `sources:\n  - id: home\n    path: ${home}\nstate: ${join(home, state)}\n`
  const environment = environmentOf({}, home)
  const config = parseConfig(yaml, 'skillsyncd.yaml', environment)
  if (Array.isArray(config)) throw new Error(JSON.stringify(config))
  const redactor = new Redactor()
  const stream = { write: onLine }
  const log = createLog({ level: 'debug', stream, format: 'json', journal: false, clock, redactor })
  const store = await Store.open(config.state)
  return Daemon.start(config, { store, clock, log, environment, redactor })
}

function namesIn(daemon: Daemon): string[] {
  return daemon.registry.catalog.listed.map(({ name }) => name)
}

function licenseIn(daemon: Daemon): unknown {
  return daemon.registry.catalog.listed[0]?.frontmatter?.['license']
}
