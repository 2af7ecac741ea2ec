import { isSourceId } from '../../sync/model/source-id.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { idsOf } from './config.ts'
import type { Config } from './config.ts'

/** The named ids, or all. An id that is not configured is an error of the client. */
export function sourcesNamed(named: readonly string[] | undefined, config: Config): readonly SourceId[] {
  if (named === undefined || named.length === 0) return idsOf(config)
  return [...new Set(named)].map((id) => sourceNamed(id, config))
}

/** The configured source of this id. */
export function sourceNamed(id: string, config: Config): SourceId {
  const configured = idsOf(config)
  if (isSourceId(id) && configured.includes(id)) return id
  throw new OperatorError('unknown-source', `No source is called "${id}"; there are ${configured.join(', ')}`)
}
