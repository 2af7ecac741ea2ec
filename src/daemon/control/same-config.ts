import { createHash } from 'node:crypto'
import { z } from 'zod'
import { configText } from '../config/config.ts'
import type { Config } from '../config/config.ts'
import { personName } from '../config/process-environment.ts'
import { OperatorError } from '../runtime/operator-error.ts'

export const MODE = z.object({ locked: z.boolean(), offline: z.boolean() })

/** Throws unless the request names this configuration. */
export function expectConfig(params: unknown, config: Config): void {
  const { config: digest, ...client } = clientOf(params)
  if (digest !== configDigest(config)) throw otherConfig(config, client)
}

/** Throws for a client that wants more caution than the daemon was started with: it would get success without it. */
export function expectMode(params: unknown, config: Config): void {
  const { mode } = clientOf(params)
  for (const [key, flag] of [
    ['locked', '--locked'],
    ['offline', '--offline'],
  ] as const) {
    if (mode?.[key] !== true || config.mode[key]) continue
    throw new OperatorError(
      'other-config',
      `The daemon that runs for "${config.state}" was not started with ${flag}; restart it so, or stop it first`,
    )
  }
}

/** The params with which a client describes itself in each request. */
export function aboutClient(config: Config): z.input<typeof CLIENT> & { readonly user: string } {
  const { file, mode } = config
  return { config: configDigest(config), configFile: file, configText: textDigest(config), mode, user: personName() }
}

function textDigest({ written }: Config): string | undefined {
  return written && createHash('sha256').update(written.text).digest('hex')
}

/** The person at the client, as it says; who may open the socket may decide anyway. */
export function personIn(params: unknown): string {
  return PERSON.safeParse(params).data?.user ?? 'a person'
}

const PERSON = z.object({ user: z.string().min(1).max(256) })

function clientOf(params: unknown): z.infer<typeof CLIENT> {
  const { data, success } = CLIENT.safeParse(params)
  // A client of another version may send anything: that must not end the daemon.
  if (!success) throw new OperatorError('bad-request', 'The request does not name its configuration, or its sources')
  return data
}

const CLIENT = z.object({
  config: z.string(),
  configFile: z.string().optional(),
  configText: z.string().optional(),
  mode: MODE.optional(),
  sources: z.array(z.string()).optional(),
})

/**
 * Equal for two processes with the same configuration, whatever paths they use for its file and folders, and wherever
 * they read the address of their database.
 */
export function configDigest(config: Config): string {
  const {
    file: _file,
    written: _written,
    state: _state,
    runtime: _runtime,
    lock: _lock,
    mode: _mode,
    postgres,
    sources,
    ...rest
  } = config
  const common = { ...rest, isShared: postgres !== undefined }
  // The hub decides which sources there are, and can add one at any time.
  const meant = config.follow === undefined ? { ...common, sources } : common
  return createHash('sha256').update(configText(meant)).digest('hex')
}

function otherConfig(
  config: Config,
  client: Pick<z.output<typeof CLIENT>, 'configFile' | 'configText'>,
): OperatorError {
  const { file, state } = config
  if (file !== undefined && client.configFile === file && client.configText !== textDigest(config))
    return new OperatorError('other-config', editedText(file), { fix: RELOAD })
  const running = file === undefined ? 'sources named on its command line' : `"${file}"`
  return new OperatorError(
    'other-config',
    `The daemon that runs for "${state}" has another configuration (${running}); name that one, or restart the daemon with yours`,
  )
}

/** The cause where a daemon and a command have read the same file at two times. */
export function editedText(file: string): string {
  return `"${file}" was edited since the daemon read it`
}

export const RELOAD = 'skillsyncd reload applies it'
