import { dirname, resolve } from 'node:path'
import type { z } from 'zod'
import type { FilePlace } from './config-reader.ts'
import type { Config } from './config.ts'
import { absolutePath, programOf, referenceOf } from './sections/access.ts'
import { DEFAULTS_LIST, hostDefaultsOf } from './sections/defaults.ts'
import { LIMITS, RETENTION_PERIOD } from './sections/limits.ts'
import { LOCK, lockOf } from './sections/lock.ts'
import { AUDIT, PROGRAMS, STATE, STORE } from './sections/machine.ts'
import { PACKS, packsOf } from './sections/packs.ts'
import { serveOf } from './sections/serve.ts'
import type { SERVE_KEYS } from './sections/serve.ts'
import { FOLLOWED_HUB, followOf, SOURCES, sourcesOf } from './sections/sources.ts'
import type { Settling } from './sections/sources.ts'

/** The keys of the core, but for `serve`, in which features have keys. */
export const CORE_KEYS = {
  sources: SOURCES,
  follow: FOLLOWED_HUB,
  defaults: DEFAULTS_LIST,
  packs: PACKS,
  state: STATE,
  store: STORE,
  lock: LOCK,
  retention: RETENTION_PERIOD,
  limits: LIMITS,
  audit: AUDIT,
  programs: PROGRAMS,
}

type CoreFile = z.output<z.ZodObject<typeof CORE_KEYS>> & {
  readonly serve: z.output<z.ZodObject<typeof SERVE_KEYS>>
}

/** The functions that settle the entries of a file. */
export function settlingOf({ defaults = [] }: Pick<CoreFile, 'defaults'>, { file, environment }: FilePlace): Settling {
  return { absolute: (path) => absolutePath(path, dirname(file), environment), defaults }
}

/** The configuration of the core in a checked file. */
export function coreConfigOf(file: CoreFile, place: FilePlace, settling: Settling): Config {
  const { absolute, defaults } = settling
  const { environment } = place
  const state = place.state ?? (file.state === undefined ? environment.state : absolute(file.state))
  return {
    file: resolve(place.file),
    sources: sourcesOf(file.sources ?? [], settling),
    follow: file.follow && followOf(file.follow, settling),
    serve: serveOf(file.serve, absolute),
    ...packsOf(file.packs),
    hosts: defaults.map((entry) => hostDefaultsOf(entry, absolute)),
    state,
    postgres: file.store && { url: referenceOf(file.store.postgres.url, absolute) },
    runtime: environment.runtime,
    ...lockOf(file.lock, { ...settling, state, beside: dirname(resolve(place.file)) }),
    mode: { locked: false, offline: false },
    retention: { ...file.retention, bytes: file.limits.disk.bytes },
    limits: file.limits,
    audit: file.audit,
    programs: {
      git: programOf(file.programs?.git ?? 'git', absolute),
      ssh: programOf(file.programs?.ssh ?? 'ssh', absolute),
    },
  }
}
