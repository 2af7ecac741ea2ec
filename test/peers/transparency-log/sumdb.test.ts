import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ChannelLog } from '../../../src/features/channel/content/channel-log.ts'
import { FolderChannel } from '../../../src/features/channel/content/folder-channel.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { entriesPath } from '../../../src/sync/transparency-log/tiles.ts'
import { KEY, ORIGIN, SIGNER } from '../../features/channel/follow/site.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { never } from '../../sync/store/samples.ts'

const run = promisify(execFile)

/** Debian's packages of the compiler and of golang.org/x/mod. */
const MODULES = '/usr/share/gocode'
const GO = goIn('/usr/lib')

test.skipIf(GO === undefined || !existsSync(join(MODULES, 'src/golang.org/x/mod/sumdb/tlog')))(
  'the transparency log of the Go project reads a channel, and finds a changed entry',
  async () => {
    await using folder = await temporaryFolder()
    const [channel, program] = [join(folder.path, 'channel'), join(folder.path, 'program')]
    const source = fileURLToPath(new URL('./main.go', import.meta.url))
    const env = { PATH: process.env['PATH'], HOME: folder.path, GO111MODULE: 'off', GOPATH: MODULES }
    await run(GO ?? '', ['build', '-o', program, source], { env })
    await publishEntries(join(folder.path, 'state'), channel, 700)

    const { stdout } = await run(program, [channel, KEY])
    expect(stdout).toBe('700\n')

    const bundle = join(channel, entriesPath({ index: 1, width: 256 }))
    const bytes = await readFile(bundle)
    bytes.writeUInt8(bytes.readUInt8(100) ^ 1, 100)
    await writeFile(bundle, bytes)
    await expect(run(program, [channel, KEY])).rejects.toThrow('invalid transparency proof')
  },
)

/** Publishes a log of so many entries to a folder, in steps, so that it has partial tiles too. */
async function publishEntries(state: string, path: string, count: number): Promise<void> {
  using store = await Store.open(state)
  const log = await ChannelLog.open(store.folder.at('logs', 'channel.jsonl'))
  const folder = new FolderChannel(path, store.objects)
  const kept = { head: '0'.repeat(64), named: new Set<string>(), lists: new Set<string>() }
  for (let size = 1; size <= count; size += 1) {
    await log.append({ at: new Date(size * 1_000).toISOString(), head: size.toString(16).padStart(64, '0') })
    if (size % 233 !== 0 && size !== count) continue
    const checkpoint = await log.checkpoint(ORIGIN, [SIGNER])
    const channel = { log, origin: ORIGIN, checkpoint, kept, changes: undefined }
    await folder.publish(channel, never())
  }
}

function goIn(folder: string): string | undefined {
  const found = readdirSync(folder).find((name) => existsSync(join(folder, name, 'bin/go')))
  return found === undefined ? undefined : join(folder, found, 'bin/go')
}
