import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { Follower } from '../../../src/daemon/follower.ts'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { servingOf } from '../../../src/daemon/status/page/mcp-serving.ts'
import type { Serving } from '../../../src/serve/mcp/core/methods.ts'
import type { Docs } from '../../../src/sync/model/docs-folder.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { World, skill } from '../../e2e/world.ts'
import { isFetch } from '../../scenarios/hub.ts'
import { faultsIn } from '../../support/checks.ts'
import { damageObject, loseObject } from '../../support/damage.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { Repository } from '../../support/git/repository.ts'
import { serve } from '../../support/served.ts'
import type { Served } from '../../support/served.ts'

const FILES = { 'skills/a/SKILL.md': skill('a', 'first'), 'docs/usage.md': 'first', 'docs/deep/page.md': 'page' }
const SOURCE = ['root: skills', 'docs: docs']

test('a push to the docs alone makes a new generation, brings one blob, and its bytes are read', async () => {
  await using repository = await Repository.create()
  await repository.commit(FILES)
  await using hub = await serve(repository, { source: SOURCE })
  const { generation, digest } = hub.daemon.registry.catalog
  const before = docsOf(hub)
  const fetches = hub.git.requests.filter(isFetch).length

  await repository.commit({ 'docs/usage.md': 'second' })
  await hub.sync()

  expect(hub.daemon.registry.catalog).toMatchObject({
    generation: generation + 1,
    digest: expect.not.stringMatching(digest),
  })
  expect(await textsOf(servingOf(hub.daemon.parts.serving), docsOf(hub))).toEqual({
    'deep/page.md': 'page',
    'usage.md': 'second',
  })
  // Readers of the generation before still find what it names.
  expect(await textsOf(servingOf(hub.daemon.parts.serving), before)).toEqual({
    'deep/page.md': 'page',
    'usage.md': 'first',
  })
  // The commit with its trees, then one lot of blobs.
  expect(hub.git.requests.filter(isFetch).length - fetches).toBe(2)
})

test('damaged docs do not leave, and are fetched again by themselves', async () => {
  await using repository = await Repository.create()
  await repository.commit(FILES)
  await using hub = await serve(repository, { source: SOURCE })
  const docs = docsOf(hub)
  damageObject(hub.config.state, sha256Of(docs, 'usage.md'))

  const damaged = await textsOf(servingOf(hub.daemon.parts.serving), docs)
  await hub.sync()

  expect(damaged).toEqual({ 'deep/page.md': 'page', 'usage.md': undefined })
  expect(await textsOf(servingOf(hub.daemon.parts.serving), docs)).toEqual({
    'deep/page.md': 'page',
    'usage.md': 'first',
  })
  expect(hub.logged()).toContain('content-damaged')
})

test('a commit without the folder is content: no docs, a finding, and the skills are served', async () => {
  await using repository = await Repository.create()
  await repository.commit(FILES)
  await using hub = await serve(repository, { source: SOURCE })

  await repository.commit({ docs: null })
  await hub.sync()

  const [snapshot] = hub.daemon.registry.catalog.snapshots
  expect(snapshot?.docs).toBeUndefined()
  expect(hub.daemon.registry.catalog.listed).toHaveLength(1)
  expect(hub.daemon.parts.status.status().sources[0]?.findings).toMatchObject([
    { code: 'docs-missing', place: 'fx/docs' },
  ])
})

test('a follower reads docs, and gives out no damaged ones', async () => {
  await using repository = await Repository.create()
  await repository.commit(FILES)
  await using hub = await serve(repository, { source: SOURCE })
  const clock = new FakeClock()
  const log = createLog({
    level: 'info',
    stream: { write: () => {} },
    format: 'json',
    journal: false,
    clock,
    redactor: new Redactor(),
  })
  await using follower = await Follower.open(hub.config, log, clock)
  const docs = docsOf(hub)

  const whole = await textsOf(follower.serving, docs)
  loseObject(hub.config.state, sha256Of(docs, 'usage.md'))

  expect(whole).toEqual({ 'deep/page.md': 'page', 'usage.md': 'first' })
  expect(await textsOf(follower.serving, docs)).toEqual({ 'deep/page.md': 'page', 'usage.md': undefined })
})

test('the lock holds the docs; other ones are not served, and each command tells of them', async () => {
  await using world = await World.create([...SOURCE, 'every: 1h'])
  await world.repository.commit({ ...FILES, alpha: null })
  await world.synced()
  expect(await world.home.command('lock')).toMatchObject({ status: 0 })
  const file = world.home.lockFile
  const locked = JSON.parse(await readFile(file, 'utf8'))
  const { digest } = await storedDocs(world)
  expect(locked.sources.team).toMatchObject({ docs: `sha256:${digest}`, selection: { docs: 'docs' } })
  expect(await world.home.command('sync', '--locked')).toMatchObject({ status: 0 })

  await world.repository.commit({ 'docs/usage.md': 'second' })
  const diff = await world.home.command('diff')
  const update = await world.home.command('update', '--json')
  const log = await world.home.command('log')

  expect(diff.stdout).toContain('  changed  the docs folder\n')
  expect(JSON.parse(update.stdout).sources).toMatchObject([{ docs: 'changed', changes: [] }])
  expect(log.stdout).toContain('changed  the docs folder')
  const forged = JSON.parse(await readFile(file, 'utf8'))
  forged.sources.team.docs = locked.sources.team.docs
  await writeFile(file, JSON.stringify(forged))
  const verify = await world.home.command('verify', '--locked', '--json')
  const end = await world.home.command('sync', '--locked', '--json')

  expect(faultsIn(verify.stdout)).toMatchObject([{ check: 'lock-differs' }])
  expect(end.status).toBe(1)
  expect(JSON.parse(end.stdout).sources).toMatchObject([{ problem: { code: 'lock-mismatch' } }])
  expect(end.stdout).toContain('the docs folder has another digest')
})

test('a lock from before the docs does not fit a configuration that has them, and says so', async () => {
  await using world = await World.create()
  await world.synced()
  expect(await world.home.command('lock')).toMatchObject({ status: 0 })
  const text = await readFile(world.home.lockFile, 'utf8')
  await world.home.configure({ team: [`url: ${world.git.origin}/team.git`, 'docs: docs'] })

  const end = await world.home.command('sync', '--locked')

  expect(text).not.toContain('docs')
  expect(end.status).toBe(1)
  expect(end.stderr).toContain('has docs null in the lock and "docs" in the configuration')
})

test('verify finds docs that are damaged', async () => {
  await using world = await World.create([...SOURCE, 'every: 1h'])
  await world.repository.commit({ ...FILES, alpha: null })
  await world.synced()
  loseObject(world.home.state, sha256Of(await storedDocs(world), 'deep/page.md'))

  const end = await world.home.command('verify', '--json')

  expect(end.status).toBe(3)
  expect(faultsIn(end.stdout)).toMatchObject([{ check: 'file-damaged', subject: 'team/deep/page.md' }])
})

function sha256Of({ files }: Docs, path: string): string {
  return files.find((file) => file.path === path)!.sha256
}

/** The docs that are published. */
async function storedDocs({ home }: World): Promise<Docs> {
  using store = await Store.openExisting(home.state)
  const [held] = (await store!.generations.current())!.sources
  return (await store!.snapshots.read(held!.snapshot)).docs!
}

function docsOf({ daemon }: Served): Docs {
  const docs = daemon.registry.catalog.snapshots[0]?.docs
  if (docs === undefined) throw new Error('No docs are served')
  return docs
}

async function textsOf({ read }: Serving, docs: Docs): Promise<Record<string, string | undefined>> {
  const texts = docs.files.map(async (file) => {
    const bytes = await read(docs, file)
    return [file.path, bytes instanceof Uint8Array ? Buffer.from(bytes).toString() : undefined] as const
  })
  return Object.fromEntries(await Promise.all(texts))
}
