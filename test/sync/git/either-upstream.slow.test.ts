import { expect, test } from 'vitest'
import { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'
import { startFront } from '../upstream/front.ts'
import { linesOf, reach } from '../upstream/reached.ts'
import { failureOf } from '../upstream/served.ts'

test('a host that refuses every POST of our reader is read by the git program, which is tried once', async () => {
  await using host = await refusing({ program: false })
  await using reached = await reach(host.url)
  await using again = await reach(host.url)

  await using first = await reached.tree()
  const own = host.asked.filter((agent) => agent.startsWith('git/skillsyncd')).length
  await using second = await again.tree()

  expect(linesOf(first)).toHaveLength(1)
  expect(linesOf(second)).toEqual(linesOf(first))
  expect(host.asked.filter((agent) => agent.startsWith('git/skillsyncd'))).toHaveLength(own)
})

test('a host that refuses the git program too is told in its own words, and the program is not tried again', async () => {
  await using host = await refusing({ program: true })
  await using reached = await reach(host.url)

  const first = await failureOf(reached.tree())
  const tried = host.asked.filter((agent) => agent.startsWith('git/2')).length
  const second = await failureOf(reached.tree())

  for (const { code, message, fix } of [first, second]) {
    expect(fix).toBe('Ask the operator of the host')
    expect(code).toBe('protocol-not-spoken')
    expect(message).toContain('the host answers 400: it says "nothing for this client"')
    expect(message).toMatch(/the git program does not read it either$/)
  }
  expect(tried).toBeGreaterThan(0)
  expect(host.asked.filter((agent) => agent.startsWith('git/2'))).toHaveLength(tried)
})

test.each([
  ['backend: embedded', { backend: 'embedded' }, '`backend: system` may read it with the git program'],
  ['no git program', { git: '/nowhere/git' }, 'the git program, which may read it (`backend: system`), is not there'],
] as const)('with %s, the message of a refusal names the way', async (_, options, way) => {
  await using host = await refusing({ program: false })
  await using reached = await reach(host.url, options)

  const failure = await failureOf(reached.tree())

  expect(failure.code).toBe('protocol-not-spoken')
  expect(failure.message).toContain('nothing for this client')
  expect(failure.message).toContain(way)
})

test('a host that forbids every request of our reader is read by the git program', async () => {
  await using host = await refusing({ program: false, status: 403, methods: ['GET', 'POST'] })
  await using reached = await reach(host.url)

  await using tree = await reached.tree()

  expect(linesOf(tree)).toHaveLength(1)
})

test('a host that forbids every request is told as such, with both readers named', async () => {
  await using host = await refusing({ program: true, status: 403, methods: ['GET', 'POST'] })
  await using reached = await reach(host.url)

  const failure = await failureOf(reached.tree())

  expect(failure.code).toBe('credentials-rejected')
  expect(failure.message).toMatch(/the host answers 403 .*; the git program does not read it either$/)
})

test.each([401, 404, 429, 500])('a %i is no refusal of our reader: the git program is not tried', async (status) => {
  await using host = await refusing({ program: false, status })
  await using reached = await reach(host.url)

  await failureOf(reached.tree())

  expect(host.asked.filter((agent) => agent.startsWith('git/2'))).toEqual([])
})

interface Refusing {
  /** Refuses the git program too. */
  readonly program: boolean
  readonly status?: number
  readonly methods?: readonly string[]
}

/** A repository behind a front that refuses requests of our reader with these methods. */
async function refusing({ program, status = 400, methods = ['POST'] }: Refusing) {
  const repository = await Repository.create()
  await repository.commit({ 'a.md': 'a' })
  const server = await GitServer.start()
  const asked: string[] = []
  const front = await startFront(server.origin, (request, response) => {
    const agent = String(request.headers['user-agent'])
    asked.push(agent)
    if (!methods.includes(String(request.method)) || (!program && agent.startsWith('git/2'))) return false
    response.writeHead(status, { 'content-type': 'text/plain' }).end('nothing for this client\r\n')
    return true
  })
  return {
    url: server.serve('team', repository).replace(server.origin, front.origin),
    asked,
    [Symbol.asyncDispose]: async () => {
      await front[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
    },
  }
}
