import { expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { RpcFault } from '../../support/hostile/hostile-answer.ts'
import type { Enumeration } from '../../support/hostile/hostile-offer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'

const ROOT = 'skill://acme/refunds'
const URI = `${ROOT}/SKILL.md`
const SERVED = 'skill://au/acme/refunds'
const POLICY = 'references/policy.md'
const SOON = ['limits: { fetch: { total_timeout: 2s } }']

test.each<Enumeration>(['index-r0', 'index-r1', 'index-r2'])(
  'where a server of the form %s lists no files of a skill, it is asked for those that SKILL.md links to',
  async (offers) => {
    await using au = await linking(
      `[it](${POLICY}) ![mark](assets/a%20b.png) [again](./${POLICY}#top) [gone](gone.md)`,
      offers,
    )
    au.skills.setResource(`${ROOT}/assets/a%20b.png`, 'picture')

    await using mirror = await Mirror.start({ au: of(au) })

    expect(tried(au)).toEqual([POLICY, 'assets/a%20b.png', 'gone.md'])
    expect(await filesOf(mirror)).toEqual(['SKILL.md', 'assets/a%20b.png', POLICY])
    expect(String(await mirror.bytesOf(`${SERVED}/${POLICY}`))).toBe('thirty days')
    expect(mirror.findings('au')).toEqual(['not-verifiable acme/refunds'])
  },
)

test('a model is given such files, as far as they are known', async () => {
  await using au = await linking(`[it](${POLICY})`)
  await using mirror = await Mirror.start({ au: of(au) })

  const { result } = await mirror.peer.call('tools/call', { name: 'get_skill', arguments: { id: 'refunds' } })

  const said = JSON.stringify(result)
  expect(said).toContain(POLICY)
  expect(said).toContain('Its other file, as far as is known, can be read')
})

test.each([
  '../other/SKILL.md',
  'references/../../other/a.md',
  '%2e%2e/other/a.md',
  '..%2fother%2fa.md',
  '..\\other\\a.md',
  '/refunds/a.md',
  '//host/a.md',
  'file:///etc/passwd',
  'https://example.com/a.md',
  'skill://acme/refunds/a.md',
  'data:text/plain,a',
  'C:\\a.md',
  '~/a.md',
  'a%00.md',
  '#part',
  'SKILL.md#part',
  'references/',
  '.',
  'references/{name}.md',
])('a link to %s has the server asked for nothing', async (target) => {
  await using au = await linking(`[it](<${target}>) [a](${POLICY})`)

  await using mirror = await Mirror.start({ au: of(au) })

  expect(tried(au)).toEqual([POLICY])
  expect(await filesOf(mirror)).toEqual(['SKILL.md', POLICY])
})

test('what stands in code is no link', async () => {
  await using au = await linking(`\`[it](${POLICY})\`\n\n    [it](b.md)\n\n\`\`\`\n[it](c.md)\n\`\`\``)

  await using mirror = await Mirror.start({ au: of(au) })

  expect(tried(au)).toEqual([])
  expect(await filesOf(mirror)).toEqual(['SKILL.md'])
})

test.each<[string, string, readonly string[]]>([
  ['inline code', 'Run `scripts/x.py` first', ['scripts/x.py']],
  ['the middle of inline code', 'Run `python ./scripts/x.py --all`.', ['scripts/x.py']],
  ['a fenced block', '```bash\npython scripts/x.py references/a.md\n```', ['scripts/x.py', 'references/a.md']],
  ['an indented block', 'Text\n\n    cat assets/a/b.txt', ['assets/a/b.txt']],
  ['code and a link', '[it](references/a.md) `references/a.md`', ['references/a.md']],
  ['code, with a place that leads out', '`scripts/../../other/a.py` `references/../b.md`', []],
  ['code, with a placeholder', '`references/{name}.md` `scripts/*.py` `scripts/<name>`', []],
  ['code, as a folder', '`scripts/` `references`', []],
  ['code, below another folder', '`my/scripts/x.py` `/scripts/x.py` `~/scripts/x.py` `https://a/scripts/x.py`', []],
])('of files that SKILL.md names in %s, those below the usual folders are asked for', async (_, text, paths) => {
  await using au = await linking(text)

  await using _mirror = await Mirror.start({ au: of(au) })

  expect(tried(au)).toEqual(paths)
})

test.each([
  ['a list of resources', {}, 'resources/list'],
  ['its folder', { directoryRead: true }, 'resources/directory/read'],
])('where the server lists files of the skill in %s, no link is followed', async (_, settings, method) => {
  await using au = await linking(`[it](${POLICY}) [other](b.md)`)
  au.capabilities = { extensions: { 'io.modelcontextprotocol/skills': settings } }
  au.on(method, () => ({ resources: [`${ROOT}/SKILL.md`, `${ROOT}/b.md`].map((uri) => ({ uri })) }))
  au.skills.setResource(`${ROOT}/b.md`, 'b')

  await using mirror = await Mirror.start({ au: of(au) })

  expect(tried(au)).toEqual(['b.md'])
  expect(await filesOf(mirror)).toEqual(['SKILL.md', 'b.md'])
})

test('a folder in which nothing but SKILL.md is listed has no other file', async () => {
  await using au = await linking(`[it](${POLICY})`)
  au.capabilities = { extensions: { 'io.modelcontextprotocol/skills': { directoryRead: true } } }
  au.on('resources/directory/read', () => ({ resources: [{ uri: URI }] }))

  await using mirror = await Mirror.start({ au: of(au) })

  expect(tried(au)).toEqual([])
  expect(await filesOf(mirror)).toEqual(['SKILL.md'])
})

test('so many links as nobody reads are tried to a bound', async () => {
  await using au = await linking(Array.from({ length: 500 }, (_, at) => `[it](files/${at}.md)`).join('\n'))

  await using _mirror = await Mirror.start({ au: of(au) })

  expect(tried(au)).toEqual(Array.from({ length: 64 }, (_, at) => `files/${at}.md`))
})

test('no more are tried than a skill may hold', async () => {
  await using au = await linking('[a](a.md) [b](b.md) [c](c.md)')
  for (const path of ['a.md', 'b.md', 'c.md']) au.skills.setResource(`${ROOT}/${path}`, path)

  await using mirror = await Mirror.start({ au: of(au) }, { config: ['limits: { skill: { files: 3 } }'] })

  expect(tried(au)).toEqual(['a.md', 'b.md'])
  expect(await filesOf(mirror)).toEqual(['SKILL.md', 'a.md', 'b.md'])
})

test('a file that is refused, broken or too large is not there, and the others are', async () => {
  await using au = await linking('[a](a.md) [b](b.md) [c](c.md) [d](d.md)')
  au.on('resources/read', ({ uri }) => {
    if (uri === `${ROOT}/a.md`) return new RpcFault(-32_603, 'Internal error')
    return uri === `${ROOT}/b.md` ? { contents: [] } : undefined
  })
  au.skills.setResource(`${ROOT}/c.md`, 'x'.repeat(3_000))
  au.skills.setResource(`${ROOT}/d.md`, 'd')

  await using mirror = await Mirror.start({ au: `${of(au)}, budgets: { file_bytes: 2KiB }` })

  expect(tried(au)).toEqual(['a.md', 'b.md', 'c.md', 'd.md'])
  expect(await filesOf(mirror)).toEqual(['SKILL.md', 'd.md'])
  expect(mirror.source('au').problem).toBeUndefined()
})

test('of two files that a disk could not hold both, the one that is linked first is taken', async () => {
  await using au = await linking('[a](a.md) [A](A.md) [below](a.md/b.md) [me](skill.md)')
  for (const path of ['a.md', 'A.md', 'a.md/b.md', 'skill.md']) au.skills.setResource(`${ROOT}/${path}`, path)

  await using mirror = await Mirror.start({ au: of(au) })

  expect(await filesOf(mirror)).toEqual(['SKILL.md', 'a.md'])
})

test('a server that is silent about files that it does not have costs one wait at a look, and no skill', async () => {
  await using au = await linking('[gone](gone.md) [other](other.md)')
  au.on('resources/read', ({ uri }) => (uri === `${ROOT}/gone.md` ? 'silence' : undefined))

  await using mirror = await Mirror.start({ au: of(au) }, { config: SOON })

  expect(tried(au)).toEqual(['gone.md'])
  expect(await filesOf(mirror)).toEqual(['SKILL.md'])
  expect(mirror.source('au').problem).toBeUndefined()
  expect(mirror.findings('au')).toEqual(['no-answer-for-entry acme/refunds/gone.md', 'not-verifiable acme/refunds'])
})

test('silence about a file that was there before leaves its skill as it was, with a finding', async () => {
  await using au = await linking(`[it](${POLICY})`)
  const clock = new FakeClock()
  await using mirror = await Mirror.start({ au: `${of(au)}, every: 1h` }, { config: SOON, clock })
  au.on('resources/read', ({ uri }) => (uri === `${ROOT}/${POLICY}` ? 'silence' : undefined))
  await clock.advance(3_600_000)

  await mirror.pull()

  expect(mirror.source('au').problem).toBeUndefined()
  expect(await filesOf(mirror)).toEqual(['SKILL.md', POLICY])
  expect(mirror.findings('au')).toEqual(['not-verifiable acme/refunds', 'no-answer-for-entry acme/refunds'])
})

test('a file that the server has no more is a file of the skill no more', async () => {
  await using au = await linking(`[it](${POLICY})`)
  const clock = new FakeClock()
  await using mirror = await Mirror.start({ au: `${of(au)}, every: 1h` }, { clock })
  const before = await filesOf(mirror)
  au.skills.deleteResource(`${ROOT}/${POLICY}`)
  await clock.advance(3_600_000)

  await mirror.pull()

  expect([before, await filesOf(mirror)]).toEqual([['SKILL.md', POLICY], ['SKILL.md']])
})

/** A server that offers one skill with such a text and one file, and lists neither. */
async function linking(text: string, offers: Enumeration = 'index-r0'): Promise<HostileServer> {
  const au = await HostileServer.start()
  au.offers = offers
  au.skills.set(URI, { 'SKILL.md': `---\nname: refunds\ndescription: d\n---\n${text}\n` })
  au.skills.setResource(`${ROOT}/${POLICY}`, 'thirty days')
  au.on('resources/list', () => ({ resources: [] }))
  return au
}

/** What was asked for below the skill's folder. */
function tried(au: HostileServer): readonly string[] {
  const uris = au.reads().filter((uri) => uri !== URI && uri !== 'skill://index.json')
  return uris.map((uri) => uri.replace(`${ROOT}/`, ''))
}

async function filesOf(mirror: Mirror): Promise<readonly string[]> {
  const [entry] = await mirror.listed()
  return entry.resources.map(({ uri }: { readonly uri: string }) => uri.replace(`${SERVED}/`, '')).toSorted()
}

function of(au: HostileServer): string {
  return `mcp: "${au.url}", approval: none`
}
