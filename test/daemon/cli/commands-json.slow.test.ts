import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World, skill } from '../../e2e/world.ts'
import { publishedHub, NAME } from '../../features/channel/publish/proved.ts'
import { Repository } from '../../support/git/repository.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { RESULTS } from '../../support/json/commands.ts'
import { expectOfSchema } from '../../support/json/strict.ts'
import { Home } from '../../support/process/program.ts'

/** The entries of the schema that a command has printed here. */
const seen = new Set<string>()

/** Those that need what is not here. Where other tests run them, `Home` compares them with the schema. */
const ELSEWHERE = [
  'doctor --connect',
  'mcp-source add SOURCE URI',
  'reload',
  'service install',
  'service verify',
  'stop',
  'store copy',
  'store migrate',
  'verify --scan',
]

test('without a configuration, and with an empty state folder, each command prints what the schema has', async () => {
  await using home = await Home.create()
  const alone = [
    ['--version'],
    ['instructions'],
    ['explain', 'mass-deletion', 'name-clash'],
    ['explain', 'no-such-code'],
    ['status'],
    ['nothing'],
    ['list', '--nothing'],
  ]
  for (const words of alone) await expectTold(home, ...words)
  await using repository = await Repository.create()
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'first') })
  await expectTold(home, 'add', repository.folder, '--id', 'team', '--offline')

  const empty = [
    ['status'],
    ['list'],
    ['log'],
    ['verify'],
    ['doctor', '--offline'],
    ['link'],
    ['show', 'alpha'],
    ['why', 'alpha'],
    ['diff', 'served', 'upstream'],
    ['rollback', '1'],
    ['hub', 'token', 'list'],
    ['disable', '--followers'],
    ['list', 'alpha'],
    ['list', '--prompt'],
  ]
  for (const words of empty) await expectTold(home, ...words)
  await expectTold(home, 'add', join(home.path, 'gone'))
  await expectTold(home, 'remove', 'team')
  await expectTold(home, 'add', 'https://git.example.com/more.git', '--id', 'more', '--offline')
  await expectTold(home, 'remove', 'more')
})

test('what is served, waits, is withheld, disabled or gone is printed as the schema has it', async () => {
  await using world = await World.create(['every: 1h', 'update: review'])
  const { home, repository } = world
  const bad = '---\nname: bad\n---\nIt has no description\n'
  const first = await repository.commit({
    'beta/SKILL.md': skill('beta', 'first'),
    'beta/run.sh': '#!/bin/sh\n',
    'bad/SKILL.md': bad,
  })
  await using gone = await Repository.create()
  await home.configure(
    {
      team: [`url: ${world.git.serve('team', repository)}`, 'update: review', 'marketplace: true'],
      gone: [`url: ${world.git.serve('gone', gone)}`],
    },
    ['packs: [{ id: all, include: [{ source: team }] }]'],
  )

  const waiting = [['sync'], ['status'], ['approve', 'team'], ['lock'], ['doctor'], ['preview', 'team', '--waiting']]
  for (const words of waiting) await expectTold(home, ...words)
  await expectTold(home, 'approve', 'team', first)
  const served = [
    ['status'],
    ['status', '--check', 'team'],
    ['list'],
    ['list', 'alpha'],
    ['list', '--usage', '--by', 'skill,day'],
    ['list', '--unused', '1d'],
    ['list', '--plugins', 'team'],
    ['list', '--plugins', 'team', '--as', 'packs'],
    ['show', 'beta'],
    ['why', 'beta'],
    ['why', 'bad'],
    ['show', 'bad'],
    ['preview', 'beta'],
    ['lock'],
    ['status', '--upstream'],
    ['verify'],
    ['verify', '--deep'],
    ['hub', 'export'],
    ['hub', 'export', '--format', 'spdx'],
    ['store', 'backup', join(home.path, 'backup')],
    ['store', 'restore', join(home.path, 'backup'), '--state', join(home.path, 'restored')],
  ]
  for (const words of served) await expectTold(home, ...words)

  const second = await repository.commit({
    'alpha/SKILL.md': null,
    'beta/SKILL.md': skill('beta', 'second'),
    'gamma/SKILL.md': skill('gamma', 'new'),
  })
  const moved = [
    ['sync'],
    ['diff', 'served', 'upstream', '--text'],
    ['status', '--upstream'],
    ['update', 'team', '--precise', second],
    ['update', '--pr'],
    ['why', 'alpha'],
    ['show', 'alpha'],
    ['log'],
    ['disable', 'beta', '--reason', 'wrong'],
    ['status'],
    ['why', 'beta'],
    ['list'],
    ['enable', 'beta'],
    ['hold', 'team', '--reason', 'release'],
    ['status'],
    ['release', 'team'],
    ['log'],
  ]
  for (const words of moved) await expectTold(home, ...words)
  await home.configure({ team: [`url: ${world.git.serve('team', repository)}`, 'update: review'] }, ['lock: ignore'])
  const third = await repository.commit({ 'gamma/SKILL.md': skill('gamma', 'newer') })
  const decided = [['sync'], ['reject', 'team', third], ['rollback', 'team', first], ['status'], ['rollback', '1']]
  for (const words of decided) await expectTold(home, ...words)
})

test('folders of agents, units and tokens are printed as the schema has it', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  const folder = join(home.path, 'skills')
  await mkdir(join(home.path, '.claude'))

  const calls = [
    ['link', '--to', folder, '--dry-run'],
    ['link', '--to', folder],
    ['link', 'claude-code', '--once'],
    ['link'],
    ['status'],
    ['link', '--remove', '--all'],
    ['service', 'print', '--user'],
    ['service', 'print', '--launchd'],
    ['service', 'uninstall', '--user'],
    ['hub', 'token', 'add', 'ada'],
    ['hub', 'token', 'add', 'bob', 'eve', '--expires', 'never'],
    ['hub', 'token', 'add', 'ada'],
    ['hub', 'token', 'list'],
    ['hub', 'token', 'renew', 'ada', '--expires', '30d'],
    ['hub', 'token', 'revoke', 'ada'],
  ]
  for (const words of calls) await expectTold(home, ...words)
})

test('rings, publications and enrollment are printed as the schema has it', async () => {
  await using world = await World.create()
  const { home, git, repository } = world
  const rings = ['rings: [{ id: canary, principals: [ada] }, { id: stable, min_age: 3d }]']
  const marketplace = ['serve: { http: { port: 0 }, marketplace: { name: acme } }']
  await home.configure({ team: [`url: ${git.serve('team', repository)}`] }, rings)
  await writeFile(
    home.configFile,
    [`sources: [{ id: team, url: "${git.serve('team', repository)}" }]`, ...rings, ...marketplace, ''].join('\n'),
  )
  await world.synced()

  const calls = [
    ['promote', '--now'],
    ['hold', 'team', '--ring', 'stable'],
    ['status', '--rings'],
    ['status', '--rings', 'ada'],
    ['status'],
    ['hub', 'publish', '--git', 'http://127.0.0.1:9/skills.git', '--branch', 'skills', '--dry-run'],
    ['hub', 'publish', '--git', 'http://127.0.0.1:9/skills.git', '--branch', 'skills'],
    ['hub', 'enroll', '--url', 'https://skills.example.com'],
    ['hub', 'enroll', '--check', '--url', 'http://127.0.0.1:1'],
    ['hub', 'enroll', 'claude-code', '--write', '--dry-run', '--url', 'https://skills.example.com'],
  ]
  for (const words of calls) await expectTold(home, ...words)
})

test('channels, proofs and recalls are printed as the schema has it', async () => {
  const { home, key, file } = await publishedHub()
  const out = join(home.path, 'out')

  const calls = [
    ['hub', 'channel', 'new-key', NAME, '--out', join(home.path, 'other.key')],
    ['hub', 'channel', 'keys'],
    ['hub', 'publish', '--to', out],
    ['hub', 'export', '--proof', file, 'drafts/tidy'],
    ['verify', '--proof', file, '--key', key],
    ['verify', '--proof', join(home.path, 'none'), '--key', key],
    ['verify', '--log'],
    ['disable', 'drafts/tidy', '--followers', '--reason', 'it is wrong'],
    ['disable', '--followers'],
    ['status'],
  ]
  for (const words of calls) await expectTold(home, ...words)
  const { recalls } = JSON.parse((await home.command('disable', '--followers', '--json')).stdout)
  await expectTold(home, 'disable', '--report', recalls[0].id)
  await expectTold(home, 'enable', recalls[0].id)
})

test('skills of another server, and those of an author, are printed as the schema has it', async () => {
  await using server = await HostileServer.start()
  const document = '---\nname: refunds\ndescription: d\n---\nbody\n'
  server.skills.set('skill://refunds/SKILL.md', { 'SKILL.md': document, 'notes.md': 'notes\n' })
  await using home = await Home.create()
  await home.configure({ au: [`mcp: "${server.url}"`] })
  await home.command('sync')
  const folder = join(home.path, 'mine')

  const calls = [
    ['status'],
    ['list'],
    ['why', 'au/refunds'],
    ['preview', 'au/refunds'],
    ['approve', 'au/refunds'],
    ['mcp-source', 'add'],
    ['mcp-source', 'mirror', 'au/refunds'],
    ['skill', 'new', folder],
    ['skill', 'validate', folder],
    ['skill', 'validate', join(home.path, 'none')],
    ['skill', 'project', folder],
  ]
  for (const words of calls) await expectTold(home, ...words)
  await home.approve('au/refunds')
  await expectTold(home, 'status')
})

test('together these have every entry of the schema', () => {
  const missing = Object.keys({ ...RESULTS, error: true }).filter((entry) => !seen.has(entry))

  expect(missing.toSorted()).toEqual(ELSEWHERE)
})

/** Runs a command line with `--json`, and compares what it prints with the schema. */
async function expectTold(home: Home, ...words: readonly string[]): Promise<void> {
  const args = [...words, '--json']
  const { stdout } = await home.command(...args)
  const entry = await expectOfSchema(args, stdout)
  if (entry !== undefined) seen.add(entry)
}
