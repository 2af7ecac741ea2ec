import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect } from 'vitest'
import { skill } from '../../../support/http/marketplace.ts'
import { Home } from '../../../support/process/program.ts'

/** The name of the log of the hubs. */
export const NAME = 'skills.example.com/channel'

/** A hub with three skills of two sources, its public key, and a file that is not there yet. */
export async function publishedHub({ published = true, to }: { published?: boolean; to?: string } = {}) {
  const home = await Home.create()
  for (const path of ['drafts/write-letter', 'drafts/tidy', 'more/extra']) await writeSkill(home, path)
  const keyFile = join(home.path, 'config/skillsyncd/channel.key')
  const made = await home.command('hub', 'channel', 'new-key', NAME, '--out', keyFile, '--json')
  const { key } = JSON.parse(made.stdout)
  const channel = `channel: { name: ${NAME}, key: { file: channel.key } }`
  const pack = ['packs:', '  - id: writing', '    include: [{ path: write-* }]']
  const folders = ['drafts', 'more'].map((id) => [id, [`path: ${join(home.path, id)}`]] as const)
  await home.configure(Object.fromEntries(folders), [
    channel,
    ...pack,
    ...(to === undefined ? [] : ['publish:', `  - to: ${to}`]),
  ])
  await home.command('sync')
  if (published)
    for (const more of [[], ['--pack', 'writing']])
      await home.command('hub', 'publish', '--to', join(home.path, `out${more.length}`), ...more)
  return { home, key, file: join(home.path, 'proof.json') }
}

/** A hub that publishes to a folder, and a home that follows it. */
export async function followed({ keys = [] }: { readonly keys?: readonly string[] } = {}) {
  const hub = await publishedHub()
  const out = join(hub.home.path, 'out0')
  const follower = await Home.create()
  const source = ['follow:', `  path: ${out}`, `  key: ${hub.key}`]
  await follower.configure({ hub: [...source, ...keys] })
  if (keys.length === 0) expect(await follower.command('sync')).toMatchObject({ status: 0 })
  const publish = async (path: string): Promise<void> => {
    await writeSkill(hub.home, path)
    await hub.home.command('sync')
    expect(await hub.home.command('hub', 'publish', '--to', out)).toMatchObject({ status: 0 })
  }
  return { ...hub, out, follower, publish }
}

/** A hub that publishes to a folder, and a home that follows it in place of sources. */
export async function followedWhole() {
  const pair = await followed({ keys: ['  max_age: 30d'] })
  await writeFile(pair.follower.configFile, `follow:\n  path: ${pair.out}\n  key: ${pair.key}\n`)
  expect(await pair.follower.command('sync')).toMatchObject({ status: 0 })
  return pair
}

export type FollowedPair = Awaited<ReturnType<typeof followed>>

export async function writeSkill(home: Home, path: string): Promise<void> {
  await mkdir(join(home.path, path), { recursive: true })
  await writeFile(join(home.path, path, 'SKILL.md'), skill(basename(path)))
}
