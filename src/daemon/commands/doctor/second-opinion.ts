import { countOf } from '../../../base/text/plural.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { Store } from '../../../sync/store/store.ts'
import { failedCheck, verdicts } from '../../cli/check.ts'
import type { CheckResult } from '../../cli/check.ts'
import type { AskWriter } from '../../cli/daemon-client.ts'
import type { Config } from '../../config/config.ts'
import { compareFiles } from '../verify/second-opinion-checks.ts'
import { filesAreWhole } from '../verify/store-checks.ts'
import { isIn, verifyingOf } from '../verify/verify-context.ts'

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
  const stored: CheckResult[] = []
  for await (const result of filesAreWhole(verifying)) stored.push(result)
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
    return ids.map((id) => failedCheck(error, id, CHECK))
  }
}

const CHECK = 'second-opinion'

async function checkSource(
  id: SourceId,
  stored: readonly CheckResult[],
  ask: AskWriter,
): Promise<readonly CheckResult[]> {
  const { by = 'isomorphic-git', diagnostics, files } = await compareFiles(id, ask)
  const found = [...stored.filter(({ subject = '' }) => isIn(id, subject)), ...diagnostics]
  if (found.length > 0) return found
  return [verdicts(CHECK, id).ok(`${by} has ${countOf(files ?? 0, 'file')} as they are served`)]
}

function notServed(id: SourceId): CheckResult {
  return verdicts(CHECK, id).unknown('nothing of it is served, so that nothing was compared', `skillsyncd status ${id}`)
}
