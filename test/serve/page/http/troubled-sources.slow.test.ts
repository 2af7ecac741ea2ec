import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Principal } from '../../../../src/serve/principal.ts'
import { Repository } from '../../../support/git/repository.ts'
import { serve } from '../../../support/served.ts'
import type { Served } from '../../../support/served.ts'
import { ask } from '../../http/ask.ts'

const PAGES = ['/', '/skills/fx/kept/', '/sources', '/changes', '/problems', '/connect', '/skills/fx/none/']

let repository: Repository
let empty: Repository
let served: Served
let reader: Pick<Principal, 'packs'> = {}
beforeAll(async () => {
  repository = await Repository.create()
  empty = await Repository.create()
  await repository.commit({ 'kept/SKILL.md': '---\nname: kept\ndescription: Kept\n---\n' })
  await repository.tag('v1')
  served = await serve(repository, {
    source: ['ref: v1'],
    more: { empty },
    mayFail: true,
    config: ['packs:', '  - { id: some, include: [{ source: fx }] }'],
    access: {
      isTokenRequired: true,
      authenticate: async () => ({ id: 'ada', scopes: new Set(['page']), ...reader }),
    },
  })
  await repository.commit({ 'other/SKILL.md': '---\nname: other\ndescription: Other\n---\n' })
  await repository.git('tag', '--force', 'v1')
  await served.sync()
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await empty[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
})

async function page(path: string): Promise<string> {
  const { text } = await ask(served.http.url, path, { headers: { authorization: 'Bearer x' } })
  return text.replace(/<style>.*<\/style>/s, '').replaceAll(/\s+/g, ' ')
}

test('every page names the source that fails and the source that waits in one line, and counts both', async () => {
  reader = {}

  for (const path of PAGES) {
    const text = await page(path)
    const up = path.startsWith('/skills/') ? '../../../' : './'
    const banner = /<div id="banner"[^>]*>(?<text>.*?)<\/div>/.exec(text)?.groups?.['text']
    expect(banner?.trim(), path).toBe(
      `<p class="note bad">1 source fails: <a href="${up}sources#source-empty">empty</a>. 1 source waits for approval: <a href="${up}changes?pending=fx">fx</a>. </p>`,
    )
    expect(text, path).toMatch(/Sources <span id="sources-count"[^>]*>2</)
    expect(text, path).toMatch(/Problems <span id="problems-count"[^>]*>2</)
  }
})

test('a reader of packs sees neither on any page', async () => {
  reader = { packs: new Set(['some']) }

  for (const path of PAGES) {
    const text = await page(path)
    expect(text, path).toContain('Served by skillsyncd')
    expect(text, path).not.toMatch(/banner"|-count"|>empty<|fails|waits|tag-moved|problems/)
  }
})

test('a hub that never served has the reason on the start page, and an empty history', async () => {
  await using none = await Repository.create()
  await using hub = await serve(none, { mayFail: true })
  const at = async (path: string): Promise<string> => (await ask(hub.http.url, path)).text.replaceAll(/\s+/g, ' ')

  const [start, changes, problems] = [await at('/'), await at('/changes'), await at('/problems')]

  expect(start).toMatch(/No skill is served yet\..*<h2>fx<\/h2>.*<span class="tag bad">failing<.*ref-not-found/)
  expect(start).toContain('<code>skillsyncd add URL</code>')
  expect(changes).toContain('Nothing has been served yet.')
  expect(changes).not.toContain('Compare')
  expect(problems).toMatch(/<h2>Fix a source<\/h2>.*sources#source-fx">fx<\/a> <span class="tag bad">not served</)
})

test('a hub without problems says so, and each generation has its date and the way to the one before', async () => {
  await using own = await Repository.create()
  await own.commit({ 'one/SKILL.md': '---\nname: one\ndescription: One\n---\n' })
  await using hub = await serve(own)
  await own.commit({ 'two/SKILL.md': '---\nname: two\ndescription: Two\n---\n' })
  await hub.sync()
  const at = async (path: string): Promise<string> => (await ask(hub.http.url, path)).text.replaceAll(/\s+/g, ' ')

  const [changes, problems] = [await at('/changes'), await at('/problems')]

  expect(problems).toMatch(/<p class="quiet small"> No problems <\/p>/)
  expect(problems).not.toMatch(/<section|<li><h3/)
  expect(changes.match(/<h2>Generation \d .*?\d{4}-\d\d-\d\d \d\d:\d\d UTC<\/time>/g)).toHaveLength(2)
  expect(changes).toContain('<a href="./changes?from=1&to=2">Compare with generation 1</a>')
  expect(changes).toContain('<a href="./changes?from=0&to=1">Compare with nothing</a>')
  expect(changes).toMatch(/name="from" min="0" max="2" value="1".*name="to" min="1" max="2" value="2"/)
})

test('an address without a skill leads to the search, and a reader of everything to the problems', async () => {
  reader = {}
  const ofAll = await page('/skills/fx/none/')
  reader = { packs: new Set(['some']) }
  const ofPacks = await page('/skills/fx/none/')

  expect(ofAll).toMatch(
    /<h1>Not found<\/h1>.*href="\.\.\/\.\.\/\.\.\/">Search the skills<.*href="\.\.\/\.\.\/\.\.\/problems"/,
  )
  expect(ofPacks).toMatch(/<h1>Not found<\/h1>.*>Search the skills</)
  expect(ofPacks).not.toContain('problems')
})
