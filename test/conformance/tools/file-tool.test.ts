import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Peer } from '../../support/clients/peer.ts'
import { loseObject } from '../../support/damage.ts'
import { contentOf, expectInvalidParams, openScene, resultOf } from '../peers.ts'
import type { Scene } from '../peers.ts'
import { openSmall, skillOf } from '../small.ts'
import { readByTool } from './file-by-tool.ts'

let fx: Scene
beforeAll(async () => {
  fx = await openScene()
})
afterAll(async () => {
  await fx[Symbol.asyncDispose]()
})

/** Those whose callers do not share the disk. */
const AFAR = ['M', 'LH'] as const

interface Got {
  readonly uri?: string
  readonly content: string
  readonly files: readonly { readonly path: string; readonly size: number }[]
}

describe.each(AFAR)('an agent with nothing but tools, over HTTP (%s)', (kind) => {
  test('reads every file of every skill that it is offered, byte for byte', async () => {
    const peer = fx.of(kind)
    const rows: readonly { readonly id: string }[] = JSON.parse(
      (await answerOf(peer, 'list_skills', {})).content[0].text,
    )
    const read = new Map<string, ReadonlyMap<string, Buffer>>()

    for (const { id } of rows) {
      const { files } = await getSkill(peer, id)
      const got = new Map<string, Buffer>()
      for (const { path, size } of files) {
        got.set(path, await readByTool(peer, id, path))
        expect(got.get(path)).toHaveLength(size)
      }
      read.set(id, got)
    }

    for (const path of fx.fixture.listed) {
      const id = [`fx/${path}`, path.slice(path.lastIndexOf('/') + 1)].find((one) => read.has(one))!
      const files = fx.fixture.filesOf(path)
      // SKILL.md is the skill itself, and not in the list of its files.
      const got = new Map([...read.get(id)!, ['SKILL.md', await readByTool(peer, id, 'SKILL.md')]])
      expect([...got.keys()].toSorted()).toEqual([...files.keys()].toSorted())
      expect(read.get(id)?.has('SKILL.md')).toBe(false)
      for (const [file, bytes] of files) expect(got.get(file)?.equals(bytes), file).toBe(true)
    }
    expect(read.has('Upper')).toBe(true)
  })

  test('is given links to the files beside the list of them, and each can be read', async () => {
    const peer = fx.of(kind)

    const result = await answerOf(peer, 'get_skill', { id: 'pdf-processing' })

    const links = result.content.filter(({ type }: { readonly type: string }) => type === 'resource_link')
    const { files } = result.structuredContent
    expect(links.map(({ name, size }: any) => ({ path: name, size }))).toEqual(files)
    expect(files.length).toBeGreaterThan(0)
    for (const { uri, name } of links)
      expect(contentOf(await peer.call('resources/read', { uri })).bytes).toEqual(
        await readByTool(peer, 'pdf-processing', name),
      )
  })
})

test('a path is one that the skill lists, and no other reaches anything', async () => {
  const files = { 'alpha/SKILL.md': skillOf('alpha'), 'alpha/a.md': 'a', 'beta/SKILL.md': skillOf('beta'), secret: 's' }
  await using small = await openSmall(files, { kinds: AFAR })
  const paths = [
    '../beta/SKILL.md',
    '../secret',
    '/etc/passwd',
    'a.md/',
    './a.md',
    '%61.md',
    'A.md',
    '',
    'b.md',
    'a.md\0',
  ]

  for (const kind of AFAR)
    for (const path of paths) {
      const text = await refusedBy(small.of(kind), { id: 'alpha', path })
      expect(text).toContain('get_skill lists its files')
    }
})

test('a path that is written another way than the list has it is answered with the one that is near it', async () => {
  const files = { 'tools/alpha/SKILL.md': skillOf('alpha'), 'tools/alpha/refs/a.md': 'a' }
  await using small = await openSmall(files, { kinds: AFAR })
  const near = ['./refs/a.md', 'refs//a.md', '/refs/a.md', 'refs\\a.md', 'Refs/A.md', 'alpha/refs/a.md', 'refs/./a.md']
  const far = ['../alpha/refs/a.md', 'a.md', 'refs', '.', '', `${'./'.repeat(1_000)}refs/a.md`]

  for (const kind of AFAR) {
    for (const path of near)
      expect(await refusedBy(small.of(kind), { id: 'alpha', path }), path).toContain(
        '; near it is "refs/a.md"; get_skill',
      )
    for (const path of far) expect(await refusedBy(small.of(kind), { id: 'alpha', path })).not.toContain('near it')
  }
})

test('an offset that is null is not given', async () => {
  await using small = await openSmall({ 'alpha/SKILL.md': skillOf('alpha'), 'alpha/a.md': 'a' }, { kinds: AFAR })
  const given = { id: 'alpha', path: 'a.md', offset: null }

  for (const kind of AFAR)
    expect((await answerOf(small.of(kind), 'read_skill_file', given)).structuredContent).toMatchObject({ offset: 0 })
})

test('text comes in parts that end between two characters, other bytes as base64', async () => {
  const text = `a${'\u{1F600}'.repeat(40_000)}`
  const bytes = Buffer.from(Uint8Array.from({ length: 100_000 }, (_, at) => at % 251))
  await using small = await openSmall(
    { 'alpha/SKILL.md': skillOf('alpha'), 'alpha/t.md': text, 'alpha/b.bin': bytes },
    { kinds: AFAR },
  )

  for (const kind of AFAR) {
    const peer = small.of(kind)
    const first = (await answerOf(peer, 'read_skill_file', { id: 'alpha', path: 't.md' })).structuredContent
    const last = { id: 'alpha', path: 't.md', offset: first.size }

    expect(first).toMatchObject({ encoding: 'utf-8', offset: 0, size: Buffer.byteLength(text), next_offset: 65_533 })
    expect(first.content).not.toContain('\uFFFD')
    expect((await readByTool(peer, 'alpha', 't.md')).toString()).toBe(text)
    expect(await readByTool(peer, 'alpha', 'b.bin')).toEqual(bytes)
    expect(await refusedBy(peer, { id: 'alpha', path: 't.md', offset: 2 })).toContain('inside a character')
    expect((await answerOf(peer, 'read_skill_file', last)).structuredContent).toMatchObject({ content: '' })
    expect(await refusedBy(peer, { ...last, offset: first.size + 1 })).toContain(`has ${first.size} bytes`)
  }
})

test('arguments of another type are an error of the protocol, an unknown id one that a model can mend', async () => {
  await using small = await openSmall({ 'alpha/SKILL.md': skillOf('alpha'), 'alpha/a.md': 'a' })
  const wrong = [{}, { id: 'alpha' }, { path: 'a.md' }, { id: 'alpha', path: 7 }, { id: 'alpha', path: null }]
  const offsets = [-1, 0.5, '0', 2 ** 60].map((offset) => ({ id: 'alpha', path: 'a.md', offset }))

  for (const kind of AFAR) {
    for (const given of [...wrong, ...offsets])
      expectInvalidParams(await small.of(kind).call('tools/call', { name: 'read_skill_file', arguments: given }))
    expect(await refusedBy(small.of(kind), { id: 'none', path: 'a.md' })).toContain('list_skills')
  }
  for (const kind of ['LS', 'MS'] as const)
    expectInvalidParams(
      await small.of(kind).call('tools/call', { name: 'read_skill_file', arguments: { id: 'alpha', path: 'a.md' } }),
    )
})

test('what is disabled or damaged is not given', async () => {
  const files = {
    'alpha/SKILL.md': skillOf('alpha'),
    'alpha/a.md': 'a',
    'beta/SKILL.md': skillOf('beta'),
    'beta/b.md': 'b',
  }
  await using small = await openSmall(files, { kinds: ['M'] })
  const { daemon, config } = small.served
  await daemon.parts.decisions.disable(config.sources[0]!.source.id, 'beta', true)

  expect(await refusedBy(small.of('M'), { id: 'beta', path: 'b.md' })).toContain('no skill with the id')
  // Else it would be mended before the answer.
  await rm(small.repository.folder, { recursive: true })
  const { skill } = daemon.registry.catalog.skills.get('skill://fx/alpha/SKILL.md')!
  loseObject(config.state, skill.files.find(({ path }) => path === 'a.md')!.sha256)
  expect(await refusedBy(small.of('M'), { id: 'alpha', path: 'a.md' })).toContain('damaged or missing')
})

async function answerOf(peer: Peer, name: string, given: object): Promise<any> {
  const result = resultOf(await peer.call('tools/call', { name, arguments: given }))
  expect(result.isError).toBeUndefined()
  return result
}

async function getSkill(peer: Peer, id: string): Promise<Got> {
  return (await answerOf(peer, 'get_skill', { id })).structuredContent
}

async function refusedBy(peer: Peer, given: object): Promise<string> {
  const result = resultOf(await peer.call('tools/call', { name: 'read_skill_file', arguments: given }))
  expect(result.isError).toBe(true)
  return result.content[0].text
}
