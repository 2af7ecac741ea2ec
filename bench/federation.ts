import { setTimeout as pause } from 'node:timers/promises'
import { startChild } from './child.ts'
import { countBefore } from './counting-proxy.ts'
import type { CountingProxy } from './counting-proxy.ts'
import { startDaemon, startFollower } from './daemon.ts'
import type { RunningDaemon } from './daemon.ts'
import { figureOf, rounds } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import type { Ground } from './ground.ts'
import { Commits } from './notify.ts'
import { listenOf } from './serve-clients.ts'
import { heapGrowth } from './serve.ts'
import { connectModern } from './subscriber.ts'
import type { Subscriber } from './subscriber.ts'
import { runAlone } from './table.ts'
import { Streams } from './wire.ts'

/** A hub, one that follows it, and one that follows that: from the trigger at the hub to a subscribed client of each. */
export async function measureFederation(ground: Ground): Promise<Figure[]> {
  const { quick } = ground
  const upstream = await ground.skills(quick ? 20 : 200)
  await using hub = await startDaemon(await ground.fresh(), upstream.url)
  await hub.sync()
  await using counted = await countBefore(hub.url)
  await using middle = await startFollower(await ground.fresh(), counted.url)
  await middle.sync()
  await using last = await startFollower(await ground.fresh(), middle.url)
  await last.sync()
  const documents = upstream.skills.documents.map((path) => `bench/${path}`)
  await using atHub = await connectModern(hub.url, urisOf('skill://', documents))
  await using below = await connectModern(middle.url, urisOf('skill://bench/', documents))
  await using lowest = await connectModern(last.url, urisOf('skill://bench/bench/', documents))

  const commits = new Commits(upstream)
  const tiers: Tiers = {
    hub,
    counted,
    clients: { 'at the hub': atHub, 'one tier down': below, 'two tiers down': lowest },
  }
  const all = await rounds(quick ? 3 : 21, [() => measureTiers(tiers)], async () => {
    await commits.next()
    // After a pull that was asked for by a server the next one has to wait its second.
    await pause(REST_MS)
    counted.take()
  })
  const looks = await rounds(quick ? 3 : 5, [() => measureLook(middle, counted)], async () => void counted.take())
  return [
    figureOf('federation', all, ['one tier down', 'at the hub']),
    figureOf('federation', all, ['two tiers down', 'one tier down']),
    figureOf('federation', all, ['KiB for one change', 'KiB of a listing'], undefined, 'KiB'),
    figureOf('federation', all, ['for one change', 'of a listing'], undefined, 'requests'),
    figureOf('federation', looks, ['KiB for one look', 'KiB of a listing'], undefined, 'KiB'),
    figureOf('federation', looks, ['for one look', 'of a listing'], undefined, 'requests'),
    await measureHeld(quick ? 100 : 1_000),
  ]
}

/** A look of the schedule, when nothing has changed. */
async function measureLook(follower: RunningDaemon, counted: CountingProxy): Promise<Times> {
  await follower.sync()
  const { requests, bytes } = counted.take()
  return { 'KiB for one look': bytes / 1024, 'for one look': requests, ...(await listingOf(counted.url)) }
}

/** What a follower holds of the hub's heap while it listens: its stream, with the URIs of 200 skills, against an open response. */
async function measureHeld(count: number): Promise<Figure> {
  await using hub = await startChild('./serve-process.ts', ['200'])
  await using plain = await startChild('./plain-process.ts')
  const urls = [String(await hub.tell('url')), `${String(await plain.tell('url'))}/stream`] as const
  const uris = Array.from({ length: 200 }, (_, index) => `skill://bench/skill-${index}/SKILL.md`)
  const held: number[] = []
  for (const [child, url] of [[hub, urls[0]] as const, [plain, urls[1]] as const]) {
    using streams = new Streams('notifications/resources/updated')
    const requests = Array.from({ length: count }, (_, index) => listenOf(url, index, ...uris))
    held.push((await heapGrowth(child, () => streams.open(url, requests))) / count)
  }
  const [ours = Number.NaN, reference = Number.NaN] = held
  const times = { [`heap of ${count}`]: ours, [`response of ${count}`]: reference }
  return figureOf('federation', [times], [`heap of ${count}`, `response of ${count}`], undefined, 'KiB')
}

interface Tiers {
  readonly hub: RunningDaemon
  readonly counted: CountingProxy
  readonly clients: Readonly<Record<string, Subscriber>>
}

const REST_MS = 2_500

function urisOf(prefix: string, documents: readonly string[]): string[] {
  return documents.map((path) => `${prefix}${path}`)
}

async function measureTiers({ hub, counted, clients }: Tiers): Promise<Times> {
  const coming = Object.entries(clients).map(async ([tier, client]) => [tier, await client.next()] as const)
  const startMs = performance.now()
  await hub.sync()
  const told = await Promise.all(coming)
  await pause(REST_MS)
  const { requests, bytes } = counted.take()
  return {
    ...Object.fromEntries(told.map(([tier, { atMs }]) => [tier, atMs - startMs])),
    'KiB for one change': bytes / 1024,
    'for one change': requests,
    ...(await listingOf(counted.url)),
  }
}

/** What one enumeration comes to on the wire. */
async function listingOf(url: string): Promise<Times> {
  let bytes = 0
  for (let cursor: string | undefined, requests = 1; ; requests += 1) {
    const text = await pageOf(url, cursor)
    bytes += Buffer.byteLength(text)
    cursor = JSON.parse(text).result.nextCursor
    if (cursor === undefined) return { 'KiB of a listing': bytes / 1024, 'of a listing': requests }
  }
}

async function pageOf(url: string, cursor: string | undefined): Promise<string> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  }
  const params = { ...(cursor !== undefined && { cursor }), _meta: meta }
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'skills/list',
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'skills/list', params })
  return (await fetch(url, { method: 'POST', headers, body })).text()
}

await runAlone(import.meta.url, measureFederation)
