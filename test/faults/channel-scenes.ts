import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { signerText } from '../../src/sync/transparency-log/signed-note.ts'
import { Follower } from '../features/channel/follow/follower.ts'
import { CraftedChannel, KEY, ORIGIN, SIGNER, skillNamed } from '../features/channel/follow/site.ts'
import type { CrashScene } from './crash-scenes.ts'
import { SECOND, Stage } from './crash-stage.ts'

/** A hub that publishes a second entry to a folder, and a machine that takes the second entry of one. */
export const CHANNEL_SCENES: readonly CrashScene[] = [
  {
    title: 'a channel publish',
    async set() {
      const stage = await Stage.set([], [`channel: { name: ${ORIGIN}, key: { file: channel.key } }`])
      const key = join(stage.home.configFile, '../channel.key')
      await writeFile(key, signerText(SIGNER, Buffer.alloc(32, 1)), { mode: 0o600 })
      await stage.run(['sync'], ['hub', 'publish', '--to', outOf(stage)])
      await cp(outOf(stage), firstOf(stage), { recursive: true })
      await stage.repository.commit(SECOND)
      await stage.run(['sync'])
      return stage
    },
    args: ['hub', 'publish', '--to', 'out'],
    isAbout: () => true,
    writes: ['out'],
    again: async (stage) => stage.run(['hub', 'publish', '--to', outOf(stage)]),
    sees: seenByFollower,
  },
  {
    title: 'a follow',
    async set() {
      const stage = await Stage.set()
      const channel = new CraftedChannel()
      await channel.publish(skillNamed('changed', 'first'), skillNamed('removed'), skillNamed('still'))
      await channel.writeTo(outOf(stage))
      await stage.home.configure({ hub: [`follow: { path: ${outOf(stage)}, key: "${KEY}" }`, 'every: 1h'] })
      await stage.run(['sync'], ['link', '--once', 'claude-code'])
      await channel.publish(skillNamed('changed', 'second'), skillNamed('added'), skillNamed('still'))
      await channel.writeTo(outOf(stage))
      await channel.publish(skillNamed('changed', 'third'), skillNamed('still'))
      await channel.writeTo(thirdOf(stage))
      return stage
    },
    args: ['sync'],
    isAbout: (call) => /\/(?:logs|tmp|store\.db)|\/\.tmp-\w+/.test(call),
    writes: [],
    // What was not collected goes with the next update.
    async again(stage) {
      await stage.run(['sync'])
      await cp(thirdOf(stage), outOf(stage), { recursive: true })
      await stage.run(['sync'])
    },
  },
]

/** The folder of the channel. */
function outOf({ home }: Stage): string {
  return join(home.path, 'out')
}

/** The folder as it is at the third entry. */
function thirdOf({ home }: Stage): string {
  return join(home.path, 'third')
}

/** The folder as it was at the first entry. */
function firstOf({ home }: Stage): string {
  return join(home.path, 'first')
}

/**
 * Returns the skills that a follower has which was at the first entry: what the folder has must continue that. The log of
 * the hub must begin with the entries that it has published.
 */
async function seenByFollower(stage: Stage): Promise<string> {
  const [entries, published] = await Promise.all([
    readFile(join(stage.home.state, 'logs/channel.jsonl'), 'latin1'),
    readFile(join(firstOf(stage), 'tile/entries/000.p/1'), 'latin1'),
  ])
  // A bundle has the length of an entry before it.
  if (!entries.startsWith(published.slice(2))) throw new Error(`The log does not continue: ${entries}`)
  await using follower = await Follower.open({ place: firstOf(stage) })
  await follower.updated()
  follower.options.place = outOf(stage)
  const outcome = await follower.pull()
  if (outcome.kind === 'failed') throw outcome.error
  return JSON.stringify(await follower.skills())
}
