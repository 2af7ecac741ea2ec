import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { signerOf, signerText, verifierText } from '../src/sync/transparency-log/signed-note.ts'
import { countBefore } from './counting-proxy.ts'
import type { CountingProxy } from './counting-proxy.ts'
import { startOver } from './daemon.ts'
import type { RunningDaemon } from './daemon.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import type { Ground } from './ground.ts'
import { Commits } from './notify.ts'
import { runAlone } from './table.ts'

/** A hub and a daemon that follows its channel over HTTP: the traffic of a change, and of a poll without one. */
export async function measureChannel(ground: Ground): Promise<Figure[]> {
  const { quick } = ground
  const [few, many] = quick ? [20, 60] : [1_000, 10_000]
  await using small = await openPair(ground, few)
  await using large = await openPair(ground, many)
  const all = await rounds(quick ? 3 : 11, [
    async () => measureChange(small),
    async () => ({ ...(await measureChange(large)), 'KiB allowed': 64, 'requests allowed': 6 }),
    async () => ({ ...(await measurePoll(large)), 'bytes allowed': 600, 'one request': 1 }),
  ])
  return [
    figureOf('channel', [{ ...small.first, ...large.first }], [`first sync of ${many}`, `at the hub, of ${many}`]),
    figureOf('channel', all, [`KiB for one of ${many}`, 'KiB allowed'], 1, 'KiB'),
    figureOf('channel', all, [`for one of ${many}`, 'requests allowed'], 1, 'requests'),
    figureOf('channel', all, [`KiB for one of ${many}`, `KiB for one of ${few}`], 1.5, 'KiB'),
    figureOf('channel', all, [`one of ${many}`, `one of ${few}`]),
    figureOf('channel', all, ['bytes of a poll', 'bytes allowed'], 1, 'bytes'),
    figureOf('channel', all, ['of a poll', 'one request'], 1, 'requests'),
  ]
}

interface Pair extends AsyncDisposable {
  readonly count: number
  readonly hub: RunningDaemon
  readonly counted: CountingProxy
  readonly follower: RunningDaemon
  readonly commits: Commits
  readonly first: Times
}

async function openPair(ground: Ground, count: number): Promise<Pair> {
  await using opened = new AsyncDisposableStack()
  const upstream = await ground.skills(count)
  const folder = await ground.fresh()
  const seed = randomBytes(32)
  const signer = signerOf('bench.example/channel', seed)
  await writeFile(join(folder, 'key'), signerText(signer, seed))
  const rest = [`channel: { name: ${signer.name}, key: { file: ${join(folder, 'key')} } }`]
  const hub = opened.use(await startOver(folder, { bench: [`url: ${upstream.url}`] }, 'warn', rest))
  const atHub = await timed(async () => hub.sync())
  const counted = opened.use(await countBefore(hub.url.replace(/mcp$/, 'channel/')))
  await published(counted.url)
  const source = [`follow: { url: "${counted.url}", key: "${verifierText(signer)}" }`]
  const follower = opened.use(await startOver(await ground.fresh(), { hub: source }, 'warn'))
  const ms = await timed(async () => follower.sync())
  const held = opened.move()
  return {
    count,
    hub,
    counted,
    follower,
    commits: new Commits(upstream),
    first: { [`first sync of ${count}`]: ms, [`at the hub, of ${count}`]: atHub },
    [Symbol.asyncDispose]: async () => held.disposeAsync(),
  }
}

/** Returns the checkpoint once the hub has another one than before: it publishes after it serves. */
async function published(url: string, before?: string): Promise<string> {
  for (;;) {
    const answer = await fetch(`${url}checkpoint`)
    const note = await answer.text()
    if (answer.ok && note !== before) return note
  }
}

async function measureChange({ count, hub, counted, follower, commits }: Pair): Promise<Times> {
  const before = await published(counted.url)
  await commits.next()
  await hub.sync()
  await published(counted.url, before)
  counted.take()
  const ms = await timed(async () => follower.sync())
  const { requests, bytes, headBytes } = counted.take()
  return {
    [`one of ${count}`]: ms,
    [`KiB for one of ${count}`]: (bytes + headBytes) / 1024,
    [`for one of ${count}`]: requests,
  }
}

async function measurePoll({ counted, follower }: Pair): Promise<Times> {
  counted.take()
  await follower.sync()
  const { requests, bytes, headBytes } = counted.take()
  return { 'bytes of a poll': bytes + headBytes, 'of a poll': requests }
}

await runAlone(import.meta.url, measureChannel)
