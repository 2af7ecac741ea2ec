import { mkdir, rename, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../../../src/base/async/clock.ts'
import type { Principal } from '../../../../src/serve/principal.ts'
import { Repository } from '../../../support/git/repository.ts'
import { momentsFound, serve } from '../../../support/served.ts'
import type { Served, ServedOptions } from '../../../support/served.ts'
import { sourceId } from '../../../sync/store/samples.ts'
import { ask } from '../../http/ask.ts'
import type { Answer } from '../../http/ask.ts'

const FX = sourceId('fx')
const REASON = 'replaced by <b>our own</b>'

const skill = (name: string, body = 'body'): string => `---\nname: ${name}\ndescription: About ${name}\n---\n${body}\n`

/** A hub with two generations, and decisions before and after each. */
async function filled(repository: Repository, options: ServedOptions): Promise<Served> {
  await repository.commit({
    'one/SKILL.md': skill('one'),
    'two/SKILL.md': skill('two'),
    'secret/quiet/SKILL.md': skill('quiet'),
  })
  const served = await serve(repository, { source: ["unlisted: ['secret/**']"], ...options })
  const { decisions } = served.daemon.parts
  await decisions.disable(FX, 'one', true, { by: 'ida', reason: REASON })
  await decisions.disable(FX, 'secret/quiet', true, { by: 'ida', reason: 'out' })
  await decisions.disable(FX, 'one', false, { by: 'ida' })
  await repository.commit({ 'one/SKILL.md': skill('one', 'more'), 'two/SKILL.md': null })
  await served.sync()
  await decisions.disable(FX, 'one', true, { by: 'joe' })
  return served
}

describe('the history of the hub', () => {
  let repository: Repository
  let served: Served
  let packs: Principal['packs']
  beforeAll(async () => {
    repository = await Repository.create()
    served = await filled(repository, {
      config: ['packs: [{ id: some, include: [{ path: two }] }]'],
      access: {
        isTokenRequired: true,
        authenticate: async () => ({ id: 'ada', scopes: new Set(['page']), ...(packs && { packs }) }),
      },
    })
  })
  afterAll(async () => {
    await served[Symbol.asyncDispose]()
    await repository[Symbol.asyncDispose]()
  })

  const get = async (path: string, as?: Principal['packs']): Promise<Answer> => {
    packs = as
    return page(served, path, { authorization: 'Bearer x' })
  }

  test('has the decisions at their times between the generations, with who decided and why', async () => {
    const { text } = await get('/changes')
    const [, list = ''] = /<ol class="list">(.*)<\/ol>/.exec(text) ?? []
    const items = list
      .split(/<li>(?= <h2>| <span class="tag quiet">decision)/)
      .map((item) => item.replaceAll(/<[^>]*>/g, ''))

    expect(items.slice(1)).toEqual([
      expect.stringMatching(/^ decision disable fx\/one by joe /),
      expect.stringMatching(/^ Generation 2 .*changed one.*removed two/),
      expect.stringMatching(/^ decision enable fx\/one by ida /),
      expect.stringMatching(/^ decision disable fx\/\(in no list\) by ida: out /),
      expect.stringMatching(/^ decision disable fx\/one by ida: replaced by &#60;b&#62;our own/),
      expect.stringMatching(/^ Generation 1 .*added one, two/),
    ])
    expect(text).not.toMatch(/\/quiet|quiet<|secret/)
  })

  test('is an Atom feed with the same entries, whose ids stay the same', async () => {
    const { status, headers, text } = await get('/changes.atom')
    served.renew()
    const again = await get('/changes.atom')
    const ids = Array.from(text.matchAll(/<id>(.*?)<\/id>/g), ([, id]) => id)

    expect({ status, type: headers['content-type'] }).toEqual({
      status: 200,
      type: 'application/atom+xml; charset=utf-8',
    })
    expect(text).toMatch(/^<\?xml version="1.0" encoding="utf-8"\?> <feed xmlns="http:\/\/www.w3.org\/2005\/Atom">/)
    expect(ids).toHaveLength(7)
    expect(new Set(ids).size).toBe(7)
    expect(ids.slice(1)).toEqual([
      expect.stringMatching(/^tag:[\w.-]+,\d{4}-\d\d-\d\d:decision\/[0-9a-f]{16}$/),
      expect.stringMatching(/^tag:[\w.-]+,\d{4}-\d\d-\d\d:generation\/2\/\d{4}-/),
      ...Array.from({ length: 3 }, () => expect.stringContaining(':decision/')),
      expect.stringContaining(':generation/1/'),
    ])
    expect(text).toContain('<title>Generation 2: fx: changed one; removed two</title>')
    expect(text).toContain(`href="${served.http.url}/changes?from=1&#38;to=2"`)
    expect(text).toContain('<title>disable fx/one by ida: replaced by &#60;b&#62;our own&#60;/b&#62;</title>')
    expect(text).not.toMatch(/\/quiet|secret|<b>/)
    expect(again.text).toBe(text)
  })

  test('does not exist for a reader of packs', async () => {
    const feed = await get('/changes.atom', new Set(['some']))
    const none = await get('/none', new Set(['some']))

    expect(feed.status).toBe(404)
    expect(feed.text).not.toMatch(/Generation|ida|<feed/)
    expect(none.status).toBe(404)
  })
})

test('the history of a public page has the generations alone', async () => {
  await using repository = await Repository.create()
  await using served = await filled(repository, {
    config: ['serve: { public: [page], http: { allowed_hosts: [skills.example.com] } }'],
  })

  for (const path of ['/changes', '/changes.atom']) {
    const { status, text } = await page(served, path)
    expect(status, path).toBe(200)
    expect(text, path).toContain('Generation 2')
    expect(text, path).not.toMatch(/\bida\b|joe|our own|decision\b|quiet</)
  }
})

test('a public page says what is held, disabled and recalled, and not the reason that a person wrote', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'one/SKILL.md': skill('one'), 'two/SKILL.md': skill('two') })
  await using served = await serve(repository, {
    config: ['serve: { public: [page], http: { allowed_hosts: [skills.example.com] } }'],
  })
  const { decisions, recalls, page: data } = served.daemon.parts
  const reason = 'Dana suspects a leak'
  await decisions.disable(FX, 'one', true, { by: 'ida', reason })
  await recalls.recall({ kind: 'skill', source: FX, path: 'two' }, reason, 'ida')
  await decisions.decide(FX, 'hold', { hold: { reason } })
  await served.sync()
  await vi.waitFor(() => expect(JSON.stringify(data.host.sources())).toContain('Dana'), { timeout: 10_000 })

  const [start, sources, problems] = [
    await page(served, '/'),
    await page(served, '/sources'),
    await page(served, '/problems'),
  ]

  expect(JSON.stringify(data.host.problems()).match(/Dana/g)).toHaveLength(2)
  for (const { status, text } of [start, sources, problems]) {
    expect(status).toBe(200)
    expect(text).not.toMatch(/Dana|leak|\bida\b/)
  }
  for (const { text } of [start, sources]) expect(text).toContain('decided by an operator')
  expect(problems.text).toMatch(
    /<h3>.*one<.*>disabled<.*<h3>.*two<.*<strong>skill-recalled<\/strong> decided by an operator/,
  )
})

test('a skill has the decisions about it, for readers who are admitted', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'one/SKILL.md': skill('one'), 'two/SKILL.md': skill('two') })
  const reader: { packs?: ReadonlySet<string> } = {}
  await using served = await serve(repository, {
    config: ['packs: [{ id: some, include: [{ path: one }] }]'],
    access: {
      isTokenRequired: true,
      authenticate: async () => ({ id: 'ada', scopes: new Set(['page']), ...reader }),
    },
  })
  for (const isOut of [true, false])
    await served.daemon.parts.decisions.disable(FX, 'one', isOut, { by: 'ida', reason: REASON })
  await momentsFound(served)
  const textOf = async (path: string): Promise<string> => (await page(served, path, { authorization: 'Bearer x' })).text

  const [one, two] = [await textOf('/skills/fx/one/'), await textOf('/skills/fx/two/')]
  reader.packs = new Set(['some'])
  const ofPacks = await textOf('/skills/fx/one/')

  expect(one).toMatch(/<ol class="files">[^]*disable fx\/one by ida: replaced by &#60;b&#62;our own[^]*<\/ol>/)
  expect(two).not.toContain('ida')
  expect(ofPacks).toContain('History on this hub')
  expect(ofPacks).not.toMatch(/\bida\b|our own|generation \d/)
})

test('the feed needs a token where the page does', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'one/SKILL.md': skill('one') })
  await using served = await serve(repository, {
    access: { isTokenRequired: true, authenticate: async () => undefined },
  })

  expect((await ask(served.http.url, '/changes.atom')).status).toBe(401)
})

async function page({ http }: Served, path: string, headers = {}): Promise<Answer> {
  const answer = await ask(http.url, path, { headers })
  return { ...answer, text: answer.text.replace(/<style>.*<\/style>/s, '').replaceAll(/\s+/g, ' ') }
}

test('a generation whose contents are gone has its names alone, and each comparison that is offered is shown', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'one/SKILL.md': skill('one') })
  await using served = await serve(repository, {
    config: ['retention: { generations: 2, younger_than: 1s }'],
    ...LATER,
  })
  for (const body of ['2', '3', '4']) {
    await repository.commit({ 'one/SKILL.md': skill('one', body) })
    await served.sync()
  }

  const [changes, feed] = [await page(served, '/changes'), await page(served, '/changes.atom')]
  const offered = [...linksIn(changes.text), ...linksIn(feed.text)]

  expect(changes.text).toMatch(/Generation 4 .*Compare with generation 3<.*Generation 3 .*names alone.*Generation 2 /)
  expect(offered).toEqual(['changes?from=3&to=4', 'changes?from=3&to=4'])
  for (const link of new Set(offered)) expect((await page(served, `/${link}`)).status, link).toBe(200)
})

test('of more generations than are shown, the last one is compared with the one before it', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'one/SKILL.md': skill('one') })
  await using served = await serve(repository)
  for (let number = 2; number <= 31; number += 1) {
    await repository.commit({ 'one/SKILL.md': skill('one', String(number)) })
    await served.sync()
  }

  for (const path of ['/changes', '/changes.atom']) {
    const links = linksIn((await page(served, path)).text)
    expect(links, path).toHaveLength(30)
    expect(links.at(-1), path).toBe('changes?from=1&to=2')
  }
})

test('a decision and its entry of the feed name a skill that is gone, and none that is in no list', async () => {
  await using repository = await Repository.create()
  await using served = await filled(repository, {})
  const before = await decisionsIn(served)

  await repository.commit({ 'one/SKILL.md': null, 'secret/quiet/SKILL.md': null, 'three/SKILL.md': skill('three') })
  await served.sync()

  expect(served.daemon.registry.catalog.skills.size).toBe(1)
  expect(before).toHaveLength(8)
  expect(before.filter((text) => text.includes('fx/one by'))).toHaveLength(6)
  expect(await decisionsIn(served)).toEqual(before)
})

test('the decisions about a skill of another server are those that name its path, and those that name its URI', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'one/SKILL.md': skill('one'), 'two/SKILL.md': skill('two') })
  await using served = await serve(repository)
  const { decisions, page: data } = served.daemon.parts
  for (const named of ['one', 'skill://there/one', 'two', 'skill://there/two'])
    await decisions.disable(FX, named, true, { by: 'ida' })
  const [{ skills: [one] } = { skills: [] }] = served.daemon.registry.catalog.snapshots
  const upstream = { source: FX, uri: 'skill://there/one' }

  const about = data.host.decisions({ source: FX, skill: { ...one!, upstream } })

  expect(new Set(about.map(({ text }) => text))).toEqual(
    new Set(['disable fx/one by ida', 'disable fx/skill://there/one by ida']),
  )
})

test('a skill at the root has a name in the changes', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'SKILL.md': skill('top') })
  await using served = await serve(repository)
  await repository.commit({ 'SKILL.md': null, 'moved/SKILL.md': skill('top') })
  await served.sync()

  const { text } = await page(served, '/changes')
  const compared = await page(served, '/changes?from=1&to=2')

  expect(text).toContain('<span class="warn">renamed</span> <bdi>the root</bdi> to <bdi>moved</bdi>')
  expect(text).toContain('<span class="good">added</span> <bdi>the root</bdi>')
  expect(compared.text).toContain('from <bdi>the root</bdi>')
})

test('while the generations cannot be read, neither the page nor its feed says that there are none', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'one/SKILL.md': skill('one') })
  await using served = await serve(repository)
  const file = join(served.config.state, 'store.db')
  await rename(file, `${file}.own`)
  await mkdir(file)

  const answers = [await page(served, '/changes'), await page(served, '/changes.atom')]

  await rmdir(file)
  await rename(`${file}.own`, file)
  for (const { status, text } of answers) {
    expect(status).toBe(503)
    expect(text).toContain('cannot be read at the moment')
  }
  expect((await page(served, '/changes.atom')).text).toContain('<title>Generation 1')
})

/** The decisions of the page and the feed. */
async function decisionsIn(served: Served): Promise<string[]> {
  const texts = [(await page(served, '/changes')).text, (await page(served, '/changes.atom')).text]
  return texts.flatMap((text) =>
    Array.from(
      text.matchAll(/(?:decision<\/span> <bdi>|<title>)((?:dis|en)able .*?)<\/(?:bdi|title)>/g),
      ([, one = '']) => one,
    ),
  )
}

/** A clock on which a day passes between any two moments. */
let days = 0
const now = (): Date => new Date(systemClock.now().getTime() + (days += 1) * 86_400_000)
const LATER: ServedOptions = { clock: { ...systemClock, now } }

function linksIn(text: string): string[] {
  return Array.from(text.matchAll(/changes\?from=\d+&(?:#38;)?to=\d+/g), ([link]) => link.replace('#38;', ''))
}
