import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from '../serve/http/ask.ts'
import { legacyHttp, modernHttp } from '../support/clients/peer.ts'
import { Repository } from '../support/git/repository.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'

let repository: Repository
let served: Served

beforeAll(async () => {
  repository = await Repository.create()
  await repository.commit({ 'tidy/SKILL.md': '---\nname: tidy\ndescription: Tidies\n---\n' })
  served = await serve(repository, { config: ['packs:', '  - id: web', '    include: [{ source: fx }]'] })
})

afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
})

test.each(['/mcp/', '/mcp/web/'])('clients of both eras are served at %s', async (path) => {
  const url = `${served.http.url}${path}`
  await using modern = await modernHttp(url)
  await using legacy = await legacyHttp(url)
  const [ofModern, ofLegacy] = [await modern.call('skills/list'), await legacy.call('skills/list')]

  expect(ofModern.result.skills).toHaveLength(1)
  expect(ofLegacy.result.skills).toHaveLength(1)
})

test.each([
  ['/healthz/', 200],
  ['/readyz/', 200],
  ['/.well-known/agent-skills/index.json/', 200],
  ['/mcp//', 404],
  ['//mcp/', 404],
  ['/nothing/', 404],
  ['/sources/', 404],
])('GET %s is answered with %i', async (path, status) => {
  expect((await ask(served.http.url, path)).status).toBe(status)
})

test.each([
  ['/mcp', '/'],
  ['/mcp/', '/'],
  ['/mcp/web', '/'],
  ['/mcp/web/', '/'],
])('a person who opens %s comes to the page', async (path, page) => {
  const answer = await ask(served.http.url, path, { headers: { accept: 'text/html' } })

  expect(answer.status).toBe(303)
  expect(new URL(answer.headers.location!, `http://localhost${path}`).pathname).toBe(page)
})
