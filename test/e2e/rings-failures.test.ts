import { expect, test } from 'vitest'
import { legacyHttp, modernHttp } from '../support/clients/peer.ts'
import { activationOf, exportOf, failureOf } from '../support/otlp.ts'
import { skill, World } from './world.ts'

const CONFIG = [
  'rings: [{ id: canary, principals: [ada] }, { id: stable, most_failures: 20% }]',
  'usage: { otlp: true }',
]
const ALPHA = 'skill://team/alpha/SKILL.md'

test('skills that fail at the clients of the first ring stay there, over a restart, until the operator decides', async () => {
  await using world = await World.create()
  const { home, git, repository } = world
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'first'), 'beta/SKILL.md': skill('beta', 'first') })
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h'] }, CONFIG)
  await world.synced()
  expect(await home.command('promote', '--now')).toMatchObject({ status: 0 })
  const scopes = ['--scope', 'skills,telemetry,metrics']
  const [ada = '', bob = ''] = await Promise.all(
    ['ada', 'bob'].map(async (name) => (await home.command('hub', 'token', 'add', name, ...scopes)).stdout.trim()),
  )
  const started = home.start('start', '--port', '0')
  const url = await started.line()
  await home.command('hold', 'team', '--ring', 'stable', '--reason', 'until it was tried')
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  expect(await home.command('sync')).toMatchObject({ status: 0 })
  await using peer = await modernHttp(url, headersOf(ada))
  expect(await bodyAt(peer)).toContain('second')
  const records = [activationOf('alpha'), failureOf('alpha'), failureOf('alpha'), failureOf('alpha')]
  const sent = await fetch(new URL('/v1/logs', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headersOf(ada) },
    body: JSON.stringify(exportOf(...records)),
  })
  expect([sent.status, await sent.json()]).toEqual([200, {}])
  const metrics = await (await fetch(new URL('/metrics', url), { headers: headersOf(ada) })).text()
  expect(metrics).toContain('skillsyncd_skill_failures_total{skill="team/alpha"} 3')

  await started.stop()
  const again = home.start('start', '--port', '0')
  await using late = await legacyHttp(await again.line(), undefined, headersOf(bob))
  await home.command('release', 'team', '--ring', 'stable')

  const problem = async () =>
    JSON.parse((await home.command('status', '--rings', '--json')).stdout).rings[1].sources[0]?.problem
  await expect.poll(problem, { timeout: 20_000 }).toEqual({
    code: 'ring-failures',
    message: 'failures have risen: "team/alpha" failed 3 of 5 times, no use of the content before',
  })
  expect((await home.command('promote')).stdout).toContain('nothing to promote')
  expect(await bodyAt(late)).toContain('first')
  expect((await home.command('list', '--usage')).stdout).toMatch(/team\/alpha +0 +2 +0 +3/)
  expect((await home.command('promote', '--now')).stdout).toContain('ring stable')
  expect(await bodyAt(late)).toContain('second')
})

function headersOf(token: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${token}` }
}

async function bodyAt(peer: Awaited<ReturnType<typeof modernHttp>>): Promise<string> {
  return (await peer.call('resources/read', { uri: ALPHA })).result.contents[0].text
}
