import { expect, test } from 'vitest'
import { runNow } from '../../../src/base/async/cooperative.ts'
import type { MarketplaceConfig } from '../../../src/features/marketplace/marketplace-config.ts'
import { manifestsOf, marketplaceRevision } from '../../../src/features/marketplace/marketplace-revision.ts'
import { pluginsIn } from '../../../src/features/marketplace/plugins.ts'
import { buildCatalog } from '../../../src/sync/catalog/catalog.ts'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import { sourceId } from '../../sync/store/samples.ts'
import { surveyed } from '../../sync/survey/surveyed.ts'

const CONFIG: MarketplaceConfig = {
  name: 'acme',
  owner: 'Acme',
  description: 'Skills of Acme',
  plugin: 'skills',
  retired: [],
  renames: {},
}

const PACK = { id: 'one', description: undefined, include: [{ source: 'a' }], exclude: [] }

const files = { 'tidy/SKILL.md': '---\nname: tidy\ndescription: d\n---\n' }

function catalogOf(...snapshots: readonly Snapshot[]) {
  const sources = snapshots.map(({ source }) => ({ source, snapshot: '0'.repeat(64) }))
  return buildCatalog({ number: 1, createdAt: '2026-11-01T00:00:00.000Z', sources }, snapshots)
}

function foldersIn(snapshots: readonly Snapshot[]) {
  const { plugins } = runNow(pluginsIn(catalogOf(...snapshots), [PACK], CONFIG, undefined))
  return plugins.map(({ name, skills }) => [name, [...skills.values()].map(({ source }) => source)])
}

test('a skill is in the plugins of its own place, also where sources share the value of an equal one', async () => {
  const first = { ...(await surveyed(files)), source: sourceId('a') }
  const shared = { ...first, source: sourceId('b') }
  const equal = structuredClone(shared)

  expect(foldersIn([first, shared])).toEqual([
    ['one', ['a']],
    ['skills', ['b']],
  ])
  expect(foldersIn([first, equal])).toEqual(foldersIn([first, shared]))
})

test('the commit does not depend on the order of the sources', async () => {
  const named = (id: string) => ({ [`${id}/SKILL.md`]: files['tidy/SKILL.md'].replaceAll('tidy', id) })
  const a = { ...(await surveyed(named('a'))), source: sourceId('a') }
  const b = { ...(await surveyed(named('b'))), source: sourceId('b') }
  const tipOf = (snapshots: readonly Snapshot[]) => {
    const { plugins } = runNow(pluginsIn(catalogOf(...snapshots), [PACK], CONFIG, undefined))
    return runNow(marketplaceRevision(CONFIG, plugins, ({ file }) => file.blob)).tip
  }

  expect(tipOf([a, b])).toBe(tipOf([b, a]))
})

test.each([
  ['a skill', {}, { 'tidy/SKILL.md': `${files['tidy/SKILL.md']}more` }],
  ['the owner', { owner: 'Other' }, files],
  ['the description', { description: 'other' }, files],
] as const)('the version of a plugin is another one where %s is', async (_, config, other) => {
  const versionOf = async (of: Readonly<Record<string, string>>, settings: Partial<MarketplaceConfig>) => {
    const list = pluginsIn(catalogOf(await surveyed(of)), [], { ...CONFIG, ...settings }, undefined)
    return runNow(list).plugins[0]!.version
  }

  expect(await versionOf(other, config)).not.toBe(await versionOf(files, {}))
})

test('the manifests of a caller name no plugin that it does not see', async () => {
  const config = { ...CONFIG, retired: ['gone'], renames: { hidden: 'skills', old: 'one' } }
  const { plugins } = runNow(pluginsIn(catalogOf(await surveyed(files)), [PACK], config, new Set(['one'])))

  const texts = [...manifestsOf(config, plugins).values()].map(String).join('')

  expect(texts).toContain('"old": "one"')
  expect(texts).not.toMatch(/hidden|gone|"skills"/)
})
