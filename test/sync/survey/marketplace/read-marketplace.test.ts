import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isBelow, joinPath } from '../../../../src/base/paths.ts'
import type { Marketplace } from '../../../../src/sync/model/marketplace.ts'
import { groupedIn } from '../../../../src/sync/model/marketplace.ts'
import { safePath } from '../../../../src/sync/survey/marketplace/plugin-path.ts'
import { literalTree, marketplaceIn, marketplaceOf } from './literal-tree.ts'

const CLAUDE = '.claude-plugin/marketplace.json'
const CODEX = '.agents/plugins/marketplace.json'
const CURSOR = '.cursor-plugin/marketplace.json'

describe('a plugin is a group of skills', () => {
  test('of those directly below its folder "skills", and of those that the entry and the manifests name', async () => {
    const read = await marketplaceOf({
      [CLAUDE]: { name: 'acme', plugins: [{ name: 'writing', source: './plugins/writing', skills: './extra/essay' }] },
      'plugins/writing/.claude-plugin/plugin.json': { name: 'writing', version: '1.2.0', skills: ['./more/'] },
    })

    expect(read.marketplace).toMatchObject({
      files: [{ path: CLAUDE, name: 'acme', plugins: 1 }],
      groups: [{ name: 'writing', version: '1.2.0', path: 'plugins/writing' }],
    })
    const isMember = groupedIn(read.marketplace.groups)
    expect(
      ['skills/pdf', 'extra/essay', 'more/letter', 'more'].every((one) => isMember(`plugins/writing/${one}`)),
    ).toBe(true)
    expect(['plugins/writing', 'plugins/writing/skills/pdf/nested', 'skills/pdf', ''].some(isMember)).toBe(false)
    expect(read.findings).toEqual([])
  })

  test('with the root as its source, of those that the entry names, and without names of the folder "skills"', async () => {
    const read = await marketplaceOf({
      [CLAUDE]: {
        plugins: [
          { name: 'documents', source: './', strict: false, skills: ['./skills/pdf', './skills/docx'] },
          { name: 'all', source: '.' },
          { name: 'refused', source: '.', skills: ['../pdf'] },
        ],
      },
      'skills/pdf/SKILL.md': '',
    })

    expect(read.marketplace.groups.map(({ name, skills }) => [name, skills])).toEqual([
      ['documents', ['skills/pdf', 'skills/docx']],
      ['all', ['skills']],
      ['refused', []],
    ])
  })

  test('a bare name is below pluginRoot, a path is not, and neither needs "./"', async () => {
    const read = await marketplaceOf({
      [CURSOR]: {
        metadata: { pluginRoot: './plugins' },
        plugins: [
          { name: 'a', source: 'teaching' },
          { name: 'b', source: 'third_party/clay' },
          { name: 'c', source: { source: 'local', path: './c' } },
        ],
      },
      'plugins/teaching/x': '',
      'third_party/clay/x': '',
      'plugins/c/x': '',
    })

    expect(read.marketplace.groups.map(({ path }) => path)).toEqual(['plugins/teaching', 'third_party/clay', 'c'])
    expect(read.findings.map(({ message }) => message)).toEqual(['The plugin "c" has no folder "c" in this repository'])
  })
})

test('several files are one union by plugin name: the first file counts, and each difference is a finding', async () => {
  const read = await marketplaceOf({
    [CODEX]: { plugins: [{ name: 'writing', source: { source: 'local', path: './other' } }] },
    [CLAUDE]: { plugins: [{ name: 'writing', source: './writing' }] },
    [CURSOR]: { plugins: [{ name: 'review', source: 'review' }] },
    'writing/x': '',
    'review/x': '',
  })

  expect(read.marketplace.groups.map(({ name, path }) => [name, path])).toEqual([
    ['writing', 'writing'],
    ['review', 'review'],
  ])
  expect(read.findings.map(({ rule, path, message }) => `${rule} ${path}: ${message}`)).toEqual([
    `marketplace-differs ${CODEX}: The plugin "writing" differs from that in ${CLAUDE}, which counts`,
    `marketplace-differs ${CLAUDE}: The file lacks 1 plugin of the other marketplace files: review`,
    `marketplace-differs ${CODEX}: The file lacks 1 plugin of the other marketplace files: review`,
    `marketplace-differs ${CURSOR}: The file lacks 1 plugin of the other marketplace files: writing`,
  ])
})

test('plugins elsewhere are suggested with their pins, or are not supported, and their content is never opened', async () => {
  const sha = 'a'.repeat(40)
  const tree = literalTree({
    [CLAUDE]: {
      plugins: [
        { name: 'one', source: { source: 'github', repo: 'acme/one', ref: 'main', sha } },
        {
          name: 'two',
          source: { source: 'git-subdir', url: 'https://git.example.com/two.git', path: './sub', ref: 'v1' },
        },
        { name: 'three', source: { source: 'npm', package: '@acme/three' } },
        { name: 'four', source: { source: 'command', command: 'touch /tmp/owned' } },
      ],
      renames: { old: 'one', gone: null },
    },
  })

  const read = await marketplaceIn(tree)

  expect(read.marketplace).toMatchObject({
    groups: [],
    suggested: [
      { name: 'one', url: 'https://github.com/acme/one.git', ref: 'main', sha },
      { name: 'two', url: 'https://git.example.com/two.git', ref: 'v1', path: 'sub' },
    ],
    unsupported: [
      { name: 'three', kind: 'npm' },
      { name: 'four', kind: 'command' },
    ],
    renames: [
      { from: 'old', to: 'one' },
      { from: 'gone', to: null },
    ],
  })
  expect(tree.opened).toEqual([CLAUDE])
})

test('the parts of a plugin that are not skills are counted: in usual places, in files that it names, and inline', async () => {
  const read = await marketplaceOf({
    [CLAUDE]: { plugins: [{ name: 'p', source: './p', mcpServers: { inline: {} }, commands: './commands/a.md' }] },
    'p/.claude-plugin/plugin.json': {
      hooks: './hooks/more.json',
      mcpServers: ['./servers.json', './.mcp.json'],
      commands: ['./extra.md', './tasks'],
      userConfig: { token: {} },
      experimental: { monitors: [{}] },
    },
    'p/.cursor-plugin/plugin.json': { hooks: 'hooks/hooks.json', commands: './extra.md' },
    'p/hooks/hooks.json': { hooks: { Stop: [{ hooks: [{}, {}] }], Start: [{ hooks: [{}] }] } },
    'p/hooks/more.json': { afterFileEdit: [{ command: 'x' }] },
    'p/.mcp.json': { mcpServers: { a: {}, b: {} } },
    'p/servers.json': { c: {} },
    'p/.lsp.json': { go: {} },
    'p/commands/a.md': '',
    'p/commands/deep/b.md': '',
    'p/commands/c.sh': '',
    'p/extra.md': '',
    'p/tasks/d.md': '',
    'p/agents/one.md': '',
    'p/bin/tool': '',
  })

  expect(read.marketplace.groups.map(({ carried }) => carried)).toEqual([
    { hooks: 4, commands: 4, agents: 1, mcpServers: 4, lspServers: 1, monitors: 1, programs: 1, settings: 1 },
  ])
})

describe('a file that is not usable is a finding, and the other files count', () => {
  test.each([
    ['it is not JSON', '{'],
    ['it is not a JSON object', '[]'],
    ['it has no list "plugins"', '{}'],
    ['the key "name" appears twice', '{"plugins":[{"name":"a","n\\u0061me":"b","source":"./a"}]}'],
    ['it has 2001 plugins, and at most 2000 are read', { plugins: Array.from({ length: 2_001 }, () => ({})) }],
    ['its pluginRoot "../x" is not one in the repository', { plugins: [], metadata: { pluginRoot: '../x' } }],
  ])('%s', async (why, text) => {
    const read = await marketplaceOf({
      [CLAUDE]: text,
      [CODEX]: { plugins: [{ name: 'p', source: './p' }] },
      'p/x': '',
    })

    expect(read.marketplace.groups.map(({ name }) => name)).toEqual(['p'])
    expect(read.marketplace.files[0]).toEqual({ path: CLAUDE, plugins: 0, isUnread: true })
    expect(read.marketplace.isIncomplete).toBe(true)
    expect(read.findings).toEqual([
      { rule: 'marketplace-unread', path: CLAUDE, message: `The marketplace is not read: ${why}` },
    ])
  })
})

test.each([
  ['an entry is not an object', 7],
  ['an entry has no name', { source: './p' }],
  ['the name "-x" is not valid', { name: '-x', source: './p' }],
  ['the plugin "p" is refused: it has no source', { name: 'p' }],
  ['the plugin "p" is refused: its source has no kind', { name: 'p', source: {} }],
  ['the plugin "p" is refused: its path "../p" is not one in the repository', { name: 'p', source: '../p' }],
  [
    'the plugin "p" is refused: its path "./a/../../p" is not one in the repository',
    { name: 'p', source: './a/../../p' },
  ],
  ['the plugin "p" is refused: its path "/etc" is not one in the repository', { name: 'p', source: '/etc' }],
  ['the plugin "p" is refused: its path "c:p" is not one in the repository', { name: 'p', source: 'c:p' }],
  [
    String.raw`the plugin "p" is refused: its path "a\\p" is not one in the repository`,
    { name: 'p', source: String.raw`a\p` },
  ],
  ['the plugin "p" is refused: its path "a\u200B" is not one in the repository', { name: 'p', source: 'a\u200B' }],
  [
    'the plugin "p" is refused: its address is not one of a git repository',
    { name: 'p', source: { source: 'url', url: 'file:///etc' } },
  ],
  [
    'the plugin "p" is refused: its address is not one of a git repository',
    { name: 'p', source: { source: 'url', url: 'ext::sh -c x' } },
  ],
  [
    'the plugin "p" is refused: its address is not one of a git repository',
    { name: 'p', source: { source: 'url', url: 'https://a:b@example.com/x.git' } },
  ],
  ...[
    'https://example.com/a/../b.git',
    'https://example.com/a/%2e%2E/b.git',
    'https://example.com/a/.',
    'git@example.com:../b.git',
    '../b',
  ].map((url): [string, object] => [
    'the plugin "p" is refused: its address is not one of a git repository',
    { name: 'p', source: { source: 'url', url } },
  ]),
  [
    'the plugin "p" is refused: its path that is not a text is not one in its repository',
    { name: 'p', source: { source: 'github', repo: 'a/b', path: ['x'] } },
  ],
  [
    'the plugin "p" is refused: its source has no path',
    { name: 'p', source: { source: 'git-subdir', url: 'https://example.com/a.git' } },
  ],
  ...['\u3164', '\u115F', '\u2800', '\u034F', '\uFE0F'].map((hidden): [string, object] => [
    `the plugin "p" is refused: its path "a${hidden}" is not one in the repository`,
    { name: 'p', source: `a${hidden}` },
  ]),
  [
    'the plugin "p" is refused: its commit "abc" is not a full commit id',
    { name: 'p', source: { source: 'github', repo: 'a/b', sha: 'abc' } },
  ],
  [
    'the plugin "p" is refused: its ref "--upload-pack=x" is not valid',
    { name: 'p', source: { source: 'github', repo: 'a/b', ref: '--upload-pack=x' } },
  ],
])('an entry is refused alone: %s', async (why, entry) => {
  const read = await marketplaceOf({ [CLAUDE]: { plugins: [entry, { name: 'good', source: './good' }] }, 'good/x': '' })

  expect(read.marketplace.groups.map(({ name }) => name)).toEqual(['good'])
  expect(read.findings).toEqual([{ rule: 'plugin-refused', path: CLAUDE, message: `A plugin is not read: ${why}` }])
})

test('of two plugins of one name in a file, the first counts', async () => {
  const plugins = [
    { name: 'p', source: './a' },
    { name: 'p', source: './b' },
  ]

  const read = await marketplaceOf({ [CLAUDE]: { plugins }, 'a/x': '', 'b/x': '' })

  expect(read.marketplace.groups.map(({ path }) => path)).toEqual(['a'])
  expect(read.findings.map(({ message }) => message)).toEqual(['The plugin "p" appears twice; the first counts'])
})

test('a folder that is unchanged is not read again, and what was found in it is found again', async () => {
  const files = {
    [CLAUDE]: {
      plugins: [
        { name: 'p', source: './p' },
        { name: 'gone', source: './gone' },
      ],
    },
    'p/.claude-plugin/plugin.json': '{',
    'p/commands/a.md': '',
  }
  const first = await marketplaceOf(files)
  const tree = literalTree(files, ['p', 'gone'])

  const second = await marketplaceIn(tree, first.marketplace)

  expect(second).toEqual(first)
  expect(second.findings.map(({ rule }) => rule)).toEqual(['plugin-refused', 'marketplace-unread'])
  expect(tree.opened).toEqual([CLAUDE])
})

test.each<[string, readonly unknown[], unknown?]>([
  ['a refused entry', [{ name: '-x', source: './p' }]],
  [
    'two entries of one name',
    [
      { name: 'p', source: './p' },
      { name: 'p', source: './q' },
    ],
  ],
  ['a refused path of skills', [{ name: 'p', source: './p', skills: ['./a', '../b'] }]],
  ['skills that are no paths', [{ name: 'p', source: './p', skills: ['./a', 7] }]],
  ['a refused path of skills in a manifest', [{ name: 'p', source: './p' }], { skills: '/a' }],
  ['skills of a manifest that are no paths', [{ name: 'p', source: './p' }], { skills: {} }],
  ['more plugins than are read', [1, 2, 3].map((name) => ({ name: `p${name}`, source: './p' }))],
  ['a plugin that is left out', [{ name: 'p', source: './p' }], { skills: 'a'.repeat(500) }],
])(
  'with %s the groups are incomplete, and so is the next reading of the same folders',
  async (_, plugins, manifest) => {
    const limits = { plugins: 2, stored: 400 }
    const files = (all: readonly unknown[], more: unknown) => ({
      [CLAUDE]: { plugins: all.slice(0, 2) },
      [CODEX]: { plugins: all.slice(2) },
      'p/x': '',
      ...(more !== undefined && { 'p/plugin.json': more }),
    })

    const read = await marketplaceOf(files(plugins, manifest), limits)
    const again = await marketplaceIn(literalTree(files(plugins, manifest), ['p']), read.marketplace, limits)
    const sound = await marketplaceOf(files([{ name: 'p', source: './p', skills: './a' }], { skills: ['./b'] }), limits)

    expect([read, again, sound].map(({ marketplace }) => marketplace.isIncomplete)).toEqual([true, true, undefined])
  },
)

describe('a limit', () => {
  const skills = ['a', 'b', 'c'].map((one) => `./${one}`)

  test('on the paths of an entry or a manifest refuses it before its paths are read', async () => {
    const read = await marketplaceOf(
      {
        [CLAUDE]: {
          plugins: [
            { name: 'p', source: './p' },
            { name: 'q', source: './q', skills: './a', hooks: skills },
          ],
        },
        'p/plugin.json': { skills },
        'q/x': '',
      },
      { paths: 2 },
    )

    expect(read.marketplace.groups).toMatchObject([{ name: 'p', skills: ['p/skills'] }])
    expect(read.findings.map(({ rule, message }) => `${rule}: ${message}`)).toEqual([
      'plugin-refused: A plugin is not read: the plugin "q" is refused: it names 3 paths, and at most 2 are read',
      'marketplace-unread: The manifest is not read: it names 3 paths, and at most 2 are read',
    ])
    expect(read.marketplace.isIncomplete).toBe(true)
  })

  test('on the named files of a plugin holds for all manifests and kinds together', async () => {
    const tree = literalTree({
      [CLAUDE]: { plugins: [{ name: 'p', source: './p' }] },
      'p/plugin.json': { hooks: ['./1.json', './2.json'], mcpServers: './3.json', commands: './4.md' },
      'p/.plugin/plugin.json': { hooks: './5.json' },
      ...Object.fromEntries(['1', '2', '3', '5'].map((one) => [`p/${one}.json`, { a: [{}] }])),
      'p/4.md': '',
    })

    const read = await marketplaceIn(tree, undefined, { plugin: { named: 2 } })

    expect(read.marketplace.groups[0]?.carried).toEqual({ hooks: 2 })
    expect(tree.opened.filter((path) => /\d/.test(path))).toEqual(['p/5.json', 'p/1.json'])
  })

  test('on the counted files of a plugin lists no folder once it is reached', async () => {
    const tree = literalTree({
      [CLAUDE]: { plugins: [{ name: 'p', source: './p' }] },
      'p/plugin.json': { commands: Array.from({ length: 9 }, (_, at) => `./${'./'.repeat(at)}big/${at}`) },
      ...Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`p/big/${at}/a.md`, ''])),
    })
    const listed: string[] = []
    const list = (folder: string) => {
      listed.push(folder)
      return tree.list(folder)
    }

    const read = await marketplaceIn({ ...tree, list }, undefined, { plugin: { counted: 5 } })

    expect(read.marketplace.groups[0]?.carried).toEqual({ commands: 2 })
    expect(listed).toEqual(['p/commands', 'p/big/0', 'p/big/1', 'p'])
  })

  test('on all plugins leaves out those after it, in the order of the entries, and reads no more of them', async () => {
    const names = Array.from({ length: 120 }, (_, at) => `p${at}`)
    const files = {
      [CLAUDE]: { plugins: names.map((name) => ({ name, source: `./${name}` })) },
      ...Object.fromEntries(names.map((name) => [`${name}/plugin.json`, { skills: './more' }])),
    }
    const tree = literalTree(files)

    const read = await marketplaceIn(tree, undefined, { opened: 10 })
    const small = await marketplaceOf(files, { stored: 1_000 })

    expect(read.marketplace.groups.map(({ name }) => name)).toEqual(names.slice(0, 10))
    expect(tree.opened).toHaveLength(51)
    expect(read.findings).toEqual([
      {
        rule: 'marketplace-unread',
        path: '',
        message: expect.stringContaining('The plugin "p10" and 109 other plugins is left out'),
      },
    ])
    expect(JSON.stringify(small.marketplace.folders).length).toBeLessThan(1_100)
    expect(small.marketplace.groups.length).toBeGreaterThan(2)
  })
})

test('a file in two plugins is bounded by each of them alone', async () => {
  const asked: string[] = []
  const tree = literalTree({
    [CLAUDE]: { plugins: ['a', 'a/b'].map((source) => ({ name: source.replace('/', '-'), source: `./${source}` })) },
    'a/plugin.json': { mcpServers: './b/.mcp.json' },
    'a/b/.mcp.json': { c: {} },
  })
  const open: typeof tree.open = async (files, bytes) => {
    const opened = await tree.open(files, bytes)
    return (file) => {
      if (file.path === 'a/b/.mcp.json') asked.push(file.within)
      return opened(file)
    }
  }

  const { marketplace } = await marketplaceIn({ ...tree, open })

  expect(new Set(asked)).toEqual(new Set(['a', 'a/b']))
  expect(marketplace.groups.map(({ carried }) => carried)).toEqual([{ mcpServers: 1 }, { mcpServers: 1 }])
})

test('with any limits, a marketplace read after another one is the one that is read alone', async () => {
  const places = ['a', 'a/b', 'b', 'c', '']
  const manifest = fc.record({
    skills: fc.subarray(['./x', './y', './z']),
    hooks: fc.subarray(['./h.json', './b/h.json', './.mcp.json']),
    commands: fc.subarray(['./b', './commands', './x.md']),
  })
  const files = fc
    .record({
      order: fc.shuffledSubarray(places, { minLength: 1 }),
      manifests: fc.array(fc.option(manifest), { minLength: places.length, maxLength: places.length }),
      hooks: fc.subarray(['h.json', 'a/h.json', 'a/b/h.json', 'b/.mcp.json']),
    })
    .map(({ order, manifests, hooks }): Readonly<Record<string, unknown>> => {
      const plugins = order.map((source) => ({ name: source.replace('/', '-') || 'root', source: `./${source}` }))
      const named = places.flatMap((place, at) =>
        manifests[at] ? [[joinPath(place, 'plugin.json'), manifests[at]]] : [],
      )
      const parts = hooks.map((path) => [path, { Stop: [{}] }])
      return Object.fromEntries([[CLAUDE, { plugins }], ['a/commands/1.md', ''], ['a/b/2.md', ''], ...parts, ...named])
    })
  const limits = fc.record({
    opened: fc.nat(8),
    stored: fc.constantFrom(200, 400, 800, 10_000),
    paths: fc.constantFrom(3, 9),
    plugin: fc.record({ named: fc.nat(3), counted: fc.nat(8) }),
  })
  const below = (all: Readonly<Record<string, unknown>>, folder: string) => {
    const files = Object.entries(all).filter(([path]) => isBelow(path, folder))
    return JSON.stringify(files.map((file) => JSON.stringify(file)).toSorted())
  }

  await fc.assert(
    fc.asyncProperty(fc.array(files, { minLength: 2, maxLength: 4 }), limits, async (commits, limited) => {
      let before: { readonly all: Readonly<Record<string, unknown>>; readonly read: Marketplace } | undefined
      for (const all of commits) {
        const last = before
        const unchanged =
          last === undefined ? [] : places.filter((place) => below(all, place) === below(last.all, place))
        const { marketplace, findings } = await marketplaceIn(literalTree(all, unchanged), last?.read, limited)
        const alone = await marketplaceOf(all, limited)
        expect(marketplace).toEqual(alone.marketplace)
        expect(findings).toEqual(alone.findings)
        before = { all, read: marketplace }
      }
    }),
    { numRuns: 300 },
  )
})

test('a repository without such a file has a marketplace without files', async () => {
  const { marketplace, findings } = await marketplaceOf({ 'skills/pdf/SKILL.md': '' })

  expect([marketplace.files, marketplace.groups, findings]).toEqual([[], [], []])
})

test('hostile JSON never throws, and no path or address in the result leads out', async () => {
  const text = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.constantFrom(
      './p',
      '../p',
      '/p',
      'p/../..',
      './',
      '',
      'a/b',
      String.raw`\\x`,
      'https://example.com/a.git',
      'ext::x',
      '__proto__',
    ),
  )
  const source = fc.oneof(
    text,
    fc.record({
      source: fc.oneof(text, fc.constantFrom('local', 'github', 'url', 'git-subdir', 'npm', 'command')),
      path: text,
      url: text,
      repo: fc.oneof(text, fc.constant('acme/x')),
    }),
    fc.jsonValue(),
  )
  const entry = fc.record({
    name: fc.oneof(text, fc.constantFrom('p', 'q')),
    source,
    skills: fc.oneof(text, fc.array(text)),
    hooks: fc.jsonValue(),
  })
  const file = fc.oneof(
    fc.record({
      plugins: fc.array(fc.oneof(entry, fc.jsonValue())),
      renames: fc.jsonValue(),
      metadata: fc.jsonValue(),
    }),
    fc.jsonValue(),
    text,
  )

  await fc.assert(
    fc.asyncProperty(file, file, file, async (claude, codex, manifest) => {
      const read = await marketplaceOf({ [CLAUDE]: claude, [CODEX]: codex, 'p/.claude-plugin/plugin.json': manifest })
      const { groups, suggested, folders } = read.marketplace
      const paths = [groups, folders].flat().flatMap(({ path, skills }) => [[path], skills].flat())
      expect(paths.filter((path) => safePath(path) !== path)).toEqual([])
      expect(suggested.filter(({ url }) => !/^(?:https?|ssh):\/\/|^[\w.]+@/.test(url))).toEqual([])
      expect(new Set(groups.map(({ name }) => name)).size).toBe(groups.length)
      expect(JSON.parse(JSON.stringify(read.marketplace))).toEqual(read.marketplace)
    }),
    { numRuns: 300 },
  )
})
