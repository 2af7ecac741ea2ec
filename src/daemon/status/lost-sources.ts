import type { Log } from '../../base/log.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { LostSource } from '../../sync/pull/load-generation.ts'

/** A source whose served content was lost, with a message. */
export interface ServedLost {
  readonly source: SourceId
  readonly message: string
}

export function servedLost(lost: readonly LostSource[]): readonly ServedLost[] {
  return lost.map(({ source, instead }) => ({ source, message: textOf(source, instead) }))
}

/** Logs the losses at a start as errors, because an unreachable upstream cannot restore them. */
export function tellLosses(lost: readonly LostSource[], log: Pick<Log, 'failure'>): void {
  for (const { source, message } of servedLost(lost))
    log.failure('error', 'served-lost', { source, code: 'store-failed', message })
}

function textOf(source: SourceId, instead: LostSource['instead']): string {
  const served =
    instead === undefined
      ? 'nothing of it is served'
      : `commit ${instead.revision.commit.slice(0, 12)}, which is older, is served`
  return `Cannot serve what was served of "${source}": the state folder lost its snapshot or the generation that names it; ${served} until it can be fetched again`
}
