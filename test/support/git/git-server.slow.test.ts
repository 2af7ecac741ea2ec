import { readFile, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../temporary.ts'
import { GitServer, type Fault } from './git-server.ts'
import { Repository, runGit } from './repository.ts'

const LS_REFS = '0014command=ls-refs\n0000'

test('a clone has the files of the repository', async () => {
  await using served = await serve()
  await using folder = await temporaryFolder()

  await runGit(['clone', '--quiet', '--depth=1', served.url, folder.path])

  expect(await readFile(join(folder.path, 'docs/a.md'), 'utf8')).toBe('a\n')
  expect(await readlink(join(folder.path, 'link'))).toBe('docs/a.md')
  expect((await runGit(['rev-parse', 'HEAD'], { cwd: folder.path })).toString().trim()).toBe(served.commit)
  expect(served.server.requests.map((request) => request.gitProtocol)).toContain('version=2')
})

test('a push moves the branch', async () => {
  await using served = await serve()
  await using folder = await temporaryFolder()
  await runGit(['clone', '--quiet', served.url, folder.path])
  await writeFile(join(folder.path, 'new.md'), 'new\n')
  await runGit(['add', '.'], { cwd: folder.path })
  await runGit(['commit', '--quiet', '--message=new'], { cwd: folder.path })

  await runGit(['push', '--quiet', 'origin', 'main'], { cwd: folder.path })

  expect(await served.repository.git('show', 'main:new.md')).toBe('new')
})

test('a blob is had by its id alone where the filter is on', async () => {
  await using served = await serve()
  await using folder = await temporaryFolder()

  await runGit(['clone', '--quiet', '--bare', '--filter=blob:none', served.url, folder.path])

  const packed = (await runGit(['cat-file', '--batch-check', '--batch-all-objects'], { cwd: folder.path })).toString()
  expect(packed).not.toContain(' blob ')
})

test('the filter is not offered where it is off', async () => {
  await using served = await serve({ filter: false })

  const answer = await fetch(`${served.url}/info/refs?service=git-upload-pack`)

  const text = await answer.text()
  expect(text).toContain('multi_ack')
  expect(text).not.toContain('filter')
})

test('a gzipped request is understood and kept unpacked', async () => {
  await using served = await serve()

  const answer = await post(served.url, gzipSync(LS_REFS), { 'Content-Encoding': 'gzip' })

  expect(await answer.text()).toContain(`${served.commit} refs/heads/main`)
  expect(served.server.requests.at(-1)?.body.toString()).toBe(LS_REFS)
})

test('an unknown repository is not found', async () => {
  await using served = await serve()

  expect((await fetch(`${served.server.origin}/other.git/info/refs?service=git-upload-pack`)).status).toBe(404)
})

test.each<[string, GitServer['access'], string | undefined, number]>([
  ['no password', { basic: { user: 'u', password: 'p' } }, undefined, 401],
  ['the wrong password', { basic: { user: 'u', password: 'p' } }, `Basic ${btoa('u:x')}`, 401],
  ['the password', { basic: { user: 'u', password: 'p' } }, `Basic ${btoa('u:p')}`, 200],
  ['the wrong token', { token: 't' }, 'Bearer x', 401],
  ['the token', { token: 't' }, 'Bearer t', 200],
  ['the token as a password', { token: 't' }, `Basic ${btoa('x-access-token:t')}`, 200],
])('a guarded server answers a request with %s', async (_, access, authorization, status) => {
  await using served = await serve()
  served.server.access = access

  const answer = await post(served.url, LS_REFS, authorization === undefined ? {} : { Authorization: authorization })

  expect(answer.status).toBe(status)
  expect(served.server.requests[0]?.authorization).toBe(authorization)
})

test('a status is answered with its headers and body', async () => {
  await using served = await serve()
  served.server.fault = { kind: 'status', status: 429, headers: { 'Retry-After': '7' }, body: '<html>' }

  const answer = await post(served.url, LS_REFS)

  expect([answer.status, answer.headers.get('retry-after'), await answer.text()]).toEqual([429, '7', '<html>'])
})

test('a redirect keeps the path, and can spare a POST', async () => {
  await using served = await serve()
  served.server.fault = { kind: 'redirect', status: 301, to: 'http://elsewhere.example', only: 'GET' }

  const get = await fetch(`${served.url}/info/refs?service=git-upload-pack`, { redirect: 'manual' })

  expect(get.headers.get('location')).toBe('http://elsewhere.example/team/skills.git/info/refs?service=git-upload-pack')
  expect((await post(served.url, LS_REFS)).status).toBe(200)
})

test('a truncated answer breaks after its bytes', async () => {
  await using served = await serve()
  served.server.fault = { kind: 'truncate', at: 10 }

  const { bytes, ended } = await received(await post(served.url, LS_REFS))

  expect([bytes.length, ended]).toEqual([10, false])
})

test('an answer can end early as if it were whole, inside a packet or after one', async () => {
  await using served = await serve()
  const whole = (await received(await post(served.url, LS_REFS))).bytes
  const firstPacket = Number.parseInt(whole.toString('latin1', 0, 4), 16)

  served.server.fault = { kind: 'end', at: 10 }
  const inside = await received(await post(served.url, LS_REFS))
  served.server.fault = { kind: 'end-on-packet', at: 10 }
  const after = await received(await post(served.url, LS_REFS))

  expect(inside).toEqual({ bytes: whole.subarray(0, 10), ended: true })
  expect(after).toEqual({ bytes: whole.subarray(0, firstPacket), ended: true })
  expect(firstPacket).toBeLessThan(whole.length)
})

test('a flipped byte is the only one that differs', async () => {
  await using served = await serve()
  const whole = (await received(await post(served.url, LS_REFS))).bytes
  served.server.fault = { kind: 'flip', at: 10 }

  const { bytes } = await received(await post(served.url, LS_REFS))

  expect([...bytes.keys()].filter((index) => bytes[index] !== whole[index])).toEqual([10])
  expect(bytes).toHaveLength(whole.length)
})

test('a hanging answer sends its bytes and then nothing until the server ends', async () => {
  const served = await serve()
  served.server.fault = { kind: 'hang', at: 10 }
  const reader = (await post(served.url, LS_REFS)).body!.getReader()

  const first = await reader.read()
  const next = reader.read().then(
    () => 'more',
    () => 'broken',
  )
  await served[Symbol.asyncDispose]()

  expect(first.value).toHaveLength(10)
  expect(await next).toBe('broken')
})

test('a server that hangs before it answers has seen the request, and ends all the same', async () => {
  const served = await serve()
  served.server.fault = { kind: 'hang-before' }

  const answer = post(served.url, LS_REFS).then(
    () => 'answered',
    () => 'broken',
  )
  await served.server.requested((request) => request.method === 'POST')
  await served[Symbol.asyncDispose]()

  expect(await answer).toBe('broken')
})

test.each<[NonNullable<Fault['on']>, number[]]>([
  ['info-refs', [503, 200, 200, 200]],
  ['upload-pack', [200, 503, 503, 503]],
  ['ls-refs', [200, 503, 200, 200]],
  ['fetch', [200, 200, 503, 503]],
])('a fault on %s spares the other requests', async (on, expected) => {
  await using served = await serve()
  served.server.fault = { kind: 'status', status: 503, on }
  const versionOne = `0032want ${served.commit}\n00000009done\n`

  const answers = [
    await fetch(`${served.url}/info/refs?service=git-upload-pack`),
    await post(served.url, LS_REFS),
    await post(served.url, `0012command=fetch\n0001${versionOne}`),
    await post(served.url, versionOne, { 'Git-Protocol': '' }),
  ]

  expect(answers.map((answer) => answer.status)).toEqual(expected)
})

test('a request that was seen already counts only from the given number on', async () => {
  await using served = await serve()
  await post(served.url, LS_REFS)
  let isSeenAgain = false

  await served.server.requested((request) => request.method === 'POST')
  const again = served.server.requested((request) => request.method === 'POST', 1).then(() => (isSeenAgain = true))
  await Promise.resolve()
  const before = isSeenAgain
  await post(served.url, LS_REFS)
  await again

  expect([before, isSeenAgain]).toEqual([false, true])
})

async function serve(options: { filter?: boolean } = {}) {
  const repository = await Repository.create(options)
  const commit = await repository.commit({ 'docs/a.md': 'a\n', link: { link: 'docs/a.md' } })
  const server = await GitServer.start()
  return {
    repository,
    commit,
    server,
    url: server.serve('team/skills', repository),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
    },
  }
}

function post(url: string, body: string | Buffer, headers: Record<string, string> = {}): Promise<Response> {
  const type = 'application/x-git-upload-pack-request'
  return fetch(`${url}/git-upload-pack`, {
    method: 'POST',
    headers: { 'Content-Type': type, 'Git-Protocol': 'version=2', ...headers },
    body: new Uint8Array(Buffer.from(body)),
  })
}

async function received(answer: Response): Promise<{ bytes: Buffer; ended: boolean }> {
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of answer.body!) chunks.push(chunk)
  } catch {
    return { bytes: Buffer.concat(chunks), ended: false }
  }
  return { bytes: Buffer.concat(chunks), ended: true }
}
