import { createHash } from 'node:crypto'
import { watch } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/daemon/config/config.ts'
import { environmentOf } from '../../src/daemon/config/environment.ts'
import { request } from '../../src/daemon/control/requests.ts'
import type { Status } from '../../src/daemon/status/status.ts'
import { GitServer } from '../support/git-server.ts'
import type { GitRequest } from '../support/git-server.ts'
import { modernHttp } from '../support/peer.ts'
import { Home } from '../support/program.ts'
import { Repository } from '../support/repository.ts'

const SKILLS = 12
const FILES = 5

test('with the git server down, a restarted daemon serves the last generation without waiting for it, and says how old it is and what is wrong', async () => {
  await using home = await Home.create()
  await using repository = await Repository.create()
  await repository.commit(written(1))
  await using git = await GitServer.start()
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1s'] })
  const before = Date.now()
  expect(await home.run('sync')).toMatchObject({ status: 0 })
  const after = Date.now()

  // Whoever waited for an answer would wait as long as this server does. What a restart takes is a figure of the benchmark.
  git.fault = { kind: 'hang-before' }
  const waiting = home.start('start')
  expect(await versionsServed(await waiting.line())).toEqual({ team: 1 })
  await waiting.kill()

  git.fault = { kind: 'status', status: 503 }
  const daemon = home.start('start')
  const url = await daemon.line()
  await daemon.said((line) => line.includes('"pull-failed"'))
  expect(await versionsServed(url)).toEqual({ team: 1 })
  const [source] = (await statusOf(home)).sources
  expect(source).toMatchObject({ condition: { code: 'source-unreachable' } })
  expect(source?.served?.commit).toBe(source?.upstream?.commit)
  expect(Date.parse(source!.upstream!.at)).toBeGreaterThanOrEqual(before)
  expect(Date.parse(source!.upstream!.at)).toBeLessThanOrEqual(after)
  expect(Date.parse(source!.lastAttempt!)).toBeGreaterThan(after)
  const { stdout } = await home.run('status')
  expect(stdout).toMatch(/; upstream was at [0-9a-f]{12} \d+ (?:s|min) ago, last tried /)
  expect(stdout).toContain('! source-unreachable')
  expect(stdout).not.toContain('up to date')
})

test('when the git server comes back the source recovers without a person, within two polls', async () => {
  await using home = await Home.create()
  await using repository = await Repository.create()
  await repository.commit(written(1))
  await using git = await GitServer.start()
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1s'] })
  expect(await home.run('sync')).toMatchObject({ status: 0 })
  git.fault = { kind: 'status', status: 503 }
  const daemon = home.start('start')
  const url = await daemon.line()
  await daemon.said((line) => line.includes('"pull-failed"'))
  await using peer = await modernHttp(url)
  const uri = 'skill://team/skill-1/SKILL.md'
  const heard = await peer.subscribe([uri])
  await heard.next(({ method }) => method === 'notifications/subscriptions/acknowledged')

  await repository.commit(written(2))
  const seen = git.requests.length
  git.fault = { kind: 'none' }

  await heard.next(({ method, params }) => method === 'notifications/resources/updated' && params.uri === uri)
  expect(polls(git, seen)).toBeLessThanOrEqual(2)
  expect(await versionsServed(url)).toEqual({ team: 2 })
  await daemon.said((line) => line.includes('"recovered"'))
  expect((await statusOf(home)).sources[0]?.condition).toBeUndefined()
})

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
  const random = randomOf(2026)
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

test('a sync of the command line that is killed leaves nothing that keeps the next one from its work', async () => {
  await using home = await Home.create()
  await using repository = await Repository.create()
  await repository.commit(written(1))
  await using git = await GitServer.start()
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h'] })
  git.fault = { kind: 'hang', at: 2000, on: 'fetch' }
  const killed = home.start('sync')
  await git.requested(({ body }) => /^.{4}command=fetch/.test(body.toString('latin1', 0, 64)))
  await killed.kill()
  git.fault = { kind: 'none' }

  const next = await home.run('sync', '--json')

  expect(next.status).toBe(0)
  expect(JSON.parse(next.stdout).sources).toMatchObject([{ outcome: 'updated', skills: { clean: SKILLS } }])
  expect(await readdir(join(home.state, 'tmp'))).toEqual([])
})

/** Skills whose every file says the version of the commit. */
function written(version: number): Record<string, string> {
  const files: Record<string, string> = {}
  for (let skill = 0; skill < SKILLS; skill += 1) {
    files[`skill-${skill}/SKILL.md`] = `---\nname: skill-${skill}\ndescription: One of many\n---\n${version}\n`
    for (let file = 0; file < FILES; file += 1) files[`skill-${skill}/files/${file}.md`] = `${version}\n`
  }
  return files
}

/** Reads every file of every skill that is listed, checks it against the listing, and says which version each source has. */
async function versionsServed(url: string): Promise<Record<string, number>> {
  await using peer = await modernHttp(url)
  const { result } = await peer.call('skills/list')
  const found = new Map<string, Set<number>>()
  for (const { resources } of result.skills) {
    expect(resources).toHaveLength(FILES + 1)
    for (const { uri, digest, size } of resources) {
      const { result: read } = await peer.call('resources/read', { uri })
      const bytes = Buffer.from(read.contents[0].text)
      expect(bytes.length).toBe(size)
      expect(`sha256:${createHash('sha256').update(bytes).digest('hex')}`).toBe(digest)
      const source = uri.split('/')[2]
      const version = Number(bytes.toString().trim().split('\n').at(-1))
      found.set(source, (found.get(source) ?? new Set()).add(version))
    }
  }
  expect(result.skills).toHaveLength(SKILLS * found.size)
  return Object.fromEntries(
    [...found].map(([source, versions]) => {
      expect([...versions]).toHaveLength(1)
      return [source, [...versions][0]!]
    }),
  )
}

async function statusOf(home: Home): Promise<Status> {
  const { status, stdout } = await home.run('status', '--json')
  expect(status).toBe(0)
  return JSON.parse(stdout)
}

/** Asks the running daemon for a sync the way `skillsyncd sync` does. */
async function askToSync(home: Home): Promise<void> {
  const environment = environmentOf(home.env, home.path)
  const config = await readConfig({ file: home.configFile }, environment)
  const signal = new AbortController().signal
  expect(await request(config, 'sync', {}, { signal, timeoutMs: 60_000 })).toBeDefined()
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
  const folders = ['', 'skills', 'snapshots', 'generations', 'sources', 'tmp']
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

/** Each poll that reaches the refs is one such request. */
function isPoll({ body }: GitRequest): boolean {
  return /^.{4}command=ls-refs/.test(body.toString('latin1', 0, 64))
}

/** How many polls the server has seen since that request. */
function polls(git: GitServer, since: number): number {
  return git.requests.slice(since).filter(isPoll).length
}

/** Numbers from 0 to 1 that are the same in each run (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
