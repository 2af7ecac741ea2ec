import { join } from 'node:path'
import type { SharedDisk } from '../../../serve/mcp/tools/tool-document.ts'
import { isOfUpstream } from '../../../sync/model/skill.ts'
import type { DirectorySource, Source } from '../../../sync/model/source.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { storedSkill } from '../../../sync/store/skills/stored-path.ts'
import { recordAt } from '../../../sync/store/source-records.ts'
import type { Store } from '../../../sync/store/store.ts'
import { authoredDocument } from '../../../sync/upstream/folder/read-authored.ts'
import type { Config } from '../../config/config.ts'
import { KnownLock } from '../../pull/trust/known-lock.ts'
import { lockStateOf, mustFollowLock } from '../../pull/trust/lock-rules.ts'

/** The configuration, with its gate, if there is one. */
type GatedConfig = Config & { readonly gate: object | undefined }

/** The paths of skills for clients that share this disk; `undefined` if clients must not get them. */
export function sharedDiskOf(config: GatedConfig, store: Store): SharedDisk | undefined {
  if (!config.serve.forms.has('paths')) return undefined
  const lock = new KnownLock(config)
  return {
    pathOf: async (skill) => {
      if (isOfUpstream(skill)) return undefined
      // An agent reads on from the path, so all that is there is checked, and made again if it was edited.
      const folder = await store.checkouts.ensure(storedSkill(skill)).catch(undefinedIfUnreadable)
      return folder && join(folder, 'SKILL.md')
    },
    async present(id, skill) {
      const source = config.sources.find((configured) => configured.source.id === id)?.source
      if (source === undefined || !isFollowedFreely(source, config, store)) return undefined
      const record = recordAt(await store.records.read(id), source)
      const standing = lockStateOf(await lock.read(), config, source, store.decisions.of(id), record)
      if (mustFollowLock(standing)) return undefined
      // The folder's content was refused or held, or its state is unknown: it is not what is served.
      if (record.problem !== undefined) return undefined
      const reading = { mostBytes: config.limits.skill.bytes, apart: [config.state] }
      return authoredDocument(source, skill, reading).catch(undefinedIfUnreadable)
    },
  }
}

/**
 * True if the folder's content is what is served, apart from the delay until the next check. If a lock, a gate or an
 * operator decides, an agent that reads on from the path must not reach files that were not admitted.
 */
function isFollowedFreely(source: Source, config: GatedConfig, store: Store): source is DirectorySource {
  if (source.kind !== 'directory' || source.update !== 'auto') return false
  if (config.gate !== undefined) return false
  return isUndecided(source, store)
}

/** The served copy is available anyway. */
function undefinedIfUnreadable(error: unknown): undefined {
  if (error instanceof SyncError) return undefined
  throw error
}

function isUndecided({ id }: Source, { decisions }: Store): boolean {
  try {
    const { hold, skipped } = decisions.of(id)
    return hold === undefined && skipped === undefined
  } catch (error) {
    if (error instanceof SyncError) return false
    throw error
  }
}
