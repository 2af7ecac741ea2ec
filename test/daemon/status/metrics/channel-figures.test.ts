import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadSurfaces } from '../../../../src/daemon/features.ts'
import { daemonFiguresOf } from '../../../../src/daemon/status/metrics/daemon-figures.ts'
import { Metrics } from '../../../../src/daemon/status/metrics/metrics.ts'
import { encodeEntry } from '../../../../src/sync/store/channel-entry.ts'
import { signerText } from '../../../../src/sync/transparency-log/signed-note.ts'
import { CraftedChannel, KEY, ORIGIN, SIGNER, skillNamed } from '../../../features/channel/follow/site.ts'
import { Hub, skill } from '../../../scenarios/hub.ts'
import { Figures } from '../../../support/http/prometheus.ts'
import { pullNow } from '../../../support/pull-now.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

const NOON = Date.UTC(2026, 5, 15, 12) / 1_000

test('each channel of a hub has its entries, their newest time, and the code of a failure', async () => {
  await using folder = await temporaryFolder()
  const { path } = folder
  const key = join(path, 'channel.key')
  await writeFile(key, signerText(SIGNER, Buffer.alloc(32, 1)), { mode: 0o600 })
  await mkdir(join(path, 'skills/tidy'), { recursive: true })
  await writeFile(join(path, 'skills/tidy/SKILL.md'), skill('tidy'))
  await mkdir(join(path, 'secret-name'))
  await writeFile(join(path, 'secret-name/checkpoint'), 'another.example/log\n1\nAAAA\n\n— another.example/log AAAA\n')
  await using hub = await Hub.start({ team: [`path: ${path}/skills`, 'every: 1h'] }, undefined, [
    `channel: { name: ${ORIGIN}, key: { file: ${key} } }`,
    'packs: [{ id: web, include: [{ path: none }] }]',
    `publish: [{ to: ${path}/out, pack: web }, { to: ${path}/secret-name }]`,
  ])
  expect((await figuresOf(hub)).samples('skillsyncd_channel_current').map(({ value }) => value)).toEqual(
    Array.from({ length: 4 }, () => '0'),
  )
  expect((await figuresOf(hub)).samples('skillsyncd_channel_entries')).toEqual([])

  await pullNow(hub.daemon)
  hub.daemon.poll()
  await expect
    .poll(() => hub.daemon.parts.status.status().channels?.map(({ isCurrent, problem }) => [isCurrent, problem?.code]))
    .toEqual([
      [true, undefined],
      [true, undefined],
      [true, undefined],
      [false, 'log-unsigned'],
    ])

  const text = await (await metricsOf(hub)).text('prometheus')
  const linesOf = (name: string) => text.split('\n').filter((line) => line.startsWith(`skillsyncd_channel_${name}`))
  expect(linesOf('current')).toEqual([
    'skillsyncd_channel_current 1',
    'skillsyncd_channel_current{pack="web"} 1',
    'skillsyncd_channel_current{pack="web",folder="1"} 1',
    'skillsyncd_channel_current{folder="2"} 0',
  ])
  expect(linesOf('problem')).toEqual(['skillsyncd_channel_problem{folder="2",code="log-unsigned"} 1'])
  expect(linesOf('entries')).toEqual([
    'skillsyncd_channel_entries 1',
    'skillsyncd_channel_entries{pack="web"} 1',
    'skillsyncd_channel_entries{pack="web",folder="1"} 1',
  ])
  expect(linesOf('newest')).toEqual([
    `skillsyncd_channel_newest_entry_timestamp_seconds ${NOON}`,
    `skillsyncd_channel_newest_entry_timestamp_seconds{pack="web"} ${NOON}`,
    `skillsyncd_channel_newest_entry_timestamp_seconds{pack="web",folder="1"} ${NOON}`,
  ])
  // Metrics may be public.
  expect(text).not.toMatch(/secret-name|skills\.example\.com/)
})

test('a followed channel has the age of its newest entry, without a change too, and other sources have none', async () => {
  await using folder = await temporaryFolder()
  const channel = new CraftedChannel()
  const head = await channel.publish(skillNamed('one'))
  await channel.writeTo(folder.path)
  await mkdir(join(folder.path, 'plain'))
  await using hub = await Hub.start({
    hub: [`follow: { path: ${folder.path}, key: "${KEY}" }`],
    plain: [`path: ${folder.path}/plain`],
  })
  const agesOf = async () =>
    (await figuresOf(hub)).samples('skillsyncd_source_entry_age_seconds').map(({ labels, value }) => [labels, value])
  expect(await agesOf()).toEqual([])

  await pullNow(hub.daemon)
  await hub.clock.advance(13 * 3_600_000)
  expect(await agesOf()).toEqual([[{ source: 'hub' }, String(13 * 3_600)]])

  // An entry with the same content: the hub is there, and no skill has changed.
  await channel.append(encodeEntry({ at: hub.clock.now().toISOString(), head }))
  await channel.writeTo(folder.path)
  await pullNow(hub.daemon)
  expect(await agesOf()).toEqual([[{ source: 'hub' }, '0']])
})

test('a damaged record of a followed log leaves all other figures in place', async () => {
  await using folder = await temporaryFolder()
  const channel = new CraftedChannel()
  await channel.publish(skillNamed('one'))
  await channel.writeTo(folder.path)
  await using hub = await Hub.start({ hub: [`follow: { path: ${folder.path}, key: "${KEY}" }`] })
  await pullNow(hub.daemon)
  const logs = join(hub.state, 'logs')
  const [record = ''] = await readdir(logs)
  await writeFile(join(logs, record), 'damaged')

  const figures = await figuresOf(hub)

  expect(figures.value('skillsyncd_source_entry_age_seconds')).toBeNaN()
  expect(figures.value('skillsyncd_catalog_skills')).toBe(1)
})

async function figuresOf(hub: Hub): Promise<Figures> {
  return new Figures(await (await metricsOf(hub)).text('prometheus'))
}

async function metricsOf({ daemon: { parts } }: Hub): Promise<Metrics> {
  const { families } = await loadSurfaces()
  return new Metrics(
    async () => daemonFiguresOf(parts),
    () => families(parts),
  )
}
