import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Peer } from '../../support/clients/peer.ts'
import { KINDS, contentOf, encoded, expectInvalidParams, expectNotFound, openScene, resultOf } from '../peers.ts'
import type { Scene } from '../peers.ts'
import { openSmall, skillOf } from '../small.ts'
import type { Small } from '../small.ts'

const COMPLETE = 'completion/complete'

describe('the template of the source FX', () => {
  let scene: Scene

  beforeAll(async () => {
    scene = await openScene()
  })

  afterAll(() => scene[Symbol.asyncDispose]())

  test.each(KINDS)('expanded for every file of every skill, it gives a URI that can be read (%s)', async (kind) => {
    const peer = scene.of(kind)
    const { resourceTemplates } = resultOf(await peer.call('resources/templates/list'))

    const [{ uriTemplate }] = resourceTemplates
    expect(uriTemplate).toBe(`${scene.prefix}{+path}`)
    for (const skill of scene.fixture.listed.filter((path) => !path.startsWith('edge-'))) {
      for (const [path, bytes] of scene.fixture.filesOf(skill)) {
        const uri = expanded(uriTemplate, { path: encoded(`${skill}/${path}`) })
        expect(contentOf(await peer.call('resources/read', { uri })).bytes).toEqual(bytes)
      }
    }
  })

  test.each(KINDS)(
    'its values are paths of files, as they stand in URIs, in either spelling of it (%s)',
    async (kind) => {
      const peer = scene.of(kind)
      const paths = [...scene.fixture.filesOf('pdf-processing').keys()].map((path) => encoded(`pdf-processing/${path}`))

      for (const uri of [`${scene.prefix}{+path}`, `${scene.prefix}{path*}`]) {
        const { completion } = await complete(peer, uri, 'path', 'pdf-processing/')
        expect(completion).toEqual({ values: paths.toSorted(), total: paths.length, hasMore: false })
        const notes = await complete(peer, uri, 'path', 'pdf-processing/notes/a')
        expect(notes.completion.values).toEqual(['pdf-processing/notes/a%20b.md', 'pdf-processing/notes/a%2520b.md'])
        expect((await complete(peer, uri, 'path', 'nowhere/')).completion).toEqual({
          values: [],
          total: 0,
          hasMore: false,
        })
      }
    },
  )

  test.each(KINDS)(
    'of more than a hundred values the first hundred are given, and how many there are (%s)',
    async (kind) => {
      const total = scene.fixture.filesOf('edge-count').size

      const { completion } = await complete(scene.of(kind), `${scene.prefix}{+path}`, 'path', 'edge-count/')
      const all = await complete(scene.of(kind), `${scene.prefix}{+path}`, 'path', '')

      expect(completion).toMatchObject({ total, hasMore: true })
      expect(completion.values).toHaveLength(100)
      expect(all.completion).toMatchObject({ hasMore: true })
      expect(all.completion.values).toHaveLength(100)
      expect(all.completion.total).toBeGreaterThan(total)
    },
  )

  test.each(KINDS)('it is declared, and what cannot be completed is refused (%s)', async (kind) => {
    const peer = scene.of(kind)
    const ref = { type: 'ref/resource', uri: `${scene.prefix}{+path}` }
    const argument = { name: 'path', value: '' }

    expect(resultOf(peer.opening).capabilities.completions).toEqual({})
    for (const params of [
      { ref: { ...ref, uri: 'skill://other/{+path}' }, argument },
      { ref: { ...ref, uri: `${scene.prefix}{path}` }, argument },
      { ref: { ...ref, uri: scene.uri('git-workflow') }, argument },
      { ref: { type: 'ref/prompt', name: 'x' }, argument },
      { ref: { type: 'ref/resource' }, argument },
      { ref, argument: { name: 'other', value: '' } },
      { ref, argument: { name: '__proto__', value: '' } },
      { ref, argument: { name: 'path' } },
      { ref, argument: { name: 'path', value: 7 } },
      { ref, argument, context: 'none' },
      { ref, argument, context: { arguments: ['path'] } },
      { ref, argument, context: { arguments: { path: 7 } } },
      { ref: 'skill://', argument },
      { argument },
      { ref },
      {},
    ]) {
      expectInvalidParams(await peer.call(COMPLETE, params))
    }
  })
})

describe('the spaces of an operator', () => {
  const PRODUCT = 'skill://docs/{product}/SKILL.md'
  const VERSIONED = 'skill://docs/v{version}/{product}/SKILL.md'
  let small: Small

  beforeAll(async () => {
    const skills = ['alpha', 'almanac', 'beta', 'v1/alpha', 'v1/gamma', 'v2/beta', 'v2/hidden', 'hidden', 'a b/nested']
    const files = skills.map((path) => [`${path}/SKILL.md`, skillOf(path.slice(path.lastIndexOf('/') + 1))])
    const config = ['serve:', '  templates:', ...[PRODUCT, VERSIONED].map((uri) => `    - '${uri}'`)]
    const withheld = { 'alone/SKILL.md': '# No frontmatter\n' }
    small = await openSmall(
      { ...Object.fromEntries(files), ...withheld },
      { id: 'docs', source: ["unlisted: ['**/hidden']"], config },
    )
  })

  afterAll(() => small[Symbol.asyncDispose]())

  test.each(KINDS)('are listed beside those of the sources (%s)', async (kind) => {
    const { resourceTemplates } = resultOf(await small.of(kind).call('resources/templates/list'))

    expect(resourceTemplates.map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate)).toEqual([
      'skill://docs/{+path}',
      PRODUCT,
      VERSIONED,
    ])
  })

  test.each(KINDS)('values that begin as asked are given, and each leads to a skill (%s)', async (kind) => {
    const peer = small.of(kind)

    const { completion } = await complete(peer, PRODUCT, 'product', 'al')

    expect(completion).toEqual({ values: ['almanac', 'alpha'], total: 2, hasMore: false })
    for (const product of completion.values) {
      const uri = expanded(PRODUCT, { product })
      expect(resultOf(await peer.call('skills/get', { uri })).skill.frontmatter.name).toBe(product)
    }
  })

  test.each(KINDS)('the values of a variable are those that go with the others (%s)', async (kind) => {
    const peer = small.of(kind)
    const valuesOf = async (name: string, given: object) =>
      (await complete(peer, VERSIONED, name, '', given)).completion.values

    expect(await valuesOf('version', {})).toEqual(['1', '2'])
    expect(await valuesOf('product', {})).toEqual(['alpha', 'beta', 'gamma'])
    expect(await valuesOf('product', { version: '1' })).toEqual(['alpha', 'gamma'])
    expect(await valuesOf('product', { version: '3' })).toEqual([])
    expect(await valuesOf('version', { product: 'beta' })).toEqual(['2'])
    expect(await valuesOf('version', { product: 'beta', version: '1', elsewhere: 'x' })).toEqual(['2'])
  })

  test.each(KINDS)('neither an unlisted nor a withheld skill is offered (%s)', async (kind) => {
    const peer = small.of(kind)

    const products = await complete(peer, PRODUCT, 'product', '')
    const paths = await complete(peer, 'skill://docs/{+path}', 'path', '')

    expect(products.completion.values).toEqual(['almanac', 'alpha', 'beta'])
    expect(paths.completion.values.filter((path: string) => /hidden|alone/.test(path))).toEqual([])
    expect(paths.completion.values).toContain('a%20b/nested/SKILL.md')
  })

  test.each(KINDS)('a slash in a simple variable is encoded, and leads to no other skill (%s)', async (kind) => {
    const peer = small.of(kind)
    const uri = expanded(PRODUCT, { product: 'v1/alpha' })

    const reply = await peer.call('resources/read', { uri })

    expect(uri).toBe('skill://docs/v1%2Falpha/SKILL.md')
    expectNotFound(peer, reply, uri)
  })
})

/** As a client expands a template (RFC 6570): simple variables are encoded, those with `+` are left as they are. */
function expanded(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\+?)(\w+)\}/g, (_, plus: string, name: string) =>
    plus === '+' ? values[name]! : encodeURIComponent(values[name]!),
  )
}

async function complete(peer: Peer, uri: string, name: string, value: string, given?: object) {
  const context = given === undefined ? {} : { context: { arguments: given } }
  const params = { ref: { type: 'ref/resource', uri }, argument: { name, value }, ...context }
  return resultOf(await peer.call(COMPLETE, params))
}
