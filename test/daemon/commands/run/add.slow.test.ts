import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World, skill } from '../../../e2e/world.ts'
import { Repository } from '../../../support/git/repository.ts'

const SHA = 'c'.repeat(40)

const MARKETPLACE = {
  name: 'acme',
  plugins: [
    {
      name: 'search',
      source: { source: 'git-subdir', url: 'https://git.example.com/search.git', path: './kit', sha: SHA },
    },
    { name: 'tools', source: { source: 'github', repo: 'acme/tools', ref: 'v2' } },
  ],
}

test('a repository and a folder come into the file below a comment, and a running daemon serves them', async () => {
  await using world = await World.create()
  const { home } = world
  await using other = await Repository.create()
  await other.commit({ 'skills/beta/SKILL.md': skill('beta', 'first') })
  const url = world.git.serve('kit', other)
  const folder = join(home.path, 'mine')
  await mkdir(join(folder, 'gamma'), { recursive: true })
  await writeFile(join(folder, 'gamma/SKILL.md'), skill('gamma', 'first'))
  const before = (await readFile(home.configFile, 'utf8')).replace('sources:', '# ours\nsources: # all')
  await writeFile(home.configFile, before)
  const daemon = home.start('start')
  await daemon.line()
  await world.synced()

  const added = await home.command('add', url, folder)

  expect(added).toMatchObject({ status: 0 })
  expect(added.stdout).toMatch(
    /^added kit: main at [0-9a-f]{12}: 1 skill below skills\/\nadded mine: .*: 1 skill\nwrote .*\nthe daemon applies it\n$/,
  )
  const after = await readFile(home.configFile, 'utf8')
  expect(after).toContain(`  - id: kit\n    url: ${url}\n    ref: main\n    root: skills\n`)
  expect(after).toContain(`  - id: mine\n    path: ${folder}\n`)
  expect(after.split('\n').filter((line) => !before.split('\n').includes(line))).toHaveLength(8)
  await world.synced()
  const list = JSON.parse((await home.command('list', '--served', '--json')).stdout)
  expect(list.skills.map(({ name }: { name: string }) => name).toSorted()).toEqual(['alpha', 'beta', 'gamma'])
})

test('what is there already, cannot be read, or makes no configuration changes nothing', async () => {
  await using world = await World.create()
  const { home } = world
  const before = await readFile(home.configFile, 'utf8')
  const url = before.match(/url: (\S+)/)?.[1] ?? ''

  expect(await home.command('add', url, '--offline')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('"team" has this address already'),
  })
  expect(await home.command('add', `${url}/nothing`)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('Nothing was written'),
  })
  expect(await home.command('add', 'https://git.example.com/x', '--offline', '--id', 'Not One')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('Cannot add'),
  })
  expect(await home.command('add', 'https://git.example.com/x', '--offline', '--id', 'team')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('There is a source "team" already'),
  })
  expect(await home.command('add')).toMatchObject({ status: 2, stderr: expect.stringContaining('wants an address') })
  expect(await readFile(home.configFile, 'utf8')).toBe(before)
})

test('owner/repo is an address of GitHub, unless there is such a path', async () => {
  await using world = await World.create()
  const { home } = world

  const json = JSON.parse((await home.command('add', 'acme/skills', '--offline', '--json')).stdout)

  expect(json).toMatchObject({ added: [{ id: 'acme', url: 'https://github.com/acme/skills' }], reloaded: false })
  expect(await home.command('add', 'github.com/acme/tools', '--offline')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('no daemon runs; skillsyncd start serves it'),
  })
  expect(await readFile(home.configFile, 'utf8')).toContain('  - id: tools\n    url: https://github.com/acme/tools\n')
})

test('the page of a folder of a branch with slashes is fetched and written as url, ref and root', async () => {
  await using world = await World.create()
  const { home, repository, git } = world
  const files = { '.agents/skills/beta/SKILL.md': skill('beta', 'first'), kit: { link: '.agents' } }
  await repository.commit(files, { branch: 'feature/x' })
  const page = `${git.origin}/team/-/tree/feature/x/kit/skills`

  const added = await home.command('add', page, '--id', 'page')
  const absent = await home.command('add', `${git.origin}/team/-/tree/feature/x/Kit`)
  const windows = await home.command('add', 'C:\\Users\\me\\skills')

  expect(added).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/feature\/x at \w+: 1 skill below kit\/skills\//),
  })
  expect(await readFile(home.configFile, 'utf8')).toContain(
    `  - id: page\n    url: ${git.origin}/team\n    ref: feature/x\n    root: kit/skills\n`,
  )
  expect(absent).toMatchObject({ status: 1, stderr: expect.stringContaining('(root-not-found)') })
  expect(windows).toMatchObject({ status: 2, stderr: expect.stringContaining('is a path of Windows') })
})

test('a branch with slashes and an anchor are named by the failed pull of a pasted address', async () => {
  await using world = await World.create()
  const { home, repository, git } = world
  await repository.commit({ 'skills/beta/SKILL.md': skill('beta', 'first') }, { branch: 'feat/a' })
  const page = `${git.origin}/team/-/tree/feat/a/skills`
  const anchor = '#install behind an address is read as a branch'

  const first = await home.command('sync', '--source', page)
  const named = await home.command('sync', '--source', `${git.origin}/team#feat/a:skills`)
  const anchored = await home.command('sync', '--source', `${git.origin}/team#install`)
  const added = await home.command('add', `${git.origin}/team#install`)
  await home.command('add', page, '--offline', '--id', 'page')
  const pulled = await home.command('sync', 'page')

  const keys = 'set `ref: feat/a` and `root: skills`'
  expect(first.stdout + first.stderr).toContain(`${keys}; on a command line, write ${git.origin}/team#feat/a:skills`)
  expect(named).toMatchObject({ status: 0 })
  expect(anchored.stdout + anchored.stderr).toContain(anchor)
  expect(added).toMatchObject({ status: 1, stderr: expect.stringContaining(anchor) })
  expect(pulled.stdout + pulled.stderr).toContain(keys)
})

test('a repository in a group that is called like a page is read as such where there is no page', async () => {
  await using world = await World.create()
  const { home, repository, git } = world
  git.serve('a/b/tree/kit', repository)
  const url = `${git.origin}/a/b/tree/kit`

  const added = await home.command('add', url)
  const pulled = await home.command('sync', 'kit')
  const absent = await home.command('add', `${git.origin}/a/b/tree/none`)
  const file = (await readFile(home.configFile, 'utf8')).replace('/tree/kit', '/tree/none')
  await writeFile(home.configFile, file)
  const failed = await home.command('sync', 'kit')

  expect(added).toMatchObject({ status: 0 })
  expect(await readFile(home.configFile, 'utf8')).toContain(`url: ${git.origin}/a/b/tree/none\n    ref: main\n`)
  expect(pulled).toMatchObject({ status: 0 })
  expect(absent).toMatchObject({ status: 1, stderr: expect.stringContaining('(repository-not-found)') })
  expect(failed.stdout + failed.stderr).toContain('`url` ends before /tree/ or /blob/')
})

test('the sources that a marketplace suggests come with their pins, once', async () => {
  await using world = await World.create(['every: 1h', 'marketplace: true'])
  const { home, repository } = world
  await repository.commit({ '.claude-plugin/marketplace.json': JSON.stringify(MARKETPLACE) })
  await world.synced()

  const one = await home.command('add', '--from-marketplace', 'team', 'search')
  const rest = await home.command('add', '--from-marketplace', 'team')
  const again = await home.command('add', '--from-marketplace', 'team')
  const unknown = await home.command('add', '--from-marketplace', 'team', 'none')

  expect(one.stdout).toContain('added team-search: plugin search of team\n')
  expect(rest.stdout).toContain('added team-tools: plugin tools of team: no commit pins it\n')
  expect(rest.stdout).not.toContain('team-search')
  expect(again).toMatchObject({ status: 0, stdout: 'nothing to add: the configuration has these sources\n' })
  expect(unknown).toMatchObject({ status: 1, stderr: expect.stringContaining('no plugin "none"') })
  expect(await readFile(home.configFile, 'utf8')).toContain(
    [
      '  # plugin search of team',
      '  - id: team-search',
      '    url: https://git.example.com/search.git',
      `    ref: ${SHA}`,
      '    root: kit',
      '  # plugin tools of team: no commit pins it',
      '  - id: team-tools',
      '    url: https://github.com/acme/tools.git',
      '    ref: v2',
      '',
    ].join('\n'),
  )
})
