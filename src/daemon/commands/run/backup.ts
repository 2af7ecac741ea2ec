import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { systemClock } from '../../../base/async/clock.ts'
import { countOf } from '../../../base/text/plural.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { backUp, checkBackup, restore as restoreFrom } from '../../../sync/store/backup/backup.ts'
import type { BackedUp } from '../../../sync/store/backup/backup.ts'
import { isHalfRestored } from '../../../sync/store/files/state-folder.ts'
import { Store } from '../../../sync/store/store.ts'
import { configFor, printJson, printLines, progressOf } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import type { Config } from '../../config/config.ts'
import { processText, WriteRight } from '../../control/write-lock.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { UsageError } from '../../runtime/usage-error.ts'

export const backupCommand: Command = {
  name: 'store backup',
  operands: { text: 'FILE', most: 1, offers: ['files'] },
  details: `
  FILE is a SQLite database with the skills, the history, the decisions and the hashes of tokens. It has no files of
  other MCP servers, no sessions and no audit log. Every object is verified before FILE gets its name. The daemon may
  run.
`,
  examples: ['skillsyncd store backup /var/backups/skillsyncd.db'],
  async run(context) {
    const file = fileOf(context)
    if (existsSync(file))
      throw new OperatorError(
        'already-there',
        `Cannot write "${file}": it is there already; name another, or remove it`,
      )
    const config = await configFor(context)
    using store = await Store.openExisting(config.state)
    if (store === undefined || (config.postgres === undefined && (await store.objects.head()) === undefined))
      throw new SyncError('no-state-folder', `Cannot back up "${config.state}": nothing is published there yet`, {
        fix: 'Run skillsyncd sync first, or name the state folder of the daemon with --state',
      })
    using progress = progressOf(context)
    progress.show(`copying "${config.state}"`)
    const contents = await backUp(store, file)
    progress.show('')
    print(context, file, contents)
    return 0
  },
}

export const restoreCommand: Command = {
  name: 'store restore',
  operands: { text: 'FILE', most: 1, offers: ['files'] },
  details: `
  FILE comes from skillsyncd store backup. Every object in it is verified first. A state folder with a generation is refused:
  stop its daemon and move the folder away first.
`,
  examples: ['skillsyncd store restore /var/backups/skillsyncd.db'],
  async run(context) {
    const file = fileOf(context)
    if (!existsSync(file)) throw new UsageError(`There is no "${file}"`)
    const config = await configFor(context)
    using progress = progressOf(context)
    const onProgress = (done: number): void => progress.show(`${countOf(done, 'object')} verified`)
    // Before the state folder is made or touched.
    const contents = await checkBackup(file, onProgress)
    await restoreInto(config, context, async () => restoreFrom(file, config.state))
    progress.show('')
    print(context, config.state, contents)
    return 0
  },
}

function fileOf({ operands: [operand] }: Context): string {
  if (operand === undefined) throw new UsageError('Name the file of the backup')
  return resolve(operand)
}

/** Runs the work with the lock of the state folder, if nothing was published there. */
async function restoreInto({ state }: Config, { signal }: Context, work: () => Promise<void>): Promise<void> {
  const me = { pid: process.pid, socket: '', command: 'store restore' }
  const right = new WriteRight(state, me, { clock: systemClock, opening: { isRestore: true } })
  const other = await right.take(signal)
  if (other !== undefined)
    throw new OperatorError(
      'other-state',
      `Cannot restore "${state}": ${processText(other.heldBy)} writes it; stop it first`,
    )
  try {
    if (right.refusal !== undefined) throw right.refusal
    await expectUnused(state)
    await work()
  } finally {
    await right.release()
  }
}

async function expectUnused(state: string): Promise<void> {
  // A restore that was killed: the folder is whole only after another.
  if (await isHalfRestored(state)) return
  using store = await Store.openExisting(state)
  const head = await store?.objects.head()
  if (head === undefined) return
  const message = `Cannot restore "${state}": generation ${head.sequence} is in it; move the folder away first`
  throw new OperatorError('already-there', message)
}

function print(context: Context, path: string, { objects, generation, bytes }: BackedUp): void {
  if (context.json) printJson(context, { path, generation: generation ?? null, objects, bytes })
  else printLines(context, [`${path}: generation ${generation ?? 0}, ${countOf(objects, 'object')}, ${bytes} bytes`])
}
