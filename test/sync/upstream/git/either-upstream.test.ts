import { expect, test } from 'vitest'
import { GitServer } from '../../../support/git/git-server.ts'
import { Repository } from '../../../support/git/repository.ts'
import { startFront } from '../front.ts'
import { linesOf, reach } from '../reached.ts'
import { failureOf } from '../served.ts'

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

  for (const { code, message } of [first, second]) {
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

test.each([401, 404, 429, 500])('a %i is no refusal of our reader: the git program is not tried', async (status) => {
  await using host = await refusing({ program: false, status })
  await using reached = await reach(host.url)

  await failureOf(reached.tree())

  expect(host.asked.filter((agent) => agent.startsWith('git/2'))).toEqual([])
})

/** A repository behind a front that refuses every POST of our reader; those of the git program too if so said. */
async function refusing({ program, status = 400 }: { readonly program: boolean; readonly status?: number }) {
  const repository = await Repository.create()
  await repository.commit({ 'a.md': 'a' })
  const server = await GitServer.start()
  const asked: string[] = []
  const front = await startFront(server.origin, (request, response) => {
    const agent = String(request.headers['user-agent'])
    asked.push(agent)
    if (request.method !== 'POST' || (!program && agent.startsWith('git/2'))) return false
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
