import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import { World, skill } from '../../e2e/world.ts'

const SOURCE = ['every: 1h', 'marketplace: true']

const SHA = 'c'.repeat(40)

const MARKETPLACE = {
  name: 'acme',
  plugins: [
    { name: 'writing', source: './plugins/writing', version: '1.2.0' },
    { name: 'Style.Guide', source: './plugins/style', skills: './rules' },
    { name: 'empty', source: './plugins/empty' },
    {
      name: 'search',
      source: { source: 'git-subdir', url: 'https://git.example.com/search.git', path: './kit', ref: 'main', sha: SHA },
    },
    { name: 'tools', source: { source: 'github', repo: 'acme/tools', ref: 'v2' } },
    { name: 'old', source: { source: 'npm', package: '@acme/old' } },
  ],
  renames: { prose: 'writing', gone: null },
}

const FILES = {
  '.claude-plugin/marketplace.json': JSON.stringify(MARKETPLACE),
  'plugins/writing/skills/essay/SKILL.md': skill('essay', 'one'),
  'plugins/writing/skills/letter/SKILL.md': skill('letter', 'one'),
  'plugins/writing/commands/run.md': 'run',
  'plugins/writing/hooks/hooks.json': JSON.stringify({ hooks: { Stop: [{ hooks: [{}, {}] }] } }),
  'plugins/style/rules/prose/SKILL.md': skill('prose', 'one'),
  'plugins/empty/agents/a.md': 'agent',
}

test('status has the numbers of the marketplace, and list --plugins all of it, in words and as JSON', async () => {
  await using world = await World.create(SOURCE)
  await world.repository.commit(FILES)
  await world.synced()

  const status = await world.home.command('status')
  const json = JSON.parse((await world.home.command('status', '--json')).stdout)
  const shown = await world.home.command('list', '--plugins', 'team')
  const row = JSON.parse((await world.home.command('list', '--plugins', 'team', '--json')).stdout)

  expect(status.stdout).toContain(
    '  marketplace: 3 plugins, 2 suggested sources, 1 unsupported; carries 2 hooks, 1 command, 1 agent: not served; skillsyncd list --plugins team shows them\n',
  )
  expect(json.sources[0].marketplace).toEqual({
    files: [{ path: '.claude-plugin/marketplace.json', name: 'acme', plugins: 6 }],
    groups: 3,
    suggested: 2,
    unsupported: 1,
    carried: { hooks: 2, commands: 1, agents: 1 },
  })
  expect(shown.stdout.split('\n').slice(1)).toEqual([
    '',
    'Plugins of this repository:',
    '  writing 1.2.0 (plugins/writing): 2 skills; carries 2 hooks, 1 command: not served',
    '  Style.Guide (plugins/style): 1 skill',
    '  empty (plugins/empty): 0 skills; carries 1 agent: not served',
    '',
    'Suggested sources, which are not fetched:',
    `  search: https://git.example.com/search.git, main, at ${SHA}, kit`,
    '  tools: https://github.com/acme/tools.git, v2',
    '',
    'Plugins that are not supported:',
    '  old: npm',
    '',
    'Renamed plugins:',
    '  prose: writing',
    '  gone: removed',
    '',
  ])
  expect(row.groups[0]).toMatchObject({
    name: 'writing',
    skills: ['plugins/writing/skills/essay', 'plugins/writing/skills/letter'],
  })
})

test('the printed packs and sources are configuration, and the packs select the skills of the plugins', async () => {
  await using world = await World.create(SOURCE)
  const { home, git, repository } = world
  await repository.commit(FILES)
  await world.synced()

  const packs = parse((await home.command('list', '--plugins', 'team', '--as', 'packs')).stdout)
  const sources = parse((await home.command('list', '--plugins', 'team', 'search', 'tools', '--as', 'sources')).stdout)
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, ...SOURCE] }, [
    `packs: ${JSON.stringify(packs.packs)}`,
  ])
  await home.command('sync')
  const listed = JSON.parse((await home.command('list', '--pack', 'team-writing', '--json')).stdout)

  expect(packs).toEqual({
    packs: [
      { id: 'team-writing', include: [{ source: 'team', plugin: 'writing' }] },
      { id: 'team-style-guide', include: [{ source: 'team', plugin: 'Style.Guide' }] },
    ],
  })
  expect(sources).toEqual({
    sources: [
      { id: 'team-search', url: 'https://git.example.com/search.git', ref: SHA, root: 'kit' },
      { id: 'team-tools', url: 'https://github.com/acme/tools.git', ref: 'v2' },
    ],
  })
  expect(listed.skills.map(({ name, plugins }: Record<string, unknown>) => [name, plugins])).toEqual([
    ['essay', ['writing']],
    ['letter', ['writing']],
  ])
  const again = parse((await home.command('list', '--plugins', 'team', 'writing', '--as', 'packs')).stdout)
  expect(again.packs[0].id).toBe('team-writing-2')
})

test('the printed sources are read as configuration, with ssh users, and a comment where no commit pins one', async () => {
  await using world = await World.create(SOURCE)
  const urls = ['ssh://git@git.example.com/team/a.git', 'git@git.example.com:team/b.git', 'https://x.example/c.git']
  const plugins = urls.map((url, at) => ({
    name: `p${at}`,
    source: { source: 'url', url, ...(at < 2 && { sha: SHA }) },
  }))
  await world.repository.commit({ 'marketplace.json': JSON.stringify({ plugins }) })
  await world.synced()

  const { stdout } = await world.home.command('list', '--plugins', 'team', '--as', 'sources')
  const json = JSON.parse((await world.home.command('list', '--plugins', 'team', '--as', 'sources', '--json')).stdout)
  const config = parseConfig(stdout, 'skillsyncd.yaml', environmentOf({}, '/home/ada'))

  expect('sources' in config && config.sources.map(({ source }) => [source.url, source.ref])).toEqual([
    [urls[0], SHA],
    [urls[1], SHA],
    [urls[2], undefined],
  ])
  expect(json.sources.map(({ url }: { readonly url: string }) => url)).toEqual(urls)
  expect(stdout.match(/# no pin.*\n.*/g)).toEqual(['# no pin: the marketplace has no commit for it\n  - id: team-p2'])
})

test('a commit that moves a skill to another plugin moves it to the pack of that plugin', async () => {
  await using world = await World.create(SOURCE)
  const { home, git, repository } = world
  await repository.commit(FILES)
  const plugins = [{ name: 'writing', source: './plugins/style', skills: './rules' }]
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, ...SOURCE] }, [
    'packs: [{ id: w, include: [{ plugin: writing }] }]',
  ])
  const names = async (): Promise<readonly string[]> => {
    await home.command('sync')
    const { skills } = JSON.parse((await home.command('list', '--pack', 'w', '--json')).stdout)
    return skills.map(({ name }: { readonly name: string }) => name)
  }

  const before = await names()
  await repository.commit({ '.claude-plugin/marketplace.json': JSON.stringify({ plugins }) })
  const after = await names()

  expect([before, after]).toEqual([['essay', 'letter'], ['prose']])
})

test('a source without `marketplace: true` is told how to switch it on', async () => {
  await using world = await World.create()
  await world.repository.commit(FILES)
  await world.synced()

  const shown = await world.home.command('list', '--plugins', 'team')
  const status = await world.home.command('status')

  expect(shown).toMatchObject({ status: 1, stdout: '' })
  expect(shown.stderr).toContain(
    'The marketplace of "team" is not read; `marketplace: true` of the source switches it on',
  )
  expect(status.stdout).not.toContain('marketplace')
})

test('a source without a marketplace says so, an unknown plugin is an error, and so is a source that serves nothing', async () => {
  await using world = await World.create(SOURCE)
  const nothing = await world.home.command('list', '--plugins', 'team')
  await world.synced()

  const none = await world.home.command('list', '--plugins', 'team')
  const unknown = await world.home.command('list', '--plugins', 'team', 'writing')
  const unnamed = await world.home.command('list', '--plugins')
  const other = await world.home.command('list', '--plugins', 'team', '--as', 'yaml')

  expect(nothing).toMatchObject({ status: 1 })
  expect(nothing.stderr).toContain('Nothing of "team" is served yet')
  expect(none.stdout).toMatch(/^team has no marketplace in the commit [0-9a-f]{12}\n$/)
  expect(unknown).toMatchObject({ status: 1 })
  expect(unknown.stderr).toContain('has no plugin "writing"')
  expect(unnamed).toMatchObject({ status: 2 })
  expect(other).toMatchObject({ status: 2, stderr: expect.stringContaining('packs or sources') })
})
