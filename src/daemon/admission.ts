import type { Admission } from '../sync/publisher.ts'
import type { Config } from './config.ts'
import { lockAdmits } from './lock-rules.ts'

/** What may be served of a stored state under this configuration: what lock and signatures let through, as they are now. */
export function admissionOf(config: Config): Admission {
  return async (snapshot) => {
    const configured = config.sources.find(({ source }) => source.id === snapshot.source)
    return configured !== undefined && lockAdmits(config, configured.source, snapshot)
  }
}
