import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Hub, idOf, skill } from '../../scenarios/hub.ts'
import { GitServer, type GitRequest } from '../../support/git/git-server.ts'
import { PackChanger } from '../../support/git/pack-changer.ts'
import { Repository } from '../../support/git/repository.ts'
import { pullNow } from '../../support/pull-now.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const TEAM = idOf('team')
const NEVER = new AbortController().signal
const AGREES = { kind: 'compared', by: 'isomorphic-git', files: 1, differences: [], more: 0 }

test('two second opinions of a source at once each use the answer of their own helper, and each tells it the end', async () => {
  await using scene = await Scene.pulled()
  const { candidates } = scene.hub.daemon.parts
  const first = candidates.secondOpinion(TEAM, NEVER)
  await scene.git.requested(isOfSecond)

  const second = candidates.secondOpinion(TEAM, NEVER)
  scene.release()

  expect([await first, await second]).toEqual([AGREES, AGREES])
  expect(await scene.calls()).toEqual(['get 1', 'store user-1', 'get 2', 'store user-2', 'get 3', 'store user-3'])
  expect(scene.users(isOfSecond)).toEqual(['user-2', 'user-3'])
})

test('a pull during a second opinion of its source leaves it the answer of its own helper', async () => {
  await using scene = await Scene.pulled()
  const { daemon } = scene.hub
  const opinion = daemon.parts.candidates.secondOpinion(TEAM, NEVER)
  await scene.git.requested(isOfSecond)

  await pullNow(daemon)
  scene.release()

  expect(await opinion).toEqual(AGREES)
  expect(await scene.calls()).toEqual(['get 1', 'store user-1', 'get 2', 'get 3', 'store user-3', 'store user-2'])
})

/** A helper whose every answer has another user name; it writes down each call. */
const HELPER = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
in=$(cat)
if [ "$1" = get ]; then
  n=$(($(cat count) + 1))
  echo "$n" > count
  echo "get $n" >> calls
  printf 'username=user-%s\\npassword=secret\\n' "$n"
else
  echo "$1 $(printf '%s\\n' "$in" | sed -n 's/^username=//p')" >> calls
fi
`

/** A source that a helper gives the credential of, pulled once; second opinions wait in the middle of their fetch. */
class Scene implements AsyncDisposable {
  readonly git: GitServer
  readonly hub: Hub
  readonly release: () => void
  readonly #folder: string
  readonly #parts: AsyncDisposableStack

  private constructor(git: GitServer, hub: Hub, folder: string, release: () => void, parts: AsyncDisposableStack) {
    this.git = git
    this.hub = hub
    this.release = release
    this.#folder = folder
    this.#parts = parts
  }

  static async pulled(): Promise<Scene> {
    await using parts = new AsyncDisposableStack()
    const folder = parts.use(await temporaryFolder()).path
    await writeFile(join(folder, 'count'), '0\n')
    await writeFile(join(folder, 'helper'), HELPER, { mode: 0o755 })
    const git = parts.use(await GitServer.start())
    git.access = { token: 'secret' }
    const repository = parts.use(await Repository.create())
    await repository.commit({ 'a/SKILL.md': skill('a') })
    git.serve('team', repository)
    const changer = parts.use(await PackChanger.before(git))
    const { promise, resolve } = Promise.withResolvers<void>()
    changer.gate = promise
    const helper = `auth: { helper: { command: ${join(folder, 'helper')} } }`
    const hub = parts.use(await Hub.start({ team: [`url: ${changer.url('team')}`, helper] }))
    await pullNow(hub.daemon)
    return new Scene(git, hub, folder, resolve, parts.move())
  }

  /** The calls of the helper, in order. */
  async calls(): Promise<string[]> {
    return (await readFile(join(this.#folder, 'calls'), 'utf8')).trim().split('\n')
  }

  /** The user names of the requests. */
  users(accepts: (request: GitRequest) => boolean): string[] {
    return this.git.requests.filter(accepts).map(({ authorization = '' }) => {
      const pair = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString()
      return pair.split(':')[0] ?? ''
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync()
  }
}

/** True for a fetch by isomorphic-git, which speaks protocol 1; ours speaks protocol 2. */
function isOfSecond({ method, gitProtocol }: GitRequest): boolean {
  return method === 'POST' && gitProtocol === undefined
}
