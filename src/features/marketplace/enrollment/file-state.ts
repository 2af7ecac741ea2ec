import { EditRefused } from '../../../base/settings/edit-refused.ts'
import { OperatorError } from '../../../daemon/runtime/operator-error.ts'
import type { EnrolledFile } from './enrolled-files.ts'
import { readForeign } from './foreign-file.ts'

/** A file of an agent, compared with the settings that enroll the agent. */
export type FileState =
  | { readonly state: 'absent' | 'as-expected' }
  /** `what`: the settings that are missing or have another value. */
  | { readonly state: 'differs'; readonly what: readonly string[] }
  | { readonly state: 'unreadable'; readonly why: string }

/** Compares the file, and writes nothing. */
export async function stateOfFile({ place, edit }: EnrolledFile): Promise<FileState> {
  try {
    const { content } = await readForeign(place)
    if (content === undefined) return { state: 'absent' }
    const { changed } = edit(content.text)
    return changed.length === 0 ? { state: 'as-expected' } : { state: 'differs', what: changed }
  } catch (error) {
    if (error instanceof OperatorError) return { state: 'unreadable', why: error.message }
    if (!(error instanceof EditRefused)) throw error
    return error.kind === 'differs'
      ? { state: 'differs', what: [error.message] }
      : { state: 'unreadable', why: error.message }
  }
}
