import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { skill, World } from '../../e2e/world.ts'

const RINGS = ['rings: [{ id: canary, principals: [ada] }, { id: stable, min_age: 3d }]']

test('an operator promotes, holds and releases a ring, and sees who has what and why', async () => {
  await using world = await World.create()
  const { home, git, repository } = world
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h'] }, RINGS)
  await world.synced()
  for (const name of ['ada', 'bob']) await home.command('hub', 'token', 'add', name, '--scope', 'skills')

  const filled = await home.command('promote', '--now', '--json')
  const second = await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  await world.synced()
  const hold = await home.command('hold', 'team', '--ring', 'stable', '--reason', 'release week')
  const held = JSON.parse((await home.command('status', '--rings', '--json')).stdout)
  const shown = await home.command('status', '--rings')
  const none = await home.command('promote', 'team', '--now')
  const release = await home.command('release', 'team', '--ring', 'stable')
  const again = await home.command('release', 'team', '--ring', 'stable')
  const waiting = await home.command('status', '--rings', 'bob')
  const done = JSON.parse((await home.command('promote', 'team', '--ring', 'stable', '--now', '--json')).stdout)
  const member = JSON.parse((await home.command('status', '--rings', 'ada', '--json')).stdout)

  expect(JSON.parse(filled.stdout).promotions).toMatchObject([{ source: 'team', ring: 'stable' }])
  expect(hold.stdout).toBe(
    'team: in the ring stable: held (release week) until skillsyncd release team --ring stable\n',
  )
  expect(release.stdout).toBe('team: released in the ring stable\n')
  expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining('is not held in the ring "stable"') })
  expect(held.rings).toMatchObject([
    { id: 'canary', tokens: ['ada'], hasThoseWithoutToken: false, sources: [] },
    {
      id: 'stable',
      tokens: ['bob'],
      hasThoseWithoutToken: true,
      mostFailures: 0.05,
      sources: [{ source: 'team', next: second, problem: { code: 'held', message: 'release week' } }],
    },
  ])
  expect(held.rings[0]).not.toHaveProperty('mostFailures')
  expect(shown.stdout).toMatch(/^ring canary \(.*no minimum age\).*$/m)
  expect(shown.stdout).toMatch(/^ring stable \(.*minimum age 3d, most failures 5%\).*$/m)
  expect(none).toMatchObject({ status: 0, stdout: expect.stringContaining('nothing to promote') })
  expect(waiting.stdout).toMatch(/bob: ring stable, which has the rest.*\n.*\n {2}team: [0-9a-f]{12} since .* in /)
  expect(done.promotions).toMatchObject([{ source: 'team', ring: 'stable', commit: second }])
  expect(member).toEqual({ principal: 'ada', ring: 'canary', by: 'name', sources: [] })
})

test('the first ring is not held, and rings that contradict each other are refused', async () => {
  await using world = await World.create()
  const { home, git, repository } = world
  const source = { team: [`url: ${git.serve('team', repository)}`] }
  const refusal = async (rings: string): Promise<string> => {
    await home.configure(source, [`rings: [${rings}]`])
    const { status, stderr } = await home.command('status', '--rings')
    return `${status} ${stderr}`
  }

  expect(await refusal('{ id: one, share: 60% }, { id: two, share: 50% }, { id: three }')).toContain('110%')
  expect(await refusal('{ id: one, principals: [ada] }, { id: two, principals: [ada] }')).toContain('has "ada", as')
  expect(await refusal('{ id: one, min_age: 1d }, { id: two, share: 5% }')).toMatch(/first ring[\s\S]*last ring/)
  expect(await refusal('{ id: one }, { id: two }')).toMatch(/^0 /)
  expect(await home.command('hold', 'team', '--ring', 'one', '--reason', 'x')).toMatchObject({ status: 1 })
  expect(await home.command('hold', 'team', '--ring', 'two', '--reason', 'x'.repeat(501))).toMatchObject({ status: 2 })
  const commit = await repository.git('rev-parse', 'main')
  expect(await home.command('hold', 'team', commit, '--ring', 'two')).toMatchObject({ status: 2 })
  expect(await home.command('hold', 'team', '--no-poll', '--ring', 'two')).toMatchObject({ status: 2 })
})

test('the entry for a follower begins with the public address, and has both keys during a change of keys', async () => {
  await using world = await World.create()
  const { home } = world
  const files = ['new.key', 'old.key'].map((name) => join(home.path, name))
  for (const file of files) await home.command('hub', 'channel', 'new-key', 'skills.example.com/channel', '--out', file)
  const keys = files.map((file) => `{ file: ${file} }`).join(', ')
  const config = await readFile(home.configFile, 'utf8')
  const served = config.replace('port: 0 }', 'port: 0, public_url: https://skills.example.com/ }')
  const channel = `channel: { name: skills.example.com/channel, key: [${keys}] }`
  await writeFile(home.configFile, [served, ...RINGS, channel, ''].join('\n'))

  const { stdout } = await home.command('status', '--rings', 'ada')

  const log = 'skills\\.example\\.com/channel/ring\\.canary\\+[0-9a-f]{8}\\+[\\w+/=]+'
  const url = 'https://skills\\.example\\.com/channels/ring\\.canary/'
  expect(stdout).toMatch(new RegExp(`^    follow: { url: "${url}", key: \\["${log}", "${log}"\\], auth: `, 'm'))
})

test('a token of packs has no entry for a follower, whether it is named or its id is given', async () => {
  await using world = await World.create()
  const { home } = world
  const file = join(home.path, 'channel.key')
  await home.command('hub', 'channel', 'new-key', 'hub.example/channel', '--out', file)
  const channel = `channel: { name: hub.example/channel, key: { file: ${file} } }`
  const config = await readFile(home.configFile, 'utf8')
  const packs = 'packs: [{ id: crew, include: [{ source: team }] }]'
  await writeFile(home.configFile, [config, ...RINGS, channel, packs, ''].join('\n'))
  await home.command('hub', 'token', 'add', 'ada', '--scope', 'channel', '--pack', 'crew')
  const entry = async (name: string) =>
    JSON.parse((await home.command('status', '--rings', name, '--json')).stdout).channel

  expect(await entry('ada')).toBeUndefined()
  expect(await entry(`token:ada#${'0'.repeat(12)}`)).toBeUndefined()
  expect(await entry('bob')).toMatchObject({ address: '/channel/' })
})
