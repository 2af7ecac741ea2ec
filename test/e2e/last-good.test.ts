import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { modernHttp } from '../support/clients/peer.ts'
import { Home } from '../support/process/program.ts'
import { skill, World } from './world.ts'

const KEEP = ['every: 1h', 'on_broken: keep']
const BROKEN = { 'alpha/SKILL.md': '---\nname: alpha\n' }

test('a daemon keeps a skill that a commit breaks, says so everywhere, and notifies no client of it', async () => {
  await using world = await World.create(KEEP)
  const { home, repository } = world
  const good = await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'first') })
  const daemon = home.start('start')
  const url = await daemon.line()
  await home.command('sync')
  await using peer = await modernHttp(url)
  const uri = 'skill://team/alpha/SKILL.md'
  const heard = await peer.subscribe([uri, 'skill://team/beta/SKILL.md'])
  const readAlpha = async (): Promise<string> => (await peer.call('resources/read', { uri })).result.contents[0].text

  const bad = await repository.commit({ ...BROKEN, 'beta/SKILL.md': skill('beta', 'new') })
  const synced = await home.command('sync')

  expect(synced.stdout).toContain('2 of 2 skills served\n')
  expect(await readAlpha()).toContain('first')
  const [alpha, beta] = JSON.parse((await home.command('list', '--json')).stdout).skills
  const kept = { commit: good, since: bad, faults: [expect.objectContaining({ code: 'frontmatter-unterminated' })] }
  expect(alpha).toMatchObject({ commit: good, kept, verdict: { state: 'served', reasons: [{ code: 'kept-version' }] } })
  expect(beta).toMatchObject({ commit: bad, verdict: { state: 'served' } })
  expect((await home.command('list')).stdout).toContain('earlier version')
  const said = `the version of commit ${good}, because commit ${bad} broke the skill`
  expect((await home.command('show', 'alpha')).stdout).toContain(said)
  expect((await home.command('why', 'alpha')).stdout).toContain(said)
  expect((await home.command('status')).stdout).toContain('served kept-version team/alpha: The version of commit')
  expect((await home.command('diff', '1', '2')).stdout).toContain('kept     alpha: the version of commit')
  expect(JSON.parse(await daemon.said((line) => line.includes('"skills-kept"')))).toMatchObject({
    skills: 1,
    first: 'alpha',
  })
  const answer = (await peer.call('tools/call', { name: 'get_skill', arguments: { id: 'alpha' } })).result
  expect(answer.structuredContent).toMatchObject({ kept: { commit: good, since: bad } })
  expect(answer.content[1].text).toContain(`the version of commit ${good}, because commit ${bad} broke it`)
  expect(await metrics(url)).toContain('skillsyncd_source_findings{source="team",rule="kept-version"} 1')
  expect(await home.command('verify')).toMatchObject({ status: 0 })
  const sbom = JSON.parse((await home.command('hub', 'export', '--format', 'cyclonedx')).stdout)
  expect(sbom.components.map(({ version }: { version: string }) => version)).toEqual([good, bad])

  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'mended') })
  await home.command('sync')
  await heard.next(({ params }) => params?.uri === uri)
  expect(await readAlpha()).toContain('mended')
  const notified = heard.messages.flatMap(({ params }) => params?.uri ?? [])
  expect(notified.filter((one) => one === uri)).toHaveLength(1)
  await daemon.stop()
}, 60_000)

test('a lock with an earlier version is followed by an empty machine, and by a job without state', async () => {
  await using world = await World.create(KEEP)
  const { home, repository } = world
  await world.synced()
  await using job = await machine(world)
  await home.command('lock')
  await copyLock(home, job)
  await repository.commit({ ...BROKEN, 'beta/SKILL.md': skill('beta', 'new') })

  const updated = await job.command('update', '--pr')
  await using hub = await machine(world)
  await copyLock(job, hub)
  const followed = await hub.command('sync', '--locked')

  expect(updated).toMatchObject({ status: 0, stdout: expect.stringContaining('`team/alpha`: kept') })
  expect(updated.stdout).toContain('`kept-version`')
  expect(followed).toMatchObject({ status: 0 })
  const served = JSON.parse((await hub.command('list', '--json')).stdout).skills
  expect(served.map(({ path, kept }: any) => [path, kept !== undefined])).toEqual([
    ['alpha', true],
    ['beta', false],
  ])
  expect(await hub.command('verify')).toMatchObject({ status: 0 })
  // The same state is the same lock, whoever writes it.
  await home.command('update')
  const locks = await Promise.all([home, job, hub].map(async (one) => readFile(lockOf(one), 'utf8')))
  expect(new Set(locks).size).toBe(1)
}, 120_000)

/** Another machine with the same source. */
async function machine({ git }: World): Promise<Home> {
  const home = await Home.create()
  await home.configure({ team: [`url: ${git.origin}/team.git`, ...KEEP] })
  return home
}

function lockOf({ configFile }: Home): string {
  return join(configFile, '../skills.lock')
}

async function copyLock(from: Home, to: Home): Promise<void> {
  await copyFile(lockOf(from), lockOf(to))
}

async function metrics(url: string): Promise<string> {
  return (await fetch(new URL('/metrics', url))).text()
}
