import type { DaemonCore } from '../../daemon/runtime/context.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { declarationOf, withApproval } from '../../sync/model/decisions/approvals.ts'
import { byPerson } from '../../sync/model/decisions/decided.ts'
import { disabledIn } from '../../sync/model/decisions/disabled-matches.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { ServedSource } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { Additions } from './additions.ts'
import type { McpSources } from './mcp-sources.ts'

/** The parts that the decisions about skills of MCP servers need. */
export interface McpDecisionsParts extends DaemonCore {
  readonly sources: McpSources
  readonly served: { currentOf(id: SourceId): ServedSource | undefined; serve(): void }
  readonly puller: {
    /** Pulls the source now. */
    request(id: SourceId, trigger: 'command'): Promise<unknown>
    /** Pulls the source again, even if its state is known. */
    refetch(id: SourceId): Promise<unknown>
  }
}

/** The operator's verbs about the skills of other MCP servers. */
export class McpDecisions {
  readonly additions: Additions
  readonly #parts: McpDecisionsParts

  constructor(parts: McpDecisionsParts) {
    this.#parts = parts
    const { sources, served, puller } = parts
    this.additions = new Additions({
      ...parts,
      servers: sources.connections,
      currentOf: (id) => served.currentOf(id),
      pull: (id) => puller.request(id, 'command'),
    })
  }

  /**
   * Makes sure that a file is in the store; throws a `SyncError` if it is not available. Serves skills that wait for
   * approval too, so that they can be reviewed, but not withheld or disabled ones.
   */
  async bring(id: SourceId, path: string, file: string): Promise<void> {
    const skill = this.#skillAt(id, path)
    const found = skill?.files.find((candidate) => candidate.path === file)
    const isDisabled = this.#isDisabled(id, path)
    if (skill === undefined || found === undefined || skill.standing === 'withheld' || isDisabled)
      throw new OperatorError(
        'unknown-skill',
        `Cannot read "${file}" of "${id}/${path}": it is not there, or out of service`,
      )
    if (!isOfUpstream(skill)) return
    await this.#parts.sources.contents.bring(skill, found)
    this.#parts.sources.advance.follow()
  }

  /** Clears the mismatch of a withheld skill, so that its files are read again. */
  async recheck(id: SourceId, path: string): Promise<void> {
    const skill = this.#skillAt(id, path)
    if (skill?.digest === undefined)
      throw new OperatorError('unknown-skill', `Cannot read the files of "${id}/${path}" again: none are declared`)
    await this.#parts.sources.mismatches.forget(id, skill)
    await this.#parts.puller.refetch(id)
  }

  /** Approves a skill as it was declared when it was reviewed. False if it was already approved. */
  async approve(id: SourceId, path: string, declaration: string, by: string): Promise<boolean> {
    const { clock, store, log, served } = this.#parts
    const skill = this.#skillAt(id, path)
    if (skill === undefined || declarationOf(skill) !== declaration)
      throw new OperatorError(
        'nothing-to-decide',
        `Cannot approve "${id}/${path}": it changed since it was shown to you`,
      )
    const decider = { ...byPerson(by, clock.now()), who: by }
    const approval = { ...decider, effect: 'admit', on: { source: id, path, declaration } } as const
    const decided = { ...decider, decision: 'approve', source: id, skill: path } as const
    const isNew = await store.decisions.change((rules) => withApproval(rules, approval), decided)
    if (!isNew) return false
    served.serve()
    log.info('skill-approved', { source: id, skill: path, digest: skill.digest })
    return true
  }

  #isDisabled(id: SourceId, path: string): boolean {
    const { served, store } = this.#parts
    const snapshot = served.currentOf(id)?.snapshot
    return snapshot !== undefined && disabledIn(snapshot, store.decisions.outOfService).has(path)
  }

  #skillAt(id: SourceId, path: string): Skill | undefined {
    return this.#parts.served.currentOf(id)?.snapshot.skills.find((candidate) => candidate.path === path)
  }
}
