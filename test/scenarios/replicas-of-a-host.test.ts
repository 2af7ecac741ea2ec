import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { Repository } from '../support/git/repository.ts'
import { randomFrom } from '../support/random.ts'
import { startFront } from '../sync/upstream/front.ts'
import { Desk, named, skills } from './desk.ts'

const BACKENDS = ['embedded', 'isomorphic', 'system'] as const

test.each([
  ['embedded', 3],
  ['isomorphic', 1],
  ['system', 1],
] as const)(
  'with backend %s, a commit is served although its fetch meets a replica without it %i times',
  async (backend, looks) => {
    await using host = await replicated(backend)
    const newest = await host.commit()
    let met = 0
    host.isBehind = ({ isFetch }) => isFetch && (met += 1) <= looks

    const outcome = await host.desk.sync()

    expect(outcome).toMatchObject({ kind: 'updated', snapshot: { revision: { commit: newest } } })
    expect(met).toBeGreaterThan(looks)
  },
)

test.each(BACKENDS)(
  'with backend %s, a replica that never has the commit fails the pull and is named',
  async (backend) => {
    await using host = await replicated(backend)
    const before = host.desk.served()
    await host.commit()
    host.isBehind = ({ isFetch }) => isFetch

    const outcome = await host.desk.sync()

    const message = expect.stringContaining('it named the commit a moment ago: a replica of it may lag')
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'source-unreachable', message } })
    expect(host.desk.served()).toBe(before)
  },
)

test.each([1, 2])('whichever replica answers a request, the source moves forward only (seed %i)', async (seed) => {
  await using host = await replicated('embedded')
  const random = randomFrom(seed)
  host.isBehind = () => random() < 0.4
  const commits = [host.desk.served()]
  const served: number[] = []
  for (let count = 0; count < 5; count += 1) {
    commits.push(await host.commit())
    await host.desk.sync()
    served.push(commits.indexOf(host.desk.served()))
  }
  host.isBehind = () => false
  await host.desk.sync()

  expect(served).toEqual(served.toSorted((a, b) => a - b))
  expect(host.desk.served()).toBe(commits.at(-1))
  expect(host.desk.logged('source-waiting')).toEqual([])
})

/** Whether a request of the daemon goes to the replica that is a commit behind. */
type IsBehind = (request: { readonly isFetch: boolean }) => boolean

/** A daemon that serves the first commit of a host with two replicas, of which the second is a commit behind. */
async function replicated(backend: (typeof BACKENDS)[number]) {
  const stack = new AsyncDisposableStack()
  const desk = stack.use(await Desk.open([`backend: ${backend}`, 'update: auto']))
  const replica = stack.use(await Repository.create())
  desk.git.serve('behind', replica)
  const host = {
    desk,
    isBehind: (() => false) as IsBehind,
    /** Commits to the first replica, and has the second catch up with what was there before. */
    commit: async () => {
      await replica.git('fetch', '--quiet', desk.repository.folder, '+HEAD:refs/heads/main')
      return desk.repository.commit(skills(`skill-${await desk.repository.git('rev-parse', '--short', 'HEAD')}`))
    },
    [Symbol.asyncDispose]: async () => stack.disposeAsync(),
  }
  const route = (request: IncomingMessage, isFetch: boolean): void => {
    if (host.isBehind({ isFetch })) request.url = request.url?.replace('/team.git', '/behind.git')
  }
  const front = await startFront(
    desk.git.origin,
    (request) => {
      if (request.method === 'GET') route(request, false)
      return false
    },
    (body, request) => {
      route(request, body.includes('want '))
      return undefined
    },
  )
  desk.front = stack.use(front)
  await desk.repository.commit(skills(...named(3)))
  await desk.start()
  await desk.sync()
  return host
}
