import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { Store } from '../../../src/sync/store/store.ts'
import { Hub, idOf, skill } from '../../scenarios/hub.ts'
import { changeDatabase } from '../../support/damage.ts'
import { GitServer } from '../../support/git/git-server.ts'
import { Repository } from '../../support/git/repository.ts'

const TEAM = idOf('team')
const FIRST = { 'a/SKILL.md': skill('a') }
const NEVER = new AbortController().signal

test('what a refused pull has stored is collected, pull by pull', async () => {
  await using scene = await Scene.synced('strict: true')
  const refused = 'it has no frontmatter'
  await scene.repository.commit({ 'a/SKILL.md': refused })

  const outcome = (await scene.hub.daemon.sync()).get(TEAM)

  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'content-refused' } })
  expect(await scene.lacks(refused)).toBe(true)
  expect(await scene.lacks(skill('a'))).toBe(false)
})

test('what was fetched to be compared is collected after the next pull, when it is no longer recent', async () => {
  await using scene = await Scene.synced()
  const served = scene.hub.source('team').served!.commit
  const compared = skill('a', 'second')
  await scene.repository.commit({ 'a/SKILL.md': compared })
  await scene.hub.daemon.candidates.take(TEAM, undefined, NEVER)
  await scene.repository.setRef('refs/heads/main', served)
  const before = await scene.lacks(compared)

  await scene.hub.clock.advance(2 * 3_600_000)
  const outcome = (await scene.hub.daemon.sync()).get(TEAM)

  expect([before, outcome?.kind, await scene.lacks(compared)]).toEqual([false, 'unchanged', true])
})

test('a collection that failed runs again after the next pull', async () => {
  await using scene = await Scene.synced('strict: true')
  const refused = 'it has no frontmatter'
  await scene.repository.commit({ 'a/SKILL.md': refused })
  changeDatabase(scene.hub.state, 'CREATE TRIGGER fail BEFORE DELETE ON object BEGIN SELECT RAISE(ABORT, 1); END')
  await scene.hub.daemon.sync()
  const before = await scene.lacks(refused)
  changeDatabase(scene.hub.state, 'DROP TRIGGER fail')
  await scene.repository.commit(FIRST)

  await scene.hub.daemon.sync()

  expect(scene.hub.events).toContain('collection-failed')
  expect([before, await scene.lacks(refused)]).toEqual([false, true])
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
    await hub.daemon.sync()
    return new Scene(repository, hub, parts.move())
  }

  /** True if the store has no object with this text. */
  async lacks(text: string): Promise<boolean> {
    using store = await Store.open(this.hub.state)
    return (await store.objects.missing([hash('sha256', text)])).length > 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync()
  }
}
