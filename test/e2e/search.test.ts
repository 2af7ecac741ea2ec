import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { legacyHttp, modernHttp, stdio } from '../support/clients/peer.ts'
import type { Peer } from '../support/clients/peer.ts'
import { openSite, startDaemon } from './programs.ts'
import type { Site } from './programs.ts'
import { World, skill } from './world.ts'

const HIDDEN = '---\nname: deploy\ndescription: Goes live\ndisable-model-invocation: true\n---\n# Rollout\n'

test('what only people call is in no list for models, and is read and got like any other', async () => {
  await using site = await openSite({
    'skills/alpha/SKILL.md': skill('alpha', '# Beginnings'),
    'skills/deploy/SKILL.md': HIDDEN,
  })
  await using daemon = await startDaemon(site)
  for (const open of peersOf(daemon.url, site)) {
    await using peer = await open()

    const listed = await untilListed(peer)
    const [seen, hidden] = [await found(peer, 'begining'), await found(peer, 'deploy rollout live')]
    const catalog = await prompted(peer)
    const got = await peer.call('tools/call', { name: 'get_skill', arguments: { id: 'deploy' } })
    const { result } = await peer.call('skills/list')

    expect([listed, seen, hidden]).toEqual([['alpha'], ['alpha'], []])
    expect([catalog.includes('<name>alpha</name>'), catalog.includes('deploy')]).toEqual([true, false])
    expect(got.result.structuredContent).toMatchObject({ name: 'deploy', content: '# Rollout\n' })
    expect(result.skills.map((entry: any) => entry.frontmatter.name)).toEqual(['alpha', 'deploy'])
  }
})

test('what is pushed is found, and what was removed is not, over the same connection', async () => {
  await using world = await World.create()
  await world.synced()
  await using mcp = await stdio([], 'legacy', world.home.env)
  const before = await found(mcp, 'alhpa')

  await world.repository.commit({ 'alpha/SKILL.md': null, 'beta/SKILL.md': skill('beta', '# Second thing') })
  await world.synced()
  let after = await found(mcp, 'second')
  while (after.length === 0) after = await found(mcp, 'second')

  expect([before, after, await found(mcp, 'alpha')]).toEqual([['alpha'], ['beta'], []])
})

test('the command list --prompt prints what the prompt says, and nothing where nothing is left', async () => {
  await using world = await World.create()
  await world.synced()
  await using mcp = await stdio([], 'modern', world.home.env)

  const printed = await world.home.command('list', '--prompt')
  const said = await prompted(mcp)
  const other = await world.home.command('list', '--only', 'team', '--prompt', '--json')
  await world.home.command('disable', 'team/alpha')
  const nothing = await world.home.command('list', '--prompt')

  expect(printed).toMatchObject({ status: 0, stderr: '', stdout: said })
  expect(said).toContain('<name>alpha</name>')
  expect(JSON.parse(other.stdout)).toEqual({ prompt: said })
  expect(nothing).toMatchObject({ status: 0, stdout: '', stderr: '' })
  let left = await mcp.call('prompts/get', { name: 'skills-catalog' })
  while (left.result.messages.length > 0) left = await mcp.call('prompts/get', { name: 'skills-catalog' })
  expect(left.error).toBeUndefined()
})

test('turned off there is no search_skills, and the other tools stay', async () => {
  await using world = await World.create()
  const { configFile } = world.home
  const yaml = await readFile(configFile, 'utf8')
  await writeFile(configFile, yaml.replace('serve: {', 'serve: { forms: [default, -search],'))
  await using mcp = await stdio([], 'legacy', world.home.env)

  const { result } = await mcp.call('tools/list')
  const called = await mcp.call('tools/call', { name: 'search_skills', arguments: { query: 'alpha' } })

  expect(result.tools.map(({ name }: { readonly name: string }) => name)).toEqual(['list_skills', 'get_skill'])
  expect(called.error).toMatchObject({ code: -32602, message: expect.stringContaining('get_skill') })
})

function peersOf(url: string, { configFile }: Site): (() => Promise<Peer>)[] {
  const args = ['--config', configFile]
  return [
    async () => modernHttp(url),
    async () => legacyHttp(url),
    async () => stdio(args, 'legacy'),
    async () => stdio(args, 'modern'),
  ]
}

async function found(peer: Peer, query: string): Promise<string[]> {
  const { result } = await peer.call('tools/call', { name: 'search_skills', arguments: { query } })
  if (result.isError === true) throw new Error(result.content[0].text)
  return result.structuredContent.skills.map(({ id }: { readonly id: string }) => id)
}

/** A daemon that has just been started may still be pulling for the first time. */
async function untilListed(peer: Peer): Promise<string[]> {
  for (;;) {
    const { result } = await peer.call('tools/call', { name: 'list_skills' })
    const ids = JSON.parse(result.content[0].text).map(({ id }: { readonly id: string }) => id)
    if (ids.length > 0) return ids
  }
}

async function prompted(peer: Peer): Promise<string> {
  const { result } = await peer.call('prompts/get', { name: 'skills-catalog' })
  return result.messages[0].content.text
}
