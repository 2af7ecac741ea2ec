import type { HubAlarm } from '../serve/page/page-host.ts'
import { printable } from './log-line.ts'
import { unreadyText } from './readiness.ts'
import type { Status } from './status.ts'

/** What is wrong with the hub itself, or with what it keeps, the worst first: all of that which `skillsyncd status` prints in red. */
export function alarmsOf(status: Status): readonly HubAlarm[] {
  return [...ofStore(status), ...ofLock(status), ...ofAnswers(status), ...moved(status), ...noticed(status)]
}

function ofStore({ decisionsLost, readOnly, servedLost }: Status): readonly HubAlarm[] {
  const alarms: HubAlarm[] = []
  if (decisionsLost !== undefined)
    alarms.push(
      alarm('decisions-lost', decisionsLost, `Decide again what the message says; ${explained('decisions-lost')}`),
    )
  if (readOnly !== undefined)
    alarms.push(alarm('read-only', readOnly.message, `${readOnly.mend}; ${explained(readOnly.code)}`))
  const lost = servedLost.map(({ source, message }) => ({
    ...alarm('served-lost', message, `skillsyncd sync ${source} fetches it again; ${explained('served-lost')}`),
    source,
  }))
  return [...alarms, ...lost]
}

function ofLock({ lock }: Status): readonly HubAlarm[] {
  if (lock?.error === undefined) return []
  return [alarm('lock-unreadable', lock.error, `Put back a lock that can be read; ${explained('lock-unreadable')}`)]
}

function ofAnswers({ http }: Status): readonly HubAlarm[] {
  const unready = (http?.unready ?? []).map((reason) => ({
    ...alarm('not-ready', `/readyz sends requests elsewhere: ${unreadyText(reason)}`, NOT_READY),
    ...(reason.source !== undefined && { source: reason.source }),
  }))
  if (http === undefined || http.tokens.count !== undefined) return unready
  return [...unready, alarm('tokens-unreadable', 'The tokens cannot be read, so none opens anything', TOKENS)]
}

const NOT_READY = 'Mend what is said of the source, or leave out `required`; docs/operations.md explains /readyz'
const TOKENS = 'skillsyncd token list says why'

function moved({ sources }: Status): readonly HubAlarm[] {
  return sources.flatMap(({ id, movedTo }) => {
    if (movedTo === undefined) return []
    const message = `The host of ${id} redirects to ${movedTo}`
    return [{ ...alarm('source-moved', message, `Write that into \`url\`; ${explained('source-moved')}`), source: id }]
  })
}

function noticed({ notices }: Status): readonly HubAlarm[] {
  return notices.map(({ change, message }) => alarm(change, message, 'It is said once; CHANGELOG.md has it'))
}

function alarm(code: string, message: string, mend: string): HubAlarm {
  return { code, message: printable(message), mend }
}

function explained(code: string): string {
  return `docs/troubleshooting.md explains ${code}`
}
