import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { AnsweredFile, AnsweredMessage } from '../../../src/serve/mcp/core/methods.ts'
import { Scene, skill } from '../../support/http/marketplace.ts'
import { activationOf, exportOf, failureOf, recordOf } from '../../support/otlp.ts'

const FILES = {
  'write-letter/SKILL.md': skill('write-letter'),
  'tidy/SKILL.md': skill('tidy'),
  'a/twin/SKILL.md': skill('twin', 'one'),
  'b/twin/SKILL.md': skill('twin', 'other'),
}
const ONE = exportOf(activationOf('tidy'))

/** A hub with tokens, two packs and a marketplace, which has the uses that were counted. */
async function openHub({ isOn = true, now }: { isOn?: boolean; now?: () => number } = {}) {
  const used: (AnsweredMessage | AnsweredFile)[] = []
  const scene = await Scene.serving(FILES, {
    config: [
      'packs:',
      '  - { id: writing, include: [{ path: write-* }] }',
      '  - { id: other, include: [{ name: tidy }] }',
      `usage: { otlp: ${isOn} }`,
    ],
    marketplace: ['    renames: { old: writing }', '  http: { public_url: https://skills.example.com }'],
    use: (answered) => used.push(answered),
    ...(now !== undefined && { now }),
  })
  return {
    scene,
    /** The skills that were counted, with the packs under which they were. */
    counted: () =>
      used.map((answered) => {
        if (!('part' in answered)) throw new Error('Counted as an answer of MCP')
        const { part, serving, client, principal, isFailed } = answered
        expect(client).toBe('claude-code (telemetry)')
        expect(part?.isDocument).toBe(true)
        expect(principal).toMatch(/^token:/)
        return `${serving.view} ${part?.source}/${part?.path}${isFailed === true ? ' failed' : ''}`
      }),
    async post(body: object | string | Buffer, token: string, headers: Readonly<Record<string, string>> = {}) {
      const response = await fetch(`${scene.origin}/v1/logs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
        body:
          typeof body === 'string' || Buffer.isBuffer(body) ? new Uint8Array(Buffer.from(body)) : JSON.stringify(body),
      })
      return { status: response.status, headers: response.headers, json: await response.json() }
    },
    [Symbol.asyncDispose]: async () => scene[Symbol.asyncDispose](),
  }
}

test('skills are found by the names that agents have for them on their disks', async () => {
  await using hub = await openHub()
  const token = await hub.scene.token(['telemetry'])
  const names = ['tidy', 'writing:write-letter', 'old:write-letter', 'twin', 'fx-a-twin', 'writing:tidy', 'none:tidy']
  const foreign = activationOf('writing:write-letter', { 'marketplace.name': 'another' })

  const answer = await hub.post(exportOf(...names.map((name) => activationOf(name)), foreign), token)

  expect(answer).toMatchObject({ status: 200, json: {} })
  expect(hub.counted()).toEqual([' fx/tidy', ' fx/write-letter', ' fx/write-letter', ' fx/a/twin'])
})

test('a token of packs counts the skills that it sees, under its packs', async () => {
  await using hub = await openHub()
  const token = await hub.scene.token(['telemetry'], ['writing'])
  const names = ['write-letter', 'writing:write-letter', 'tidy', 'other:tidy', 'skills:fx-a-twin']

  await hub.post(exportOf(...names.map((name) => activationOf(name))), token)

  expect(hub.counted()).toEqual(['writing fx/write-letter', 'writing fx/write-letter'])
})

test('only a token with the scope is let in, and the scope opens nothing else', async () => {
  await using hub = await openHub()
  const [own, others] = [await hub.scene.token(['telemetry']), await hub.scene.token(['skills', 'metrics'])]
  const listed = await fetch(`${hub.scene.origin}/mcp`, { method: 'POST', headers: { authorization: `Bearer ${own}` } })

  expect((await hub.post(ONE, others)).status).toBe(403)
  expect((await hub.post(ONE, 'sks_none')).status).toBe(401)
  expect(listed.status).toBe(403)
  expect(hub.counted()).toEqual([])
})

test('without usage.otlp, the path does not exist', async () => {
  await using hub = await openHub({ isOn: false })

  expect((await hub.post(ONE, await hub.scene.token(['telemetry']))).status).toBe(404)
})

test('gzip is taken, and a body that unpacks to more than the limit is not', async () => {
  await using hub = await openHub()
  const token = await hub.scene.token(['telemetry'])
  const gzip = { 'content-encoding': 'gzip' }

  const [taken, bomb, broken] = [
    await hub.post(gzipSync(JSON.stringify(ONE)), token, gzip),
    await hub.post(gzipSync(Buffer.alloc(4 * 1024 * 1024 + 1, ' ')), token, gzip),
    await hub.post(JSON.stringify(ONE), token, gzip),
  ]

  expect(taken).toMatchObject({ status: 200, json: {} })
  expect(bomb).toMatchObject({ status: 413, json: { message: expect.stringContaining('over 4194304 bytes') } })
  expect(broken).toMatchObject({ status: 400, json: { message: 'The body is not gzip' } })
  expect(hub.counted()).toEqual([' fx/tidy'])
})

test('what cannot be read is refused with the reason', async () => {
  await using hub = await openHub()
  const token = await hub.scene.token(['telemetry'])
  const protobuf = await hub.post('', token, { 'content-type': 'application/x-protobuf' })
  const zstd = await hub.post(ONE, token, { 'content-encoding': 'zstd' })

  expect(protobuf).toMatchObject({
    status: 415,
    json: { message: 'Only application/json is read: set OTEL_EXPORTER_OTLP_PROTOCOL=http/json' },
  })
  expect(zstd.status).toBe(415)
  expect(await hub.post('{"resourceLogs":', token)).toMatchObject({ status: 400 })
  expect(await hub.post('[]', token)).toMatchObject({ status: 400 })
  expect(await hub.post('['.repeat(100), token)).toMatchObject({ status: 400 })
  expect(hub.counted()).toEqual([])
})

test('a body over the limit is refused by its declared length, before a byte of it', async () => {
  await using hub = await openHub()
  const token = await hub.scene.token(['telemetry'])
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': '4194305' }
  const sending = request(`${hub.scene.origin}/v1/logs`, { method: 'POST', headers })
  sending.on('response', ({ statusCode }) => resolve(statusCode)).on('error', reject)
  sending.flushHeaders()

  expect(await promise).toBe(413)
  sending.destroy()
})

test('records that are not taken are named in the answer, and a missing name has the setting', async () => {
  await using hub = await openHub()
  const token = await hub.scene.token(['telemetry'])

  const rejected = await hub.post(exportOf(activationOf('tidy'), activationOf(''), recordOf('api_error', {})), token)
  const nameless = await hub.post(exportOf(activationOf('custom_skill')), token)

  expect(rejected).toMatchObject({ status: 200, json: { partialSuccess: { rejectedLogRecords: '1' } } })
  expect(nameless.json).toEqual({
    partialSuccess: {
      rejectedLogRecords: '0',
      errorMessage: 'Skills without a name are not counted: set OTEL_LOG_TOOL_DETAILS=1',
    },
  })
  expect(hub.counted()).toEqual([' fx/tidy'])
})

test('a call of the tool `Skill` without success is a failure of the skill that its parameters name', async () => {
  await using hub = await openHub()
  const token = await hub.scene.token(['telemetry'])
  const of = (texts: Readonly<Record<string, string>>): object => failureOf('tidy', texts)

  const answer = await hub.post(
    exportOf(
      failureOf('tidy'),
      failureOf('writing:write-letter'),
      failureOf('none'),
      of({ success: 'true' }),
      of({ tool_name: 'Bash' }),
      of({ tool_parameters: '{' }),
      of({ tool_parameters: '[]' }),
      of({ tool_parameters: '['.repeat(2_000) }),
      of({ tool_parameters: JSON.stringify({ skill_name: 7 }) }),
      of({ tool_parameters: JSON.stringify({ skill_name: 'x'.repeat(300) }) }),
      of({ tool_parameters: JSON.stringify({ skill_name: 'tidy', more: 'x'.repeat(5_000) }) }),
    ),
    token,
  )
  const nameless = recordOf('tool_result', { tool_name: 'Skill', success: 'false' })
  const without = await hub.post(exportOf(nameless), token)

  expect(answer.json).toMatchObject({ partialSuccess: { rejectedLogRecords: '6' } })
  expect(without.json).toMatchObject({ partialSuccess: { rejectedLogRecords: '0' } })
  expect(hub.counted()).toEqual([' fx/tidy failed', ' fx/write-letter failed'])
})

test('each token may export 600 times a minute', async () => {
  let nowMs = 0
  await using hub = await openHub({ now: () => nowMs })
  const [busy, other] = [await hub.scene.token(['telemetry']), await hub.scene.token(['telemetry'])]
  for (let count = 0; count < 600; count += 1) expect((await hub.post({}, busy)).status).toBe(200)

  const over = await hub.post({}, busy)

  expect(over.status).toBe(429)
  expect(over.headers.get('retry-after')).toBe('1')
  expect((await hub.post({}, other)).status).toBe(200)
  nowMs += 1_000
  expect((await hub.post({}, busy)).status).toBe(200)
})
