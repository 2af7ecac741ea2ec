import { UriTemplate } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Forms } from '../../src/serve/mcp/resources/forms.ts'
import { sessionsAfter } from '../../src/serve/mcp/transports/session-store.ts'
import type { SessionLog, SessionRecord } from '../../src/serve/mcp/transports/session-store.ts'
import type { Catalog } from '../../src/sync/catalog/catalog.ts'
import { DOCS_OF_TEAM, formsOf } from '../support/clients/forms.ts'
import { eventsOf, hear } from '../support/clients/peer.ts'
import type { Heard, Peer } from '../support/clients/peer.ts'
import { catalogOfWorld, documentOf } from '../support/content/contract-world.ts'
import type { SkillWorld, World } from '../support/content/contract-world.ts'
import { sourceId } from '../sync/store/samples.ts'
import { bearer, openContracted } from './contracted.ts'
import type { Contracted } from './contracted.ts'
import { exchange, INITIALIZE, legacy, modern } from './exchange.ts'
import { KINDS, contentOf, expectInvalidParams, expectNotFound, itemsOf, resultOf, walkPages } from './peers.ts'
import { readJson, readText } from './small.ts'

const READ = 'resources/read'
const INDEX = 'resource://catalog/skills_index'

const REVIEW: SkillWorld = {
  path: 'code-review',
  id: 'code-review',
  version: '2.1.0-rc.1',
  tags: ['review', 'code-quality'],
  dependsOn: ['git-basics', 'not-there'],
  icons: [{ src: 'https://example.com/review.png', mimeType: 'image/png', sizes: ['48x48'] }],
  references: {
    checklist: { text: '# Checklist: ünï\r\n', mimeType: 'text/plain', title: 'The checklist' },
    'deep-dive': { text: '# Deep\n', path: 'references/nested/DEEP.MD' },
  },
  files: { 'references/undeclared.md': '# Nobody declares this\n' },
}
const BASICS: SkillWorld = { path: 'in/git-basics', id: 'git-basics' }
const HIDDEN: SkillWorld = { path: 'hidden', id: 'hidden', standing: 'unlisted' }
const MARK: SkillWorld = { path: 'mark', id: 'mark', contract: false, body: 'mark 0000\n' }
const DOCS = { 'usage.md': '# Usage: ünï\n', 'guide/set up.md': '# Set up\n', 'skills/code-review/SKILL.md': '# S\n' }
const CFX: World = { team: { skills: [BASICS, HIDDEN, MARK], docs: DOCS }, more: { skills: [REVIEW] } }

const FORMS = [
  INDEX,
  'resource://catalog/skills/code-review',
  'resource://skills/code-review/document',
  'resource://skills/code-review/references/checklist',
  'resource://docs/usage.md',
]

describe('the resource:// family', () => {
  let scene: Contracted

  beforeAll(async () => {
    scene = await openContracted(CFX)
  })

  afterAll(() => scene[Symbol.asyncDispose]())

  test.each(KINDS)('the index holds one record of each id, to choose a skill by (%s)', async (kind) => {
    const { item } = contentOf(await scene.of(kind).call(READ, { uri: INDEX }))

    expect(item).toMatchObject({ uri: INDEX, mimeType: 'application/json' })
    expect(item.text).toBe(JSON.stringify(JSON.parse(item.text)))
    expect(JSON.parse(item.text)).toEqual([
      {
        id: 'code-review',
        name: 'code-review',
        description: 'What code-review does',
        version: '2.1.0-rc.1',
        tags: ['review', 'code-quality'],
        capabilities: ['resource://skills/code-review/document'],
        document_uri: 'resource://skills/code-review/document',
      },
      expect.objectContaining({ id: 'git-basics', tags: [] }),
    ])
  })

  test.each(KINDS)('the record of a skill says where its documents are, and of no id else (%s)', async (kind) => {
    const peer = scene.of(kind)

    expect(await readJson(peer, 'resource://catalog/skills/code-review')).toEqual({
      id: 'code-review',
      name: 'code-review',
      description: 'What code-review does',
      version: '2.1.0-rc.1',
      tags: ['review', 'code-quality'],
      capabilities: ['resource://skills/code-review/document'],
      depends_on: ['git-basics', 'not-there'],
      missing: ['not-there'],
      document_uri: 'resource://skills/code-review/document',
      references: [
        {
          id: 'checklist',
          title: 'The checklist',
          uri: 'resource://skills/code-review/references/checklist',
          mime_type: 'text/plain',
          path: 'references/checklist.md',
        },
        {
          id: 'deep-dive',
          uri: 'resource://skills/code-review/references/deep-dive',
          mime_type: 'text/markdown',
          path: 'references/nested/DEEP.MD',
        },
      ],
      source: 'more',
      skill_uri: 'skill://more/code-review/SKILL.md',
    })
    for (const id of ['unknown', 'mark', 'not-there', 'a'.repeat(300)]) {
      for (const uri of [`resource://catalog/skills/${id}`, `resource://skills/${id}/document`]) {
        expectNotFound(peer, await peer.call(READ, { uri }), uri)
      }
    }
  })

  test.each(KINDS)('the document is SKILL.md, byte for byte, in whatever spelling of its URI (%s)', async (kind) => {
    const peer = scene.of(kind)

    for (const uri of ['resource://skills/code-review/document', 'resource://skills/%63ode%2Dreview/document']) {
      const { item, bytes } = contentOf(await peer.call(READ, { uri }))
      expect(item).toMatchObject({ uri, mimeType: 'text/markdown' })
      expect(bytes).toEqual(Buffer.from(documentOf(REVIEW)))
    }
    expect(await readText(peer, 'resource://skills/hidden/document')).toBe(documentOf(HIDDEN))
  })

  test.each(KINDS)('a declared reference has its bytes and its type, another file no id (%s)', async (kind) => {
    const peer = scene.of(kind)
    const uriOf = (ref: string): string => `resource://skills/code-review/references/${ref}`

    const { item, bytes } = contentOf(await peer.call(READ, { uri: uriOf('checklist') }))
    expect(item).toMatchObject({ uri: uriOf('checklist'), mimeType: 'text/plain' })
    expect(bytes).toEqual(Buffer.from('# Checklist: ünï\r\n'))
    for (const ref of ['undeclared', 'unknown']) {
      expectNotFound(peer, await peer.call(READ, { uri: uriOf(ref) }), uriOf(ref))
    }
  })

  test.each(KINDS)('a reference that declares no type is text/markdown (%s)', async (kind) => {
    const uri = 'resource://skills/code-review/references/deep-dive'

    expect(contentOf(await scene.of(kind).call(READ, { uri })).item.mimeType).toBe('text/markdown')
  })

  test.each(KINDS)('what can be no id is refused, and nothing is looked up (%s)', async (kind) => {
    const peer = scene.of(kind)
    const codes = new Set<number | undefined>()

    for (const id of ['Bad_Id', '1x', '..', '%2e%2e', '', `${'a'.repeat(300)}_`, 'code-review%00', 'code-review%2Fx']) {
      for (const path of [`catalog/skills/${id}`, `skills/${id}/document`, `skills/${id}/references/checklist`]) {
        codes.add((await peer.call(READ, { uri: `resource://${path}` })).error?.code)
      }
      const uri = `resource://skills/code-review/references/${id}`
      codes.add((await peer.call(READ, { uri })).error?.code)
      if (peer.era === 'legacy') codes.add((await peer.call('resources/subscribe', { uri })).error?.code)
    }

    expect([...codes]).toEqual([-32602])
  })

  test.each(KINDS)('documents are read by their paths, and nothing else is (%s)', async (kind) => {
    const peer = scene.of(kind)

    for (const [path, text] of Object.entries(DOCS)) {
      const uri = `resource://docs/${path}`
      const { item } = contentOf(await peer.call(READ, { uri }))
      expect(item).toEqual({ uri, mimeType: 'text/markdown', text })
    }
    for (const path of [
      'note.txt',
      '../x.md',
      '%2e%2e/x.md',
      'guide/../usage.md',
      'guide/%2E%2E/usage.md',
      '/etc/x.md',
      '',
      'guide',
      './usage.md',
      'guide%2Fset up.md',
      'guide\\set up.md',
      'usage.md%00',
      'usage.md?',
      'usage.md#x',
      'usage.md/',
    ]) {
      expectInvalidParams(await peer.call(READ, { uri: `resource://docs/${path}` }))
    }
    for (const path of ['escape.md', 'Usage.md', 'usage.MD', 'code-review/SKILL.md', '__proto__.md']) {
      const uri = `resource://docs/${path}`
      expectNotFound(peer, await peer.call(READ, { uri }), uri)
    }
  })

  test.each(KINDS)('the list says of them what the block does, in the words of MCP (%s)', async (kind) => {
    const listed = itemsOf(await walkPages(scene.of(kind), 'resources/list'))

    const annotations = { audience: ['assistant'], readOnlyHint: true, idempotentHint: true }
    const [description, mimeType] = ['What code-review does', 'text/markdown']
    const _meta = {
      'dev.skillsyncd/version': '2.1.0-rc.1',
      'dev.skillsyncd/tags': ['review', 'code-quality'],
      'dev.skillsyncd/capabilities': ['resource://skills/code-review/document'],
      'dev.skillsyncd/depends_on': ['git-basics', 'not-there'],
      fastmcp: { version: '2.1.0-rc.1', tags: ['review', 'code-quality'] },
    }
    const ofReference = (ref_id: string, path: string): object => ({
      'dev.skillsyncd/skill_id': 'code-review',
      'dev.skillsyncd/ref_id': ref_id,
      'dev.skillsyncd/path': path,
    })
    expect(listed.filter(({ uri }) => uri.startsWith('resource://') && !uri.includes('git-basics'))).toEqual([
      {
        uri: INDEX,
        name: 'skills_index',
        description: expect.any(String),
        mimeType: 'application/json',
        annotations,
      },
      {
        uri: 'resource://catalog/skills/code-review',
        name: 'code-review',
        description,
        mimeType: 'application/json',
        annotations,
        _meta,
      },
      {
        uri: 'resource://skills/code-review/document',
        name: 'code-review',
        description,
        mimeType,
        size: Buffer.byteLength(documentOf(REVIEW)),
        annotations,
        icons: REVIEW.icons,
        _meta,
      },
      {
        uri: 'resource://skills/code-review/references/checklist',
        name: 'checklist',
        title: 'The checklist',
        mimeType: 'text/plain',
        size: 20,
        annotations,
        _meta: ofReference('checklist', 'references/checklist.md'),
      },
      {
        uri: 'resource://skills/code-review/references/deep-dive',
        name: 'deep-dive',
        mimeType,
        size: 7,
        annotations,
        _meta: ofReference('deep-dive', 'references/nested/DEEP.MD'),
      },
    ])
  })

  test.each(KINDS)(
    'its templates lead to what is listed, expanded by a client with completed values (%s)',
    async (kind) => {
      const peer = scene.of(kind)
      const { resourceTemplates } = resultOf(await peer.call('resources/templates/list'))
      const templates: string[] = resourceTemplates
        .map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate)
        .filter((template: string) => template.startsWith('resource://'))

      expect(templates).toEqual([
        'resource://catalog/skills/{skill_id}',
        'resource://skills/{skill_id}/document',
        'resource://skills/{skill_id}/references/{ref_id}',
        'resource://docs/{+path}',
      ])
      const [record, , reference, docs] = templates as [string, string, string, string]
      expect(await valuesOf(peer, record, 'skill_id')).toEqual(['code-review', 'git-basics'])
      expect(await valuesOf(peer, reference, 'skill_id')).toEqual(['code-review'])
      expect(await valuesOf(peer, reference, 'ref_id', { skill_id: 'code-review' })).toEqual(['checklist', 'deep-dive'])
      expect(await valuesOf(peer, reference, 'ref_id', { skill_id: 'git-basics' })).toEqual([])
      expect(await valuesOf(peer, reference, 'skill_id', { ref_id: 'nowhere' })).toEqual([])
      const paths = await valuesOf(peer, docs, 'path')
      expect(paths).toEqual(['guide/set%20up.md', 'skills/code-review/SKILL.md', 'usage.md'])
      expect(await valuesOf(peer, 'resource://docs/{path*}', 'path')).toEqual(paths)
      expectInvalidParams(await peer.call('completion/complete', questionOf('resource://docs/{path}', 'path')))
      expectInvalidParams(await peer.call('completion/complete', questionOf(record, 'ref_id')))
      for (const path of ['usage.md', 'skills/code-review/SKILL.md']) {
        expect(await readText(peer, new UriTemplate(docs).expand({ path }))).toBe(Reflect.get(DOCS, path))
      }
    },
  )
})

describe('where it is not served', () => {
  test('the forms are unknown, listed nowhere, and nobody can wait for them', async () => {
    const forms = formsOf({ contract: false, resources: { list: 'files' } })
    await using scene = await openContracted(CFX, { forms })

    for (const peer of scene.all) {
      for (const uri of [...FORMS, 'resource://catalog/skills/Bad_Id', 'resource://docs/../x.md']) {
        expectNotFound(peer, await peer.call(READ, { uri }), uri)
        if (peer.era === 'legacy') expectNotFound(peer, await peer.call('resources/subscribe', { uri }), uri)
      }
      const listed = [
        await walkPages(peer, 'resources/list'),
        resultOf(await peer.call('resources/templates/list')),
        resultOf(await peer.call('skills/list')),
      ]
      expect(JSON.stringify(listed)).not.toContain('resource://')
      expectInvalidParams(await peer.call('completion/complete', questionOf('resource://docs/{+path}', 'path')))
    }
  })

  test('a source with docs alone has those, and no index', async () => {
    const forms = formsOf({ contract: { ofSkills: false } })
    await using scene = await openContracted({ team: { skills: [MARK], docs: DOCS } }, { forms })

    for (const peer of scene.all) {
      expect(await readText(peer, 'resource://docs/usage.md')).toBe(DOCS['usage.md'])
      expectNotFound(peer, await peer.call(READ, { uri: INDEX }), INDEX)
      expect(JSON.stringify(await walkPages(peer, 'resources/list'))).not.toContain('resource://')
    }
  })
})

describe('a client of each kind that waits', () => {
  test('hears of what changed, once, of nothing else, and of the list where that says something else', async () => {
    await using scene = await openContracted(CFX)
    const uris = [...FORMS, 'resource://skills/%67it-basics/document', 'resource://catalog/skills/git-basics']
    const told = await listenTo(scene, CFX, uris)

    const [checklist, text] = ['resource://skills/code-review/references/checklist', 'another\n']
    const ofReference = { ...REVIEW, references: { ...REVIEW.references, checklist: { text, title: 'The checklist' } } }
    const docsOnly = { ...CFX, team: { ...CFX['team'], docs: { ...DOCS, 'usage.md': 'another\n' } } }
    const withDocsGone = { ...CFX, team: { skills: [BASICS, HIDDEN, MARK] } }
    const tagged = { ...CFX, team: { ...CFX['team'], skills: [{ ...BASICS, tags: ['git'] }, HIDDEN, MARK] } }
    const clash = { ...CFX, team: { ...CFX['team'], skills: [BASICS, HIDDEN, MARK, { ...BASICS, path: 'other' }] } }

    const RECORDS = 'resource://catalog/skills/'
    const ofClash = [INDEX, 'list_changed', `${RECORDS}code-review`, `${RECORDS}git-basics`, uris[5]!].toSorted()
    for (const [world, expected] of [
      [{ ...CFX, more: { skills: [ofReference] } }, ['list_changed', `${RECORDS}code-review`, checklist]],
      [docsOnly, ['resource://docs/usage.md']],
      [withDocsGone, ['list_changed', 'resource://docs/usage.md']],
      [tagged, ['list_changed', `${RECORDS}git-basics`, INDEX]],
      [clash, ofClash],
      [{ ...CFX }, []],
    ] as const) {
      expect(await told(world)).toEqual(expected)
      // The way back is told as the way there.
      expect(await told(CFX)).toEqual(expected)
    }
  })
})

describe('a token', () => {
  let scene: Contracted

  beforeAll(async () => {
    scene = await openContracted(CFX)
  })

  afterAll(() => scene[Symbol.asyncDispose]())

  const ask = async (token: string, method: string, params: object = {}) => {
    const sent = modern(method, params)
    return exchange(scene.url, { headers: { ...sent.headers, ...bearer(token) }, body: sent.body })
  }

  test('that does not open the contract shows nothing of it, and one that does shows all of it', async () => {
    for (const uri of FORMS) {
      expect((await ask('skills', READ, { uri })).error?.code).toBe(-32602)
      expect((await ask('skills', READ, { uri })).error?.message).toMatch(/^Resource not found: nothing of resource:/)
      expect((await ask('skills+contract', READ, { uri })).result.contents[0].uri).toBe(uri)
    }
    for (const method of ['resources/list', 'resources/templates/list']) {
      expect(JSON.stringify((await ask('skills+tools', method)).result)).not.toContain('resource://')
      expect(JSON.stringify((await ask('skills+contract', method)).result)).toContain('resource://skills/')
    }
    const question = questionOf('resource://docs/{+path}', 'path')
    expect((await ask('skills', 'completion/complete', question)).error?.code).toBe(-32602)
    expect((await ask('skills+contract', 'completion/complete', question)).result.completion.total).toBe(3)
  })

  test('that does not open the contract hears of none of it on a stream', async () => {
    await using heardLess = await listenAs(scene.url, 'skills', [INDEX, MARK_URI])
    await using heardMore = await listenAs(scene.url, 'skills+contract', [INDEX, MARK_URI])
    const tagged = { ...CFX, team: { ...CFX['team'], skills: [{ ...BASICS, tags: ['x'] }, HIDDEN, MARK] } }

    scene.publish(tagged)
    scene.publish(marked(tagged))
    await Promise.all([heardLess, heardMore].map((heard) => heard.next(isUpdateOf(MARK_URI))))

    expect(toldTo(heardLess)).toEqual([MARK_URI])
    expect(toldTo(heardMore).toSorted()).toEqual([INDEX, 'list_changed', MARK_URI].toSorted())
    scene.publish(CFX)
  })

  test('with which a session listens that another of the same principal subscribed, opens no more than it says', async () => {
    const session = await openSession()
    expect((await subscribe(session, 'skills', INDEX)).error?.code).toBe(-32002)
    for (const uri of [INDEX, MARK_URI]) expect((await subscribe(session, 'skills+contract', uri)).result).toEqual({})
    const tagged = { ...CFX, team: { ...CFX['team'], skills: [{ ...BASICS, tags: ['y'] }, HIDDEN, MARK] } }

    // Once while nobody listens, and once on the stream.
    scene.publish(tagged)
    await using heard = await streamOf(scene.url, session, bearer('skills'))
    scene.publish(CFX)
    scene.publish(marked(CFX))
    await heard.next(isUpdateOf(MARK_URI))

    expect(toldTo(heard)).toEqual([MARK_URI])
    scene.publish(CFX)
  })

  test.each([
    ['before a stream', true, []],
    ['on a stream', false, []],
    ['on a stream that hears of the rest of the list', false, ['list_changed']],
  ])('that opens it is told of what one that does not kept from a session %s, once', async (_, isBefore, ofRest) => {
    const session = await openSession()
    for (const uri of [INDEX, MARK_URI]) await subscribe(session, 'skills+contract', uri)
    const more = ofRest.length > 0 ? [{ path: 'more', id: 'more' }] : []
    const changed = { ...CFX, team: { ...CFX['team'], skills: [{ ...BASICS, tags: ['w'] }, HIDDEN, MARK, ...more] } }

    if (isBefore) scene.publish(changed)
    const less = await streamOf(scene.url, session, bearer('skills'))
    if (!isBefore) scene.publish(changed)
    scene.publish(marked(changed))
    await less.next(isUpdateOf(MARK_URI))
    await less[Symbol.asyncDispose]()
    await using full = await streamOf(scene.url, session, bearer('skills+contract'))
    scene.publish(marked(changed))
    await full.next(isUpdateOf(MARK_URI))

    expect(toldTo(less)).toEqual([...ofRest, MARK_URI])
    expect(toldTo(full)).toEqual([INDEX, 'list_changed', MARK_URI])
    scene.publish(CFX)
  })

  const openSession = async (): Promise<string> => {
    const opening = legacy('initialize', INITIALIZE)
    const headers = { ...opening.headers, ...bearer('skills+contract') }
    return (await exchange(scene.url, { headers, body: opening.body })).headers.get('mcp-session-id')!
  }

  const subscribe = async (session: string, token: string, uri: string) => {
    const sent = legacy('resources/subscribe', { uri }, session)
    return exchange(scene.url, { headers: { ...sent.headers, ...bearer(token) }, body: sent.body })
  }
})

describe('a session that outlives a restart', () => {
  const SUBSCRIBED = [INDEX, 'resource://docs/usage.md', 'resource://skills/git-basics/document']
  const team = { skills: [{ ...BASICS, tags: ['z'] }, HIDDEN, MARK], docs: { ...DOCS, 'usage.md': 'another\n' } }

  test('is told of what changed of the family meanwhile, and of that alone', async () => {
    const told = await toldAfterRestart(SUBSCRIBED, catalogOfWorld({ ...CFX, team }))

    expect(told.toSorted()).toEqual([INDEX, 'list_changed', 'resource://docs/usage.md'].toSorted())
  })

  test.each([
    ['it was turned off', formsOf({ contract: false })],
    ['the docs are of another source', formsOf({ contract: { docs: { ...DOCS_OF_TEAM, source: sourceId('more') } } })],
  ])('is told of all of it where %s meanwhile', async (_, forms) => {
    const told = await toldAfterRestart(SUBSCRIBED, undefined, forms)

    expect(told.toSorted()).toEqual([...SUBSCRIBED, 'list_changed'].toSorted())
  })
})

/** What a session hears of that subscribed while CFX was served, where another catalog, or other forms, are after a restart. */
async function toldAfterRestart(uris: readonly string[], next?: Catalog, forms?: Forms): Promise<string[]> {
  const first = catalogOfWorld(CFX)
  const log = logOf(first)
  const before = await openContracted(CFX, { catalog: first, sessionLog: log })
  const opening = legacy('initialize', INITIALIZE)
  const opened = await exchange(before.url, { headers: opening.headers, body: opening.body })
  const session = opened.headers.get('mcp-session-id')!
  for (const uri of uris) {
    const sent = legacy('resources/subscribe', { uri }, session)
    expect((await exchange(before.url, { headers: sent.headers, body: sent.body })).result).toEqual({})
  }
  await before[Symbol.asyncDispose]()

  await using after = await openContracted(CFX, { catalog: next ?? first, sessionLog: log, ...(forms && { forms }) })
  await using heard = await streamOf(after.url, session)
  // It comes last.
  await heard.next(({ method }) => method === 'notifications/resources/list_changed')
  return toldTo(heard)
}

/** A log in memory, for two lives of a server. */
function logOf(first: Catalog): SessionLog {
  const records: SessionRecord[] = []
  let anew: (() => Iterable<SessionRecord>) | undefined
  return {
    async load(all) {
      anew = all
      return sessionsAfter(records)
    },
    async append(record) {
      if (anew === undefined) records.push(structuredClone(record))
      else records.splice(0, Infinity, ...[...anew()].map((one) => structuredClone(one)))
      anew = undefined
    },
    catalogOf: async ({ digest }) => (digest === first.digest ? first : undefined),
  }
}

const MARK_URI = 'skill://team/mark/SKILL.md'

let marks = 0

/** The same world, but for a file that is no part of the family. It keeps its size, of which lists tell. */
function marked({ team, ...more }: World): World {
  marks += 1
  const mark = {
    ...MARK,
    body: `mark ${String(marks).padStart(4, '0')}\n`,
  }
  const skills = team!.skills!.map((skill) => (skill.id === 'mark' ? mark : skill))
  return { team: { ...team, skills }, ...more }
}

/** A client of each kind that listens; the function publishes a world and says what all of them were told. */
async function listenTo(
  scene: Contracted,
  first: World,
  uris: readonly string[],
): Promise<(world: World) => Promise<string[]>> {
  const listeners = await Promise.all(scene.all.map((peer) => peer.subscribe([...uris, MARK_URI], { list: true })))
  const known = listeners.map(({ messages }) => messages.length)
  let mark = first
  return async (world) => {
    // The mark stays as it was until the world is told of: what is told of it last is the end.
    const before = mark
    scene.publish({ ...world, team: { ...world['team'], skills: withMarkOf(before, world) } })
    mark = marked(world)
    scene.publish(mark)
    const told = await Promise.all(
      listeners.map(async (heard, index) => {
        const { messages } = heard
        const from = known[index]!
        const last = await heard.next((message) => isUpdateOf(MARK_URI)(message) && messages.indexOf(message) >= from)
        known[index] = messages.indexOf(last) + 1
        return messages.slice(from, messages.indexOf(last)).flatMap(said)
      }),
    )
    for (const one of told) expect(one.toSorted()).toEqual(told[0]!.toSorted())
    return told[0]!.toSorted()
  }
}

function withMarkOf(before: World, world: World): readonly SkillWorld[] {
  const mark = before['team']!.skills!.find(({ id }) => id === 'mark')!
  return world['team']!.skills!.map((skill) => (skill.id === 'mark' ? mark : skill))
}

async function listenAs(url: string, token: string, uris: readonly string[]): Promise<Heard> {
  const sent = modern('subscriptions/listen', {
    notifications: { resourceSubscriptions: uris, resourcesListChanged: true },
  })
  const stop = new AbortController()
  const headers = { ...sent.headers, ...bearer(token) }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(sent.body), signal: stop.signal })
  const heard = hear(eventsOf(response), async () => stop.abort())
  await heard.next(({ method }) => method === 'notifications/subscriptions/acknowledged')
  return heard
}

async function streamOf(url: string, session: string, more: Readonly<Record<string, string>> = {}): Promise<Heard> {
  const stop = new AbortController()
  const headers = { accept: 'text/event-stream', 'mcp-session-id': session, ...more }
  for (;;) {
    const response = await fetch(url, { headers, signal: stop.signal })
    // The stream before this one is over when the server has noticed.
    if (response.status !== 409) return hear(eventsOf(response), async () => stop.abort())
    await response.text()
  }
}

function toldTo(heard: Heard): string[] {
  return heard.messages.flatMap(said)
}

// oxlint-disable-next-line typescript/no-explicit-any -- what is on the wire has no type
type Message = any

function said({ method, params }: Message): string[] {
  if (method === 'notifications/resources/updated') return [params.uri]
  return method === 'notifications/resources/list_changed' ? ['list_changed'] : []
}

function isUpdateOf(uri: string): (message: Message) => boolean {
  return (message) => message.method === 'notifications/resources/updated' && message.params.uri === uri
}

function questionOf(uri: string, name: string, given?: object): object {
  const context = given === undefined ? {} : { context: { arguments: given } }
  return { ref: { type: 'ref/resource', uri }, argument: { name, value: '' }, ...context }
}

async function valuesOf(peer: Peer, template: string, name: string, given?: object): Promise<string[]> {
  return resultOf(await peer.call('completion/complete', questionOf(template, name, given))).completion.values
}
