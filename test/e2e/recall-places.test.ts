import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { Machine } from './fleet.ts'
import { skill } from './world.ts'

test('the folders of agents at a follower lose a recalled skill, links and copies, and get it back when it ends', async () => {
  await using git = await GitServer.start()
  await using team = await Repository.create()
  await team.commit({ 'pdf/SKILL.md': skill('pdf', 'bad'), 'good/SKILL.md': skill('good', 'text') })
  await using hub = await Machine.start('hub.example/channel', { team: [`url: ${git.serve('team', team)}`] })
  await hub.told('sync')
  await using folder = await temporaryFolder()
  const [links, copies] = [join(folder.path, 'links'), join(folder.path, 'copies')]
  const rest = [`links: [{ to: ${links} }, { to: ${copies}, copy: true }]`]
  await using site = await Machine.start('site.example/channel', { hub: hub.followed }, rest)
  await site.told('sync')
  const inFolders = async () => Promise.all([links, copies].map(namesIn))
  const both = ['good', 'pdf']
  expect(await inFolders()).toEqual([both, both])

  const [id = ''] = (await hub.told('disable', 'team/pdf', '--followers', '--reason', 'it is bad')).split(':')

  await expect.poll(inFolders, PATIENT).toEqual([['good'], ['good']])
  await hub.told('enable', id)
  await expect.poll(inFolders, PATIENT).toEqual([both, both])
})

test('a follower of a pack obeys a recall of a skill of the pack, and learns the name of no other skill', async () => {
  await using git = await GitServer.start()
  await using team = await Repository.create()
  await team.commit({
    'web/page/SKILL.md': skill('page', 'bad'),
    'web/good/SKILL.md': skill('good', 'text'),
    'ops/hidden/SKILL.md': skill('hidden', 'of others'),
  })
  await using hub = await Machine.start('hub.example/channel', { team: [`url: ${git.serve('team', team)}`] }, [
    'packs: [{ id: web, description: Web, include: [{ source: team, path: "web/**" }] }]',
  ])
  await hub.told('sync')
  await using folder = await temporaryFolder()
  const token = join(folder.path, 'token')
  await writeFile(token, await hub.told('hub', 'token', 'add', 'web-site', '--scope', 'channel', '--pack', 'web'), {
    mode: 0o600,
  })
  await using site = await Machine.start('site.example/channel', { hub: await ofPack(hub, token) })
  await site.told('sync')
  const [good, page] = ['skill://hub/team/web/good/SKILL.md', 'skill://hub/team/web/page/SKILL.md']
  expect(await site.skills()).toEqual([good, page])

  await hub.told('disable', 'team/ops/hidden', '--followers', '--reason', 'the secret of ops')
  await hub.told('disable', 'team/web/page', '--followers', '--reason', 'the page is bad')

  await expect.poll(() => site.skills(), PATIENT).toEqual([good])
  const decided = await readFile(join(site.home.state, 'decisions.json'), 'utf8')
  for (const told of [await site.told('disable', '--followers', '--json'), decided]) {
    expect(told).toContain('the page is bad')
    expect(told).not.toMatch(/hidden|secret of ops/)
  }
  expect(JSON.parse(await site.told('disable', '--followers', '--json')).recalls).toHaveLength(2)
})

/** The lines of a source that follows the pack `web` with the token of that file. */
async function ofPack(hub: Machine, token: string): Promise<readonly string[]> {
  const keys = (await hub.told('hub', 'channel', 'keys')).split('\n')
  const key = keys.flatMap((line) => /\S*\/web\+\S+/.exec(line) ?? []).at(0)
  const url = new URL('../channels/web/', hub.address).href
  return [`follow: { url: "${url}", key: "${key}" }`, `auth: { token: { file: ${token} } }`, 'every: 1h']
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).toSorted()
}

/** It ends what hangs, and judges nothing. */
const PATIENT = { timeout: 30_000, interval: 100 }
