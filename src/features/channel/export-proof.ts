import { join, resolve } from 'node:path'
import { countOf } from '../../base/text/plural.ts'
import { channelSigners } from '../../daemon/access/channel-keys.ts'
import { configFor, printJson, printLines } from '../../daemon/cli/command.ts'
import type { Context, ExitStatus } from '../../daemon/cli/command.ts'
import { withWriter } from '../../daemon/cli/daemon-client.ts'
import { packsNamed } from '../../daemon/cli/pack-option.ts'
import { channelRingNamed } from '../../daemon/cli/ring-option.ts'
import { channelName, checkpointFileOf, logFileOf, originOf } from '../../daemon/config/channel-names.ts'
import type { ChannelName } from '../../daemon/config/channel-names.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { theOnly } from '../../daemon/status/named-skill.ts'
import { readRows } from '../../daemon/status/skill-rows.ts'
import type { ChannelSource } from '../../sync/model/source.ts'
import { entryProofOf } from '../../sync/store/channel-entry.ts'
import type { EntryProof } from '../../sync/store/channel-entry.ts'
import { syncPath, writeWhole } from '../../sync/store/files/atomic.ts'
import { unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { followerOf } from '../../sync/store/followed-logs.ts'
import { Store } from '../../sync/store/store.ts'
import { renamedSigner } from '../../sync/transparency-log/signed-note.ts'
import { parseProof, ProofRefusedError } from '../../sync/transparency-log/tlog-proof.ts'
import type { ChannelConfig, ChannelHubConfig } from './channel-config.ts'
import { ChannelLog } from './content/channel-log.ts'
import { expectObject } from './content/channel-tree.ts'
import { proveServed } from './content/served-proof.ts'
import type { SkillPlace } from './content/served-proof.ts'
import { logProofRequest } from './log-requests.ts'
import { readCosigned } from './publish/cosigned-head.ts'

/** Writes the proof of what a channel served to the file. */
export async function exportProof(context: Context<ChannelHubConfig>): Promise<ExitStatus> {
  const { proof, format, generation, output } = context.values
  if (format !== undefined || generation !== undefined || output !== undefined)
    throw new UsageError('--proof goes with none of --format, --generation and --output')
  if (typeof proof !== 'string' || proof === '') throw new UsageError('--proof names no file')
  const file = resolve(proof)
  const config = await configFor(context)
  const rows = await readRows(config)
  const asked = context.operands.map((operand) => theOnly(rows, operand))
  const { entry, skills } =
    config.channel === undefined
      ? await ofFollower(config, asked, context)
      : await ofHub(config.channel, config, asked, context)
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

async function ofHub(
  channel: ChannelConfig,
  config: ChannelHubConfig,
  asked: readonly SkillPlace[],
  context: Context,
): Promise<Provable> {
  const { pack } = context.values
  const [named] = packsNamed(pack === undefined ? undefined : [pack], config) ?? []
  const name = channelName({ pack: named, ring: channelRingNamed(context.values, config) })
  return { entry: await newestEntry(channel, name, config.state, context), skills: skillsOf(asked) }
}

/** The entry that is served of the one log that has the skills, each below the id of its source at the hub. */
async function ofFollower(config: ChannelHubConfig, asked: readonly SkillPlace[], context: Context): Promise<Provable> {
  const odd = ['pack', 'ring'].find((option) => context.values[option] !== undefined)
  if (odd !== undefined)
    throw new UsageError(`--${odd} is for the channel of a hub, and the configuration has no \`channel\``)
  const channels = config.sources.flatMap(({ source }) => (source.kind === 'channel' ? [source] : []))
  const named = new Set(asked.map(({ source }) => source))
  const foreign = [...named].find((one) => !channels.some(({ id }) => id === one))
  const followed = channels.filter(({ id }) => named.size === 0 || named.has(id))
  const [first, ...others] = followed
  if (first === undefined || foreign !== undefined)
    throw new OperatorError(
      'bad-request',
      foreign === undefined
        ? 'Cannot prove: the configuration has no `channel`, and follows none'
        : `Cannot prove: "${foreign}" follows no channel`,
    )
  if (others.length > 0 && !first.isNamesake)
    throw new UsageError('--proof shows one log; name skills of one source that follows a channel')
  const skills = first.isNamesake ? asked : asked.map(({ path }) => placeAtHub(path))
  return { entry: await servedEntry(config, followed, context), skills: skillsOf(skills) }
}

/** The paths of a source that takes a whole channel begin with the ids of the sources of the hub. */
function placeAtHub(path: string): SkillPlace {
  const [source = '', ...rest] = path.split('/')
  return { source, path: rest.join('/') }
}

async function servedEntry(
  config: ChannelHubConfig,
  followed: readonly ChannelSource[],
  context: Context,
): Promise<EntryProof> {
  const stored = await storedProof(config, followed)
  if (stored !== undefined) return entryProofOf(parseProof(stored))
  const [source, ...others] = followed
  if (source === undefined || others.length > 0)
    throw new OperatorError(
      'bad-request',
      'Cannot prove: what is served of the sources is not of one entry; try skillsyncd sync, or name skills of one source',
    )
  const proof = await withWriter(context, config, async (ask) => ask(logProofRequest, { source: source.id }))
  return entryProofOf(parseProof(proof))
}

/** The proof of what is served, if that is the newest entry that was followed: it needs no request. */
async function storedProof(
  { state }: ChannelHubConfig,
  followed: readonly ChannelSource[],
): Promise<string | undefined> {
  using store = await Store.openExisting(state)
  const held = (await store?.generations.current())?.sources ?? []
  let proof: string | undefined
  for (const source of followed) {
    const { id, isNamesake } = source
    const { snapshot } = held.find((one) => one.source === id) ?? {}
    if (store === undefined || snapshot === undefined)
      throw nothingServed(`nothing of "${id}" is served; try skillsyncd sync`)
    const { revision } = await store.snapshots.read(snapshot)
    const record = await store.followed.read(followerOf(source))
    const newest = isNamesake ? record?.sources?.get(id) : record?.entry.head
    if (newest !== revision.commit) return undefined
    proof = record?.proof
  }
  return proof
}

function skillsOf(asked: readonly SkillPlace[]): readonly SkillPlace[] | undefined {
  return asked.length === 0 ? undefined : asked.map(({ source, path }) => ({ source, path }))
}

async function newestEntry(
  channel: ChannelConfig,
  name: ChannelName,
  state: string,
  context: Context,
): Promise<EntryProof> {
  const origin = originOf(channel, name)
  const file = join(state, 'logs', logFileOf(name))
  const log = await ChannelLog.open(file)
  if (log.size === 0)
    throw nothingServed('the log of the channel has no entry yet; start the daemon, or skillsyncd hub publish')
  // The daemon may have appended an entry a moment ago: nothing is signed that a crash can take back.
  await unlessAbsent(syncPath(file))
  const signers = (await channelSigners(channel, context)).map((signer) => renamedSigner(signer, origin))
  if (channel.witnesses.length === 0) return log.prove(log.size, await log.checkpoint(origin, signers))
  // An entry that still waits for cosignatures is served to no follower.
  const cosigned = await readCosigned(join(state, 'logs', checkpointFileOf(name)), origin, log)
  if (cosigned === undefined) throw nothingServed('no entry of the log has enough cosignatures yet')
  return log.prove(cosigned.size, cosigned.note)
}

function nothingServed(why: string): OperatorError {
  return new OperatorError('nothing-served', `Cannot prove: ${why}`)
}

function refused(error: unknown): never {
  if (error instanceof ProofRefusedError) throw new OperatorError('bad-request', `Cannot prove: ${error.message}`)
  throw error
}
