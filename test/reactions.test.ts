import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/**
 * What only `Reaction` does elsewhere: waits for a time, repeats something, remembers that a run is queued, doubles a
 * pause with each failure, watches a catalog. A deadline of one operation (`resultWithin`, `setTimeout`) is none of these,
 * and `base` and `sync` do what they are asked to and nothing after it.
 */
const PLUMBING: readonly RegExp[] = [
  /(?:await|void|=) [\w.#]*[cC]lock\.wait\(/g,
  /\bsetInterval\(/g,
  /^ +#is\w*Queued\b.*= false$/gm,
  /\b2 \*\* (?:Math\.min)?\(?[\w.#]*(?:[fF]ailures|attempts)\b/g,
  /(?<!on: .*)\b(?:registry|whole)\.watch\(/g,
]

/** The places that have some of it, each with its number of lines and the reason why it is no reaction. */
const PLACES: Readonly<Record<string, readonly [count: number, reason: string]>> = {
  'daemon/runtime/host-semaphore.ts': [1, 'finds the hosts that keep a slot for long'],
  'daemon/pull/schedule/': [5, 'decides when each of many sources is pulled, with one wait for all, or one for each'],
  'daemon/control/lease-renewal.ts': [1, 'looks at the lease of another process, for a caller that waits'],
  'daemon/cli/daemon-client.ts': [2, 'a command waits for another process'],
  'daemon/commands/run/': [3, 'a command waits for another process'],
  'daemon/writer.ts': [1, 'a command waits for another process'],
  'daemon/open-follower.ts': [1, 'a command waits for another process'],
  'features/channel/': [
    5,
    'a host asked for a pause, clients wait, or the followers outlive the channels that saw them',
  ],
  'features/hub-of-several/replica.ts': [1, 'a notification waits for other processes'],
  'features/mcp-sources/client/': [1, 'the client of MCP keeps a stream open'],
  'features/marketplace/git/marketplace-server.ts': [1, 'an answer that takes long is kept alive'],
  'serve/http/server/': [4, 'connections and streams have times of their own, below the daemon'],
  'serve/page/http/page-routes.ts': [1, 'each open page follows what it shows'],
  'serve/mcp/': [2, 'each index follows the catalog that was searched, and idle sessions end'],
  'serve/views.ts': [1, 'the catalogs of views are published with that of everything'],
}

test('what follows a catalog or a time is a reaction, but for few places that have a reason', () => {
  const found = new Map<string, number>()
  for (const file of globSync('src/{daemon,features,serve}/**/*.ts')) {
    const count = linesIn(readFileSync(file, 'utf8'))
    const path = file.replaceAll('\\', '/').slice('src/'.length)
    if (count === 0 || OWN.has(path)) continue
    const place = Object.keys(PLACES).find((prefix) => path.startsWith(prefix)) ?? path
    found.set(place, (found.get(place) ?? 0) + count)
  }

  expect(Object.fromEntries(found)).toEqual(
    Object.fromEntries(Object.entries(PLACES).map(([at, [count]]) => [at, count])),
  )
})

test('there are at most fifteen of these places', () => {
  expect(Object.keys(PLACES).length).toBeLessThanOrEqual(15)
})

test.each([
  'await clock.wait(LOOK_MS, signal)',
  '      void this.#parts.clock.wait(ms, until).then(() => this.follow(), ignoreAbort)',
  'const timer = setInterval(beat, 10)',
  '  #isQueued = false',
  'const backoffMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** (this.#failures - 1))',
  'this.#watching = this.#parts.registry.watch(() => this.follow())',
])('%s is seen', (line) => {
  expect(linesIn(line)).toBe(1)
})

/** The reaction, and the list of all. */
const OWN: ReadonlySet<string> = new Set(['daemon/runtime/reaction.ts', 'daemon/reactions.ts'])

function linesIn(source: string): number {
  return PLUMBING.reduce((sum, pattern) => sum + (source.match(pattern)?.length ?? 0), 0)
}
