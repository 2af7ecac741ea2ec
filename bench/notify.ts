import { join } from 'node:path'
import { runGit } from '../test/support/git/repository.ts'
import { startDaemon } from './daemon.ts'
import type { RunningDaemon } from './daemon.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import type { Ground } from './ground.ts'
import { changed } from './skills.ts'
import { connectLegacy, connectModern } from './subscriber.ts'
import type { Subscriber } from './subscriber.ts'
import { runAlone } from './table.ts'
import type { ServedSkills } from './upstream.ts'

/** From the trigger to the notification at a subscribed client of each era, against `git fetch --depth 1` of the commit. */
export async function measureNotify(ground: Ground): Promise<Figure[]> {
  const folder = await ground.fresh()
  const upstream = await ground.skills(ground.quick ? 20 : 200)
  await using daemon = await startDaemon(folder, upstream.url)
  await daemon.sync()
  const uris = upstream.skills.documents.map((path) => `skill://bench/${path}`)
  await using modern = await connectModern(daemon.url, uris)
  await using legacy = await connectLegacy(daemon.url, uris)
  const mirror = join(folder, 'mirror')
  await runGit(['clone', '--quiet', '--bare', '--depth', '1', upstream.url, mirror])

  const commits = new Commits(upstream)
  const all = await rounds(
    ground.quick ? 3 : 21,
    [
      () => measureOurs([modern, legacy], daemon, `skill://bench/${commits.last}`),
      async () => {
        const fetch = ['--git-dir', mirror, 'fetch', '--quiet', '--depth', '1', upstream.url, 'main']
        return { 'git fetch': await timed(() => runGit(fetch)) }
      },
    ],
    () => commits.next(),
  )
  return [
    figureOf('notify', all, [modern.protocol, 'git fetch'], 1.5),
    figureOf('notify', all, [legacy.protocol, 'git fetch'], 1.5),
  ]
}

/** From the trigger until each has been told of the one resource that changed. */
async function measureOurs(subscribers: readonly Subscriber[], daemon: RunningDaemon, uri: string): Promise<Times> {
  const coming = subscribers.map(async (subscriber) => ({
    protocol: subscriber.protocol,
    told: await subscriber.next(),
  }))
  const startMs = performance.now()
  await daemon.sync()
  const times: Record<string, number> = {}
  for (const { protocol, told } of await Promise.all(coming)) {
    if (told.uri !== uri) throw new Error(`The client of ${protocol} was told of ${told.uri}; ${uri} has changed`)
    times[protocol] = told.atMs - startMs
  }
  return times
}

/** Changes one SKILL.md after the other. */
export class Commits {
  static #instances = 0
  /** What one writes is not what another has written to the same repository. */
  readonly #instance = (Commits.#instances += 1)
  readonly #upstream: ServedSkills
  #count = 0
  /** The path of the one that was changed last. */
  last = ''

  constructor(upstream: ServedSkills) {
    this.#upstream = upstream
  }

  async next(): Promise<void> {
    const { repository, skills } = this.#upstream
    this.last = skills.documents[this.#count % skills.documents.length] ?? ''
    this.#count += 1
    await repository.commit({
      [this.last]: changed(skills.files[this.last], `Change ${this.#instance}.${this.#count}.`),
    })
  }
}

await runAlone(import.meta.url, measureNotify)
