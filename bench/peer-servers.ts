import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runGit } from '../test/support/git/repository.ts'
import { Contenders, LIMIT_MS } from './contenders.ts'
import { writeSettings } from './daemon.ts'
import { median, rounds, timed } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import type { Ground } from './ground.ts'
import { sync } from './peer-install.ts'
import { StdioClient } from './stdio-client.ts'

/** The servers that a client would start in place of ours, over a folder of skills. */
export const SERVERS = ['ext-skills', 'textbook'] as const

/** What Node is started with for each: ours over a configuration, the others over a folder. */
export const ours = (file: string): string[] => [
  fileURLToPath(new URL('../dist/program/main.js', import.meta.url)),
  'mcp',
  '--config',
  file,
]
export const theirs = (server: (typeof SERVERS)[number], folder: string): string[] => [
  fileURLToPath(new URL(`./${server}-process.mjs`, import.meta.url)),
  folder,
]

/** What a client waits for that starts a server over stdio, over the same skills, and what the server has in memory then. */
export async function measureServers(ground: Ground, count: number, times: number): Promise<Figure[]> {
  const upstream = await ground.skills(count)
  const folder = await ground.fresh()
  const clone = join(folder, 'clone')
  await runGit(['clone', '--quiet', '--depth', '1', upstream.url, clone])
  const { file } = await writeSettings(folder, { bench: [`url: ${upstream.url}`] })
  await sync(file, `${count} of ${count} skills served`)
  const peers = new Contenders(`${count} skills`)
  const all = await rounds(times, [
    () => measureServer(ours(file), '', count),
    ...SERVERS.map((server) =>
      peers.run(server, () => measureServer(theirs(server, join(clone, 'skills')), `${server} `, count)),
    ),
  ])
  const isLinux = process.platform === 'linux'
  return SERVERS.flatMap((server) =>
    peers.figures(all, [
      { ours: `ready with ${count}`, peer: server, theirs: `${server} ready with ${count}`, target: 1 },
      { ours: `list of ${count}`, peer: server, theirs: `${server} list of ${count}` },
      { ours: `get of ${count}`, peer: server, theirs: `${server} get of ${count}` },
      ...(isLinux
        ? [{ ours: `memory of ${count}`, peer: server, theirs: `${server} memory of ${count}`, unit: 'KiB' as const }]
        : []),
    ]),
  )
}

async function measureServer(args: readonly string[], prefix: string, count: number): Promise<Times> {
  const startMs = performance.now()
  await using client = await StdioClient.start(args, LIMIT_MS)
  const readyMs = performance.now() - startMs
  const listMs = performance.now()
  const entries = await client.list()
  const listedMs = performance.now() - listMs
  if (entries.length !== count) throw new Error(`It lists ${entries.length} skills`)
  const gets: number[] = []
  for (let index = 0; index < GETS; index += 1) {
    // From all over the listing.
    const { uri = '' } = entries[Math.floor((index * count) / GETS)] ?? {}
    gets.push(await timed(() => client.read(uri)))
  }
  return {
    [`${prefix}ready with ${count}`]: readyMs,
    [`${prefix}list of ${count}`]: listedMs,
    [`${prefix}get of ${count}`]: median(gets),
    ...(process.platform === 'linux' && { [`${prefix}memory of ${count}`]: await client.residentKiB() }),
  }
}

const GETS = 50
