import type { z } from 'zod'
import { FOLDER_REF } from '../../../sync/model/revision.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { mendOf } from '../../../sync/model/sync-error.ts'
import { revisionText } from '../../../sync/pull/move-policy.ts'
import { failedCheck, verdicts } from '../../cli/check.ts'
import type { CheckResult } from '../../cli/check.ts'
import type { AskWriter } from '../../cli/daemon-client.ts'
import { compareRequest } from '../../control/upstream-requests.ts'

/** Queries upstream about one source, and reports the differences from the served revision. */
export async function upstreamDiagnostics(source: SourceId, ask: AskWriter): Promise<CheckResult[]> {
  try {
    return [...diagnosticsOf(source, await ask(compareRequest, { source }))]
  } catch (error) {
    return [failedCheck(error, source)]
  }
}

function* diagnosticsOf(
  source: SourceId,
  { served, revision, relation, isGone }: z.output<typeof compareRequest.answer>,
): Generator<CheckResult> {
  if (served === undefined || (served.commit === revision.commit && served.tag === revision.tag)) return
  const moved = `${revision.ref} is at ${revisionText(revision)} upstream, and ${revisionText(served)} is served`
  const about = { source, commit: revision.commit, tag: revision.tag }
  const isSameRef = served.ref === revision.ref
  if (isSameRef && served.ref === FOLDER_REF) {
    const holds = `the folder holds ${revision.commit} now, and ${served.commit} is served`
    yield verdicts('upstream-moved', source).ok(holds)
    return
  }
  if (isGone === true)
    yield verdicts('commit-gone', source).fail(`upstream no longer has ${served.commit}; the store does`)
  if (isSameRef && served.ref.startsWith('refs/tags/'))
    yield verdicts('tag-moved', source).fail(`the tag was moved: ${moved}`, mendOf({ code: 'tag-moved' }, about))
  else if (isSameRef && relation === 'rewritten')
    yield verdicts('history-rewritten', source).fail(
      `the branch was rewritten: ${moved}`,
      mendOf({ code: 'history-rewritten' }, about),
    )
  else if (relation === 'unknown')
    yield verdicts('upstream-moved', source).unknown(`${moved}; whether it leads there is not known`)
  else yield verdicts('upstream-moved', source).ok(moved)
}
