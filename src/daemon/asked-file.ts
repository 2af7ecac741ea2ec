import type { NotNow } from '../serve/content.ts'
import type { SkillFile, UpstreamSkill } from '../sync/model/skill.ts'
import { SyncError } from '../sync/model/sync-error.ts'
import type { Store } from '../sync/store/store.ts'
import { isAbortError } from './abort-error.ts'
import type { Config } from './config.ts'
import { ControlError } from './control-client.ts'
import { readKept } from './kept-file.ts'
import { request } from './requests.ts'

export interface AskedFileParts {
  readonly config: Config
  readonly store: Store
  readonly signal: AbortSignal
}

/**
 * A file of a skill of another MCP server, for a process that writes nothing: from the store, else whoever writes it is asked to
 * bring it there. Undefined where what comes is not what is declared.
 */
export async function readOfUpstream(
  skill: UpstreamSkill,
  file: SkillFile,
  { config, store, signal }: AskedFileParts,
): Promise<Uint8Array | NotNow | undefined> {
  const { source } = skill.upstream
  try {
    const kept = await readKept(skill, file, { store, config }, signal)
    if (kept.kind === 'whole') return kept.bytes
    await request(config, 'bring', { source, path: skill.path, file: file.path }, { signal, timeoutMs: WAIT_MS })
    const brought = await readKept(skill, file, { store, config }, signal)
    return brought.kind === 'whole' ? brought.bytes : 'not-now'
  } catch (error) {
    if (!(error instanceof ControlError) && !(error instanceof SyncError) && !isAbortError(error)) throw error
    return 'code' in error && error.code === 'content-refused' ? undefined : 'not-now'
  }
}

/** As long as the server has for its answer. */
const WAIT_MS = 60_000
