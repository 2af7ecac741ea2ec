import { configuredIn } from '../../daemon/config/config.ts'
import type { Config } from '../../daemon/config/config.ts'
import type { DaemonContext } from '../../daemon/runtime/context.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { byPerson } from '../../sync/model/decisions/decided.ts'
import { disabledIn } from '../../sync/model/decisions/disabled-matches.ts'
import type { NameRule } from '../../sync/model/decisions/rules.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { ServedSource } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { McpSource, NamedSkill } from '../../sync/model/source.ts'
import { offlineError } from '../../sync/model/sync-error.ts'
import { withNaming, withoutNaming } from '../../sync/model/uris/named-uris.ts'
import { readUpstreamSkillUri } from '../../sync/model/uris/upstream-uri.ts'
import { decidedIn, verdictStateOf } from '../../sync/model/verdict/skill-states.ts'
import type { VerdictState } from '../../sync/model/verdict/verdict.ts'
import { shownValue } from '../../sync/skill/contract/contract-value.ts'
import { selector } from '../../sync/survey/survey-rules.ts'
import type { McpConnections } from './mcp-connections.ts'
import type { Completed, Completing } from './upstream/completion.ts'
import type { McpServer } from './upstream/server.ts'
import type { SkillSpaces } from './upstream/skill-templates.ts'
import { expandTemplate, readTemplate } from './upstream/template.ts'

export interface AdditionsParts extends Pick<DaemonContext, 'store' | 'clock' | 'log'> {
  readonly config: Config
  readonly servers: McpConnections
  readonly currentOf: (id: SourceId) => ServedSource | undefined
  /** Pulls the source now. Ignores the outcome. */
  readonly pull: (id: SourceId) => Promise<unknown>
}

/** A template of a server with its values. */
interface Deciding {
  /** The person who decides. */
  readonly by: string
}

interface FilledTemplate {
  readonly template: string
  readonly values: Readonly<Record<string, string>>
  readonly isUnverified: boolean
}

/** The state of a named skill after the pull that followed. */
export interface Addition {
  readonly source: string
  readonly path: string
  /** Its URI on its own server. */
  readonly upstream: string
  /** Absent if no pull of the source has found it yet, or a pull has dropped it. */
  readonly state?: VerdictState | undefined
  readonly findings: readonly string[]
}

/** The skills that operators add to those that a server lists: by URI, or by a template. */
export class Additions {
  readonly #parts: AdditionsParts

  constructor(parts: AdditionsParts) {
    this.#parts = parts
  }

  async spaces(id: SourceId, signal: AbortSignal): Promise<SkillSpaces> {
    return this.#serverOf(this.#sourceOf(id)).spaces(signal)
  }

  async complete(id: SourceId, completing: Completing, signal: AbortSignal): Promise<Completed> {
    return this.#serverOf(this.#sourceOf(id)).complete(completing, signal)
  }

  /** Adds the skill that a filled-in template identifies. */
  async resolve(
    id: SourceId,
    { template, values, isUnverified, by }: FilledTemplate & Deciding,
    signal: AbortSignal,
  ): Promise<Addition> {
    const read = readTemplate(template)
    const made = read.ok ? expandTemplate(read.template, new Map(Object.entries(values))) : read
    if (!made.ok) throw new OperatorError('template-refused', `Cannot resolve ${shownValue(template)}: ${made.why}`)
    return this.add(id, { uri: made.uri, isUnverified, by }, signal)
  }

  /** Adds the skill at a URI, if the server has one there that is not known yet. */
  async add(id: SourceId, { by, ...named }: NamedSkill & Deciding, signal: AbortSignal): Promise<Addition> {
    const source = this.#sourceOf(id)
    const { uri } = named
    const path = expectNew(named, source, this.#parts.currentOf(id)?.snapshot.skills)
    const { entry, findings = [] } = await this.#serverOf(source).find(named, signal)
    if (entry === undefined) throw refusal(uri, findings.map(({ message }) => message).join('; '))
    const { log, pull } = this.#parts
    await this.#name(source, uri, { unverified: named.isUnverified ? true : undefined }, by)
    log.info('skill-named', { source: id, uri, unverified: named.isUnverified })
    await pull(id)
    return this.#additionAt(source, path, uri)
  }

  /** Has the files of a skill read, now and at each change, to learn the sizes that its server does not declare. */
  async measure(id: SourceId, path: string, by: string): Promise<void> {
    const { store, log, pull, currentOf } = this.#parts
    const source = this.#sourceOf(id)
    this.#serverOf(source)
    const snapshot = currentOf(id)?.snapshot
    const skill = snapshot?.skills.find((candidate) => candidate.path === path)
    const isDisabled = snapshot !== undefined && disabledIn(snapshot, store.decisions.outOfService).has(path)
    if (skill?.upstream === undefined || isDisabled)
      throw new OperatorError('unknown-skill', `Cannot read the files of "${id}/${path}": it is not there, or disabled`)
    const { uri } = skill.upstream
    const known = store.decisions.namings.find(({ on }) => on.source === id && on.uri === uri)
    await this.#name(source, uri, { measured: true, unverified: known?.unverified }, by)
    log.info('skill-measured', { source: id, uri })
    await pull(id)
  }

  /** Removes an addition. Skills that the server lists itself stay. */
  async remove(id: SourceId, uri: string, by: string): Promise<Addition> {
    const source = this.#sourceOf(id)
    const { store, clock, log, pull } = this.#parts
    const decided = { ...byPerson(by, clock.now()), decision: 'remove', source: id, skill: uri } as const
    const isNew = await store.decisions.change((rules) => withoutNaming(rules, id, uri), decided)
    if (!isNew) {
      const why = source.uris.some((named) => named.uri === uri) ? 'the configuration names it' : 'no operator added it'
      throw new OperatorError('nothing-to-decide', `Cannot remove ${shownValue(uri)} from "${id}": ${why}`)
    }
    log.info('skill-unnamed', { source: id, uri })
    await pull(id)
    return this.#additionAt(source, pathIn(uri), uri)
  }

  async #name(
    { id: source }: McpSource,
    uri: string,
    how: Pick<NameRule, 'unverified' | 'measured'>,
    who: string,
  ): Promise<void> {
    const { store, clock } = this.#parts
    const decider = { ...byPerson(who, clock.now()), who }
    const naming = { ...decider, ...how, effect: 'name', on: { source, uri } } as const
    const decided = { ...decider, decision: 'add', source, skill: uri } as const
    await store.decisions.change((rules) => withNaming(rules, naming), decided)
  }

  #additionAt({ id }: McpSource, path: string, upstream: string): Addition {
    const { config, store, currentOf } = this.#parts
    const snapshot = currentOf(id)?.snapshot
    const skill = snapshot?.skills.find((candidate) => candidate.path === path)
    const decided = snapshot && decidedIn(snapshot, configuredIn(config, id).source, store.decisions)
    const findings = (skill?.findings ?? []).map(({ message }) => message)
    return { source: id, path, upstream, state: skill && decided && verdictStateOf(skill, decided), findings }
  }

  #sourceOf(id: SourceId): McpSource {
    const { source } = configuredIn(this.#parts.config, id)
    if (source.kind === 'mcp') return source
    throw new OperatorError('nothing-to-decide', `"${id}" is not an MCP source: its skills are found in its files`)
  }

  #serverOf(source: McpSource): McpServer {
    const { config, servers } = this.#parts
    if (!config.mode.offline) return servers.at(configuredIn(config, source.id), source)
    throw offlineError(`Cannot contact "${source.id}":`)
  }
}

/** The path that the skill will have. Throws if it is excluded or already exists. */
function expectNew({ uri }: NamedSkill, source: McpSource, known: readonly Skill[] = []): string {
  const path = pathIn(uri)
  if (!selector(source)(path)) throw refusal(uri, `include and exclude of "${source.id}" leave it out`)
  if (!known.some((skill) => skill.path === path)) return path
  throw new OperatorError('already-there', `Cannot add ${shownValue(uri)}: "${source.id}/${path}" is there already`)
}

function pathIn(uri: string): string {
  const read = readUpstreamSkillUri(uri)
  if (read.ok) return read.path
  throw refusal(uri, read.why)
}

function refusal(uri: string, why: string): OperatorError {
  return new OperatorError('uri-refused', `Cannot add ${shownValue(uri)}: ${why}`)
}
