import { randomInt } from 'node:crypto'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFailed, test } from 'vitest'
import { isTemporary } from '../../src/sync/store/files/atomic.ts'
import { signerText } from '../../src/sync/transparency-log/signed-note.ts'
import { KEY, ORIGIN, SIGNER, startFileServer } from '../features/channel/follow/site.ts'
import { Dice } from '../fuzz/dice.ts'
import { modernHttp } from '../support/clients/peer.ts'
import { Home } from '../support/process/program.ts'
import { Commits, litterIn, NOTHING_YET } from './commits.ts'
import { servedFiles } from './served-files.ts'

const KILLS = 24

/** Of what is random; `CRASH_SEED` has an earlier run again, as far as the machine is as quick. */
const SEED = Number(process.env['CRASH_SEED'] ?? randomInt(2 ** 31))

test.each(['a folder', 'a web server'])(
  'while hub and follower are killed in turn, a follower of %s serves one commit, whole, and never an older one',
  async (kind) => {
    await using commits = await Commits.set([
      `channel: { name: ${ORIGIN}, key: { file: channel.key } }`,
      'publish: [{ to: out }]',
    ])
    const hub = commits.home
    const config = join(hub.configFile, '..')
    await writeFile(join(config, 'channel.key'), signerText(SIGNER, Buffer.alloc(32, 1)), { mode: 0o600 })
    const out = join(config, 'out')
    await using server = await startFileServer(async (path) => readFile(join(out, path)).catch(() => undefined))
    const far = await Home.create()
    const place = kind === 'a folder' ? `path: ${out}` : `url: "${server.url}"`
    await far.configure({ hub: [`follow: { ${place}, key: "${KEY}" }`, 'every: 1s'] })
    const dice = new Dice(SEED, 0)
    onTestFailed(() => void process.stderr.write(`It was with CRASH_SEED=${SEED}\n`))
    const log = new SeenLog(join(hub.state, 'logs/channel.jsonl'))
    const said: string[] = []
    let newest = NOTHING_YET

    for (let kill = 0; kill < KILLS; kill += 1) {
      const [publishing, following] = [hub.start('start'), far.start('start')]
      const reader = await modernHttp(await following.line())
      await publishing.line()
      const since = commits.git.requests.length
      await commits.commit()
      if (kill % 3 > 0) await commits.git.requested(({ body }) => body.includes(`want ${commits.tip}`), since)
      for (let reads = dice.below(30); reads >= 0; reads -= 1)
        newest = await commits.servedTo(reader, newest, 'skill://hub/team/')
      const [first, second] = kill % 2 === 0 ? [publishing, following] : [following, publishing]
      await first.kill()
      // What the hub has left half written is there to be followed.
      if (first === publishing)
        for (let reads = dice.below(30); reads >= 0; reads -= 1)
          newest = await commits.servedTo(reader, newest, 'skill://hub/team/')
      await second.kill()
      said.push(publishing.stderr, following.stderr)

      newest = commits.commitOf(await servedFiles(far.state), newest, 'team/')
      await log.expectContinued()
    }
    const [publishing, following] = [hub.start('start'), far.start('start')]
    const reader = await modernHttp(await following.line())
    while (newest < commits.count) newest = await commits.servedTo(reader, newest, 'skill://hub/team/')
    expect(await Promise.all([publishing, following].map(async (one) => (await one.stop()).status))).toEqual([0, 0])
    said.push(publishing.stderr, following.stderr)

    await log.expectContinued()
    expect(said.join('').match(/"code":"(?:log-|content-refused|store-failed)[^"]*"/g)).toBeNull()
    expect([await litterIn(hub.state), await litterIn(far.state)]).toEqual([[], []])
    const left = (await readdir(out, { recursive: true })).filter((name) => isTemporary(name.split('/').at(-1) ?? ''))
    expect(left).toEqual([])
  },
)

/** The entries of a log, as far as they were seen. */
class SeenLog {
  readonly #file: string
  #seen = ''

  constructor(file: string) {
    this.#file = file
  }

  /** Expects that the whole lines of the log begin with those that it had before. */
  async expectContinued(): Promise<void> {
    const text = await readFile(this.#file, 'utf8').catch(() => '')
    const whole = text.slice(0, text.lastIndexOf('\n') + 1)
    expect(whole.startsWith(this.#seen), `${whole}\nafter\n${this.#seen}`).toBe(true)
    this.#seen = whole
  }
}
