import type { HubCode, HubDiagnostic } from '../../../serve/page/page-data.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { unreadyText } from '../readiness.ts'
import type { Status } from '../status.ts'

/**
 * The alarms of the hub itself and of its store, the worst first: everything that `skillsyncd status` prints in red.
 * `clean` removes the parts of a message that readers of the page must not see.
 */
export function alarmsOf(status: Status, clean: (text: string) => string): readonly HubDiagnostic[] {
  const alarms = [
    ...ofStore(status),
    ...ofLock(status),
    ...ofAnswers(status),
    ...movedSources(status),
    ...noticesIn(status),
  ]
  return alarms.map(({ code, message, mend, source }) => alarm(code, clean(printableLine(message)), mend, source))
}

function ofStore({ decisionsLost, readOnly, servedLost }: Status): readonly HubDiagnostic[] {
  const alarms: HubDiagnostic[] = []
  if (decisionsLost !== undefined) alarms.push(alarm('decisions-lost', decisionsLost, DECIDE))
  if (readOnly !== undefined)
    alarms.push(alarm('read-only', readOnly.message, `${readOnly.mend}; ${explanationOf(readOnly.code)}`))
  const lost = servedLost.map(({ source, message }) =>
    alarm(
      'served-lost',
      message,
      `skillsyncd sync ${source} fetches it again; ${explanationOf('served-lost')}`,
      source,
    ),
  )
  return [...alarms, ...lost]
}

const DECIDE = `Decide again as the message explains; ${explanationOf('decisions-lost')}`

function ofLock({ lock }: Status): readonly HubDiagnostic[] {
  const condition = lock?.from?.condition
  if (condition !== undefined)
    return [alarm('lock-not-taken', condition.message, `${condition.mend}; ${explanationOf('lock-not-taken')}`)]
  if (lock?.error === undefined) return []
  return [alarm('lock-unreadable', lock.error, `Restore a readable lock; ${explanationOf('lock-unreadable')}`)]
}

function ofAnswers({ http }: Status): readonly HubDiagnostic[] {
  const unready = (http?.unready ?? []).map((reason) =>
    alarm('not-ready', `/readyz sends requests elsewhere: ${unreadyText(reason)}`, NOT_READY, reason.source),
  )
  if (http === undefined || http.tokens.count !== undefined) return unready
  return [...unready, alarm('tokens-unreadable', 'The tokens cannot be read, so no token is accepted', TOKENS)]
}

const NOT_READY = 'Fix the problem of the source, or remove `required`; docs/access.md explains /readyz'
const TOKENS = 'skillsyncd token list shows the reason'

function movedSources({ sources }: Status): readonly HubDiagnostic[] {
  return sources.flatMap(({ id, movedTo }) => {
    if (movedTo === undefined) return []
    const mend = `Write that into \`url\`; ${explanationOf('source-moved')}`
    return [alarm('source-moved', `The host of ${id} redirects to ${movedTo}`, mend, id)]
  })
}

function noticesIn({ notices }: Status): readonly HubDiagnostic[] {
  return notices.map(({ change, message }) => alarm(change, message, 'It is reported once; see CHANGELOG.md'))
}

function alarm(code: HubCode, message: string, mend: string, source?: string): HubDiagnostic {
  return { code, message, mend, ...(source !== undefined && { source }) }
}

function explanationOf(code: string): string {
  return `skillsyncd explain ${code}`
}
