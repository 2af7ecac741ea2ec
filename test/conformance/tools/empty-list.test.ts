import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newToken } from '../../../src/daemon/access/tokens.ts'
import { stdio } from '../../support/clients/peer.ts'
import type { Peer } from '../../support/clients/peer.ts'
import { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'
import { Home } from '../../support/process/program.ts'
import { serve } from '../../support/served.ts'
import { exchange, modern } from '../exchange.ts'
import { resultOf } from '../peers.ts'
import { openSmall, skillOf } from '../small.ts'

const SERVE = (wait: string): string => `serve: { tool_wait: ${wait} }`

test('an empty list says that the first pull is still running', async () => {
  await using site = await Site.open(['every: 1h'], SERVE('100ms'))
  site.git.fault = { kind: 'hang-before' }

  expect(await site.why()).toContain('"team" is being fetched for the first time')
})

test('an empty list says that a credential is rejected, and neither the address nor the secret', async () => {
  await using site = await Site.open(['every: 1h'], SERVE('1m'))
  site.git.access = { token: 'another' }

  const why = await site.why()

  expect(why).toContain('"team" rejects the credential')
  for (const secret of [site.git.origin, site.home.path, 'http']) expect(why).not.toContain(secret)
})

test('an empty list says that no repository, or no branch, is there', async () => {
  await using site = await Site.open(['every: 1h', 'ref: none'], SERVE('1m'))
  const text = await readFile(site.home.configFile, 'utf8')
  const other = `sources:\n  - { id: other, every: 1h, url: "${site.git.origin}/none.git" }`
  await writeFile(site.home.configFile, text.replace('sources:', other))

  const why = await site.why()

  expect(why).toContain('"team" was not found at the configured address: its branch')
  expect(why).toContain('"other" was not found at the configured address')
})

test('an empty list of a folder says that it holds links that are refused, or nothing', async () => {
  const home = await Home.create()
  const [skills, elsewhere, empty] = ['skills', 'elsewhere', 'empty'].map((name) => join(home.path, name))
  for (const folder of [skills, join(elsewhere!, 'pdf'), empty]) await mkdir(folder!, { recursive: true })
  await writeFile(join(elsewhere!, 'pdf/README.md'), 'Nothing\n')
  await symlink(join(elsewhere!, 'pdf'), join(skills!, 'pdf'))

  const ofLinks = await whyOver(home, '--skills-dir', skills!)
  const ofNothing = await whyOver(home, '--skills-dir', empty!)

  expect(ofLinks).toContain(' has links in place of skills, such as "pdf"')
  expect(ofLinks).not.toContain(home.path)
  expect(ofNothing).toContain(' has no SKILL.md')
})

test('an empty list says that all skills are withheld, and nothing of those that are disabled', async () => {
  const files = { 'a/broken/SKILL.md': '# None\n', 'gone/SKILL.md': '# None\n', 'alpha/SKILL.md': skillOf('alpha') }
  await using small = await openSmall(files)
  const { daemon, config } = small.served
  for (const path of ['alpha', 'gone']) await daemon.parts.decisions.disable(config.sources[0]!.source.id, path, true)

  for (const kind of ['M', 'LH'] as const) {
    const why = await whyBy(small.of(kind))
    expect(why).toContain('"fx" has 1 skill that is withheld: get_skill with the id "fx/a/broken" gives the reason')
    for (const name of ['alpha', 'gone']) expect(why).not.toContain(name)
  }
  await daemon.parts.decisions.disable(config.sources[0]!.source.id, 'a/broken', true)
  expect(await whyBy(small.of('M'))).toContain('"fx" has no skill that is offered')
})

test('a caller that sees an empty pack alone is told of no source', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'alpha/SKILL.md': skillOf('alpha'), 'broken/SKILL.md': '# None\n' })
  const config = ['packs:', '  - { id: front, include: [{ source: fx, path: "b*" }, { source: fx, path: none }] }']
  await using served = await serve(repository, { config })
  const { secret, sha256 } = newToken()
  const created = new Date().toISOString()
  await served.daemon.parts.tokens.add({ name: 'one', sha256, scopes: ['skills', 'tools'], packs: ['front'], created })
  const { headers, body } = modern('tools/call', { name: 'list_skills', arguments: {} })

  const answer = await exchange(served.url, { headers: { ...headers, authorization: `Bearer ${secret}` }, body })

  expect(answer.result.content).toEqual([
    { type: 'text', text: '[]' },
    { type: 'text', text: 'No skill is available to you here.' },
  ])
})

async function whyBy(peer: Peer): Promise<string> {
  const { content } = resultOf(await peer.call('tools/call', { name: 'list_skills', arguments: {} }))
  expect(content[0].text).toBe('[]')
  return content[1]?.text
}

async function whyOver(home: Home, ...args: readonly string[]): Promise<string> {
  await using mcp = await stdio(args, 'modern', home.env)
  return await whyBy(mcp)
}

/** A git server, and a home whose configuration has a repository of it as the source `team`. */
class Site implements AsyncDisposable {
  readonly home: Home
  readonly git: GitServer
  readonly #repository: Repository

  private constructor(home: Home, git: GitServer, repository: Repository) {
    this.home = home
    this.git = git
    this.#repository = repository
  }

  static async open(source: readonly string[], rest: string): Promise<Site> {
    const home = await Home.create()
    const git = await GitServer.start()
    const repository = await Repository.create()
    await repository.commit({ 'alpha/SKILL.md': skillOf('alpha') })
    const lines = [`url: ${git.serve('team', repository)}`, ...source]
    await writeFile(home.configFile, ['sources:', `  - { id: team, ${lines.join(', ')} }`, rest, ''].join('\n'))
    return new Site(home, git, repository)
  }

  async why(): Promise<string> {
    return whyOver(this.home)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.git[Symbol.asyncDispose]()
    await this.#repository[Symbol.asyncDispose]()
  }
}
