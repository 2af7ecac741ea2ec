import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newToken } from '../../../src/daemon/access/tokens.ts'
import { modernHttp, stdio } from '../../support/clients/peer.ts'
import type { Peer } from '../../support/clients/peer.ts'
import { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'
import { Home } from '../../support/process/program.ts'
import { serve } from '../../support/served.ts'
import type { Served } from '../../support/served.ts'
import { everyPeer, resultOf } from '../peers.ts'
import { skillOf } from '../small.ts'

const FIRST_PULL = '"team" is being fetched for the first time: try again in a moment'
const NOT_FOUND = '"more" was not found at the configured address: its branch or tag does not exist'
const CALLS = [
  ['list_skills', {}],
  ['list_skills', { limit: 1 }],
  ['search_skills', { query: 'alpha' }],
  ['search_skills', { query: 'gamma' }],
  ['get_skill', { id: 'gamma' }],
] as const

test('while a source is fetched for the first time, a list, a search and an id that is not there say so', async () => {
  const home = await Home.create()
  await using git = await GitServer.start()
  await using repository = await Repository.create()
  const folder = join(home.path, 'skills/alpha')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'SKILL.md'), skillOf('alpha'))
  const local = { local: [`path: ${join(home.path, 'skills')}`] }
  await home.configure(local)
  expect((await home.command('sync')).status).toBe(0)
  const team = { team: [`url: ${git.serve('team', repository)}`, 'every: 1h'] }
  await home.configure({ ...local, ...team })
  git.fault = { kind: 'hang-before' }
  await using mcp = await stdio([], 'modern', home.env)

  for (const [name, given] of CALLS) expect(await lastText(mcp, name, given), name).toContain(FIRST_PULL)

  const got = await answerOf(mcp, 'get_skill', { id: 'alpha' })
  expect(got.structuredContent.name).toBe('alpha')
  expect(JSON.stringify(got)).not.toContain('team')
})

test('a source that has served nothing yet is missing with the reason, until it is there', async () => {
  await using site = await Site.open()
  await using peers = await everyPeer(site.served)

  for (const peer of peers.all) {
    for (const [name, given] of CALLS) expect(await lastText(peer, name, given), name).toContain(NOT_FOUND)
    expect((await answerOf(peer, 'get_skill', { id: 'gamma' })).isError).toBe(true)
    const { structuredContent } = await answerOf(peer, 'search_skills', { query: 'alpha' })
    expect(Object.keys(structuredContent)).toEqual(['skills'])
  }
  for (const peer of [peers.of('M'), peers.of('LH')])
    expect(await lastText(peer, 'read_skill_file', { id: 'gamma', path: 'a.md' })).toContain(NOT_FOUND)

  await site.more.commit({ 'gamma/SKILL.md': skillOf('gamma') })
  await site.served.sync()
  for (const kind of ['M', 'LH'] as const) {
    expect((await answerOf(peers.of(kind), 'get_skill', { id: 'gamma' })).structuredContent.name).toBe('gamma')
    expect((await answerOf(peers.of(kind), 'list_skills', {})).content).toHaveLength(1)
    expect((await answerOf(peers.of(kind), 'search_skills', { query: 'alpha' })).content).toHaveLength(1)
  }
})

test('a caller that sees packs alone hears that something is missing where its packs may hold it, and of no source', async () => {
  await using site = await Site.open([
    'packs:',
    '  - { id: both, include: [{ name: "*" }] }',
    '  - { id: front, include: [{ source: fx }] }',
  ])
  await using both = await modernHttp(site.served.url, await bearer(site.served, 'both'))
  await using front = await modernHttp(site.served.url, await bearer(site.served, 'front'))

  for (const [name, given] of CALLS) {
    const text = await lastText(both, name, given)
    expect(text, name).toMatch(/^This answer may lack skills .* Try again later\.$/)
    expect(text).not.toContain('more')
    expect(JSON.stringify(await answerOf(front, name, given)), name).not.toContain('may lack')
  }
  expect((await answerOf(front, 'list_skills', {})).content).toHaveLength(1)
})

/** One source `fx` with the skill `alpha`, and a source `more` whose repository has no commit. */
class Site implements AsyncDisposable {
  readonly served: Served
  readonly more: Repository
  readonly #repository: Repository

  private constructor(served: Served, more: Repository, repository: Repository) {
    this.served = served
    this.more = more
    this.#repository = repository
  }

  static async open(config: readonly string[] = []): Promise<Site> {
    const [repository, more] = [await Repository.create(), await Repository.create()]
    await repository.commit({ 'alpha/SKILL.md': skillOf('alpha') })
    return new Site(await serve(repository, { more: { more }, mayFail: true, config }), more, repository)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.served[Symbol.asyncDispose]()
    await this.more[Symbol.asyncDispose]()
    await this.#repository[Symbol.asyncDispose]()
  }
}

async function bearer({ daemon }: Served, pack: string): Promise<Readonly<Record<string, string>>> {
  const { secret, sha256 } = newToken()
  const created = new Date().toISOString()
  await daemon.parts.tokens.add({ name: pack, sha256, scopes: ['skills', 'tools'], packs: [pack], created })
  return { authorization: `Bearer ${secret}` }
}

async function answerOf(peer: Peer, name: string, given: object): Promise<any> {
  return resultOf(await peer.call('tools/call', { name, arguments: given }))
}

async function lastText(peer: Peer, name: string, given: object): Promise<string> {
  return (await answerOf(peer, name, given)).content.at(-1).text
}
