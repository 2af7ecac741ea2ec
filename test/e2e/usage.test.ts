import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { legacyHttp, modernHttp, stdio } from '../support/clients/peer.ts'
import { openSite, runSkillsyncd, startDaemon } from './programs.ts'
import { skill } from './world.ts'

const FILES = {
  'skills/alpha/SKILL.md': skill('alpha', 'first'),
  'skills/alpha/ref/more.md': 'more',
  'skills/beta/SKILL.md': skill('beta', 'second'),
  'skills/gamma/SKILL.md': skill('gamma', 'third'),
}
const ALPHA = 'skill://fx/alpha/SKILL.md'

test('the counts of all processes are shown by skill and by client, and what no client used', async () => {
  await using site = await openSite(FILES, '1h')
  {
    await using daemon = await startDaemon(site)
    await using modern = await modernHttp(daemon.url)
    await using legacy = await legacyHttp(daemon.url)
    await using local = await stdio(['--config', site.configFile], 'legacy')
    await expect.poll(async () => (await modern.call('skills/list')).result.skills).toHaveLength(3)
    for (const peer of [modern, legacy, local]) await peer.call('resources/read', { uri: ALPHA })
    await modern.call('resources/read', { uri: 'skill://fx/alpha/ref/more.md' })
    await legacy.call('tools/call', { name: 'get_skill', arguments: { id: 'beta' } })
    await modern.call('resources/read', { uri: 'skill://fx/none/SKILL.md' })
    const installed = await fetch(new URL('/.well-known/agent-skills/beta/SKILL.md', daemon.url), {
      headers: { 'user-agent': 'npx-skills/1.2 (linux)' },
    })
    expect(installed.status).toBe(200)
  }

  const { rows, counting, countingSince } = JSON.parse(await runSkillsyncd(site, 'list', '--usage', '--json'))
  const bySkill = rows.filter((row: any) => row.skill !== null)
  const { rows: byClient } = JSON.parse(await runSkillsyncd(site, 'list', '--usage', '--by', 'client,skill', '--json'))
  const { unused } = JSON.parse(await runSkillsyncd(site, 'list', '--unused', '30d', '--json'))
  const csv = await runSkillsyncd(site, 'list', '--usage', '--csv')
  const text = await runSkillsyncd(site, 'list', '--unused', '30d')

  expect(bySkill).toEqual([
    { skill: 'fx/alpha', lists: 0, loads: 3, reads: 1, failures: 0 },
    { skill: 'fx/beta', lists: 0, loads: 2, reads: 0, failures: 0 },
  ])
  expect(counting).toBe(true)
  expect(countingSince).toMatch(/^\d{4}-\d{2}-\d{2}$/)
  expect(byClient).toContainEqual({ client: 'npx-skills', skill: 'fx/beta', lists: 0, loads: 1, reads: 0, failures: 0 })
  expect(unused).toEqual([{ skill: 'fx/gamma', uri: 'skill://fx/gamma/SKILL.md', last: null }])
  expect(csv).toContain('skill,lists,loads,reads,failures\r\nfx/alpha,0,3,1,0\r\n')
  expect(text).toBe('SKILL     LAST USE\nfx/gamma  never\n')

  await using again = await startDaemon(site)
  const page = await (await fetch(new URL('/skills/fx/alpha/', again.url))).text()
  expect(page).toContain('Last 30 days: 3 loads, 1 read')
})

test('nothing is counted if the operator turns it off', async () => {
  await using site = await openSite(FILES, '1h')
  await writeFile(site.configFile, 'usage: { enabled: false }\n', { flag: 'a' })
  {
    await using daemon = await startDaemon(site)
    await using modern = await modernHttp(daemon.url)
    await expect.poll(async () => (await modern.call('skills/list')).result.skills).toHaveLength(3)
    const page = await (await fetch(new URL('/skills/fx/alpha/', daemon.url))).text()
    expect(page).not.toContain('Last 30 days')
  }

  expect(JSON.parse(await runSkillsyncd(site, 'list', '--usage', '--json'))).toMatchObject({
    counting: false,
    rows: [],
  })
})

test('a public page does not show the use of a skill', async () => {
  await using site = await openSite(FILES, '1h')
  const serve = 'serve: { public: [page], http: { allowed_hosts: [skills.example.com] } }\n'
  await writeFile(site.configFile, serve, { flag: 'a' })
  await runSkillsyncd(site, 'hub', 'token', 'add', 'ada')
  await using daemon = await startDaemon(site)
  const page = async (): Promise<string> => (await fetch(new URL('/skills/fx/alpha/', daemon.url))).text()

  await expect.poll(page).toContain('<h1><bdi>alpha</bdi></h1>')
  expect(await page()).not.toContain('Last 30 days')
})

test.each([
  [['--usage', '--by', 'skill,none'], 'Cannot add up by "skill,none": the dimensions are skill'],
  [['--usage', '--by', 'skill,skill'], 'Cannot add up by "skill,skill": the dimensions are skill'],
  [['--usage', '--since', 'long ago'], '"long ago" is neither a duration such as 30d nor a day'],
  [['--usage', '--since', '2026-13-01'], '"2026-13-01" is neither a duration such as 30d nor a day'],
  [['--usage', '--since', '2026-02-31'], '"2026-02-31" is neither a duration such as 30d nor a day'],
  [['--unused', '9999-01-01'], '"9999-01-01" is in the future: give a day up to today'],
  [['--unused', '3d', '--by', 'skill'], '--by does not go with --unused'],
  [['--since', '3d'], '--since goes with --usage'],
  [['--usage', 'alpha'], 'leave out WORDS'],
  [['--usage', '--served'], '--served does not go with --usage'],
  [['--usage', '--csv', '--json'], '--csv and --json exclude each other'],
])('%j is wrong usage', async (args, why) => {
  await using site = await openSite({ 'skills/alpha/SKILL.md': skill('alpha', '') })

  await expect(runSkillsyncd(site, 'list', ...args)).rejects.toThrow(why)
})
