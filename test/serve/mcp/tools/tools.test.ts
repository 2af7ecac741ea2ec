import { expect, test } from 'vitest'
import { runNow } from '../../../../src/base/async/cooperative.ts'
import type { ReadContent } from '../../../../src/serve/content.ts'
import type { Surface } from '../../../../src/serve/mcp/core/methods.ts'
import { ScopedServer } from '../../../../src/serve/mcp/core/scoped-server.ts'
import { skillEntryOf } from '../../../../src/serve/mcp/resources/files/skill-entry.ts'
import { announcedBytes } from '../../../../src/serve/mcp/tools/response-size.ts'
import type { SharedFolder, SharedDisk, ToolHost } from '../../../../src/serve/mcp/tools/tool-document.ts'
import { skillTools } from '../../../../src/serve/mcp/tools/tools.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { packingCatalog } from '../../../../src/sync/catalog/catalog-packs.ts'
import type { Catalog } from '../../../../src/sync/catalog/catalog.ts'
import type { SourceId } from '../../../../src/sync/model/source-id.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { META } from '../../../support/clients/peer.ts'
import { catalogOf } from '../../../sync/catalog/catalogs.ts'
import { numbered, sample, snapshotOf, sourceId, type Sample } from '../../../sync/store/samples.ts'

const PAGES = { entries: 1_000, bytes: 2 ** 20 }
const OLD = withBody('old')
const NEW = withBody('new')

test('both tools look for what is stale before they answer', async () => {
  const scene = new Scene(OLD)
  scene.onLook = () => scene.publish(NEW)

  expect(await scene.content('list_skills')).toEqual([
    { id: 'alpha', name: 'alpha', source: 'team', description: 'A sample' },
  ])
  scene.publish(OLD)
  expect((await scene.content('get_skill')).content).toBe('new\n')
  expect(scene.looks).toEqual([undefined, undefined])
})

test('a deprecated skill says so before its description, and its frontmatter stays as it was written', async () => {
  const frontmatter = {
    name: 'alpha',
    description: 'A sample',
    metadata: { deprecated: 'true', 'replaced-by': 'beta' },
  }
  const scene = new Scene({ ...OLD, skill: { ...OLD.skill, frontmatter } })
  const [entry] = scene.registry.catalog.listed

  const [row] = await scene.content('list_skills')
  const got = await scene.content('get_skill')

  expect(row.description).toBe('[Deprecated; use beta instead] A sample')
  expect(got).toMatchObject({ description: row.description, lifecycle: { deprecated: true, replacedBy: 'beta' } })
  expect(skillEntryOf(entry!)).toMatchObject({
    frontmatter,
    _meta: { 'dev.skillsyncd/lifecycle': { deprecated: true, replacedBy: 'beta' } },
  })
})

test('what a folder has is read from it, where that is what the listing promises', async () => {
  const scene = new Scene(OLD)
  scene.present = present(OLD)

  const { path, content } = await scene.content('get_skill')

  expect([path, content]).toEqual(['/srv/skills/alpha/SKILL.md', 'old\n'])
  expect(scene.reads).toBe(0)
})

test('a folder that has moved on is looked at once more, and what it has then is given', async () => {
  const scene = new Scene(OLD)
  scene.present = present(NEW)
  scene.onLook = (source) => void (source !== undefined && scene.publish(NEW))

  const { path, content } = await scene.content('get_skill')

  expect([path, content]).toEqual(['/srv/skills/alpha/SKILL.md', 'new\n'])
  expect(scene.looks).toEqual([undefined, 'team'])
})

test('a folder in which a file beside SKILL.md is another is looked at once more, and given as stored where it stays so', async () => {
  const scene = new Scene(OLD)
  scene.present = 'differs'

  const before = await scene.content('get_skill')
  scene.onLook = (source) => {
    if (source === undefined) return
    scene.publish(NEW)
    scene.present = present(NEW)
  }
  const { path, content } = await scene.content('get_skill')

  expect([before.path, before.content]).toEqual(['/state/skills/alpha/SKILL.md', 'old\n'])
  expect([path, content]).toEqual(['/srv/skills/alpha/SKILL.md', 'new\n'])
  expect(scene.looks).toEqual([undefined, 'team', undefined, 'team'])
})

test('what a folder has and nobody has looked into is not given: what is stored is', async () => {
  for (const bytes of [NEW.bytes.get('SKILL.md') ?? Buffer.from(''), Buffer.from('')]) {
    const scene = new Scene(OLD)
    scene.present = { path: '/srv/skills/alpha/SKILL.md', bytes }

    const { path, content } = await scene.content('get_skill')

    expect([path, content]).toEqual(['/state/skills/alpha/SKILL.md', 'old\n'])
    expect(scene.looks).toEqual([undefined, 'team'])
  }
})

test('a skill that went while its folder was looked at is not there', async () => {
  const scene = new Scene(OLD)
  scene.present = present(NEW)
  scene.onLook = (source) => void (source !== undefined && scene.publish())

  expect(await scene.call('get_skill')).toMatchObject({ isError: true })
})

test('bytes that are not those of the listing are not given, wherever they come from', async () => {
  const scene = new Scene(OLD)
  scene.stored = NEW

  const answer = await scene.call('get_skill')

  expect(answer).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('damaged') }] })
})

test('a disk that refuses a read for the moment is not told as damage', async () => {
  const scene = new Scene(OLD)
  scene.stored = 'not-now'

  const answer = await scene.call('get_skill')

  expect(answer).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('try again') }] })
  expect(JSON.stringify(answer)).not.toContain('damaged')
})

test('an id that nobody knows is looked for in the folders, however fresh they are', async () => {
  const scene = new Scene()
  scene.onLook = (source) => void (source === 'local' && scene.publish(OLD))
  scene.folders = [sourceId('local'), sourceId('other')]

  const { content } = await scene.content('get_skill')
  const unknown = await scene.call('get_skill', 'beta')

  expect(content).toBe('old\n')
  expect(unknown).toMatchObject({ isError: true })
  expect(scene.looks).toEqual([undefined, 'local', 'other', undefined, 'local', 'other'])
})

test('an id that is a book is not sent back whole', async () => {
  const scene = new Scene(OLD)

  const answer = await scene.call('get_skill', 'x'.repeat(100_000))

  expect(answer).toMatchObject({ isError: true })
  expect(JSON.stringify(answer).length).toBeLessThan(2_000)
})

test('how large the answer to a call will be is known before it is made', () => {
  const { catalog } = new Scene(withBody('x'.repeat(1_000_000))).registry
  const asked = (params: object): number => announcedBytes(catalog, formsOf(), { method: 'tools/call', params })

  expect(asked({ name: 'get_skill', arguments: { id: 'alpha' } })).toBeGreaterThan(2_000_000)
  expect(asked({ name: 'get_skill', arguments: { id: 'beta' } })).toBe(0)
  const { catalog: large } = new Scene(withBody('x'.repeat(2 ** 20))).registry
  const call = { method: 'tools/call', params: { name: 'get_skill', arguments: { id: 'alpha' } } }
  expect(announcedBytes(large, formsOf(), call)).toBe(0)
  for (const params of [{}, { name: 'get_skill' }, { name: 'get_skill', arguments: 7 }]) expect(asked(params)).toBe(0)
})

test('the list of thousands of skills counts as large as it is', async () => {
  const scene = new Scene(...Array.from({ length: 1_000 }, (_, index) => numbered(index)))
  const asked = announcedBytes(scene.registry.catalog, formsOf(), {
    method: 'tools/call',
    params: { name: 'list_skills' },
  })

  const { content } = await scene.call('list_skills')

  expect(asked).toBeGreaterThan(Buffer.byteLength(content[0].text))
})

test('a call of which the caller has left waits for nothing and reads nothing', async () => {
  const { registry } = new Scene(OLD)
  const leaving = new AbortController()
  const never = new Promise<never>(() => {})
  const read: ReadContent = async () => expect.unreachable('Nobody waits for it')
  const call = skillTools({ registry, read, pages: PAGES }, { look: () => never }).methods({})['tools/call']!

  const params = { name: 'get_skill', arguments: { id: 'alpha' } }
  const answer = call(params, { era: 'modern' }, leaving.signal)
  leaving.abort(new Error('it left'))

  await expect(answer).rejects.toThrow('it left')
  await expect(call(params, { era: 'modern' }, leaving.signal)).rejects.toThrow('it left')
})

test.each(['legacy', 'modern'] as const)('what ends a request ends the wait of its call (%s)', async (era) => {
  const { registry } = new Scene(OLD)
  const [asked, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<unknown>()]
  const waiting: Surface = {
    capabilities: { tools: {} },
    methods: () => ({
      'tools/call': (_, __, signal) => {
        signal.addEventListener('abort', () => ended.resolve(signal.aborted))
        asked.resolve()
        return new Promise<never>(() => {})
      },
    }),
  }
  const serving = { registry, read: async () => undefined, pages: { entries: 1, bytes: 1 }, forms: formsOf() }
  const core = new ScopedServer({ ...serving, cache: { ttlMs: 0, cacheScope: 'public' }, surfaces: [waiting] }, era)
  const leaving = new AbortController()
  const request = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x', _meta: META } } as const
  const answer = core.serve(request, { era }, leaving.signal)
  await asked.promise

  leaving.abort(new Error('it left'))

  await expect(answer).rejects.toThrow('it left')
  expect(await ended.promise).toBe(true)
})

function withBody(body: string): Sample {
  return sample('alpha', { 'SKILL.md': `---\nname: alpha\ndescription: A sample\n---\n${body}\n` })
}

function present({ bytes }: Sample): SharedFolder {
  return { path: '/srv/skills/alpha/SKILL.md', bytes: bytes.get('SKILL.md') ?? Buffer.from('') }
}

/** The tools of one source with one skill, over a host that is played. */
test.each([OLD, undefined])(
  'list_skills says what servers offer and is not taken, but not to a caller limited to packs',
  async (skill) => {
    const scene = new Scene()
    const whole = catalogOf({
      ...snapshotOf(...(skill === undefined ? [] : [skill])),
      offers: { templates: 2, archives: 1 },
    })
    const pack = { id: 'core', description: undefined, include: [{ source: sourceId('team') }], exclude: [] }
    const textsIn = async (catalog: Catalog): Promise<string> => {
      scene.registry.publish(catalog)
      const { content } = await scene.call('list_skills')
      return content.map(({ text }: { readonly text: string }) => text).join('\n')
    }

    expect(await textsIn(whole)).toContain(
      'The operator can take more skills: "team" offers 2 templates: skillsyncd mcp-source add team; "team" offers 1 skill only as archives: packed: read takes them.',
    )
    expect(await textsIn(runNow(packingCatalog(whole, [pack])))).not.toContain('offers')
  },
)

class Scene {
  readonly registry = new Registry()
  readonly looks: (SourceId | undefined)[] = []
  onLook: (source: SourceId | undefined) => void = () => {}
  present: Awaited<ReturnType<SharedDisk['present']>>
  /** Whose bytes the store has, if not those of the catalog. */
  stored: Sample | 'not-now' | undefined
  reads = 0
  folders: readonly SourceId[] = []
  #served: Sample | undefined

  constructor(...served: readonly Sample[]) {
    this.publish(...served)
  }

  publish(...served: readonly Sample[]): void {
    this.#served = served[0]
    this.registry.publish(catalogOf(snapshotOf(...served)))
  }

  async call(name: string, id = 'alpha'): Promise<any> {
    const read: ReadContent = async (_, { path }) => {
      this.reads += 1
      return this.stored === 'not-now' ? 'not-now' : (this.stored ?? this.#served)?.bytes.get(path)
    }
    const host: ToolHost = {
      look: async (source) => {
        this.looks.push(source)
        this.onLook(source)
        return 0
      },
      folders: this.folders,
      disk: {
        pathOf: async ({ path }) => `/state/skills/${path}/SKILL.md`,
        present: async () => this.present,
      },
    }
    const methods = skillTools({ registry: this.registry, read, pages: PAGES }, host).methods({})
    return methods['tools/call']!({ name, arguments: { id } }, { era: 'modern' }, new AbortController().signal)
  }

  async content(name: string): Promise<any> {
    const { content } = await this.call(name)
    return JSON.parse(content[0].text)
  }
}
