import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Repository } from '../../../support/git/repository.ts'
import { serve } from '../../../support/served.ts'
import type { Served } from '../../../support/served.ts'
import { ask } from '../../http/ask.ts'
import type { Answer } from '../../http/ask.ts'

const skill = (name: string, body = 'body'): string => `---\nname: ${name}\ndescription: About ${name}\n---\n${body}\n`

const FILES = {
  'a/tidy/SKILL.md': skill('tidy', '# Heading\n\nthe text of tidy'),
  'a/tidy/data.bin': Buffer.from([0, 1, 2, 255]),
  'a/tidy/large.txt': 'x'.repeat(2 ** 20 + 1),
  'a/tidy/long.txt': 'y'.repeat(2 ** 18 + 1),
  'a/tidy/über uns.txt': 'umlaut',
  'hidden/quiet/SKILL.md': skill('quiet', 'the text of quiet'),
  'hidden/wrong/SKILL.md': '---\nname: [\n---\nthe text of wrong\n',
  'broken/SKILL.md': skill('broken').replace('description: About broken\n', ''),
  'upset/SKILL.md': '---\nname: [\n---\nthe text of upset\n',
}

let repository: Repository
beforeAll(async () => {
  repository = await Repository.create()
  await repository.commit(FILES)
})
afterAll(async () => repository[Symbol.asyncDispose]())

describe('the pages of skills and files', () => {
  let served: Served
  beforeAll(async () => {
    served = await serve(repository, { source: ["unlisted: ['hidden/**']"] })
  })
  afterAll(async () => served[Symbol.asyncDispose]())
  const page = async (path: string): Promise<Answer> => ask(served.http.url, path)

  test('have the addresses that their URIs have, and no others', async () => {
    expect(await page('/skills/fx/a/tidy')).toMatchObject({ status: 308, headers: { location: './tidy/' } })
    expect((await page('/skills/fx/a/tidy/')).text).toContain('the text of tidy')
    expect((await page(`/skills/fx/a/tidy/${encodeURIComponent('über uns.txt')}`)).text).toContain('umlaut')
    const none = [
      '/skills/fx/a/',
      '/skills/fx/a',
      '/skills/fx/',
      '/skills/FX/a/tidy/',
      '/skills/fx/a/./tidy/',
      '/skills/fx/b/../a/tidy/',
      '/skills/fx/a%2ftidy/',
      '/skills/fx/a/tidy/%2e%2e/tidy/',
      '/skills//fx/a/tidy/',
      '/skills/fx/a/tidy/data.bin/',
      '/skills/fx/a/tidy//data.bin',
      '/skills/../etc/passwd',
      '/skills/fx/a/tidy/%00',
      '/skills/%',
      '/skills/__proto__/',
    ]
    for (const path of none) expect((await page(path)).status, path).toBe(404)
  })

  test('say of a file that is no text, or too much of it, that it is so', async () => {
    expect((await page('/skills/fx/a/tidy/data.bin')).text).toContain('This file is not text')
    expect((await page('/skills/fx/a/tidy/large.txt')).text).toContain('too much to be shown here')
    const long = (await page('/skills/fx/a/tidy/long.txt')).text
    expect(long).toContain('Only its beginning is shown')
    expect(long.match(/y{1000,}/)?.[0]).toHaveLength(2 ** 18)
  })

  test('a skill that is in no list is found by its address alone', async () => {
    expect((await page('/skills/fx/hidden/quiet/')).text).toContain('the text of quiet')
    for (const path of ['/', '/?q=quiet', '/problems', '/changes', '/changes?from=0&to=1', '/sources']) {
      const { text } = await page(path)
      expect(text.replace('value="quiet"', '').replace(/words: <bdi>quiet/, ''), path).not.toMatch(
        />quiet|wrong|hidden\//,
      )
    }
  })

  test('what is not served is a problem, with its rule and without its text', async () => {
    const { text } = await page('/problems')

    expect(text).toMatch(/broken[^]*description-missing/)
    expect(text).toMatch(/upset[^]*frontmatter-invalid/)
    expect(text).not.toContain('the text of')
    expect((await page('/skills/fx/upset/')).text).not.toContain('the text of')
  })

  test('a generation that is not kept, or no number, is answered without a fault', async () => {
    expect((await page('/changes?from=1&to=99')).status).toBe(404)
    expect((await page('/changes?from=x&to=1')).status).toBe(200)
    expect((await page('/changes?from=999999999999999999&to=1')).status).toBe(200)
    expect(served.logged()).not.toContain('request-failed')
  })

  test('over HTTP nobody is told a path of this machine', async () => {
    for (const path of ['/', '/sources', '/problems', '/changes', '/connect', '/skills/fx/a/tidy/'])
      expect((await page(path)).text, path).not.toContain(served.config.state)
  })
})

describe('whoever follows the page', () => {
  test('is told which catalog is served, and of the next one, and takes a place among all streams', async () => {
    await using own = await Repository.create()
    await own.commit({ 'one/SKILL.md': skill('one') })
    await using served = await serve(own, { limits: { streams: 1 } })
    const stop = new AbortController()
    const stream = await fetch(`${served.http.url}/events`, { signal: stop.signal })
    const told = frames(stream)

    expect(await told.next()).toMatchObject({ value: { generation: 1 } })
    expect(await ask(served.http.url, '/events')).toMatchObject({ status: 503, headers: { 'retry-after': '30' } })
    await own.commit({ 'two/SKILL.md': skill('two') })
    await served.sync()
    expect(await told.next()).toMatchObject({ value: { generation: 2 } })
    await served.daemon.parts.decisions.disable('fx' as never, 'two', true)
    const { value } = await told.next()

    expect(value).toEqual({ generation: 2, catalog: served.daemon.registry.catalog.digest.slice(0, 16) })
    expect(JSON.stringify(value)).not.toMatch(/one|two/)
    stop.abort()
    await expect.poll(() => served.http.counts().streams).toBe(0)
  })

  test('needs a token where the page does, and is told nothing more once it is revoked', async () => {
    await using served = await serve(repository, {
      config: ['serve:', '  http: { allowed_hosts: [skills.example.com] }'],
      access: {
        isTokenRequired: true,
        authenticate: async () => ({ id: 'ada', scopes: new Set(['page']), isOver: () => isOver }),
      },
    })
    let isOver = false
    expect((await ask(served.http.url, '/events')).status).toBe(401)

    const stream = await fetch(`${served.http.url}/events`, { headers: { authorization: 'Bearer x' } })
    const told = frames(stream)
    await told.next()
    isOver = true

    expect(await told.next()).toMatchObject({ done: true })
  })
})

test('after signing in one comes to the page that was asked for, and to no other site', async () => {
  await using served = await serve(repository, {
    access: { isTokenRequired: true, authenticate: async () => ({ id: 'ada', scopes: new Set(['page']) }) },
  })
  const comesTo = async (to: string): Promise<string | undefined> => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: served.http.url }
    const body = new URLSearchParams({ token: 'x', to }).toString()
    return (await ask(served.http.url, '/login', { method: 'POST', headers, body })).headers.location
  }

  expect((await ask(served.http.url, '/skills/fx/a/tidy/?x=1')).text).toContain('value="skills/fx/a/tidy/?x=1"')
  expect(await comesTo('skills/fx/a/tidy/')).toBe('./skills/fx/a/tidy/')
  for (const to of [
    '//evil.example',
    'https://evil.example',
    '/\\evil.example',
    'skills/\r\nx: y',
    'logout',
    '\\x',
    'mcp',
  ])
    expect(await comesTo(to), to).toBe('./')
})

async function* frames(answer: Response): AsyncGenerator {
  let rest = ''
  for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) {
    rest += text
    const parts = rest.split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const data = /^data: (.*)$/m.exec(part)?.[1]
      if (data !== undefined) yield JSON.parse(data)
    }
  }
}
