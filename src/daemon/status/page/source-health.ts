import { fileURLToPath } from 'node:url'
import type { SourceHealth } from '../../../serve/page/page-data.ts'
import type { Revision } from '../../../sync/model/revision.ts'
import { signersTexts } from '../../runtime/signer-text.ts'
import { decisionTexts } from '../decision-text.ts'
import { sourceItem } from '../items.ts'
import { isFollowed, lockStandingText } from '../lock-text.ts'
import { isFixed } from '../source-facts.ts'
import type { SourceStatus } from '../status.ts'

/** The state of a source for the page. `pending`: its revision that waits for approval. */
export function healthOf(
  status: SourceStatus,
  pending: Revision | undefined,
  { clean, now }: { readonly clean: (text: string) => string; readonly now: Date },
): SourceHealth {
  const { state, urgency } = sourceItem(status, now)
  const { id, kind, served, upstream, problem } = status
  const lockText = lockStandingText(status.lock)
  return {
    id,
    state,
    urgency,
    kind,
    place: clean(placeText(status.url)),
    ref: status.ref,
    update: status.update,
    lock: lockText === undefined ? undefined : { text: lockText, isFollowed: isFollowed(status.lock) },
    isFixed: isFixed(status),
    served: served && {
      commit: served.commit,
      ref: served.ref,
      ...(served.url !== undefined && { place: clean(placeText(served.url)) }),
    },
    signers: signersTexts(served?.signers),
    upstream,
    pending: pending && { id: pending.tag ?? pending.commit, ref: pending.ref },
    lastAttempt: status.lastAttempt,
    lastSuccess: status.lastSuccess,
    nextPoll: status.nextPoll,
    isLooking: status.lookingSince !== undefined,
    problem: problem && {
      code: problem.code,
      message: clean(withoutPath(problem.message, status.url)),
      fix: problem.fix,
    },
    decisions: decisionTexts(status.decision, id).map(clean),
    tally: status.tally,
    form: status.form,
  }
}

/** Over HTTP, paths and programs of this machine are not revealed. */
function placeText(url: string): string {
  if (url.startsWith('file:')) return 'on the hub itself'
  return url.startsWith('program:') ? 'a program on the hub' : url
}

function withoutPath(message: string, url: string): string {
  if (!url.startsWith('file:')) return message
  return message.replaceAll(fileURLToPath(url), 'the folder').replaceAll(url, 'the folder')
}
