import { join } from 'node:path'
import { expect, test } from 'vitest'
import { idsOf } from '../../../src/daemon/config/config.ts'
import type { Config } from '../../../src/daemon/config/config.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { withPresentSources } from '../../../src/daemon/config/present-sources.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import { lockEntryOf } from '../../../src/sync/model/decisions/lock.ts'
import { writeHubSources } from '../../../src/sync/store/hub-sources.ts'
import { changeLock } from '../../../src/sync/store/lock-file.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { KEY } from '../../features/channel/follow/site.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { never, snapshotOf, sourceId } from '../../sync/store/samples.ts'

test('before the sources of a followed hub are known they are those of the lock, unless it is ignored', async () => {
  await using folder = await temporaryFolder()
  const [followed, ignored] = [configIn(folder.path), configIn(folder.path, 'lock: ignore')]
  await lockIn(followed, 'a', 'b')

  expect(idsOf(await withPresentSources(followed))).toEqual(['a', 'b'])
  expect(idsOf(await withPresentSources(ignored))).toEqual([])
})

test('the known sources of a followed hub count, and with --locked those of the lock alone', async () => {
  await using folder = await temporaryFolder()
  const [config, ignored] = [configIn(folder.path), configIn(folder.path, 'lock: ignore')]
  const mode = { locked: true, offline: false }
  await lockIn(config, 'a')
  using store = await Store.open(config.state)
  await writeHubSources(store.folder, { sources: [sourceId('b'), sourceId('c')], gone: [sourceId('c')], waiting: [] })

  expect(idsOf(await withPresentSources(config))).toEqual(['b', 'c'])
  expect(idsOf(await withPresentSources(ignored))).toEqual(['b', 'c'])
  expect(idsOf(await withPresentSources({ ...config, mode }))).toEqual(['a'])
})

/** The configuration in a folder that follows a hub. */
function configIn(folder: string, more = ''): Config {
  const text = `follow: { path: channel, key: '${KEY}' }\nstate: state\n${more}\n`
  const config = parseConfig(text, join(folder, 'skillsyncd.yaml'), environmentOf({ HOME: folder }, folder))
  if (!Array.isArray(config)) return config
  throw new Error(config.map(({ key, message }) => `${key}: ${message}`).join('\n'))
}

async function lockIn({ lock, follow }: Config, ...ids: readonly string[]): Promise<void> {
  if (lock === undefined || follow === undefined) throw new Error('The configuration follows no hub, or has no lock')
  const entry = lockEntryOf(follow.source, snapshotOf())
  const sources = new Map(ids.map((id) => [sourceId(id), entry]))
  await changeLock(lock, (before) => ({ ...before, sources }), Date.now, never())
}
