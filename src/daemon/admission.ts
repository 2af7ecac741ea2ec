import type { Admission } from '../sync/publisher.ts'
import type { Config } from './config.ts'
import { lockAdmits } from './lock-rules.ts'
import { unprovedBy } from './proving.ts'

/** What may be served of a stored state under this configuration: what lock and signatures let through, as they are now. */
export function admissionOf(config: Config): Admission {
  return async (snapshot) => {
    const configured = config.sources.find(({ source }) => source.id === snapshot.source)
    if (configured === undefined || !(await lockAdmits(config, configured.source, snapshot))) return false
    return (await unprovedBy(configured, snapshot)) === undefined
  }
}
