import { join, resolve } from 'node:path'
import { countOf } from '../../../base/text/plural.ts'
import { ChannelLog } from '../../../sync/channel/channel-log.ts'
import { expectObject } from '../../../sync/channel/channel-tree.ts'
import { proveServed } from '../../../sync/channel/served-proof.ts'
import type { EntryProof, SkillPlace } from '../../../sync/channel/served-proof.ts'
import { renamedSigner } from '../../../sync/log/signed-note.ts'
import { ProofRefused } from '../../../sync/log/tlog-proof.ts'
import { syncPath, writeWhole } from '../../../sync/store/files/atomic.ts'
import { unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import { Store } from '../../../sync/store/store.ts'
import { printableLine } from '../../base/log-line.ts'
import { OperatorError } from '../../base/operator-error.ts'
import { UsageError } from '../../base/usage-error.ts'
import type { ChannelConfig, Config } from '../../config/config.ts'
import { logFileOf } from '../../publish/channel-publisher.ts'
import { channelSigners, originOf } from '../../publish/channels.ts'
import { theOnly } from '../../status/named-skill.ts'
import { readRows } from '../../status/skill-rows.ts'
import { configFor, printJson, printLines } from '../command.ts'
import type { Context, ExitStatus } from '../command.ts'
import { packsNamed } from '../pack-option.ts'

/** Writes the proof of what a channel served to the file. */
export async function exportProof(context: Context, proof: string): Promise<ExitStatus> {
  const { format, generation, output, pack } = context.values
  if (format !== undefined || generation !== undefined || output !== undefined)
    throw new UsageError('--proof goes with none of --format, --generation and --output')
  if (proof === '') throw new UsageError('--proof names no file')
  const file = resolve(proof)
  const config = await configFor(context)
  const rows = context.operands.length === 0 ? [] : await readRows(config)
  const asked = context.operands.map((operand) => theOnly(rows, operand))
  const { entry, skills } = await ofHub(config, asked, pack, context)
  using store = await Store.openExisting(config.state)
  if (store === undefined) throw nothingServed('nothing has been pulled so far; try skillsyncd sync')
  const text = await proveServed(entry, skills, (digest) => expectObject(store.objects, digest)).catch(refused)
  await writeWhole(file, text, 0o644)
  const index = entry.index
  if (context.json) printJson(context, { file, entry: { index }, ...(skills !== undefined && { skills }) })
  else
    printLines(context, [
      printableLine(
        `${file}: entry ${index + 1}, ${skills === undefined ? 'all skills' : countOf(skills.length, 'skill')}`,
      ),
    ])
  return 0
}

/** An entry of a log, and the skills that are to be shown in it. */
interface Provable {
  readonly entry: EntryProof
  readonly skills: readonly SkillPlace[] | undefined
}

async function ofHub(config: Config, asked: readonly SkillPlace[], pack: unknown, context: Context): Promise<Provable> {
  const { channel } = config
  if (channel === undefined) throw new OperatorError('bad-request', 'Cannot prove: the configuration has no `channel`')
  const [named] = packsNamed(pack === undefined ? undefined : [pack], config) ?? []
  const entry = await newestEntry(channel, named, config.state, context)
  return { entry, skills: skillsOf(asked) }
}

function skillsOf(asked: readonly SkillPlace[]): readonly SkillPlace[] | undefined {
  return asked.length === 0 ? undefined : asked.map(({ source, path }) => ({ source, path }))
}

async function newestEntry(
  channel: ChannelConfig,
  pack: string | undefined,
  state: string,
  context: Context,
): Promise<EntryProof> {
  const origin = originOf(channel, pack)
  const file = join(state, 'logs', logFileOf(pack))
  const log = await ChannelLog.open(file)
  if (log.size === 0)
    throw nothingServed('the log of the channel has no entry yet; start the daemon, or skillsyncd publish')
  // The daemon may have appended an entry a moment ago: nothing is signed that a crash can take back.
  await unlessAbsent(syncPath(file))
  const signers = (await channelSigners(channel, context)).map((signer) => renamedSigner(signer, origin))
  return log.prove(log.size - 1, origin, signers)
}

function nothingServed(why: string): OperatorError {
  return new OperatorError('nothing-served', `Cannot prove: ${why}`)
}

function refused(error: unknown): never {
  if (error instanceof ProofRefused) throw new OperatorError('bad-request', `Cannot prove: ${error.message}`)
  throw error
}
