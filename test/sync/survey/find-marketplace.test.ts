import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { groupedIn } from '../../../src/sync/model/marketplace.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import type { TakenBlob, Tree } from '../../../src/sync/model/tree.ts'
import { findMarketplace } from '../../../src/sync/survey/find-marketplace.ts'
import { blobId, skillText } from '../../support/git/scripted-upstream.ts'
import type { Files } from '../../support/git/scripted-upstream.ts'
import { never } from '../store/samples.ts'
import { objectId } from '../upstream/reached.ts'
import { Surveys, noted, rulesWith, surveyed } from './surveyed.ts'

const FILE = '.claude-plugin/marketplace.json'

const COLLECTION = {
  [FILE]: JSON.stringify({
    plugins: [
      { name: 'writing', source: './plugins/writing' },
      { name: 'elsewhere', source: { source: 'github', repo: 'acme/elsewhere' } },
    ],
  }),
  'plugins/writing/.claude-plugin/plugin.json': JSON.stringify({ name: 'writing', version: '1.0.0' }),
  'plugins/writing/skills/pdf/SKILL.md': skillText('pdf'),
  'plugins/writing/commands/run.md': 'run',
  'plugins/writing/hooks/hooks.json': JSON.stringify({
    hooks: { Stop: [{ hooks: [{ type: 'command', command: 'x' }] }] },
  }),
  'other/SKILL.md': skillText('other'),
}

const read = async (files: Files) => surveyed(files, { marketplace: true })

test('a survey finds the marketplace of the tree, and serves the skills as if there were none', async () => {
  const { marketplace, skills, findings } = await read(COLLECTION)

  expect(marketplace?.suggested).toEqual([{ name: 'elsewhere', url: 'https://github.com/acme/elsewhere.git' }])
  expect(marketplace?.groups).toMatchObject([{ name: 'writing', version: '1.0.0', carried: { hooks: 1, commands: 1 } }])
  const isGrouped = groupedIn(marketplace?.groups ?? [])
  expect(skills.map(({ path }) => [path, isGrouped(path)])).toEqual([
    ['other', false],
    ['plugins/writing/skills/pdf', true],
  ])
  expect(findings).toEqual([])
})

test('without `marketplace: true` nothing of it is read, and the rules of the survey are others', async () => {
  const without = await surveyed({ ...COLLECTION, 'marketplace.json': '{' })
  const plain = await surveyed({ 'other/SKILL.md': COLLECTION['other/SKILL.md'] })

  expect([without.marketplace, without.findings]).toEqual([undefined, []])
  expect(without.rules).toBe(plain.rules)
  expect((await read(COLLECTION)).rules).not.toBe(without.rules)
})

test('a repository without such a file has an empty marketplace: it was read', async () => {
  expect((await read({ 'other/SKILL.md': COLLECTION['other/SKILL.md'] })).marketplace).toMatchObject({
    files: [],
    groups: [],
  })
})

test('a source that is a part of a repository has no marketplace', async () => {
  expect((await surveyed(COLLECTION, { root: 'plugins', marketplace: true })).marketplace).toBeUndefined()
})

test('a marketplace file may be a link inside the repository, and nowhere else', async () => {
  const at = (link: string): Files => ({ ...COLLECTION, [FILE]: { link }, 'real.json': COLLECTION[FILE] })

  const inside = await read(at('../real.json'))
  const outside = await read(at('../../real.json'))
  const absolute = await read(at('/etc/hostname'))

  expect(inside.marketplace?.groups).toHaveLength(1)
  expect([outside, absolute].map(({ marketplace }) => marketplace?.groups)).toEqual([[], []])
  expect(noted(outside.findings)).toContain(`marketplace-unread ${FILE}`)
})

test('the manifest of a plugin may not be a link out of the plugin', async () => {
  const manifest = 'plugins/writing/.claude-plugin/plugin.json'
  const found = await read({
    ...COLLECTION,
    [manifest]: { link: '../../../real.json' },
    'real.json': '{"version":"2.0.0"}',
  })

  expect(noted(found.findings)).toEqual([`marketplace-unread ${manifest}`])
  expect(found.marketplace?.groups[0]?.version).toBeUndefined()
})

test('a marketplace file over 1 MiB is refused by its size', async () => {
  const found = await read({ ...COLLECTION, [FILE]: `{"plugins":[],"x":"${'x'.repeat(2 ** 20)}"}` })

  expect(found.marketplace?.files).toEqual([{ path: FILE, plugins: 0, isUnread: true }])
  expect(noted(found.findings)).toEqual([`marketplace-unread ${FILE}`])
})

test('a marketplace that is over a limit of the fetch is a finding, and is read again by the next survey', async () => {
  const tooMuch = new SyncError('limit-exceeded', 'Cannot keep the files: over limits.repository.bytes')
  const down = new SyncError('source-unreachable', 'Cannot reach "team"')
  const { marketplace: _marketplace, ...unread } = await read(COLLECTION)
  const search = (failure: SyncError) => ({
    tree: {
      ...TREE,
      take: async () => {
        throw failure
      },
    },
    root: '',
    earlier: undefined,
    folders: new Map(),
  })

  const found = await findMarketplace(search(tooMuch), never())
  const later = await findMarketplace({ ...search(down), tree: TREE, earlier: { ...unread, tree: TREE.root } }, never())

  expect(found).toEqual({
    findings: [{ rule: 'marketplace-unread', path: '', message: `The marketplace is not read: ${tooMuch.message}` }],
  })
  expect(later.marketplace?.files).toEqual([{ path: 'marketplace.json', plugins: 0 }])
  await expect(findMarketplace(search(down), never())).rejects.toBe(down)
})

/** A tree whose only file is a marketplace without plugins. */
const TREE: Tree = {
  revision: { asked: 'main', ref: 'refs/heads/main', commit: objectId('a'.repeat(40)) },
  root: objectId('b'.repeat(40)),
  proof: { commit: new Uint8Array() },
  list: () => [{ name: 'marketplace.json', kind: 'file', id: objectId('c'.repeat(40)) }],
  take: async (blobs) =>
    new Map(
      [...blobs].map((id) => [id, { kind: 'blob', size: 14, sha256: '', isLfsPointer: false } satisfies TakenBlob]),
    ),
  bytesOf: () => Buffer.from('{"plugins":[]}'),
  [Symbol.asyncDispose]: async () => {},
}

test('a commit that changes one plugin is fetched once, and no file of another plugin is read again', async () => {
  await using surveys = await Surveys.open()
  const [one, two] = ['{"name":"one"}', '{"name":"two"}']
  const files = {
    [FILE]: JSON.stringify({
      plugins: [
        { name: 'one', source: './plugins/one' },
        { name: 'two', source: './plugins/two' },
        { name: 'gone', source: './plugins/gone/away' },
      ],
    }),
    'plugins/one/.claude-plugin/plugin.json': one,
    'plugins/one/commands/a.md': 'a',
    'plugins/one/skills/pdf/SKILL.md': skillText('pdf'),
    'plugins/two/.claude-plugin/plugin.json': two,
    'plugins/two/skills/docx/SKILL.md': skillText('docx'),
  }
  const first = await surveys.next(files, rulesWith({ marketplace: true }))
  const { counts, taken } = surveys.upstream
  const [fetches, blobs] = [counts.fetch, taken.length]

  const second = await surveys.next(
    { ...files, 'plugins/one/skills/pdf/SKILL.md': `${skillText('pdf')}more` },
    rulesWith({ marketplace: true }),
  )

  expect(counts.fetch).toBe(fetches + 1)
  expect(new Set(taken.slice(blobs))).toEqual(
    new Set([files[FILE], one, `${skillText('pdf')}more`].map((text) => blobId(text))),
  )
  expect(second.marketplace).toEqual(first.marketplace)
  expect(second.findings).toEqual(first.findings)
})

test('whatever commits come one after another, each has the marketplace that it has alone', async () => {
  const entry = (source: string) => ({ name: source.replaceAll('/', '-') || 'root', source: `./${source}` })
  const file = fc
    .subarray(['plugins/writing', 'plugins/missing', 'skill', 'skill/inner', ''])
    .map((sources) => JSON.stringify({ plugins: sources.map(entry) }))
  const version = fc.constantFrom('{"version":"1"}', '{"version":"2","skills":"./more"}', '{')
  const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined })
  const commit = fc
    .record({
      [FILE]: optional(file),
      '.agents/plugins/marketplace.json': optional(file),
      'marketplace.json': optional(file),
      'plugins/writing/.claude-plugin/plugin.json': optional(version),
      'plugins/writing/commands/a.md': optional(fc.constant('a')),
      'plugins/writing/commands/deep/b.md': optional(fc.constant('b')),
      'plugins/writing/skills/pdf/SKILL.md': optional(fc.constantFrom(skillText('pdf'), `${skillText('pdf')}more`)),
      'skill/SKILL.md': optional(fc.constant(skillText('skill'))),
      'skill/inner/.claude-plugin/plugin.json': optional(version),
      'skill/plugin.json': optional(fc.oneof(version, fc.constant({ link: 'inner/.claude-plugin/plugin.json' }))),
      link: optional(fc.constant({ link: 'skill' })),
      'README.md': fc.constantFrom('one', 'two'),
    })
    .map((files): Files =>
      Object.fromEntries(
        Object.entries(files).flatMap(([path, value]) => (value === undefined ? [] : [[path, value]])),
      ),
    )

  await fc.assert(
    fc.asyncProperty(fc.array(commit, { minLength: 2, maxLength: 4 }), async (commits) => {
      await using surveys = await Surveys.open()
      for (const files of commits) {
        const { marketplace, findings } = await surveys.next(files, rulesWith({ marketplace: true }))
        const alone = await read(files)
        expect(marketplace).toEqual(alone.marketplace)
        expect(findings).toEqual(alone.findings)
      }
    }),
    { numRuns: 15 },
  )
})
