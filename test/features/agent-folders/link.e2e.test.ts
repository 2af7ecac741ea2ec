import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, chmod, mkdir, readFile, readdir, readlink, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World, skill } from '../../e2e/world.ts'
import { faultsIn } from '../../support/checks.ts'
import { asNobody } from '../../support/content/folder.ts'
import { damageObject } from '../../support/damage.ts'
import { Repository } from '../../support/git/repository.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Home } from '../../support/process/program.ts'
import type { Ended } from '../../support/process/program.ts'

const CLAUDE = '.claude/skills'

test('without an agent it says which there are, which are on this machine, and what is not linked yet', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await mkdir(join(home.path, '.gemini'))
  const empty = await home.command('link')
  await world.synced()
  await home.command('link', '--once', '--verbose', 'claude-code')
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'new'), 'alpha/SKILL.md': null })
  await world.synced()

  const told = await home.command('link')
  const json = JSON.parse((await home.command('link', '--json')).stdout)

  expect(empty).toMatchObject({ status: 0, stderr: '' })
  expect(empty.stdout).toContain(`gemini-cli: not linked, and on this machine; ${home.path}/.gemini/skills\n`)
  expect(empty.stdout).toContain(`codex: not linked; ${home.path}/.agents/skills\n`)
  expect(told.stdout).toContain(`claude-code: 0 skills linked; ${home.path}/${CLAUDE}\n`)
  expect(told.stdout).toContain('  beta: not there, or older; skillsyncd link claude-code\n')
  expect(told.stdout).toContain('  alpha: no longer served; skillsyncd link claude-code\n')
  expect(json.folders).toEqual([
    {
      folder: join(home.path, CLAUDE),
      uses: [{ agent: 'claude-code' }],
      copies: false,
      current: [],
      behind: ['beta'],
      gone: ['alpha'],
      blocked: [],
      blockages: [],
      omitted: [],
      command: 'skillsyncd link claude-code',
    },
  ])
  expect(json.agents.map(({ id, isLinked }: { id: string; isLinked: boolean }) => [id, isLinked])).toEqual([
    ['claude-code', true],
    ['codex', false],
    ['cursor', false],
    ['gemini-cli', false],
    ['copilot', false],
    ['vscode', false],
    ['opencode', false],
    ['windsurf', false],
    ['antigravity', false],
    ['agents', false],
  ])
})

test('each agent has its own folder, of the user or of a project, and variables that move it are heeded', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  const project = join(home.path, 'project')
  await mkdir(project)
  home.env['CLAUDE_CONFIG_DIR'] = join(home.path, 'elsewhere')
  const all = ['claude-code', 'codex', 'cursor', 'gemini-cli', 'agents']

  const user = await home.command('link', '--once', '--verbose', ...all)
  const own = await home.command('link', '--once', '--verbose', ...all, '--project', project)

  expect([user.status, own.status]).toEqual([0, 0])
  for (const folder of ['elsewhere/skills', '.agents/skills', '.cursor/skills', '.gemini/skills']) {
    expect(await readFile(join(home.path, folder, 'alpha/SKILL.md'), 'utf8')).toBe(skill('alpha', 'first'))
  }
  for (const folder of ['.claude/skills', '.agents/skills', '.cursor/skills', '.gemini/skills']) {
    expect(await readFile(join(project, folder, 'alpha/SKILL.md'), 'utf8')).toBe(skill('alpha', 'first'))
  }
  // Two agents that read one folder share what is in it, until the last of them is unlinked.
  expect(user.stdout).toContain(`codex, agents: 1 linked (alpha); ${home.path}/.agents/skills\n`)
  expect(user.stdout).toContain('  - Cursor: versions of early 2026 did not follow links; --copy is for those\n')
  expect(user.stdout).toContain('  - Gemini CLI reads the folder of codex too: it may show each skill twice\n')
  const first = await home.command('link', '--remove', '--verbose', 'codex')
  expect(first.stdout).toContain('  - what is there stays, for agents\n')
  expect(await readdir(join(home.path, '.agents/skills'))).toEqual(['alpha'])
  const last = await home.command('link', '--remove', '--verbose', 'agents')
  expect(last.stdout).toContain('  - alpha (team/alpha) removed\n')
  await home.command('link', '--remove', '--verbose', '--all')
  expect(await readdir(project)).toEqual([])
})

test.each([
  ['copilot', '.copilot/skills', '.github/skills'],
  ['vscode', '.copilot/skills', '.github/skills'],
  ['opencode', 'config/opencode/skills', '.opencode/skills'],
  ['windsurf', '.codeium/windsurf/skills', '.windsurf/skills'],
  ['antigravity', '.gemini/config/skills', '.agents/skills'],
])('%s reads its skills in %s, and those of a project in %s', async (agent, user, own) => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  const project = join(home.path, 'project')
  await mkdir(project)

  const ends = [await home.command('link', agent), await home.command('link', agent, '--project', project)]

  expect(ends).toEqual([expect.objectContaining({ status: 0 }), expect.objectContaining({ status: 0 })])
  for (const folder of [join(home.path, user), join(project, own)])
    expect(await readFile(join(folder, 'alpha/SKILL.md'), 'utf8')).toBe(skill('alpha', 'first'))
})

test('of two skills with one name the first source has it, the other is told, and what is linked stays whose it is', async () => {
  await using world = await World.create()
  await using other = await Repository.create()
  const { home } = world
  await other.commit({ 'alpha/SKILL.md': skill('alpha', 'of house'), 'beta/SKILL.md': skill('beta', 'of house') })

  const [first, second] = await linkedInBothOrders(world, other)
  const kept = await readFile(join(home.path, CLAUDE, 'alpha/SKILL.md'), 'utf8')
  const doctor = await home.command('doctor')
  const status = await home.command('status')
  const list = await home.command('link')
  await other.commit({ 'alpha/SKILL.md': null })
  await world.synced()
  const gone = await readFile(join(home.path, CLAUDE, 'alpha/SKILL.md'), 'utf8').catch(() => 'nothing')
  const third = await home.command('link', '--once', '--verbose', 'claude-code')

  expect(first.status).toBe(3)
  const skills: unknown[] = JSON.parse(first.stdout).folders[0].skills
  expect(skills).toContainEqual(expect.objectContaining({ name: 'alpha', end: 'linked', source: 'house' }))
  expect(skills).toContainEqual(
    expect.objectContaining({
      name: 'alpha',
      end: 'clash',
      source: 'team',
      standsFor: { source: 'house', path: 'alpha' },
    }),
  )
  expect(second.status).toBe(3)
  expect(second.stdout).toContain('! alpha (team/alpha) is not linked: house/alpha has the name; ')
  const why = 'alpha (team/alpha) is not linked: house/alpha has the name'
  const fix = 'disable that and link every agent again to have this one'
  const folder = join(home.path, CLAUDE)
  expect(doctor.stdout).toContain(`warn  links ${folder}: ${why}\n        → ${fix}\n`)
  expect(status.stdout).toContain(`! folder ${folder}: folder-blocked: ${why}\n  ${fix}\n`)
  expect(list.stdout).toContain(`  ${why}; ${fix}\n`)
  for (const { stdout } of [doctor, status, list]) expect(stdout).not.toContain('skillsyncd link claude-code')
  expect(kept).toBe(skill('alpha', 'of house'))
  // Nobody else's skill turns up under a name that somebody has from another source.
  expect(gone).toBe('nothing')
  expect(third).toMatchObject({ status: 0 })
  expect(third.stdout).toContain('- alpha (house/alpha) removed\n')
  expect(third.stdout).toContain('+ alpha (team/alpha) linked\n')
  expect(await readFile(join(home.path, CLAUDE, 'alpha/SKILL.md'), 'utf8')).toBe(skill('alpha', 'first'))
})

test('skills of one name and one content are one: the copy of another source is no clash', async () => {
  await using world = await World.create()
  await using other = await Repository.create()
  await other.commit({ 'copies/alpha/SKILL.md': skill('alpha', 'first') })

  const [first, second] = await linkedInBothOrders(world, other)

  expect(first.status).toBe(0)
  expect(JSON.parse(first.stdout).folders[0].skills.map(({ source, end }: any) => [source, end])).toEqual([
    ['house', 'linked'],
  ])
  expect(second).toMatchObject({ status: 0, stdout: expect.not.stringContaining('!') })
  await other.commit({ 'copies/alpha/SKILL.md': skill('alpha', 'second') })
  await world.synced()
  expect((await world.home.command('link', '--once', '--verbose', 'claude-code')).stdout).toContain(
    '! alpha (team/alpha) is not linked',
  )
})

test('a name that another folder has from a source stays with that source there, also when the skill is gone', async () => {
  await using world = await World.create()
  await using other = await Repository.create()
  const { home, git, repository } = world
  await other.commit({ 'alpha/SKILL.md': skill('alpha', 'of house'), 'beta/SKILL.md': skill('beta', 'of house') })
  await home.configure({
    team: [`url: ${git.serve('team', repository)}`, 'every: 1h'],
    house: [`url: ${git.serve('house', other)}`, 'every: 1h'],
  })
  await world.synced()
  await home.command('link', '--once', '--verbose', 'claude-code', 'cursor')
  await home.command('disable', 'team/alpha')

  const one = await home.command('link', '--once', '--verbose', 'claude-code')
  const elsewhere = await readFile(join(home.path, '.cursor/skills/alpha/SKILL.md'), 'utf8').catch(() => 'nothing')
  await home.command('enable', 'team/alpha')
  const back = await readFile(join(home.path, '.cursor/skills/alpha/SKILL.md'), 'utf8')

  expect(one.status).toBe(3)
  expect(one.stdout).toContain('! alpha (house/alpha) is not linked: team/alpha has the name; ')
  expect(elsewhere).toBe('nothing')
  expect(back).toBe(skill('alpha', 'first'))
})

test('of two skills of one source with one name the first path has it, and the other is told', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await repository.commit({ 'b/beta/SKILL.md': skill('beta', 'b'), 'a/beta/SKILL.md': skill('beta', 'a') })
  await world.synced()

  const linked = await home.command('link', '--once', '--verbose', 'claude-code')
  await home.command('disable', 'team/a/beta')
  const other = await home.command('link', '--once', '--verbose', 'claude-code')

  expect(linked.status).toBe(3)
  expect(linked.stdout).toContain('! beta (team/b/beta) is not linked: team/a/beta has the name; ')
  expect(other.status).toBe(0)
  expect(await readFile(join(home.path, CLAUDE, 'beta/SKILL.md'), 'utf8')).toBe(skill('beta', 'b'))
})

test('a skill that moved within its source is followed', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await world.synced()
  await home.command('link', '--once', '--verbose', 'claude-code')

  await repository.commit({ 'alpha/SKILL.md': null, 'office/alpha/SKILL.md': skill('alpha', 'moved') })
  await world.synced()

  expect(await readFile(join(home.path, CLAUDE, 'alpha/SKILL.md'), 'utf8')).toBe(skill('alpha', 'moved'))
  expect((await home.command('link', '--once', '--verbose', 'claude-code')).stdout).toContain(': 1 as before; ')
})

test('disable takes a skill out of the folder at once and enable brings it back, without the command', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  await home.command('link', '--once', '--verbose', 'claude-code')
  const document = join(home.path, CLAUDE, 'alpha/SKILL.md')

  await home.command('disable', 'alpha')
  const disabled = await readFile(document, 'utf8').catch(() => 'nothing')
  await home.command('enable', 'alpha')

  expect(disabled).toBe('nothing')
  expect(await readFile(document, 'utf8')).toBe(skill('alpha', 'first'))
})

test('skills of another MCP server are not linked without `folders`, approved or not, and that is said', async () => {
  await using home = await Home.create()
  await using server = await HostileServer.start()
  server.skills.set('skill://refunds/SKILL.md', { 'SKILL.md': skill('refunds', 'body') })
  await using repository = await Repository.create()
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'first') })
  await home.configure({
    au: [`mcp: "${server.url}"`, 'approval: none'],
    team: [`url: file://${repository.folder}`],
  })
  expect(await home.command('sync')).toMatchObject({ status: 0 })
  const list = JSON.parse((await home.command('list', '--served', '--json')).stdout)

  const linked = await home.command('link', '--once', '--verbose', 'claude-code')
  const named = await home.command('link', '--once', '--verbose', 'claude-code', '--skill', 'refunds')

  expect(list.skills).toHaveLength(2)
  expect(linked.stdout).toContain(
    '- 1 skill of other MCP servers: in no folder, since their sources have no `folders: true`\n',
  )
  expect(await readdir(join(home.path, CLAUDE))).toEqual(['alpha'])
  expect(await readdir(join(home.state, 'links'))).toEqual(['alpha'])
  expect(named).toMatchObject({ status: 1, stdout: '' })
  expect(named.stderr).toContain('Cannot link "au/refunds": it is of another MCP server')
  expect(named.stderr).toContain('Agents have it over MCP (skillsyncd mcp)')
})

test('each skill that has no place in a folder is named with its reason, and so where it alone is asked for', async () => {
  await using world = await World.create(['unlisted: [old]'])
  const { home, repository } = world
  await repository.commit({
    'Too long/SKILL.md': `---\nname: long\ndescription: ${'too long '.repeat(120)}\n---\n`,
    'broken/SKILL.md': '---\nname: [\n---\n',
    'old/SKILL.md': skill('old', 'body'),
    'off/SKILL.md': skill('off', 'body'),
  })
  await world.synced()
  await home.command('disable', 'off')

  const all = await home.command('link', '--once', '--verbose', 'claude-code')
  const json = JSON.parse((await home.command('link', '--once', '--verbose', 'claude-code', '--json')).stdout)
  const one = await home.command('link', '--once', '--verbose', 'claude-code', '--skill', 'alpha')
  const refused = await home.command('link', '--once', '--verbose', 'claude-code', '--skill', 'long')

  expect(all.status).toBe(0)
  expect(all.stdout).toMatch(
    /- team\/Too long is not linked: partly served: .*1079.*; its folder "Too long" has no name that a skill can have/,
  )
  expect(all.stdout).toMatch(/- team\/broken is not linked: .+: .+/)
  expect(all.stdout).toContain('- team/old is not linked: partly served: it is in no list: ')
  expect(all.stdout).toContain('- team/off is not linked: disabled\n')
  expect(json.leftOut.map(({ path }: { readonly path: string }) => path)).toEqual(['Too long', 'broken', 'off', 'old'])
  expect(one.stdout).not.toContain('is not linked')
  expect(refused).toMatchObject({ status: 1, stdout: '' })
  expect(refused.stderr).toContain('Cannot link "team/Too long": partly served: ')
})

test('skills for tools only are linked by the names of their folders, behind those that are served, and followed', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await repository.commit({
    'alpha-2/SKILL.md': skill('alpha', 'of its own'),
    'alpha-3/SKILL.md': skill('alpha', 'first'),
    'shown/SKILL.md': '---\nname: Not A Name\ndescription: d\n---\n',
    'a/beta/SKILL.md': '---\nname: Beta\ndescription: d\n---\n',
    'z/beta/SKILL.md': skill('beta', 'served'),
  })
  await world.synced()

  const linked = await home.command('link', '--once', '--verbose', 'claude-code')
  await repository.commit({ 'alpha-2/SKILL.md': skill('alpha', 'changed') })
  await world.synced()

  expect(linked.stdout).toContain('+ alpha-2 (team/alpha-2) linked\n')
  expect(linked.stdout).toContain('+ shown (team/shown) linked\n')
  expect(linked.stdout).toContain('! beta (team/a/beta) is not linked: team/z/beta has the name')
  expect(linked.stdout).toMatch(/- team\/alpha-3 is not linked: withheld: .+ which has the same files/)
  expect(await readFile(join(home.path, CLAUDE, 'alpha-2/SKILL.md'), 'utf8')).toBe(skill('alpha', 'changed'))
  expect((await readdir(join(home.path, CLAUDE))).toSorted()).toEqual(['alpha', 'alpha-2', 'beta', 'shown'])
})

test('copies stay as they are until the command is run again, and one that somebody changed is left', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await repository.commit({ 'alpha/scripts/run.py': { executable: '#!/usr/bin/env python3\n' } })
  await world.synced()
  const folder = join(home.path, '.cursor/skills/alpha')

  const copied = await home.command('link', '--once', '--verbose', 'cursor', '--copy')
  const first = await readFile(join(folder, 'SKILL.md'), 'utf8')
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  await world.synced()
  const meanwhile = await readFile(join(folder, 'SKILL.md'), 'utf8')
  // What Python leaves behind is no change of anybody's.
  await mkdir(join(folder, 'scripts/__pycache__'))
  await writeFile(join(folder, 'scripts/__pycache__/run.pyc'), '')
  const renewed = await home.command('link', '--once', '--verbose', 'cursor', '--copy')
  const second = await readFile(join(folder, 'SKILL.md'), 'utf8')
  await writeFile(join(folder, 'SKILL.md'), 'mine')
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'third') })
  await world.synced()
  const left = await home.command('link', '--once', '--verbose', 'cursor', '--copy')
  const unlinked = await home.command('link', '--remove', '--verbose', 'cursor')

  expect(copied.stdout).toContain('+ alpha (team/alpha) copied\n')
  expect([first, meanwhile, second]).toEqual(['first', 'first', 'second'].map((body) => skill('alpha', body)))
  expect(renewed.stdout).toContain('~ alpha (team/alpha) copied again\n')
  expect(left).toMatchObject({ status: 3 })
  expect(left.stdout).toContain('! alpha (team/alpha) left alone: a copy that was changed since; ')
  expect(unlinked).toMatchObject({ status: 3 })
  expect(await readFile(join(folder, 'SKILL.md'), 'utf8')).toBe('mine')
  expect(await readdir(join(home.path, '.cursor/skills'))).toEqual(['alpha'])
})

test('a copy of a skill that has such files itself is known as ours, used or not, and follows them', async () => {
  await using world = await World.create()
  const { home, repository } = world
  const cache = 'scripts/__pycache__/run.cpython-312.pyc'
  await repository.commit({ 'alpha/.DS_Store': 'of the author', [`alpha/${cache}`]: 'first' })
  await world.synced()
  const folder = join(home.path, '.cursor/skills/alpha')
  await home.command('link', '--once', '--verbose', 'cursor', '--copy')

  const again = await home.command('link', '--once', '--verbose', 'cursor', '--copy')
  await writeFile(join(folder, cache), 'made anew')
  await writeFile(join(folder, 'scripts/__pycache__/other.cpython-312.pyc'), '')
  const used = await home.command('link', '--once', '--verbose', 'cursor', '--copy')
  await repository.commit({ [`alpha/${cache}`]: 'second' })
  await world.synced()
  const renewed = await home.command('link', '--once', '--verbose', 'cursor', '--copy')
  const second = await readFile(join(folder, cache), 'utf8')
  const unlinked = await home.command('link', '--remove', '--verbose', 'cursor')

  expect(again.stdout).toContain(': 1 as before; ')
  expect(used.stdout).toContain(': 1 as before; ')
  expect(renewed.stdout).toContain('~ alpha (team/alpha) copied again\n')
  expect(second).toBe('second')
  expect(unlinked).toMatchObject({ status: 0 })
  expect(await readdir(home.path)).not.toContain('.cursor')
})

test.each([
  ['a file of another kind', async (cache: string) => writeFile(join(cache, 'notes.txt'), 'mine')],
  [
    'a folder',
    async (cache: string) => mkdir(join(cache, 'deep.pyc')).then(() => writeFile(join(cache, 'deep.pyc/a.pyc'), '')),
  ],
  ['a link', async (cache: string) => symlink('/nowhere', join(cache, 'run.cpython-312.pyc'))],
])('what Python does not leave in its cache is a change: %s', async (_, put) => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  await home.command('link', '--once', '--verbose', 'cursor', '--copy')
  const cache = join(home.path, '.cursor/skills/alpha/__pycache__')
  await mkdir(cache)
  await put(cache)
  const before = await readdir(cache, { recursive: true })

  const linked = await home.command('link', '--once', '--verbose', 'cursor', '--copy')
  const unlinked = await home.command('link', '--remove', '--verbose', 'cursor')

  expect(linked).toMatchObject({ status: 3 })
  expect(linked.stdout).toContain('! alpha (team/alpha) left alone: a copy that was changed since; ')
  expect(unlinked).toMatchObject({ status: 3 })
  expect(unlinked.stdout).toContain('! alpha left alone: it was changed since it was put there\n')
  expect(await readdir(cache, { recursive: true })).toEqual(before)
})

test('links become copies and copies links, and only what was asked for is put there', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'too') })
  await world.synced()
  const folder = join(home.path, CLAUDE)

  await home.command('link', '--once', '--verbose', 'claude-code', '--skill', 'team/alpha')
  const some = await readdir(folder)
  const listed = await home.command('link')
  await home.command('link', '--once', '--verbose', 'claude-code', '--only', 'team', '--copy')
  const copies = await readlink(join(folder, 'alpha')).catch(() => 'a folder')
  await home.command('link', '--once', '--verbose', 'claude-code', '--skill', 'alpha')
  const links = await readlink(join(folder, 'alpha'))
  const unlinked = await home.command('link', '--remove', '--verbose', '--all')

  expect(some).toEqual(['alpha'])
  expect(listed.stdout).toContain(`claude-code: 1 skill linked; ${folder}\n`)
  expect(listed.stdout).not.toContain('beta')
  expect([copies, links]).toEqual(['a folder', join(home.state, 'links/alpha')])
  expect(unlinked.status).toBe(0)
  expect(await readdir(home.path)).not.toContain('.claude')
})

test('a dry run says what would be done, and does nothing', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()

  const dry = await home.command('link', '--once', '--verbose', 'claude-code', '--dry-run')
  const before = await readdir(home.path)
  await home.command('link', '--once', '--verbose', 'claude-code')
  const away = await home.command('link', '--remove', '--verbose', '--all', '--dry-run', '--json')

  expect(dry).toMatchObject({ status: 0 })
  expect(dry.stdout).toContain('+ alpha (team/alpha) linked\n')
  expect(before).not.toContain('.claude')
  expect(JSON.parse(away.stdout)).toMatchObject({
    dryRun: true,
    folders: [{ skills: [{ name: 'alpha', end: 'removed' }] }],
  })
  expect(await readdir(join(home.path, CLAUDE))).toEqual(['alpha'])
})

test('a folder that is a link is followed: two agents that share one so have each skill once', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  await mkdir(join(home.path, 'dotfiles/skills'), { recursive: true })
  await mkdir(join(home.path, '.claude'))
  await symlink('../dotfiles/skills', join(home.path, CLAUDE))
  await mkdir(join(home.path, '.agents'))
  await symlink(join(home.path, CLAUDE), join(home.path, '.agents/skills'))

  const linked = await home.command('link', '--once', '--verbose', 'claude-code', 'codex')
  const shared = await readdir(join(home.path, 'dotfiles/skills'))
  await home.command('link', '--remove', '--verbose', 'codex')
  const after = await readdir(join(home.path, 'dotfiles/skills'))
  await home.command('link', '--remove', '--verbose', 'claude-code')

  expect(linked.stdout).toContain('claude-code, codex: ')
  expect([shared, after]).toEqual([['alpha'], ['alpha']])
  expect(await readdir(join(home.path, 'dotfiles/skills'))).toEqual([])
})

test.each([
  ['is a file', async (path: string) => writeFile(path, ''), '/skills" is not a folder; make'],
  [
    'is a link to nothing',
    async (path: string) => symlink('nowhere', path),
    '/skills" is a link to "nowhere", where there',
  ],
])(
  'a place that %s fails with its reason, is left as it is, and keeps no other agent from its skills',
  async (_, make, why) => {
    await using world = await World.create()
    const { home } = world
    await world.synced()
    await mkdir(join(home.path, '.claude'))
    await make(join(home.path, CLAUDE))

    const ended = await home.command('link', '--once', '--verbose', 'claude-code', 'codex')

    expect(ended.status).toBe(1)
    expect(ended.stdout).toMatch(new RegExp(`! alpha \\(team/alpha\\) failed: "\\S+${why}`))
    expect(await readdir(join(home.path, '.agents/skills'))).toEqual(['alpha'])
    expect(await home.command('link', '--remove', '--verbose', '--all')).toMatchObject({ status: 0 })
    expect(await readdir(join(home.path, '.claude'))).toEqual(['skills'])
  },
)

// Root may write anywhere.
test.skipIf(process.getuid?.() === 0)(
  'a folder that cannot be written is told, and nothing is remembered of it',
  async () => {
    await using world = await World.create()
    const { home } = world
    await world.synced()
    await mkdir(join(home.path, CLAUDE), { recursive: true })
    await chmod(join(home.path, CLAUDE), 0o500)

    const ended = await home.command('link', '--once', '--verbose', 'claude-code')
    await chmod(join(home.path, CLAUDE), 0o700)

    expect(ended).toMatchObject({ status: 1 })
    expect(ended.stdout).toContain('! alpha (team/alpha) failed: permission denied\n')
    expect(JSON.parse(await readFile(join(home.state, 'links.json'), 'utf8')).skills).toEqual({})
  },
)

test('link --remove names what was there, and not the names that the record keeps', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })
  await world.synced()
  await home.command('link', '--once', 'claude-code')
  await rm(join(home.path, CLAUDE, 'alpha'))

  const dry = JSON.parse((await home.command('link', '--remove', '--all', '--dry-run', '--json')).stdout)
  const done = JSON.parse((await home.command('link', '--remove', '--all', '--json')).stdout)

  for (const { folders } of [dry, done])
    expect(folders).toMatchObject([{ folder: join(home.path, CLAUDE), skills: [{ name: 'beta', end: 'removed' }] }])
  expect((await home.command('link', '--remove', '--all')).stdout).toBe('nothing is linked there\n')
})

test('the doctor does not know what is served where the configuration has an error', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  await home.command('link', '--once', 'claude-code')
  await writeFile(home.configFile, (await readFile(home.configFile, 'utf8')).replace('every', 'evry'))

  const { stdout } = await home.command('doctor', '--offline')

  expect(stdout).toContain(`?     links ${join(home.path, CLAUDE)}: not compared with what is served\n`)
  expect(stdout).not.toContain('no longer served')
})

test('what somebody put in the place of a link is theirs, and a link that somebody removed comes back', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'too') })
  await world.synced()
  await home.command('link', '--once', '--verbose', 'claude-code')
  await unlink(join(home.path, CLAUDE, 'alpha'))
  await symlink('/elsewhere', join(home.path, CLAUDE, 'alpha'))
  await unlink(join(home.path, CLAUDE, 'beta'))

  const again = await home.command('link', '--once', '--verbose', 'claude-code')
  const unlinked = await home.command('link', '--remove', '--verbose', 'claude-code')

  expect(again.status).toBe(3)
  expect(again.stdout).toContain('! alpha (team/alpha) left alone: a link to /elsewhere; ')
  expect(again.stdout).toContain('+ beta (team/beta) linked\n')
  expect(unlinked.status).toBe(3)
  expect(unlinked.stdout).toContain('! alpha left alone: it was changed since it was put there')
  expect(await readlink(join(home.path, CLAUDE, 'alpha'))).toBe('/elsewhere')
  expect(await readdir(join(home.path, CLAUDE))).toEqual(['alpha'])
})

test('where the state folder was moved, the links are put anew, and link --remove knows those of before', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  await home.command('link', '--once', '--verbose', 'claude-code', 'codex')
  const moved = join(home.path, 'moved')
  await rename(home.state, moved)

  const linked = await home.command('link', '--once', '--verbose', 'claude-code', '--state', moved)
  const unlinked = await home.command('link', '--remove', '--verbose', 'codex', '--state', moved)

  expect(linked.stdout).toContain('~ alpha (team/alpha) linked again\n')
  expect(await readFile(join(home.path, CLAUDE, 'alpha/SKILL.md'), 'utf8')).toBe(skill('alpha', 'first'))
  expect(unlinked).toMatchObject({ status: 0 })
  expect(await readdir(home.path)).not.toContain('.agents')
})

test('a state folder that was restored under another home leaves the links of the home before, and names its folders', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  await home.command('link', '--once', '--verbose', 'claude-code')
  const [restored, before] = [join(home.path, 'restored'), join(home.path, CLAUDE)]
  await cp(home.state, restored, { recursive: true, verbatimSymlinks: true })
  const target = await readlink(join(before, 'alpha'))
  home.env['CLAUDE_CONFIG_DIR'] = join(home.path, 'other')

  const status = await home.command('status', '--state', restored)
  const unlinked = await home.command('link', '--remove', '--verbose', '--to', before, '--state', restored)
  const after = await home.command('status', '--state', restored)

  const advice = `no agent of this user reads that folder: skillsyncd link --remove --to ${before}, or skillsyncd link --to ${before} to keep it`
  expect(status.stdout).toContain(`! folder ${before}: folder-behind: alpha not as served\n  ${advice}\n`)
  expect(unlinked.stdout).toContain('! alpha left alone: it leads into another state folder\n')
  expect(await readlink(join(before, 'alpha'))).toBe(target)
  expect(after.stdout).not.toContain(before)
})

test('a record that cannot be read stops the commands and no pull, and nothing that is linked is moved', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await world.synced()
  await home.command('link', '--once', '--verbose', 'claude-code')
  await writeFile(join(home.state, 'links.json'), '{')
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })

  const pulled = await home.command('sync')
  const ends = [
    await home.command('link', '--once', '--verbose', 'claude-code'),
    await home.command('link', '--remove', '--verbose', '--all'),
  ]
  const verified = await home.command('verify', '--json')
  await rm(join(home.state, 'links.json'))
  const without = await home.command('verify', '--json')

  expect(pulled.status).toBe(0)
  for (const { status, stderr } of ends) {
    expect(status).toBe(1)
    expect(stderr).toContain('links.json": it is damaged; it lists the skills in the folders')
  }
  expect(await readFile(join(home.path, CLAUDE, 'alpha/SKILL.md'), 'utf8')).toBe(skill('alpha', 'first'))
  expect(findingsOf(verified)).toEqual(['links-damaged'])
  expect(findingsOf(without)).toEqual([])
})

test('a link that cannot be switched fails no pull, is told, and is switched by the next start', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await world.synced()
  await home.command('link', '--once', '--verbose', 'claude-code')
  const link = join(home.state, 'links/alpha')
  await unlink(link)
  await mkdir(join(link, 'in the way'), { recursive: true })
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })

  const pulled = await home.command('sync', '--log-level', 'debug')
  await rm(link, { recursive: true })
  await home.command('sync')

  expect(pulled.status).toBe(0)
  expect(pulled.stderr).toContain('"links-not-switched"')
  expect(await readFile(join(home.path, CLAUDE, 'alpha/SKILL.md'), 'utf8')).toBe(skill('alpha', 'second'))
})

test('a skill whose file is damaged is linked no longer, and keeps no other link from being taken away', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'first') })
  await world.synced()
  await home.command('link', '--once', '--verbose', 'claude-code')
  const [alpha, beta] = [join(home.path, CLAUDE, 'alpha/SKILL.md'), join(home.path, CLAUDE, 'beta/SKILL.md')]
  damageObject(
    home.state,
    createHash('sha256')
      .update(await readFile(alpha))
      .digest('hex'),
  )
  await rm(join(home.state, 'checkouts'), { recursive: true })

  await home.command('disable', 'beta')
  const pulled = await home.command('sync', '--log-level', 'debug')

  expect(pulled.stderr).toContain('"links-not-switched"')
  expect(await readdir(join(home.state, 'links'))).toEqual([])
  expect([existsSync(alpha), existsSync(beta)]).toEqual([false, false])
})

test('where the record was lost, links that lead into the state folder are ours again once link was run', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  await home.command('link', '--once', '--verbose', 'claude-code')
  await rm(join(home.state, 'links.json'))

  const linked = await home.command('link', '--once', '--verbose', 'claude-code')
  const unlinked = await home.command('link', '--remove', '--verbose', '--all')

  expect(linked).toMatchObject({ status: 0 })
  expect(linked.stdout).toContain('~ alpha (team/alpha) linked again\n')
  expect(unlinked.stdout).toContain('- alpha (team/alpha) removed\n')
  expect(await readdir(join(home.path, CLAUDE))).toEqual([])
})

test.each([
  ['the record', 'links.json', ['claude-code']],
  ['the state folder', '', ['claude-code']],
  ['the state folder', '', ['--all']],
])(
  'where %s was lost (%s), link --remove takes out the links that lead into the state folder: %j',
  async (_, lost, args) => {
    await using world = await World.create()
    const { home } = world
    await world.synced()
    await home.command('link', '--once', '--verbose', 'claude-code', 'codex')
    const folder = join(home.path, CLAUDE)
    await symlink(join(home.state, 'links/alpha'), join(folder, 'another'))
    await symlink('/nowhere/links/beta', join(folder, 'beta'))
    await mkdir(join(folder, 'mine'))
    await rm(join(home.state, lost), { recursive: true })

    const dry = await home.command('link', '--remove', '--verbose', ...args, '--dry-run')
    const before = await readdir(folder)
    const unlinked = await home.command('link', '--remove', '--verbose', ...args)
    const again = await home.command('link', '--remove', '--verbose', ...args)

    expect(dry.stdout).toContain(`claude-code: 1 removed (alpha); ${folder}\n  - alpha removed\n`)
    expect(before).toContain('alpha')
    expect(unlinked).toMatchObject({ status: 0, stdout: dry.stdout })
    expect((await readdir(folder)).toSorted()).toEqual(['another', 'beta', 'mine'])
    expect(await readdir(join(home.path, '.agents/skills'))).toEqual(args.includes('--all') ? [] : ['alpha'])
    expect(again).toMatchObject({ status: 0, stdout: 'nothing is linked there\n' })
  },
)

test('a link in a project that leads out of it is refused, one that stays inside is followed', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  const project = join(home.path, 'project')
  await mkdir(join(project, '.agents/skills'), { recursive: true })
  await mkdir(join(project, '.claude'))
  await symlink('../.agents/skills', join(project, CLAUDE))
  await mkdir(join(project, '.cursor'))
  await symlink('../../config', join(project, '.cursor/skills'))

  const inside = await home.command('link', '--once', '--verbose', 'claude-code', '--project', project)
  const outside = await home.command('link', '--once', '--verbose', 'cursor', '--project', project)

  expect(inside.status).toBe(0)
  expect(await readdir(join(project, '.agents/skills'))).toEqual(['alpha'])
  expect(outside).toMatchObject({ status: 2, stdout: '' })
  expect(outside.stderr).toContain(`Cannot link into "${home.path}/config": a link leads there from `)
})

test.each([
  [['link', 'emacs'], 'No agent is called "emacs"; there are claude-code, codex, '],
  [['link', 'claude'], 'No agent is called "claude"; did you mean claude-code? there are claude-code, codex, '],
  [['link', 'codx'], 'No agent is called "codx"; did you mean codex? '],
  [['link', 'codex', '--project', '/nowhere/at/all'], 'Cannot use --project "/nowhere/at/all": '],
  [['link', 'codex', '--only', 'nobody'], 'No source is called "nobody"; there are team'],
  [['link', 'codex', '--all'], '--all goes with --remove'],
  [['link', 'codex', '--remove', '--copy'], '--copy and --remove exclude each other'],
  [['unlink', 'codex'], 'There is no command "unlink"; did you mean "skillsyncd link --remove"?'],
  [['link', '--remove'], '"link --remove" wants the names of agents, --to DIR, or --all; '],
  [['link', '--remove', 'codex', '--all'], '"link --remove" wants the names of agents, --to DIR, or --all; '],
])('%j is wrong usage', async (args, why) => {
  await using world = await World.create()
  await world.synced()

  const ended = await world.home.command(...args)

  expect(ended).toMatchObject({ status: 2, stdout: '' })
  expect(ended.stderr).toContain(why)
})

test('what may not be looked at is told: a source beside the folder as an error, the home of an agent as none here', async () => {
  await using home = await Home.create()
  const closed = join(home.path, 'closed')
  await mkdir(join(closed, 'codex'), { recursive: true })
  await home.configure({ own: [`path: ${join(closed, 'skills')}`] })
  home.env['CODEX_HOME'] = join(closed, 'codex')

  const [listed, linked] = await asNobody(closed, async () => [
    await home.command('link', '--json'),
    await home.command('link', '--once', '--verbose', 'claude-code'),
  ])

  const { agents } = JSON.parse(listed.stdout)
  expect(agents).toContainEqual(expect.objectContaining({ id: 'codex', isHere: false }))
  expect(linked).toMatchObject({ status: 1, stdout: '' })
  expect(linked.stderr).toContain(
    `Cannot link into "${home.path}/${CLAUDE}": cannot check that it is separate from "${closed}/skills": permission denied`,
  )
})

test('the command that mends a folder of a project is one that a shell takes as it stands', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await world.synced()
  const project = join(home.path, "Ada's App")
  await mkdir(project)
  await home.command('link', '--once', '--verbose', 'claude-code', '--project', project)
  await repository.commit({ 'beta/SKILL.md': skill('beta', 'new') })
  await world.synced()

  const listed = await home.command('link')

  expect(listed.stdout).toContain(`skillsyncd link claude-code --project '${home.path}/Ada'\\''s App'\n`)
})

test('nothing is linked into a folder that is a source, nor before anything is served', async () => {
  await using home = await Home.create()
  await mkdir(join(home.path, CLAUDE, 'own'), { recursive: true })
  await writeFile(join(home.path, CLAUDE, 'own', 'SKILL.md'), skill('own', 'mine'))
  await home.configure({ own: [`path: ${join(home.path, '.claude')}`, 'root: skills'] })

  const early = await home.command('link', '--once', '--verbose', 'codex', '--offline')
  await home.command('sync')
  const own = await home.command('link', '--once', '--verbose', 'claude-code')
  const other = await home.command('link', '--once', '--verbose', 'codex')

  expect(early).toMatchObject({ status: 1, stdout: '' })
  expect(early.stderr).toContain('nothing is served yet; skillsyncd sync')
  expect(own).toMatchObject({ status: 2, stdout: '' })
  expect(own.stderr).toContain('it is what the source "own" is made from')
  expect(other.status).toBe(0)
  expect(await readFile(join(home.path, '.agents/skills/own/SKILL.md'), 'utf8')).toBe(skill('own', 'mine'))
})

test('the first link of a new user fetches the sources, and says what failed', async () => {
  await using world = await World.create()
  const { home } = world

  const dry = await home.command('link', '--once', '--verbose', 'codex', '--dry-run')
  const first = await home.command('link', '--once', '--verbose', 'codex')
  await using broken = await Home.create()
  await broken.configure({ gone: [`url: ${world.git.serve('team', world.repository)}/nothing`] })
  const failed = await broken.command('link', '--once', '--verbose', 'codex')

  expect(dry).toMatchObject({ status: 1, stderr: expect.stringContaining('nothing is served yet') })
  expect(first.status).toBe(0)
  expect(first.stderr).toContain('team: updated, refs/heads/main at ')
  expect(await readdir(join(home.path, '.agents/skills'))).toEqual(['alpha'])
  expect(failed).toMatchObject({ status: 1, stdout: '' })
  expect(failed.stderr).toContain('gone: failed (repository-not-found)')
  expect(failed.stderr).toContain('nothing is served yet')
})

function findingsOf({ stdout }: Ended): string[] {
  return faultsIn(stdout).map(({ check }) => check)
}

/** Links the skills of "team" and "house", first with the house before the team, then with the team before the house. */
async function linkedInBothOrders(world: World, other: Repository): Promise<[first: Ended, second: Ended]> {
  const { home, git, repository } = world
  const team = [`url: ${git.serve('team', repository)}`, 'every: 1h']
  const house = [`url: ${git.serve('house', other)}`, 'every: 1h']
  await home.configure({ house, team })
  await world.synced()
  const first = await home.command('link', '--once', '--verbose', 'claude-code', '--json')
  await home.configure({ team, house })
  await world.synced()
  return [first, await home.command('link', '--once', '--verbose', 'claude-code')]
}
