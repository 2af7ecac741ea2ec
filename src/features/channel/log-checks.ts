import { join, resolve } from 'node:path'
import { codeOf } from '../../base/error-code.ts'
import { countOf } from '../../base/text/plural.ts'
import { channelSigners } from '../../daemon/access/channel-keys.ts'
import { failedCheck, printChecks, verdicts } from '../../daemon/cli/check.ts'
import type { CheckResult } from '../../daemon/cli/check.ts'
import { configFor, progressOf } from '../../daemon/cli/command.ts'
import type { Context, ExitStatus } from '../../daemon/cli/command.ts'
import { withWriter } from '../../daemon/cli/daemon-client.ts'
import type { AskWriter } from '../../daemon/cli/daemon-client.ts'
import { channelName, channelNames, logFileOf, originOf, partOf } from '../../daemon/config/channel-names.ts'
import type { ChannelName } from '../../daemon/config/channel-names.ts'
import { sourcesNamed } from '../../daemon/config/named-sources.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { OperatorError, operatorErrorCodeOf } from '../../daemon/runtime/operator-error.ts'
import { readBounded } from '../../daemon/runtime/plain-file.ts'
import { isAway } from '../../sync/model/source.ts'
import type { ChannelSource } from '../../sync/model/source.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { openCheckpoint, readCheckpoint } from '../../sync/transparency-log/checkpoint.ts'
import { isSameHash } from '../../sync/transparency-log/merkle-tree.ts'
import { NoteRefusedError, renamedSigner } from '../../sync/transparency-log/signed-note.ts'
import type { NoteSigner } from '../../sync/transparency-log/signed-note.ts'
import { entriesPath, tilePath, tilesBetween } from '../../sync/transparency-log/tiles.ts'
import { ProofRefusedError } from '../../sync/transparency-log/tlog-proof.ts'
import type { ChannelConfig, ChannelHubConfig } from './channel-config.ts'
import { CHECKPOINT_PATH } from './content/channel-entry.ts'
import { ChannelLog } from './content/channel-log.ts'
import { checkpointIn, MOST_PROOF_BYTES } from './content/served-proof.ts'
import { checkLogRequest, checkpointRequest } from './log-requests.ts'

/** A log that was read whole. */
interface CheckedLog {
  /** The source that follows it; absent for a log of this hub. */
  readonly source?: string
  readonly pack?: string
  readonly ring?: string
  readonly log: string
  readonly entries: number
  readonly first?: string | undefined
  readonly last?: string | undefined
  /** The newest entry that names what is served; absent for a log of this hub. */
  readonly served?: { readonly index: number; readonly at: string } | undefined
}

interface Checked {
  readonly logs: readonly CheckedLog[]
  readonly diagnostics: readonly CheckResult[]
}

/**
 * Reads the logs of the channels that the named sources follow, and without names those of this hub too. `--against` names
 * a file with the checkpoint of another machine; only its log is read then.
 */
export async function checkLogs(context: Context<ChannelHubConfig>): Promise<ExitStatus> {
  const config = await configFor(context)
  const { against } = context.values
  const other = typeof against === 'string' ? await otherCheckpoint(against) : undefined
  const named = new Set<string>(sourcesNamed(context.operands, config))
  const followers = config.sources.flatMap(({ source }) =>
    source.kind === 'channel' && named.has(source.id) && isOfLog(source, other) ? [source] : [],
  )
  // The sources of a hub that is followed as a whole share one log.
  const namesake = followers.find(({ isNamesake }) => isNamesake)
  const followed = followers.filter((source) => source === namesake || !source.isNamesake)
  const { channel } = config
  const own = context.operands.length === 0 && other === undefined ? channel : undefined
  if (followed.length === 0 && own === undefined)
    throw new OperatorError(
      'bad-request',
      other === undefined
        ? 'Cannot check a log: no source follows a channel, and the configuration has no `channel`'
        : `Cannot check a log: no source follows "${other.origin}", of which the other checkpoint is`,
    )
  const away = config.mode.offline ? followed.filter(isAway) : []
  const asked = followed.filter((source) => !away.includes(source))
  using progress = progressOf(context)
  const checks: Checked[] = away.map(({ id: source }) => ({
    logs: [],
    diagnostics: [verdicts('upstream-not-asked', source).unknown('--offline forbids network access')],
  }))
  if (asked.length > 0 || own !== undefined)
    await withWriter(context, config, async (ask) => {
      for (const { id } of asked)
        checks.push(await checkFollowed({ source: id, other: other?.note }, ask, (text) => progress.show(text)))
      if (own === undefined) return
      const signers = await channelSigners(own, context)
      for (const name of channelNames(config)) checks.push(await new OwnLog(config, own, signers, name).check(ask))
    })
  progress.show('')
  const logs = checks.flatMap((one) => one.logs)
  const diagnostics = checks.flatMap((one) => one.diagnostics)
  return printChecks(context, diagnostics, {
    what: countOf(logs.length, 'log'),
    more: logs.map(lineOf),
    about: { logs },
  })
}

interface OtherCheckpoint {
  readonly note: string
  /** The name of its log. */
  readonly origin: string
}

async function otherCheckpoint(file: string): Promise<OtherCheckpoint> {
  const bytes = await bytesAt(resolve(file), MOST_PROOF_BYTES)
  if (bytes === undefined) throw new OperatorError('bad-request', `Cannot read "${file}": it is not there`)
  try {
    const note = checkpointIn(Buffer.from(bytes).toString('utf8'))
    return { note, origin: note.split('\n', 1)[0] ?? '' }
  } catch (error) {
    if (error instanceof ProofRefusedError)
      throw new OperatorError('bad-request', `Cannot compare with "${file}": ${error.message}`)
    throw error
  }
}

function isOfLog({ keys }: ChannelSource, other: OtherCheckpoint | undefined): boolean {
  return other === undefined || keys.some((key) => key.startsWith(`${other.origin}+`))
}

async function checkFollowed(
  { source, other }: { readonly source: string; readonly other: string | undefined },
  ask: AskWriter,
  show: (text: string) => void,
): Promise<Checked> {
  try {
    const { findings, unread, ...log } = await ask(checkLogRequest, { source, other }, ({ entries }) =>
      show(`${source}: ${entriesText(entries)} read`),
    )
    const diagnostics = findings.map(({ code, message }) => verdicts(operatorErrorCodeOf(code), source).fail(message))
    if (unread > 0)
      diagnostics.push(
        verdicts('log-not-read', source).unknown(`${entriesText(unread)} of another form than this version knows`),
      )
    if (log.served === undefined)
      diagnostics.push(verdicts('log-not-read', source).unknown('no entry of its log names what is served'))
    return { logs: [{ source, ...log }], diagnostics }
  } catch (error) {
    return { logs: [], diagnostics: [failedCheck(error, source)] }
  }
}

/** A log of this hub, and the places that it is published to. */
class OwnLog {
  readonly #config: ChannelHubConfig
  readonly #origin: string
  readonly #signers: readonly NoteSigner[]
  readonly #name: ChannelName

  constructor(config: ChannelHubConfig, channel: ChannelConfig, signers: readonly NoteSigner[], name: ChannelName) {
    this.#config = config
    this.#origin = originOf(channel, name)
    this.#signers = signers.map((signer) => renamedSigner(signer, this.#origin))
    this.#name = name
  }

  async check(ask: AskWriter): Promise<Checked> {
    const part = partOf(this.#name)
    try {
      // The log is read last: what was published is in it by then, also if the daemon publishes meanwhile.
      const note = await ask(checkpointRequest, part)
      const folders = await Promise.all(this.#folders().map(async (to) => [to, await noteIn(to)] as const))
      const log = await ChannelLog.open(join(this.#config.state, 'logs', logFileOf(this.#name)))
      const [first] = log.since(0)
      const times = { first: first?.at, last: log.newest?.at }
      const checked = { ...part, log: this.#origin, entries: log.size, ...times }
      const diagnostics: CheckResult[] = []
      if (note !== null) diagnostics.push(...(await this.#compare(note, log, 'the daemon')))
      for (const [to, published] of folders) diagnostics.push(...(await this.#compareFolder(to, published, log)))
      return { logs: [checked], diagnostics }
    } catch (error) {
      return { logs: [], diagnostics: [failedCheck(error)] }
    }
  }

  /** Compares a checkpoint that followers get with the log. */
  async #compare(note: string, log: ChannelLog, where: string): Promise<readonly CheckResult[]> {
    try {
      const { size, root } = openCheckpoint(note, this.#origin, this.#signers)
      const has = `${where} has ${entriesText(size)} of the log ${this.#origin}`
      if (size > log.size) return [verdicts('log-rolled-back').fail(`${has}, and the state folder ${log.size}`)]
      if (!isSameHash(root, await log.rootAt(size)))
        return [verdicts('log-forked').fail(`${has}, which are others than those of the state folder`)]
      return size === log.size ? [] : [verdicts('log-not-read').unknown(`${has} of ${log.size}`)]
    } catch (error) {
      if (error instanceof NoteRefusedError)
        return [verdicts('log-unsigned').fail(`of the checkpoint of ${where}, ${error.message}`)]
      throw error
    }
  }

  #folders(): readonly string[] {
    return this.#config.channelFolders.flatMap((folder) => (channelName(folder) === this.#name ? [folder.to] : []))
  }

  async #compareFolder(folder: string, note: string | undefined, log: ChannelLog): Promise<readonly CheckResult[]> {
    if (note === undefined)
      return [verdicts('log-not-read').unknown(`"${folder}" has no checkpoint; nothing is published there yet`)]
    const diagnostics = await this.#compare(note, log, `"${folder}"`)
    if (diagnostics.some(({ verdict }) => verdict === 'fail')) return diagnostics
    const size = readCheckpoint(note, this.#origin).size
    const differences: CheckResult[] = []
    for (const tile of tilesBetween(0, size)) {
      const wanted = [[tilePath(tile), await log.tile(tile)] as const]
      if (tile.level === 0) wanted.push([entriesPath(tile), log.entries(tile)])
      for (const [path, bytes] of wanted) {
        const found = await bytesAt(join(folder, path), bytes.length)
        if (found === undefined || !isSameHash(found, bytes))
          differences.push(
            verdicts('content-refused').fail(
              `"${join(folder, path)}" ${found === undefined ? 'is not there' : 'is not as it was published'}`,
              'Publish to an empty folder: skillsyncd hub publish writes all of it again',
            ),
          )
      }
    }
    return [...diagnostics, ...differences.slice(0, MOST_DIFFERENCES)]
  }
}

async function noteIn(folder: string): Promise<string | undefined> {
  const bytes = await bytesAt(join(folder, CHECKPOINT_PATH), MOST_NOTE_BYTES)
  return bytes && Buffer.from(bytes).toString('utf8')
}

const MOST_NOTE_BYTES = 2 ** 16

/** More of them say nothing further. */
const MOST_DIFFERENCES = 10

/** Returns the bytes of a file, one byte more than the limit at most; `undefined` if it is not there, or is no file. */
async function bytesAt(file: string, mostBytes: number): Promise<Uint8Array | undefined> {
  try {
    return await readBounded(file, mostBytes)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new SyncError('source-unreachable', `Cannot read "${file}": ${code ?? 'it cannot be opened'}`, {
      cause: error,
    })
  }
}

function lineOf({ source, log, entries, first, last, served }: CheckedLog): string {
  const times = first === undefined ? '' : `, of ${first} to ${last}`
  const now = served === undefined ? '' : `; entry ${served.index + 1} is served, of ${served.at}`
  return printableLine(`${source === undefined ? '' : `${source}: `}log ${log}: ${entriesText(entries)}${times}${now}`)
}

function entriesText(count: number): string {
  return count === 1 ? '1 entry' : `${count} entries`
}
