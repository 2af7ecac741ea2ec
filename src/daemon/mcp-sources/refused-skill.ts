import type { Refused, Unread } from '../../serve/content.ts'
import type { Finding } from '../../sync/skill-md/finding.ts'
import type { UpstreamSkill } from '../../sync/model/skill.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { Overlong } from '../../sync/upstream/mcp/client/channel.ts'

/** Nothing of a skill of another MCP server is given out. The message is for the operator. */
export abstract class SkillRefused extends SyncError {
  /** The reason, as clients are given it. */
  abstract readonly told: string

  constructor({ path, upstream }: UpstreamSkill, why: string) {
    super('content-refused', `Cannot give out a file of "${upstream.source}/${path}": ${why}`)
  }

  get unread(): Refused {
    return { kind: 'refused', why: this.told }
  }
}

/** Why a file of the skill cannot be had, as clients are given it, with what helps. What passes by itself is not told apart. */
export function unreadOf(error: SyncError, { path, upstream }: UpstreamSkill): Unread {
  if (error instanceof SkillRefused) return error.unread
  const what = `Cannot give out a file of "${upstream.source}/${path}"`
  if (error instanceof Overlong)
    return { kind: 'refused', why: `${what}: its server sends more than one answer may be; ${UNTIL_MENDED}` }
  if (error.code === 'limit-exceeded') return { kind: 'refused', why: error.message }
  if (error.code === 'content-refused') return { kind: 'refused', why: `${error.message}; ${UNTIL_MENDED}` }
  return 'not-now'
}

const UNTIL_MENDED = 'asking again helps once the server is mended'

/** A text of the skill holds what people do not see, and the policy of its source withholds the skill for it. */
export class TextRefused extends SkillRefused {
  constructor(skill: UpstreamSkill, finding: Finding) {
    super(skill, `"${finding.path}": ${finding.message}`)
  }

  get told(): string {
    return this.message
  }
}

/** Other bytes came of the skill than its server declares. What these say is in no answer to a client. */
export class ContentMismatch extends SkillRefused {
  readonly told: string

  constructor(skill: UpstreamSkill, why: string) {
    super(skill, why)
    const { path, upstream } = skill
    this.told = `Cannot give out a file of "${upstream.source}/${path}": its server sent other content than it declares, and the skill is withheld; skillsyncd mirror reads it again once the server is mended`
  }
}
