import type { z } from 'zod'
import { FOLDER_REF } from '../../../sync/model/revision.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { revisionText } from '../../../sync/pull/move-policy.ts'
import type { AskWriter } from '../../cli/daemon-client.ts'
import { compareRequest } from '../../control/upstream-requests.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { verifyError, verifyNote } from './verify-diagnostic.ts'
import type { VerifyDiagnostic } from './verify-diagnostic.ts'

/** Queries upstream about one source, and reports the differences from the served revision. */
export async function upstreamDiagnostics(source: SourceId, ask: AskWriter): Promise<VerifyDiagnostic[]> {
  try {
    return [...diagnosticsOf(source, await ask(compareRequest, { source }))]
  } catch (error) {
    if (!(error instanceof SyncError) && !(error instanceof OperatorError)) throw error
    return [verifyError(error.code, error.message, { source })]
  }
}

function* diagnosticsOf(
  source: SourceId,
  { served, revision, relation, isGone }: z.output<typeof compareRequest.answer>,
): Generator<VerifyDiagnostic> {
  if (served === undefined || (served.commit === revision.commit && served.tag === revision.tag)) return
  const moved = `${revision.ref} is at ${revisionText(revision)} upstream, and ${revisionText(served)} is served`
  const isSameRef = served.ref === revision.ref
  if (isSameRef && served.ref === FOLDER_REF) {
    const holds = `the folder holds ${revision.commit} now, and ${served.commit} is served`
    yield verifyNote('upstream-moved', holds, { source })
    return
  }
  if (isGone === true)
    yield verifyError('commit-gone', `upstream no longer has ${served.commit}; the store does`, { source })
  if (isSameRef && served.ref.startsWith('refs/tags/'))
    yield verifyError('tag-moved', `the tag was moved: ${moved}`, { source })
  else if (isSameRef && relation === 'rewritten')
    yield verifyError('history-rewritten', `the branch was rewritten: ${moved}`, { source })
  else
    yield verifyNote(
      'upstream-moved',
      relation === 'unknown' ? `${moved}; whether it leads there is not known` : moved,
      {
        source,
      },
    )
}
