import { once } from 'node:events'
import { resolve } from 'node:path'
import { systemClock } from '../../base/async/clock.ts'
import { listenError } from '../../daemon/access/http-options.ts'
import { logOf } from '../../daemon/cli/command.ts'
import type { Command, Context } from '../../daemon/cli/command.ts'
import { readSecret } from '../../daemon/config/auth.ts'
import type { ListenAddress } from '../../daemon/config/config.ts'
import { socketPathOf } from '../../daemon/control/control-path.ts'
import { HeldByOther, WriteRight } from '../../daemon/control/write-lock.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { StateFolder } from '../../sync/store/files/state-folder.ts'
import { parseSigner, parseVerifier, verifierText } from '../../sync/transparency-log/signed-note.ts'
import type { NoteSigner, NoteVerifier } from '../../sync/transparency-log/signed-note.ts'
import { CosignedLogs } from './witness/cosigned-logs.ts'
import { serveWitness } from './witness/witness-server.ts'
import { Witness } from './witness/witness.ts'

export const witness: Command = {
  name: 'hub witness',
  needsConfiguration: false,
  serves: 'http',
  details: `
  A witness cosigns the newest checkpoint of a log only if it continues the one that it cosigned last (C2SP tlog-witness).
  It runs until Ctrl+C or SIGTERM, and needs no configuration file. Run it on another machine than the hub.

  Each log is known by its public key, as skillsyncd hub channel keys prints it at the hub. The channel of each pack is a log
  of its own.
`,
  examples: ['skillsyncd hub witness --key my.key --state witness --log "$(cat log.pub)"'],
  options: {
    key: {
      type: 'string',
      value: 'FILE',
      help: 'the private key, which skillsyncd hub channel new-key --witness makes',
      offers: 'files',
    },
    state: { type: 'string', value: 'DIR', help: 'the folder for what was cosigned; keep it', offers: 'folders' },
    log: {
      type: 'string',
      multiple: true,
      value: 'KEY',
      help: 'the public key of a log that is cosigned; once for each key of each log',
    },
    listen: {
      type: 'string',
      value: 'HOST:PORT',
      help: 'the address to listen on; port 0 means any free port. Default: 127.0.0.1:8791',
    },
  },
  async run(context) {
    const { signal, streams } = context
    const state = stateFolderIn(context)
    const listen = listenOf(context)
    const logKeys = logKeysOf(context)
    const key = await signerIn(context)
    const log = logOf(context)
    await using right = await rightTo(state, context)
    const folder = new StateFolder(state)
    folder.guardWith(async () => right.expect())
    const parts = { key, logKeys, cosigned: new CosignedLogs(folder, key), clock: systemClock }
    await using http = await serveWitness(new Witness(parts), listen, log).catch(async (error: unknown) => {
      throw await listenError(listen, error, '--listen')
    })
    streams.stdout.write(`${http.url}/\n${verifierText(key)}\n`)
    log.info('witness-started', { url: http.url, logs: [...new Set(logKeys.map(({ name }) => name))] })
    const ended = AbortSignal.any([signal, right.lost])
    if (!ended.aborted) await once(ended, 'abort')
    log.info('stopping')
    if (!signal.aborted) right.lost.throwIfAborted()
    return 0
  },
}

function stateFolderIn({ values: { state } }: Context): string {
  if (typeof state === 'string' && state !== '') return resolve(state)
  throw new UsageError('hub witness needs --state DIR: what it has cosigned must survive a restart')
}

function listenOf({ values: { listen = '127.0.0.1:8791' } }: Context): ListenAddress {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(String(listen)) ?? []
  const [host, port] = [bracketed ?? plain, Number(digits)]
  if (host === undefined || port > 65_535)
    throw new UsageError('--listen is HOST:PORT, such as 127.0.0.1:8791 or [::1]:8791')
  return { host, port }
}

function logKeysOf({ values }: Context): readonly NoteVerifier[] {
  const texts = Array.isArray(values['log']) ? values['log'].map(String) : []
  if (texts.length === 0)
    throw new UsageError('hub witness needs --log KEY; skillsyncd hub channel keys prints it at the hub')
  return texts.map((text) => {
    const key = parseVerifier(text)
    if (key !== undefined) return key
    throw new UsageError(`--log "${text}" is no public key of a log; skillsyncd hub channel keys prints NAME+ID+KEY`)
  })
}

async function signerIn({ values: { key: file }, environment, redactor }: Context): Promise<NoteSigner> {
  if (typeof file !== 'string')
    throw new UsageError('hub witness needs --key FILE; skillsyncd hub channel new-key --witness makes one')
  const path = resolve(file)
  const signer = parseSigner((await readSecret({ kind: 'file', path }, environment, redactor)).trim(), 'cosignature')
  if (signer !== undefined) return signer
  throw new OperatorError(
    'bad-request',
    `Cannot use "${path}": it is no private key of a witness; skillsyncd hub channel new-key NAME --out FILE --witness makes one`,
  )
}

/** Two processes that cosign from one folder could cosign a fork. */
async function rightTo(state: string, { environment, signal }: Context): Promise<WriteRight & AsyncDisposable> {
  const me = { pid: process.pid, socket: socketPathOf(state, environment.runtime), command: 'hub witness' }
  const right = new WriteRight(state, me, { clock: systemClock })
  const other = await right.take(signal)
  if (other !== undefined) throw new HeldByOther(state, other.heldBy)
  if (right.refusal !== undefined) throw right.refusal
  right.grant()
  return Object.assign(right, { [Symbol.asyncDispose]: async () => right.release() })
}
