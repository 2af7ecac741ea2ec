import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { FETCH_LIMITS } from '../../../src/sync/upstream/upstream.ts'
import { Hub, idOf, skill } from '../../scenarios/hub.ts'
import { changeDatabase } from '../../support/damage.ts'
import { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'
import { ScriptedUpstream } from '../../support/git/scripted-upstream.ts'
import { pullNow } from '../../support/pull-now.ts'

const TEAM = idOf('team')
const FIRST = { 'a/SKILL.md': skill('a') }
const NEVER = new AbortController().signal

test('what a refused pull has stored is collected, pull by pull', async () => {
  await using scene = await Scene.synced('on_broken: refuse')
  const refused = 'it has no frontmatter'
  await scene.repository.commit({ 'a/SKILL.md': refused })

  const outcome = (await pullNow(scene.hub.daemon)).get(TEAM)

  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'content-refused' } })
  expect(await scene.lacks(refused)).toBe(true)
  expect(await scene.lacks(skill('a'))).toBe(false)
})

test('what was fetched to be compared is collected after the next pull, when it is no longer recent', async () => {
  await using scene = await Scene.synced()
  const served = scene.hub.source('team').served!.commit
  const compared = skill('a', 'second')
  await scene.repository.commit({ 'a/SKILL.md': compared })
  await scene.hub.daemon.parts.candidates.take(TEAM, undefined, NEVER)
  await scene.repository.setRef('refs/heads/main', served)
  const before = await scene.lacks(compared)

  await scene.hub.clock.advance(2 * 3_600_000)
  const outcome = (await pullNow(scene.hub.daemon)).get(TEAM)

  expect([before, outcome?.kind, await scene.lacks(compared)]).toEqual([false, 'unchanged', true])
})

test('a collection that failed runs again after the next pull', async () => {
  await using scene = await Scene.synced('on_broken: refuse')
  const refused = 'it has no frontmatter'
  await scene.repository.commit({ 'a/SKILL.md': refused })
  changeDatabase(scene.hub.state, 'CREATE TRIGGER fail BEFORE DELETE ON object BEGIN SELECT RAISE(ABORT, 1); END')
  await pullNow(scene.hub.daemon)
  const before = await scene.lacks(refused)
  changeDatabase(scene.hub.state, 'DROP TRIGGER fail')
  await scene.repository.commit(FIRST)

  await pullNow(scene.hub.daemon)

  expect(scene.hub.events).toContain('collection-failed')
  expect([before, await scene.lacks(refused)]).toEqual([false, true])
})

test('what a pull has stored that ignores its abort is collected after the pull of another source', async () => {
  const other = new ScriptedUpstream()
  const text = 'stored by a pull that never ends'
  const hanging = Promise.withResolvers<void>()
  const { promise: end, reject } = Promise.withResolvers<never>()
  await using hub = await Hub.start(
    { team: ['url: https://git.example.com/team.git'], other: ['url: https://git.example.com/other.git'] },
    (source, reach) => {
      if (source.id !== TEAM) return other.open(reach)
      const fetch = async (): Promise<never> => {
        const batch = reach.blobs.batch()
        batch.add(Buffer.from(text))
        batch.flush()
        hanging.resolve()
        return end
      }
      return { ...new ScriptedUpstream().open(reach), fetch }
    },
  )
  using _ended = { [Symbol.dispose]: () => reject(new SyncError('source-unreachable', 'It ends at last')) }
  const pulling = pullNow(hub.daemon, [TEAM])
  await hanging.promise
  await pullNow(hub.daemon, [idOf('other')])
  const before = await lacks(hub, text)
  await hub.clock.advance(2 * FETCH_LIMITS.totalMs)
  const lost = (await pulling).get(TEAM)
  other.files = FIRST

  await pullNow(hub.daemon, [idOf('other')])

  expect(lost).toMatchObject({ kind: 'failed', error: { code: 'source-unreachable' } })
  expect([before, await lacks(hub, text)]).toEqual([false, true])
})

/** A daemon that serves the first commit of a repository. */
class Scene implements AsyncDisposable {
  readonly repository: Repository
  readonly hub: Hub
  readonly #parts: AsyncDisposableStack

  private constructor(repository: Repository, hub: Hub, parts: AsyncDisposableStack) {
    this.repository = repository
    this.hub = hub
    this.#parts = parts
  }

  static async synced(...lines: readonly string[]): Promise<Scene> {
    await using parts = new AsyncDisposableStack()
    const git = parts.use(await GitServer.start())
    const repository = parts.use(await Repository.create())
    await repository.commit(FIRST)
    const hub = parts.use(await Hub.start({ team: [`url: ${git.serve('team', repository)}`, ...lines] }))
    await pullNow(hub.daemon)
    return new Scene(repository, hub, parts.move())
  }

  async lacks(text: string): Promise<boolean> {
    return lacks(this.hub, text)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync()
  }
}

/** True if the store has no object with this text. */
async function lacks({ state }: Hub, text: string): Promise<boolean> {
  using store = await Store.open(state)
  return (await store.objects.missing([hash('sha256', text)])).length > 0
}
