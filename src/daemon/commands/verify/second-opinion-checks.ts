import type { z } from 'zod'
import { countOf } from '../../../base/text/plural.ts'
import { shellWord } from '../../../base/text/shell-word.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { failedCheck, verdicts } from '../../cli/check.ts'
import type { CheckResult } from '../../cli/check.ts'
import type { AskWriter } from '../../cli/daemon-client.ts'
import { secondOpinionRequest } from '../../control/upstream-requests.ts'
import { placeIn } from './verify-context.ts'

/** The diagnostics of the second opinion on one source, and the number of compared files. */
export interface ComparedFiles {
  readonly diagnostics: readonly CheckResult[]
  /** `undefined` if nothing was compared. */
  readonly files?: number
  /** The reader that they were compared with. */
  readonly by?: string
}

/** Has another reader fetch the served commit of a source again, and reports the files that differ. */
export async function compareFiles(source: SourceId, ask: AskWriter): Promise<ComparedFiles> {
  try {
    const opinion = await ask(secondOpinionRequest, { source })
    return opinion === undefined ? { diagnostics: [] } : diagnosticsOf(source, opinion)
  } catch (error) {
    return { diagnostics: [failedCheck(error, source)] }
  }
}

function diagnosticsOf(
  source: SourceId,
  opinion: NonNullable<z.output<typeof secondOpinionRequest.answer>>,
): ComparedFiles {
  const { by } = opinion
  if (opinion.kind === 'not-compared') return { diagnostics: [notCompared(source, by, opinion.why)] }
  const { files, differences, more, unread = [] } = opinion
  const diagnostics = [
    ...differences.map(({ skill, path, message }) =>
      verdicts('second-opinion-differs', placeIn(source, skill, path)).fail(message, mendOf(source, skill)),
    ),
    ...unread.map((why) => notCompared(source, by, why)),
  ]
  const rest = `${countOf(more, 'more file')} of what is served differ`
  return {
    by,
    files,
    diagnostics: more === 0 ? diagnostics : [...diagnostics, verdicts('second-opinion-differs', source).fail(rest)],
  }
}

function notCompared(source: SourceId, by: string, why: string): CheckResult {
  return verdicts('not-compared', source).unknown(`not compared once more by ${by}: ${why}`)
}

function mendOf(source: SourceId, skill: string | undefined): string {
  if (skill === undefined) return 'Do not serve it until it is clear which of the two is right'
  const command = `skillsyncd disable ${shellWord(`${source}/${skill}`)}`
  return `${command} takes the skill out of service until it is clear which of the two is right`
}
