import { expect, test } from 'vitest'
import type { ObjectId } from '../../../src/sync/model/revision.ts'
import type { PullContext } from '../../../src/sync/pull/pull-context.ts'
import type { Relation } from '../../../src/sync/upstream/upstream.ts'
import { skillText } from '../../support/git/scripted-upstream.ts'
import { PDF, Scene } from './pulled.ts'

const NEWER = { ...PDF, 'new/SKILL.md': skillText('new') }

test.each([1, 2, 3])('a replica that lags for %i looks holds nothing, and each look waits first', async (looks) => {
  await using scene = await Scene.open()
  const replicas = await replicated(scene)

  const outcome = await scene.pull({}, replicas.lag(looks))

  expect(outcome).toMatchObject({ kind: 'unchanged', revision: { commit: replicas.newer } })
  expect(replicas.waits).toHaveLength(looks)
})

test('a branch that is at the earlier commit in each look went back, and is held', async () => {
  await using scene = await Scene.open()
  const replicas = await replicated(scene)

  const outcome = await scene.pull({}, replicas.lag(9))

  expect(outcome).toMatchObject({
    kind: 'waiting',
    revision: { commit: replicas.older },
    reason: { code: 'history-rewritten' },
  })
  expect(replicas.waits).toHaveLength(3)
})

test('a branch that was rewritten is held or followed at once', async () => {
  await using scene = await Scene.open()
  const replicas = await replicated(scene, 'rewritten')

  const outcome = await scene.pull({ update: 'review' }, replicas.lag(9))

  expect(outcome).toMatchObject({ kind: 'waiting', revision: { commit: replicas.older } })
  expect(replicas.waits).toEqual([])
})

test.each(['review', 'auto'] as const)('a lagging replica shows no other commit to decide on (%s)', async (update) => {
  await using scene = await Scene.open()
  const replicas = await replicated(scene)

  const outcome = await scene.pull({ update }, replicas.lag(1))

  expect(outcome.kind).toBe('unchanged')
})

test('an abort ends the wait', async () => {
  await using scene = await Scene.open()
  const replicas = await replicated(scene)
  const abort = new AbortController()
  const reason = new Error('enough')
  const wait: PullContext['wait'] = async (_, signal) => {
    abort.abort(reason)
    signal.throwIfAborted()
  }

  await expect(scene.pull({}, { ...replicas.lag(9), wait }, abort.signal)).rejects.toBe(reason)
})

/** A source that is served at the second of two commits; some answers are of a replica that has only the first. */
async function replicated(scene: Scene, related: Relation = 'descends') {
  const first = await scene.updated()
  scene.upstream.files = NEWER
  const second = await scene.updated()
  const [older, newer] = [first.revision.commit, second.revision.commit]
  scene.orders = { ...scene.orders, followed: { url: second.snapshot.url, revision: second.revision, skills: 2 } }
  const waits: number[] = []
  const relation = async (from: ObjectId, to: ObjectId): Promise<Relation> => {
    if (from === to) return 'descends'
    return from === older && to === newer ? related : 'rewritten'
  }
  const lag = (looks: number): Partial<PullContext> => {
    let left = looks
    return {
      wait: async (ms) => void waits.push(ms),
      open: (_, { blobs }) => {
        const upstream = scene.upstream.open({ blobs })
        const resolve = async (signal: AbortSignal) => {
          left -= 1
          const found = await upstream.resolve(signal)
          return left >= 0 ? { ...found, commit: older } : found
        }
        return { ...upstream, resolve, relation }
      },
    }
  }
  return { older, newer, waits, lag }
}
