import { SyncError } from '../../../sync/model/sync-error.ts'
import { readLinks } from '../../agent-folders/links-file.ts'
import { finding } from './finding.ts'
import type { VerifyDiagnostic } from './finding.ts'
import type { Verifying } from './verify-context.ts'

/** Checks the record of what was put into agents' folders: without it, that content cannot be removed again. */
export async function* linksAreWhole({ config }: Verifying): AsyncGenerator<VerifyDiagnostic> {
  try {
    await readLinks(config.state)
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    yield finding('links-damaged', error.message)
  }
}
