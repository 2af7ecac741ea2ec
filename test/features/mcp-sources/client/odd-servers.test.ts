import { expect, test } from 'vitest'
import { EntryRequests } from '../../../../src/features/mcp-sources/client/entry-requests.ts'
import { namedSkill } from '../../../../src/features/mcp-sources/upstream/named-skills.ts'
import { connect, error, modern, NEVER, program } from '../upstream/servers.ts'
import type { Heard } from '../upstream/servers.ts'

const URI = 'skill://a/SKILL.md'

test.each<readonly [string, (heard: Heard) => void, string, RegExp]>([
  [
    'a page to sign in',
    ({ response }) => void response.writeHead(203, { 'content-type': 'text/html' }).end('<html></html>'),
    'credentials-rejected',
    /: it answers with a page to sign in$/,
  ],
  [
    'a stream without an answer',
    ({ response }) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n'),
    'source-unreachable',
    /^Cannot reach ".*": it ends without an answer$/,
  ],
])('%s is a failure of the request that says so', async (_, answer, code, message) => {
  await using server = await modern(answer)
  await using connection = await connect(server.address)

  await expect(connection.request('x/y', {}, NEVER)).rejects.toMatchObject({
    code,
    message: expect.stringMatching(message),
  })
})

test('a program that stops in the middle of an answer is lost with that request', async () => {
  const code = `if (message.method === 'initialize') greet(message)
    else if (message.method === 'x/half') process.stdout.write('{"half')
    else error(message, -32601)`
  await using connection = await connect(program(code))

  await expect(connection.request('x/half', {}, NEVER, 500)).rejects.toMatchObject({ code: 'source-unreachable' })
  await connection.ended

  await expect(connection.request('x/y', {}, NEVER)).rejects.toMatchObject({
    code: 'source-unreachable',
    message: expect.stringMatching(/^Cannot reach ".*": no answer to "x\/half" within 500 ms$/),
  })
})

test('a program that is not there is named, with the next step', async () => {
  const absent = { ...program(''), command: '/nonexistent/server' }

  await expect(connect(absent)).rejects.toMatchObject({
    code: 'source-unreachable',
    message: expect.stringMatching(/^Cannot start "\/nonexistent\/server"/),
    fix: expect.any(String),
  })
})

test('a server that leaves many requests of a listing unanswered is not asked about the next skill', async () => {
  await using server = await modern(({ response }) => void response.writeHead(500).end())
  await using connection = await connect(server.address)
  const requests = new EntryRequests({ connect: async () => connection, isLost: async () => false, connectMs: 60_000 })
  const ask = async (): Promise<unknown> =>
    requests.request('skills/get', { uri: URI }, NEVER).catch((cause: unknown) => cause)
  for (let asked = 0; asked < 64; asked += 1) await ask()
  const before = server.heard.length

  const failure = await ask()

  expect(failure).toMatchObject({
    code: 'source-unreachable',
    message: `No answer about "${URI}" came (it was not asked, since the server left 64 requests of this listing unanswered)`,
  })
  expect(server.heard).toHaveLength(before)
})

test('a server that fails over a skill that is named costs that skill alone', async () => {
  await using server = await modern((heard) => error(heard, -32603))
  await using connection = await connect(server.address)
  const entryRequests = new EntryRequests({
    connect: async () => connection,
    isLost: async () => false,
    connectMs: 1_000,
  })
  const listing = { connection, entryRequests, hints: { hear: () => {} }, signal: NEVER } as never

  await expect(namedSkill({ uri: URI, isUnverified: false }, 'skills/list', listing)).rejects.toMatchObject({
    code: 'source-unreachable',
    message: expect.stringMatching(/^No answer about "skill:\/\/a\/SKILL\.md" came \(.*skills\/get/),
  })
})
