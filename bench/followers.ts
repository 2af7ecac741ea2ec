import { randomBytes } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { signerOf, signerText, verifierText } from '../src/sync/transparency-log/signed-note.ts'
import { hasProgram } from '../test/support/process/has-program.ts'
import { startChild } from './child.ts'
import type { Child } from './child.ts'
import { startSeenOver } from './daemon.ts'
import type { SeenDaemon } from './daemon.ts'
import { figureOf, rounds } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import type { Arrival } from './followers-process.ts'
import type { Ground } from './ground.ts'
import { cpuMsOf, peakKiBOf, residentKiBOf } from './process-use.ts'
import { changed, folderOf } from './skills.ts'
import { startNginx } from './static-server.ts'
import type { StaticServer } from './static-server.ts'
import { runAlone } from './table.ts'
import type { ServedSkills } from './upstream.ts'

/** One change of a hub until the last of its receivers has it: followers, followers of a copy at nginx, and MCP clients. */
export async function measureFollowers(ground: Ground): Promise<Figure[]> {
  const { quick } = ground
  const count = quick ? 50 : 1_000
  const firsts = quick ? 5 : 20
  await using fleet = await Fleet.open(ground, count)
  const kinds = [['followers'], ['clients'], ['followers', 'clients'], ...(fleet.hasCopy ? [['pollers']] : [])]
  const before = await fleet.residentKiB()
  const held = await fleet.measureHeld()
  // V8 gives back little of what it had once, so only the first change shows what the hub needs.
  const resident = { 'resident before': before, ...(await fleet.measureChange(['followers'])) }
  const all = await rounds(quick ? 1 : 3, [
    ...[[], ...kinds].map((together) => async () => fleet.measureChange(together)),
    async () => fleet.measureRecall(),
    ...(fleet.hasCopy ? ['hub', 'copy'] : ['hub']).map((place) => async () => fleet.measureFirst(place, firsts)),
  ])
  const figure = (names: readonly [string, string], unit: Figure['unit'] = 'ms') =>
    figureOf('followers', all, names, undefined, unit)
  const [followers, clients, pollers] = [`${count} followers`, `${count} clients`, `${count} pollers`]
  return [
    figure([`last of ${followers}`, `last of ${clients}`]),
    figure([`last of ${followers} beside clients`, `last of ${followers}`]),
    figure([`CPU of ${followers}`, `CPU of ${clients}`]),
    figure([`CPU of ${followers}`, 'CPU of none']),
    figureOf('followers', [resident], [`peak of ${followers}`, 'resident before'], undefined, 'KiB'),
    figureOf('followers', [held], [`heap of ${followers}`, `heap of ${clients}`], undefined, 'KiB'),
    figure([`KiB of one of ${followers}`, `KiB of one of ${clients}`], 'KiB'),
    figure([`of one of ${followers}`, `of one of ${clients}`], 'requests'),
    figure([`p50 of ${followers}, recall`, `p50 of ${followers}`]),
    figure([`p99 of ${followers}, recall`, `p99 of ${followers}`]),
    figure([`CPU of ${followers}, recall`, `CPU of ${followers}`]),
    figure([`of one of ${followers}, recall`, `of one of ${followers}`], 'requests'),
    ...(fleet.hasCopy
      ? [
          figure([`last of ${pollers}, nginx`, `last of ${clients}`]),
          figure([`CPU of nginx of ${pollers}`, `CPU of ${followers}`]),
          figure([`CPU of ${pollers}`, 'CPU of none']),
          figure([`KiB of one of ${pollers}`, `KiB of one of ${followers}`], 'KiB'),
          figure([`${firsts} first syncs, hub`, `${firsts} first syncs, nginx`]),
          figure([`CPU of ${firsts} first syncs, hub`, `CPU of ${firsts} first syncs, nginx`]),
        ]
      : [figure([`${firsts} first syncs, hub`, `CPU of ${firsts} first syncs, hub`])]),
  ]
}

/** A hub, a copy of its channel, and the process of all that receive from them. */
class Fleet implements AsyncDisposable {
  readonly #count: number
  readonly #upstream: ServedSkills
  readonly #hub: SeenDaemon
  readonly #hubPid: number
  readonly #channel: Channel
  readonly #copy: StaticServer | undefined
  readonly #receivers: Child
  readonly #opened: AsyncDisposableStack
  #changes = 0
  #recalls = 0

  private constructor(
    count: number,
    parts: {
      readonly upstream: ServedSkills
      readonly hub: SeenDaemon
      readonly hubPid: number
      readonly channel: Channel
      readonly copy: StaticServer | undefined
      readonly receivers: Child
    },
    opened: AsyncDisposableStack,
  ) {
    this.#count = count
    this.#upstream = parts.upstream
    this.#hub = parts.hub
    this.#hubPid = parts.hubPid
    this.#channel = parts.channel
    this.#copy = parts.copy
    this.#receivers = parts.receivers
    this.#opened = opened
  }

  static async open(ground: Ground, count: number): Promise<Fleet> {
    await using opened = new AsyncDisposableStack()
    const upstream = await ground.skills(ground.quick ? 20 : 200)
    const folder = await ground.fresh()
    const seed = randomBytes(32)
    const signer = signerOf('bench.example/channel', seed)
    await writeFile(join(folder, 'key'), signerText(signer, seed))
    const to = join(folder, 'channel')
    const rest = [
      `channel: { name: ${signer.name}, key: { file: ${join(folder, 'key')} } }`,
      `publish: [{ to: ${to} }]`,
    ]
    const hub = opened.use(await startSeenOver(folder, { bench: [`url: ${upstream.url}`] }, { rest }))
    await hub.sync()
    const channel = { url: hub.url.replace(/mcp$/, 'channel/'), to }
    await published(channel)
    if (!hasProgram('nginx')) console.log('followers: nginx is not installed; the rows with it are left out')
    const copy = hasProgram('nginx') ? opened.use(await startNginx(join(folder, 'nginx'), to)) : undefined
    const uri = `skill://bench/${upstream.skills.documents[0]}`
    const args = [verifierText(signer), channel.url, copy?.url ?? '', hub.url, uri]
    const receivers = opened.use(await startChild('./followers-process.ts', args))
    const hubPid = Number(await hub.child.tell('pid'))
    return new Fleet(count, { upstream, hub, hubPid, channel, copy, receivers }, opened.move())
  }

  get hasCopy(): boolean {
    return this.#copy !== undefined
  }

  /** The memory of the hub now. */
  async residentKiB(): Promise<number> {
    return residentKiBOf(this.#hubPid)
  }

  /** The heap of the hub for each receiver that waits. */
  async measureHeld(): Promise<Times> {
    const times: Record<string, number> = {}
    for (const kind of ['followers', 'clients']) {
      const before = await this.#hub.child.heapKiB()
      await this.#receivers.tell('open', String(this.#count), kind)
      const after = await this.#hub.child.heapKiB()
      await this.#receivers.tell('close')
      times[`heap of ${this.#count} ${kind}`] = (after - before) / this.#count
    }
    return times
  }

  /** One change, with receivers of these kinds. The time is from the trigger, of pollers from the new checkpoint of the copy. */
  async measureChange(kinds: readonly string[]): Promise<Times> {
    const copy = this.#copy
    await this.#receivers.tell('open', String(this.#count), ...kinds)
    const note = await published(this.#channel)
    const mark = `Change ${(this.#changes += 1)} of the fleet.`
    await this.#commit(mark)
    await this.#receivers.tell('expect', mark)
    const before = await this.#hub.child.cpuMs()
    const copyBefore = copy === undefined ? 0 : await cpuMsOf(copy.pid)
    const startMs = performance.timeOrigin + performance.now()
    let arrivals: Readonly<Record<string, Arrival>> = {}
    const peak = await peakKiBOf(this.#hubPid, async () => {
      await this.#hub.sync()
      arrivals = z.record(z.string(), ARRIVAL).parse(await this.#receivers.tell('arrived'))
    })
    const copyMs = copy === undefined ? 0 : (await cpuMsOf(copy.pid)) - copyBefore
    await published(this.#channel, note)
    const cpuMs = (await this.#hub.child.cpuMs()) - before
    const renamedMs = (await stat(join(this.#channel.to, 'checkpoint'))).ctimeMs
    await this.#receivers.tell('close')
    return this.#timesOf(kinds, arrivals, { startMs, renamedMs, cpuMs, copyMs, peak })
  }

  #timesOf(
    kinds: readonly string[],
    arrivals: Readonly<Record<string, Arrival>>,
    used: {
      readonly startMs: number
      readonly renamedMs: number
      readonly cpuMs: number
      readonly copyMs: number
      readonly peak: number
    },
  ): Times {
    const [kind, other] = kinds
    if (kind === undefined) return { 'CPU of none': used.cpuMs }
    const { atMs, p50Ms, p99Ms, requests, bytes } = arrivals[kind] ?? NO_ARRIVAL
    const receivers = `${this.#count} ${kind}`
    if (other !== undefined) return { [`last of ${receivers} beside ${other}`]: atMs - used.startMs }
    const common = {
      [`CPU of ${receivers}`]: used.cpuMs,
      [`KiB of one of ${receivers}`]: bytes / 1_024,
      [`of one of ${receivers}`]: requests,
    }
    if (kind === 'pollers')
      return {
        ...common,
        [`last of ${receivers}, nginx`]: atMs - used.renamedMs,
        [`CPU of nginx of ${receivers}`]: used.copyMs,
      }
    return {
      ...common,
      [`last of ${receivers}`]: atMs - used.startMs,
      [`p50 of ${receivers}`]: p50Ms - used.startMs,
      [`p99 of ${receivers}`]: p99Ms - used.startMs,
      [`peak of ${receivers}`]: used.peak,
    }
  }

  /** One recall with all followers, until each obeys it and has reported that. */
  async measureRecall(): Promise<Times> {
    const receivers = `${this.#count} followers, recall`
    await this.#receivers.tell('open', String(this.#count), 'followers')
    const note = await published(this.#channel)
    await this.#receivers.tell('expect', 'recall')
    const before = await this.#hub.child.cpuMs()
    const startMs = performance.timeOrigin + performance.now()
    // The first one is that of the changes.
    await this.#hub.recall(folderOf(this.#upstream.skills.documents[(this.#recalls += 1)]))
    const arrivals = z.record(z.string(), ARRIVAL).parse(await this.#receivers.tell('arrived'))
    await published(this.#channel, note)
    const cpuMs = (await this.#hub.child.cpuMs()) - before
    await this.#receivers.tell('close')
    const { p50Ms, p99Ms, requests } = arrivals['followers'] ?? NO_ARRIVAL
    return {
      [`p50 of ${receivers}`]: p50Ms - startMs,
      [`p99 of ${receivers}`]: p99Ms - startMs,
      [`CPU of ${receivers}`]: cpuMs,
      [`of one of ${receivers}`]: requests,
    }
  }

  /** Followers that have nothing, all at once. */
  async measureFirst(place: string, count: number): Promise<Times> {
    const cpu = async (): Promise<number> =>
      place === 'hub' || this.#copy === undefined ? this.#hub.child.cpuMs() : cpuMsOf(this.#copy.pid)
    const name = `${count} first syncs, ${place === 'hub' ? 'hub' : 'nginx'}`
    const before = await cpu()
    const startMs = performance.timeOrigin + performance.now()
    const { atMs } = ARRIVAL.parse(await this.#receivers.tell('first', String(count), place))
    return { [name]: atMs - startMs, [`CPU of ${name}`]: (await cpu()) - before }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync()
  }

  async #commit(mark: string): Promise<void> {
    const { repository, skills } = this.#upstream
    const [document = ''] = skills.documents
    await repository.commit({ [document]: changed(skills.files[document], mark) })
  }
}

const ARRIVAL = z.object({
  atMs: z.number(),
  p50Ms: z.number(),
  p99Ms: z.number(),
  requests: z.number(),
  bytes: z.number(),
})

const NO_ARRIVAL: Arrival = {
  atMs: Number.NaN,
  p50Ms: Number.NaN,
  p99Ms: Number.NaN,
  requests: Number.NaN,
  bytes: Number.NaN,
}

/** A channel at the hub, and the folder with its copy. */
interface Channel {
  readonly url: string
  readonly to: string
}

/** Returns the checkpoint once the hub has another one than before, and the folder has it too. */
async function published({ url, to }: Channel, before?: string): Promise<string> {
  for (;;) {
    const answer = await fetch(`${url}checkpoint`)
    const note = await answer.text()
    const copied = await readFile(join(to, 'checkpoint'), 'utf8').catch(() => '')
    if (answer.ok && note !== before && copied === note) return note
    await pause(10)
  }
}

await runAlone(import.meta.url, measureFollowers)
