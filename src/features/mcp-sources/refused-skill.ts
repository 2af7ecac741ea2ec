import type { RefusedFile, UnreadContent } from '../../serve/content.ts'
import type { UpstreamSkill } from '../../sync/model/skill.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { SkillDiagnostic } from '../../sync/skill/skill-diagnostic.ts'
import { Overlong } from './client/channel.ts'

/** No file of a skill of another MCP server is given out. The message is for the operator. */
export abstract class SkillRefused extends SyncError {
  /** The reason as clients get it. */
  abstract readonly told: string

  constructor({ path, upstream }: UpstreamSkill, why: string) {
    super('content-refused', `Cannot give out a file of "${upstream.source}/${path}": ${why}`)
  }

  get unread(): RefusedFile {
    return { kind: 'refused', why: this.told }
  }
}

/**
 * The reason why a file of the skill is not available, with a remedy, as clients get it. Temporary failures are all
 * `not-now`.
 */
export function unreadOf(error: SyncError, { path, upstream }: UpstreamSkill): UnreadContent {
  if (error instanceof SkillRefused) return error.unread
  const what = `Cannot give out a file of "${upstream.source}/${path}"`
  if (error instanceof Overlong)
    return { kind: 'refused', why: `${what}: its server sends more than one answer may be; ${UNTIL_MENDED}` }
  if (error.code === 'limit-exceeded') return { kind: 'refused', why: error.message }
  if (error.code === 'content-refused') return { kind: 'refused', why: `${error.message}; ${UNTIL_MENDED}` }
  return 'not-now'
}

const UNTIL_MENDED = 'try again after the server is fixed'

/** A text of the skill holds characters that people do not see, and `hidden_unicode` of its source withholds the skill. */
export class TextRefused extends SkillRefused {
  constructor(skill: UpstreamSkill, finding: SkillDiagnostic) {
    super(skill, `"${finding.path}": ${finding.message}`)
  }

  get told(): string {
    return this.message
  }
}

/** Other bytes of the skill arrived than its server declares. The answer to a client does not describe them. */
export class ContentMismatch extends SkillRefused {
  readonly told: string

  constructor(skill: UpstreamSkill, why: string) {
    super(skill, why)
    const { path, upstream } = skill
    this.told = `Cannot give out a file of "${upstream.source}/${path}": its server sent other content than it declares, and the skill is withheld; skillsyncd mcp-source mirror reads it again after the server is fixed`
  }
}
