import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runGit } from '../test/support/git/repository.ts'
import { Contenders, LIMIT_MS } from './contenders.ts'
import { writeSettings } from './daemon.ts'
import { rounds, timed } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import type { Ground } from './ground.ts'
import { sync } from './peer-install.ts'
import { SERVERS, ours, theirs } from './peer-servers.ts'
import { StdioClient } from './stdio-client.ts'

/**
 * From saving a SKILL.md in a folder until the client of ours was told, against starting a peer again, which is how a client
 * of theirs comes to have it. Whether they have noticed by themselves is asked at the end.
 */
export async function measureChanges(ground: Ground, count: number, times: number): Promise<Figure[]> {
  const upstream = await ground.skills(count)
  const folder = await ground.fresh()
  const clone = join(folder, 'clone')
  await runGit(['clone', '--quiet', '--depth', '1', upstream.url, clone])
  const skills = join(clone, 'skills')
  const { file } = await writeSettings(folder, { bench: [`path: ${skills}`] })
  await sync(file, `${count} of ${count} skills served`)
  const [changing = ''] = upstream.skills.documents
  const uriOf = (prefix: string): string => `skill://${prefix}${changing.slice('skills/'.length)}`
  await using client = await StdioClient.start(ours(file), ALL_ROUNDS_MS)
  await client.call('resources/subscribe', { uri: uriOf('bench/') })

  let line = ''
  const change = async (): Promise<Times> => {
    line = `Changed at ${performance.now()}.`
    const told = client.next()
    const ms = await timed(async () => {
      await appendFile(join(clone, changing), `\n${line}\n`)
      await told
    })
    const { method, params } = await told
    if (params?.uri !== uriOf('bench/')) throw new Error(`Told ${method} of ${params?.uri}`)
    if (!(await client.read(uriOf('bench/'))).includes(line)) throw new Error('Told of a change that is not served')
    return { [`told with ${count}`]: ms }
  }
  const startAgain = async (server: (typeof SERVERS)[number]): Promise<Times> => {
    const startMs = performance.now()
    await using again = await StdioClient.start(theirs(server, skills), LIMIT_MS)
    if (!(await again.read(uriOf(''))).includes(line)) throw new Error('Started again, it does not serve the change')
    return { [`${server} again with ${count}`]: performance.now() - startMs }
  }
  const peers = new Contenders(`${count} skills`)
  const runs = SERVERS.map((server) => peers.run(server, () => startAgain(server)))
  await using live = new AsyncDisposableStack()
  const running = new Map<string, StdioClient>()
  for (const server of SERVERS) {
    const started = await peers.attempt(server, async () => StdioClient.start(theirs(server, skills), ALL_ROUNDS_MS))
    if (started !== undefined) running.set(server, live.use(started))
  }
  const all = await rounds(times, [change, ...runs])
  for (const [server, client] of running) {
    const answer = await answerOf(client, uriOf(''), line)
    console.log(`peers: ${server} with ${count}, never started again: told ${client.told} times, ${answer}`)
  }
  return peers.figures(
    all,
    SERVERS.map((server) => ({ ours: `told with ${count}`, peer: server, theirs: `${server} again with ${count}` })),
  )
}

/** What a server says to who asks it for what has changed since it was started. */
async function answerOf(client: StdioClient, uri: string, line: string): Promise<string> {
  try {
    return (await client.read(uri)).includes(line) ? 'serves the change' : 'serves what was there before'
  } catch (error) {
    return `answers with an error: ${String(error)}`
  }
}

const ALL_ROUNDS_MS = 900_000
