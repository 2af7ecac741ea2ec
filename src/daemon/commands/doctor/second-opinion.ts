import { countOf } from '../../../base/text/plural.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { SyncError, mendOf } from '../../../sync/model/sync-error.ts'
import { Store } from '../../../sync/store/store.ts'
import { verdicts } from '../../cli/check.ts'
import type { CheckResult } from '../../cli/check.ts'
import type { AskWriter } from '../../cli/daemon-client.ts'
import type { Config } from '../../config/config.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { compareFiles } from '../verify/second-opinion-checks.ts'
import { filesAreWhole } from '../verify/store-checks.ts'
import { verifyingOf } from '../verify/verify-context.ts'
import type { VerifyDiagnostic } from '../verify/verify-diagnostic.ts'

/** The configuration, progress and signal with which sources are compared. */
export interface SecondGround {
  readonly config: Config
  readonly show: (text: string) => void
  readonly signal: AbortSignal
}

/**
 * Compares the served content of these sources with the store, and with a fetch by another reader. It can take as many
 * minutes as a pull. `withWriter` sends the requests to the process that writes the state folder.
 */
export async function secondOpinions(
  ids: readonly SourceId[],
  { config, show, signal }: SecondGround,
  withWriter: (work: (ask: AskWriter) => Promise<CheckResult[]>) => Promise<CheckResult[]>,
): Promise<readonly CheckResult[]> {
  if (ids.length === 0) return []
  using store = await Store.openExisting(config.state)
  const verifying = await verifyingOf(config, store, { named: new Set(ids), show }, signal)
  const stored: VerifyDiagnostic[] = []
  for await (const diagnostic of filesAreWhole(verifying)) if (diagnostic.severity === 'error') stored.push(diagnostic)
  const isServer = (id: SourceId): boolean =>
    config.sources.some(({ source }) => source.id === id && source.kind === 'mcp')
  const served = new Set<string>(verifying.snapshots.map(({ source }) => source))
  try {
    return await withWriter(async (ask) => {
      const all: CheckResult[] = []
      for (const id of ids) {
        signal.throwIfAborted()
        if (!isServer(id)) show(`a second reader fetches ${id}`)
        if (isServer(id)) all.push(verdicts(CHECK, id).ok('an MCP server has no repository to compare'))
        else all.push(...(served.has(id) ? await checkSource(id, stored, ask) : [notServed(id)]))
      }
      return all
    })
  } catch (error) {
    if (error instanceof SyncError) return ids.map((id) => verdicts(CHECK, id).fail(error.message, mendOf(error)))
    if (!(error instanceof OperatorError)) throw error
    return ids.map((id) => verdicts(CHECK, id).fail(error.message, 'The message names the cause'))
  }
}

const CHECK = 'second-opinion'

async function checkSource(id: SourceId, stored: readonly VerifyDiagnostic[], ask: AskWriter): Promise<CheckResult[]> {
  const { ok, warn, fail } = verdicts(CHECK, id)
  const { by = 'isomorphic-git', diagnostics, files } = await compareFiles(id, ask)
  const findings = [
    ...stored.filter(({ source }) => source === id),
    ...diagnostics.filter(({ severity }) => severity === 'error'),
  ]
  const notes = diagnostics.filter(({ severity }) => severity === 'note')
  return [
    ...findings.map((diagnostic) => fail(textOf(diagnostic), `docs/troubleshooting.md explains ${diagnostic.code}`)),
    ...notes.map((diagnostic) => warn(textOf(diagnostic), MEND)),
    ...(findings.length + notes.length === 0
      ? [ok(`${by} has ${countOf(files ?? 0, 'file')} as they are served`)]
      : []),
  ]
}

const MEND = 'docs/sources.md lists the kinds of sources that cannot be compared'

function notServed(id: SourceId): CheckResult {
  return verdicts(CHECK, id).warn('nothing of it is served yet', `skillsyncd sync ${id} brings it`)
}

function textOf({ skill, path, message }: VerifyDiagnostic): string {
  const place = [skill, path].filter((part) => part !== undefined && part !== '').join(' ')
  return place === '' ? message : `${place}: ${message}`
}
