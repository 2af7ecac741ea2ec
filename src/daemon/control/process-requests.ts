import { z } from 'zod'
import type { Config } from '../config/config.ts'
import { processIdentityOf } from '../runtime/process-identity.ts'
import { PROCESS_IDENTITY } from './daemon-lock.ts'
import { defineRequest, NOTHING, paramsOf } from './request.ts'
import type { ParamsForm } from './request.ts'
import { MODE } from './same-config.ts'

const IDS = z.array(z.string()).readonly()

const RELOADED = z.object({ added: IDS, removed: IDS, changed: IDS, isNew: z.boolean() })

/** The changes of a reload, as the daemon tells them. */
export type ReloadAnswer = z.infer<typeof RELOADED>

/** A client names its configuration with each request. */
const DIGEST = paramsOf({ config: z.string() })
const OF_CLIENT: ParamsForm<object, { readonly config: string }> = { read: DIGEST.read }

/** Applies the configuration that the client has, if the daemon reads the same one. */
export const reloadRequest = defineRequest({
  name: 'reload',
  checks: 'nothing',
  params: OF_CLIENT,
  answer: RELOADED,
  run: async ({ reload }: { readonly reload: (digest: string) => Promise<ReloadAnswer> }, { config }) => reload(config),
})

interface StopParts {
  readonly stop: () => void
  /** True if a service manager started the process. */
  readonly isManaged: boolean
}

/** Ends the process. Returns its identity. */
export const stopRequest = defineRequest({
  name: 'stop',
  checks: 'nothing',
  params: paramsOf({}),
  answer: z.object({ process: PROCESS_IDENTITY, isManaged: z.boolean() }),
  async run({ stop, isManaged }: StopParts) {
    const identity = await processIdentityOf(process.pid)
    // The answer is written before the control socket closes.
    setImmediate(stop)
    return { process: identity, isManaged }
  },
})

/** Returns the files of a daemon. */
export const placeRequest = defineRequest({
  name: 'place',
  checks: 'nothing',
  params: paramsOf({}),
  answer: z.object({ config: z.string().optional(), state: z.string() }),
  run: async ({ config }: { readonly config: Config }) => ({ config: config.file, state: config.state }),
})

/**
 * Returns the file of a daemon as the daemon read it, in base64: the filter of secrets would change what only looks like
 * one. Null if its sources were named on its command line.
 */
export const configurationRequest = defineRequest({
  name: 'configuration',
  checks: 'nothing',
  params: paramsOf({}),
  answer: z.object({ file: z.string(), text: z.base64(), readAt: z.iso.datetime() }).nullable(),
  async run({ inUse }: { readonly inUse: () => Config }) {
    const { file, written } = inUse()
    if (file === undefined || written === undefined) return null
    return { file, text: Buffer.from(written.text).toString('base64'), readAt: written.readAt }
  },
})

/** Has an `mcp` process give the lock to a daemon. */
export const handoverRequest = defineRequest({
  name: 'handover',
  checks: 'nothing',
  params: paramsOf({}),
  answer: NOTHING,
  run: async ({ handOver }: { readonly handOver: () => void }) => handOver(),
})

/** Returns the mode of the process that writes the state folder. */
export const helloRequest = defineRequest({
  name: 'hello',
  params: paramsOf({}),
  // Another version of this program does not return it.
  answer: MODE.optional().catch(undefined),
  run: async ({ config }: { readonly config: Config }) => config.mode,
})
