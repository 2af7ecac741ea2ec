import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { systemClock } from '../../base/async/clock.ts'
import { agoText } from '../../base/text/age-text.ts'
import { searchConfig } from '../config/find-config.ts'
import { withPresentSources } from '../config/present-sources.ts'
import { ConfigError } from '../config/rules/config-error.ts'
import { fileOfDaemon } from '../control/running-daemon.ts'
import { runningDaemons } from '../control/running-daemons.ts'
import { configDigest, editedText, RELOAD } from '../control/same-config.ts'
import type { ServedConfig } from '../pull/trust/serving-policy.ts'
import { printableLine } from '../runtime/log/log-line.ts'
import { configFor, modeOf } from './command.ts'
import type { Context } from './command.ts'

/**
 * The configuration for a command about what is served: if a daemon runs with the file that the options name, as that
 * daemon read it. An edit of the file, or an error in it, must not keep a person from looking or from stopping harm.
 */
export async function configInUse<Whole extends ServedConfig>(context: Context<Whole>): Promise<Whole> {
  const read = await configFor(context).catch((error: unknown) => {
    if (error instanceof ConfigError) return error
    throw error
  })
  const place = read instanceof ConfigError ? await placeOfDaemon(context) : read
  const known = place?.file === undefined ? undefined : await fileOfDaemon(place, context.signal)
  if (place?.file === undefined || known === undefined || !(await isSameFile(place.file, known.file)))
    return given(read)
  if (!(read instanceof ConfigError) && read.written?.text === known.text) return read
  const { environment, streams, redactor, quiet } = context
  const { parseConfig } = await context.configuration()
  const config = parseConfig(known.text, known.file, environment, place.state)
  if (Array.isArray(config)) return given(read)
  if (!(read instanceof ConfigError) && configDigest(read) === configDigest(config)) return read
  if (!quiet) streams.stderr.write(`skillsyncd: ${redactor.clean(printableLine(noteOf(read, known)))}\n`)
  return withPresentSources({ ...config, written: known, mode: modeOf(context) })
}

function given<Whole extends ServedConfig>(read: Whole | ConfigError): Whole {
  if (read instanceof ConfigError) throw read
  return read
}

/** The file that the options name, or that is found, and the state folder of the one daemon that runs with it. */
async function placeOfDaemon({ values, environment, signal }: Context): Promise<Place | undefined> {
  const { config, state } = values
  const file = typeof config === 'string' ? resolve(config) : await searchConfig(environment)
  if (file !== undefined && typeof state === 'string')
    return { file, state: resolve(state), runtime: environment.runtime }
  const daemons = (await runningDaemons(environment, signal)).filter(
    (daemon) =>
      (file === undefined || daemon.config === file) && (typeof state !== 'string' || daemon.state === resolve(state)),
  )
  const [daemon] = daemons
  if (daemon === undefined || daemons.length > 1) return undefined
  return { file: daemon.config, state: daemon.state, runtime: environment.runtime }
}

type Place = Pick<ServedConfig, 'file' | 'state' | 'runtime'>

async function isSameFile(one: string, other: string): Promise<boolean> {
  const [there, here] = await Promise.all([one, other].map(async (file) => realpath(file).catch(() => file)))
  return there === here
}

function noteOf(
  read: ServedConfig | ConfigError,
  { file, readAt }: { readonly file: string; readonly readAt: string },
): string {
  const at = agoText(readAt, systemClock.now())
  if (!(read instanceof ConfigError)) return `${editedText(file)} (${at}); ${RELOAD}`
  const [fault = ''] = read.message.split('\n')
  return `the daemon serves the configuration that it read ${at}: ${fault}; ${RELOAD} once it is right`
}
