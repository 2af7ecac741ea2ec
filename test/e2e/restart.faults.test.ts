import { watch } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { environmentOf } from '../../src/daemon/config/environment.ts'
import { readConfig } from '../../src/daemon/configuration.ts'
import { askRunning } from '../../src/daemon/control/running-daemon.ts'
import { syncRequest } from '../../src/daemon/control/sync-request.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { Home } from '../support/process/program.ts'
import { randomFrom } from '../support/random.ts'
import { versionsServed, written } from './versions.ts'

test('killed at any moment of a sync, a daemon comes back to the old generation or the new one, whole', async () => {
  await using home = await Home.create()
  await using one = await Repository.create()
  await using two = await Repository.create()
  await one.commit(written(1))
  await two.commit(written(1))
  await using git = await GitServer.start()
  const rest = ['every: 1h']
  await home.configure({
    one: [`url: ${git.serve('one', one)}`, ...rest],
    two: [`url: ${git.serve('two', two)}`, ...rest],
  })
  expect(await home.run('sync')).toMatchObject({ status: 0 })
  let daemon = home.start('start')
  await daemon.line()
  await one.commit(written(2))
  await two.commit(written(2))
  const steps = await stepsOf(home, git, () => askToSync(home))
  const random = randomFrom(2026)
  let served = await versionsServed(await daemon.line())
  expect(served).toEqual({ one: 2, two: 2 })
  const moves: string[] = []

  // Twenty times, and on until kills came on both sides of the publish: how many changes a watcher sees is not ours to say.
  for (let version = 3; version < 23 || (version < 63 && new Set(moves).size < 2); version += 1) {
    await one.commit(written(version))
    await two.commit(written(version))
    // A little beyond the last step too: what is left then is to remember how it went, and to tell.
    await stepsOf(home, git, () => askToSync(home).catch(() => {}), {
      most: Math.floor(random() * steps * (version < 23 ? 1.1 : 2)),
      end: () => daemon.kill(),
    })

    git.fault = { kind: 'status', status: 503 }
    daemon = home.start('start')
    const back = await versionsServed(await daemon.line())

    for (const id of ['one', 'two'] as const) expect([served[id], version]).toContain(back[id])
    expect(await readdir(join(home.state, 'tmp'))).toEqual([])
    moves.push(`${Number(back['one'] === version)}${Number(back['two'] === version)}`)
    served = back
    git.fault = { kind: 'none' }
  }

  // Otherwise all kills came before the sync, or after it.
  expect(new Set(moves).size, moves.join(' ')).toBeGreaterThan(1)
})

/** Asks the running daemon for a sync the way `skillsyncd sync` does. */
async function askToSync(home: Home): Promise<void> {
  const environment = environmentOf(home.env, home.path)
  const config = await readConfig({ file: home.configFile }, environment)
  const signal = new AbortController().signal
  expect(await askRunning(config, syncRequest, {}, { signal, timeoutMs: 60_000 })).toBeDefined()
}

/**
 * Counts the steps of some work: requests to the git server, and changes in the folders of the state. After so many the
 * other thing is done; at the latest when the work is over. A step is an event, so no load of the machine moves it.
 */
async function stepsOf(
  home: Home,
  git: GitServer,
  work: () => Promise<void>,
  stop?: { readonly most: number; readonly end: () => Promise<void> },
): Promise<number> {
  let steps = 0
  const reached = Promise.withResolvers<void>()
  const step = (): void => {
    steps += 1
    if (stop !== undefined && steps >= stop.most) reached.resolve()
  }
  const folders = ['', 'checkouts', 'generations', 'sources', 'tmp']
  const watchers = folders.map((folder) => watch(join(home.state, folder)).on('change', () => step()))
  const counting = new AbortController()
  void countRequests(git, step, counting.signal)
  if (stop?.most === 0) reached.resolve()
  const working = work()
  await Promise.race([working, reached.promise])
  await stop?.end()
  await working
  counting.abort()
  for (const watcher of watchers) watcher.close()
  return steps
}

async function countRequests(git: GitServer, step: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await git.requested(() => true, git.requests.length)
    step()
  }
}
