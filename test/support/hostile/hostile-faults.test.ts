import { expect, test } from 'vitest'
import { META, legacyHttp, modernHeaders, modernHttp } from '../clients/peer.ts'
import type { Peer } from '../clients/peer.ts'
import { skillText } from '../git/scripted-upstream.ts'
import { RpcFault } from './hostile-answer.ts'
import { HostileServer } from './hostile-server.ts'

const PDF = 'skill://pdf/SKILL.md'

async function served(): Promise<HostileServer> {
  const server = await HostileServer.start()
  server.skills.set(PDF, { 'SKILL.md': skillText('pdf'), 'a/b.md': 'b', 'a/c/d.md': 'd' })
  return server
}

async function asked({ url }: HostileServer, method: string, params: object = {}): Promise<Response> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { ...params, _meta: META } })
  return fetch(url, { method: 'POST', headers: modernHeaders(method, params), body })
}

async function contentOf(peer: Peer, uri: string): Promise<any> {
  return (await peer.call('resources/read', { uri })).result?.contents[0]
}

test('a result has what its era wants in it, and no field that is left out', async () => {
  await using server = await served()
  await using modern = await modernHttp(server.url)
  await using legacy = await legacyHttp(server.url)
  server.ttlMs = 60_000
  server.on('ping', () => ({ resultType: undefined, more: 1 }))

  const results = [await modern.call('skills/list'), await modern.call('ping'), await legacy.call('skills/list')]

  expect(results[0]?.result).toMatchObject({ resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' })
  expect(Object.keys(results[1]?.result)).toEqual(['_meta', 'more'])
  expect(Object.keys(results[2]?.result)).toEqual(['skills'])
})

test('an error has the status of its code in the modern era, and is overridden no more once that is taken back', async () => {
  await using server = await served()
  await using modern = await modernHttp(server.url)
  await using legacy = await legacyHttp(server.url)
  server.on('skills/list', () => new RpcFault(-32601, 'none', { why: 'so' }))

  const replies = [await modern.call('skills/list'), await legacy.call('skills/list')]
  server.on('skills/list')
  const ordinary = await modern.call('skills/list')

  const error = { code: -32601, message: 'none', data: { why: 'so' } }
  expect(replies).toMatchObject([
    { status: 404, error },
    { status: 200, error },
  ])
  expect(ordinary.result.skills).toHaveLength(1)
})

test('a raw body, one that comes byte by byte and a connection that breaks arrive as they were asked for', async () => {
  await using server = await served()
  server.on('a', () => ({ raw: '{"id":""}', status: 418, headers: { 'x-more': '1' } }))
  server.on('ping', () => ({ delayPerByteMs: 0 }))
  server.on('b', () => 'drop')
  server.on('c', () => 'silence')

  const raw = await asked(server, 'a')
  const slow = await asked(server, 'ping')
  const silent = asked(server, 'c')

  expect([raw.status, raw.headers.get('x-more'), await raw.text()]).toEqual([418, '1', '{"id":""}'])
  expect(await slow.json()).toMatchObject({ id: 7, result: { resultType: 'complete' } })
  await expect(asked(server, 'b')).rejects.toThrow('fetch failed')
  await server.requested(({ method }) => method === 'c')
  await server[Symbol.asyncDispose]()
  await expect(silent).rejects.toThrow('fetch failed')
})

test('an answer may wait for the test', async () => {
  await using server = await served()
  const gate = Promise.withResolvers<object>()
  server.on('ping', () => gate.promise)

  const reply = asked(server, 'ping')
  await server.requested(({ method }) => method === 'ping')
  gate.resolve({ waited: true })

  expect(await (await reply).json()).toMatchObject({ result: { waited: true } })
})

test('what a skill is served as can differ from what its entry says', async () => {
  await using server = await served()
  await using peer = await modernHttp(server.url)
  server.skills.set('skill://x/SKILL.md', { 'SKILL.md': 'no fences' }, { resources: 'dynamic', frontmatter: undefined })
  server.skills.addEntry({ uri: 'file:/x/SKILL.md' })
  server.skills.addEntry(5)
  server.skills.setResource(PDF, 'other')
  server.skills.setResource('skill://pdf/hidden.md', { contents: [{ uri: 'skill://elsewhere', text: 5 }] })

  const { skills } = (await peer.call('skills/list')).result
  const { result } = await peer.call('skills/get', { uri: 'file:/x/SKILL.md' })

  expect(skills.slice(1)).toEqual([{ uri: 'skill://x/SKILL.md', resources: 'dynamic' }, { uri: 'file:/x/SKILL.md' }, 5])
  expect(result.skill).toEqual({ uri: 'file:/x/SKILL.md' })
  expect(await contentOf(peer, PDF)).toMatchObject({ text: 'other' })
  expect(await contentOf(peer, 'skill://pdf/hidden.md')).toEqual({ uri: 'skill://elsewhere', text: 5 })
})

test('an unlisted skill is answered for, and one that is deleted is not', async () => {
  await using server = await served()
  await using peer = await modernHttp(server.url)

  server.skills.unlist(PDF)
  const listed = [await peer.call('skills/list'), await peer.call('resources/list')]
  const unlisted = await peer.call('skills/get', { uri: PDF })
  server.skills.delete(PDF)
  const deleted = await peer.call('skills/get', { uri: PDF })

  expect(listed.map(({ result }) => result.skills ?? result.resources)).toEqual([[], []])
  expect(unlisted.result.skill.uri).toBe(PDF)
  expect(deleted.error).toMatchObject({ code: -32602 })
})

test('lists come in pages of the size that is asked for', async () => {
  await using server = await served()
  await using peer = await modernHttp(server.url)
  server.pageSize = 2

  const first = (await peer.call('resources/list')).result
  const last = (await peer.call('resources/list', { cursor: first.nextCursor })).result

  expect([...first.resources, ...last.resources].map(({ uri, size }) => [uri, size])).toEqual([
    [PDF, skillText('pdf').length],
    ['skill://pdf/a/b.md', 1],
    ['skill://pdf/a/c/d.md', 1],
  ])
  expect(last.nextCursor).toBeUndefined()
  expect((await peer.call('skills/list', { cursor: 'zzz' })).error?.code).toBe(-32602)
})

test('a directory has the files and folders right below it', async () => {
  await using server = await served()
  await using peer = await modernHttp(server.url)

  const { result } = await peer.call('resources/directory/read', { uri: 'skill://pdf/a/' })

  expect(result.resources).toMatchObject([
    { uri: 'skill://pdf/a/b.md', name: 'b.md', size: 1 },
    { uri: 'skill://pdf/a/c', name: 'c', mimeType: 'inode/directory' },
  ])
  expect((await peer.call('resources/directory/read', { uri: 'skill://a' })).error?.code).toBe(-32602)
})

test('an endless listing has a cursor of its own for each page, or one for all', async () => {
  await using server = await served()
  await using peer = await modernHttp(server.url)
  const pages = async (): Promise<unknown[]> => {
    const found = []
    for (const cursor of [undefined, '1', '2']) found.push((await peer.call('skills/list', { cursor })).result)
    return found.map(({ skills, nextCursor }) => [skills.length, nextCursor])
  }

  server.listEndlessly('fresh', (page) => Array.from({ length: page }))
  const fresh = await pages()
  server.listEndlessly('repeated')
  const repeated = await pages()

  expect(fresh).toEqual([
    [1, '1'],
    [1, '2'],
    [2, '3'],
  ])
  expect(repeated).toEqual([
    [1, '1'],
    [0, '1'],
    [0, '1'],
  ])
})
