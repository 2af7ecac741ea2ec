import { SyncError } from '../../sync/model/sync-error.ts'
import { readLinks } from '../link/links-file.ts'
import { finding } from './remark.ts'
import type { Remark } from './remark.ts'
import type { Verifying } from './verifying.ts'

/** What was put into agents' folders: where that is not known, nobody can take it out again. */
export async function* linksAreWhole({ config }: Verifying): AsyncGenerator<Remark> {
  try {
    await readLinks(config.state)
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    yield finding('links-damaged', error.message)
  }
}
