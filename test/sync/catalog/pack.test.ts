import { describe, expect, test } from 'vitest'
import {
  choicesDigestOf,
  lockedPackOf,
  packDigestOf,
  packedIn,
  packMismatches,
} from '../../../src/sync/catalog/pack.ts'
import type { PackSelection, Pack } from '../../../src/sync/catalog/pack.ts'
import { lockEntryOf } from '../../../src/sync/model/decisions/lock.ts'
import type { Lock, LockedPack } from '../../../src/sync/model/decisions/lock.ts'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import type { Source } from '../../../src/sync/model/source.ts'
import type { Files } from '../../support/git/scripted-upstream.ts'
import { sourceId } from '../store/samples.ts'
import { rulesWith, surveyed } from '../survey/surveyed.ts'

describe('a pack holds', () => {
  const files = {
    'web/forms/SKILL.md': document('pdf-forms', 'tags: [PDF, paper]'),
    'web/charts/SKILL.md': document('charts', 'metadata: { tags: "figures, pdf " }'),
    'ops/deploy/SKILL.md': document('deploy', 'x-personal-mcp: { tags: [Going-Live] }'),
  }

  test.each<[string, PackSelection, readonly string[]]>([
    ['what is of a source', { source: 'te*' }, ['ops/deploy', 'web/charts', 'web/forms']],
    ['nothing of another source', { source: 'more' }, []],
    ['what lies somewhere', { path: 'web/**' }, ['web/charts', 'web/forms']],
    ['what has a name, as it declares it', { name: 'pdf-*' }, ['web/forms']],
    ['nothing by the names of folders', { name: 'forms' }, []],
    ['what has a tag, in any case, in the list or below metadata', { tag: ' pdf' }, ['web/charts', 'web/forms']],
    ['what has a tag in the block of the contract', { tag: 'going-live' }, ['ops/deploy']],
    ['what is all of what one choice says', { path: 'web/*', tag: 'Figures' }, ['web/charts']],
    ['nothing that is only a part of it', { source: 'more', tag: 'pdf' }, []],
    ['everything, by a choice that says nothing', {}, ['ops/deploy', 'web/charts', 'web/forms']],
  ])('%s', async (_, choice, paths) => {
    expect(pathsIn(await surveyed(files), pack({ include: [choice] }))).toEqual(paths)
  })

  describe('by plugins of the marketplace in the repository', () => {
    const plugins = [
      { name: 'web-kit', source: './web', skills: './' },
      { name: 'ops-kit', source: './ops', skills: './deploy' },
    ]
    const withPlugins = { ...files, '.claude-plugin/marketplace.json': JSON.stringify({ plugins }) }

    const read = async (all: Files) => surveyed(all, { marketplace: true })

    test.each<[string, PackSelection, readonly string[]]>([
      ['what is in the plugin', { plugin: 'web-kit' }, ['web/charts', 'web/forms']],
      ['what is in one of those that match', { plugin: '*-kit', path: '*/[cd]*' }, ['ops/deploy', 'web/charts']],
      ['nothing of a plugin that is not there', { plugin: 'more' }, []],
    ])('%s', async (_, choice, paths) => {
      expect(pathsIn(await read(withPlugins), pack({ include: [choice] }))).toEqual(paths)
    })

    test('nothing without a marketplace, nor of a source that has none read', async () => {
      expect(pathsIn(await read(files), pack({ include: [{ plugin: '*' }] }))).toEqual([])
      expect(pathsIn(await surveyed(withPlugins), pack({ include: [{ plugin: '*' }] }))).toEqual([])
    })

    test('what is excluded stays out, and all else too while the plugins are unknown', async () => {
      const chosen = pack({ include: [{}], exclude: [{ plugin: 'ops-kit' }] })

      expect(pathsIn(await read(withPlugins), chosen)).toEqual(['web/charts', 'web/forms'])
      expect(pathsIn(await read({ ...withPlugins, 'marketplace.json': '{' }), chosen)).toEqual([])
      expect(pathsIn(await read({ ...withPlugins, 'marketplace.json': '{"plugins":[{}]}' }), chosen)).toEqual([])
      expect(pathsIn(await read(files), chosen)).toHaveLength(3)
      expect(pathsIn(await surveyed(files), chosen)).toEqual([])
      expect(pathsIn(await surveyed(withPlugins), chosen)).toEqual([])
    })

    test('the digest of choices without a plugin is that of earlier versions', () => {
      const digest = choicesDigestOf([pack({ include: [{ source: 'team' }] })])

      expect(choicesDigestOf([pack({ include: [{ source: 'team', plugin: 'x' }] })])).not.toBe(digest)
      expect(digest).toBe('da990fc2c8bbcddfd9cb7a4b8c28139aed5906c0035b58773ed5a787ec94d580')
    })
  })

  test('what fits one of several choices, and none of those that exclude', async () => {
    const chosen = pack({
      include: [{ tag: 'pdf' }, { name: 'deploy' }],
      exclude: [{ path: 'web/c*' }, { source: 'x' }],
    })

    expect(pathsIn(await surveyed(files), chosen)).toEqual(['ops/deploy', 'web/forms'])
  })
})

test.each<[string, string]>([
  ['frontmatter cannot be read', '---\nname: secret\ndescription: [Does secret things\ntags: [internal]\n---\n'],
  ['there is none', '# Secret\n'],
])('what is excluded by name or tag stays out where %s', async (_, secret) => {
  const snapshot = await surveyed({ 'a/SKILL.md': document('a'), 'secret/SKILL.md': secret })

  for (const choice of [{ name: 'hidden' }, { tag: 'internal' }])
    expect(pathsIn(snapshot, pack({ include: [{ source: '*' }], exclude: [choice] }))).toEqual(['a'])
})

test('a name with a slash in it, and a tag that YAML makes a number of, are excluded like others', async () => {
  const snapshot = await surveyed({
    'a/SKILL.md': document('a'),
    'b/SKILL.md': document('new/b-draft'),
    'c/SKILL.md': document('c', 'tags: [2024]'),
  })
  const chosen = pack({ include: [{ name: '*' }], exclude: [{ name: '*-draft' }, { tag: '2024' }] })

  expect(pathsIn(snapshot, chosen)).toEqual(['a'])
  expect(pathsIn(snapshot, pack({ include: [{ name: '*' }] }))).toEqual(['a', 'b', 'c'])
})

describe('of skills inside of others', () => {
  const files = {
    'outer/SKILL.md': document('outer'),
    'outer/middle/inner/SKILL.md': document('inner'),
    'outer-most/SKILL.md': document('other'),
  }

  test('the inner one comes with the outer one, whose files hold it', async () => {
    expect(pathsIn(await surveyed(files), pack({ include: [{ name: 'outer' }] }))).toEqual([
      'outer',
      'outer/middle/inner',
    ])
  })

  test('the outer one does not come with the inner one', async () => {
    expect(pathsIn(await surveyed(files), pack({ include: [{ name: 'inner' }] }))).toEqual(['outer/middle/inner'])
  })

  test('who holds an excluded one is left out with it', async () => {
    const chosen = pack({ include: [{ source: '*' }], exclude: [{ name: 'inner' }] })

    expect(pathsIn(await surveyed(files), chosen)).toEqual(['outer-most'])
  })

  test('who has other files from the folder of an excluded one is left out too', async () => {
    const chosen = pack({ include: [{ source: '*' }], exclude: [{ path: '**/inner' }] })
    const held = {
      'outer/SKILL.md': document('outer'),
      'outer/inner/skill.md': document('inner'),
      'outer/inner/notes.md': 'secret\n',
    }

    expect(pathsIn(await surveyed({ ...files, ...held }), chosen)).toEqual(['outer-most'])
  })

  test('an excluded one that holds others leaves those, which can be given without it', async () => {
    const chosen = pack({ include: [{ source: '*' }], exclude: [{ name: 'outer' }] })

    expect(pathsIn(await surveyed(files), chosen)).toEqual(['outer-most', 'outer/middle/inner'])
  })
})

describe('the digest of a pack', () => {
  test('moves with the content of its skills, and with nothing else', async () => {
    const chosen = pack({ include: [{ name: 'a' }] })
    const [first, other, edited] = await Promise.all([
      surveyed({ 'a/SKILL.md': document('a'), 'b/SKILL.md': document('b') }),
      surveyed({ 'a/SKILL.md': document('a'), 'b/SKILL.md': document('b', 'license: MIT') }),
      surveyed({ 'a/SKILL.md': document('a', 'license: MIT'), 'b/SKILL.md': document('b') }),
    ])

    const digests = [first, other, edited].map((snapshot) => packDigestOf(chosen, [snapshot]))

    expect(digests[1]).toBe(digests[0])
    expect(digests[2]).not.toBe(digests[0])
  })

  test('has no part of what is withheld', async () => {
    const chosen = pack({ include: [{ path: '**' }] })
    const files = { 'a/SKILL.md': document('a') }

    const [one, both] = [await surveyed(files), await surveyed({ ...files, 'b/SKILL.md': 'no frontmatter\n' })]

    expect(both.skills.map(({ standing }) => standing)).toContain('withheld')
    expect(packDigestOf(chosen, [both])).toBe(packDigestOf(chosen, [one]))
  })

  test('tells the same skill of two sources apart', async () => {
    const chosen = pack({ include: [{ path: '**' }] })
    const ofTeam = await surveyed({ 'a/SKILL.md': document('a') })
    const ofMore = { ...ofTeam, source: sourceId('more') }

    expect(packDigestOf(chosen, [ofMore])).not.toBe(packDigestOf(chosen, [ofTeam]))
  })
})

describe('the digest of choices', () => {
  const one = pack({ include: [{ tag: 'pdf' }, { name: 'a' }] })

  test('is that of the same choices, whatever else is said of the pack', () => {
    expect(choicesDigestOf([{ ...one, description: 'Other words' }])).toBe(choicesDigestOf([one]))
  })

  test.each<[string, Pack]>([
    ['an id', { ...one, id: 'other' }],
    ['a value', pack({ include: [{ tag: 'pdfs' }, { name: 'a' }] })],
    ['a key', pack({ include: [{ name: 'pdf' }, { name: 'a' }] })],
    ['two that are one', pack({ include: [{ tag: 'pdf', name: 'a' }] })],
    ['one that excludes', pack({ include: [{ tag: 'pdf' }], exclude: [{ name: 'a' }] })],
  ])('is another with %s', (_, edited) => {
    expect(choicesDigestOf([edited])).not.toBe(choicesDigestOf([one]))
  })
})

describe('a locked pack', () => {
  const chosen = pack({ include: [{ name: 'a' }] })
  const files = { 'x/a/SKILL.md': document('a'), 'b/SKILL.md': document('b') }

  test('has its choices, the digest and the places of its skills, in the order of their bytes', async () => {
    const team = await surveyed({ ...files, 'a/SKILL.md': document('a') })
    const more = { ...team, source: sourceId('more') }

    const locked = lockedPackOf(chosen, lockOf(team, more), [team, more], undefined)

    expect(locked).toEqual({
      choices: choicesDigestOf([chosen]),
      sources: digestsIn(lockOf(team, more)),
      digest: packDigestOf(chosen, [team, more]),
      skills: ['more/a', 'more/x/a', 'team/a', 'team/x/a'],
      rest: {},
    })
  })

  test('keeps the part of a source that has no snapshot here, and fields that nobody knows', async () => {
    const [team, edited] = [await surveyed(files), await surveyed({ 'a/SKILL.md': document('a', 'license: MIT') })]
    const more = { ...team, source: sourceId('more') }
    const before = { ...lockedPackOf(chosen, lockOf(team, more), [team, more], undefined)!, rest: { 'x-of': 'later' } }

    const after = lockedPackOf(chosen, lockOf(edited, more), [edited], before)

    expect(after).toEqual({
      choices: before.choices,
      sources: digestsIn(lockOf(edited, more)),
      digest: packDigestOf(chosen, [edited, more]),
      skills: ['more/x/a', 'team/a'],
      rest: { 'x-of': 'later' },
    })
  })

  test('keeps nothing of a source that has no snapshot here if it chooses by plugin', async () => {
    const byPlugin = pack({ include: [{}], exclude: [{ source: 'none', plugin: 'x' }] })
    const team = await surveyed(files)
    const more = { ...team, source: sourceId('more') }
    const before = lockedPackOf(byPlugin, lockOf(team, more), [team, more], undefined)

    expect(before?.skills).toHaveLength(4)
    expect(lockedPackOf(byPlugin, lockOf(team, more), [team], before)).toBeUndefined()
  })

  test.each<[string, (before: LockedPack) => LockedPack | undefined]>([
    ['there was none before', () => undefined],
    ['it chose otherwise', (before) => ({ ...before, choices: 'f'.repeat(64) })],
    [
      'that is locked otherwise since',
      (before) => ({ ...before, sources: new Map([[sourceId('more'), 'f'.repeat(64)]]) }),
    ],
  ])('cannot be told of a source that is not here where %s', async (_, earlier) => {
    const team = await surveyed(files)
    const more = { ...team, source: sourceId('more') }
    const before = lockedPackOf(chosen, lockOf(team, more), [team, more], undefined)!

    expect(lockedPackOf(chosen, lockOf(team, more), [team], earlier(before))).toBeUndefined()
  })
})

test('packs of the lock and of the configuration are told apart by what they choose by', () => {
  const [kept, edited, fresh] = ['kept', 'edited', 'fresh'].map((id) => pack({ id, include: [{ name: id }] }))
  const entry = (choices: string): LockedPack => ({ choices, sources: new Map(), digest: '', skills: [], rest: {} })
  const locked = new Map([
    ['kept', entry(choicesDigestOf([kept!]))],
    ['edited', entry('f'.repeat(64))],
    ['gone', entry('')],
  ])

  expect(packMismatches(locked, [kept!, edited!, fresh!])).toEqual([
    {
      source: 'pack edited',
      message: expect.stringContaining('chooses otherwise in the lock than in the configuration; skillsyncd lock'),
    },
    { source: 'pack fresh', message: expect.stringContaining('is not in the lock') },
    { source: 'pack gone', message: expect.stringContaining('is in the lock and not in the configuration') },
  ])
})

function pack({ id = 'crew', include, exclude = [] }: Pick<Pack, 'include'> & Partial<Pack>): Pack {
  return { id, description: undefined, include, exclude }
}

function pathsIn(snapshot: Snapshot, chosen: Pack): readonly string[] {
  return [...packedIn(snapshot, chosen)].map(({ path }) => path).toSorted()
}

function lockOf(...snapshots: readonly Snapshot[]): Pick<Lock, 'sources'> {
  return {
    sources: new Map(snapshots.map((snapshot) => [snapshot.source, lockEntryOf(sourceOf(snapshot), snapshot)])),
  }
}

function digestsIn({ sources }: Pick<Lock, 'sources'>): ReadonlyMap<string, string> {
  return new Map([...sources].map(([id, { digest }]) => [id, digest]))
}

function sourceOf({ source, url }: Snapshot): Source {
  return {
    ...rulesWith().selection,
    kind: 'git',
    id: source,
    url,
    backend: 'auto',
    ref: undefined,
    update: 'auto',
    brakes: 'hold',
    schedule: { kind: 'every', periodMs: 60_000 },
  }
}

function document(name: string, more = ''): Files[string] {
  return `---\nname: ${name}\ndescription: Does ${name}\n${more}\n---\n`
}
