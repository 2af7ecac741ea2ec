import { hash } from 'node:crypto'
import { WorkerClient } from '../../../base/async/worker-client.ts'
import { matcher } from '../../../base/globs.ts'
import type {
  MisfitDiagnostic,
  PageDecision,
  PageGeneration,
  PageHost,
  PageRing,
  PathProblems,
  PageMove,
  PendingChange,
  PendingRevision,
  SourceChange,
  SourceHealth,
  PageRingSource,
} from '../../../serve/page/page-data.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { ContractDiagnostic } from '../../../sync/catalog/contract-diagnostics.ts'
import { withoutTexts } from '../../../sync/model/changes/skill-review.ts'
import type { Decided } from '../../../sync/model/decisions/decided.ts'
import type { Item } from '../../../sync/model/item.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { Source } from '../../../sync/model/source.ts'
import type { Config } from '../../config/config.ts'
import { durationText } from '../../config/schema/scalars.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import type { DaemonContext } from '../../runtime/context.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import type { PendingSides } from '../changes/comparison.ts'
import type { SourceMove, StoredGeneration as Past } from '../changes/history.ts'
import { decidedText } from '../decision-text.ts'
import type { ItemsOf } from '../items.ts'
import { scanTexts } from '../scan-text.ts'
import { scanIn } from '../source-scan.ts'
import type { Status, RingStatus } from '../status.ts'
import type { PastAnswer, PastQuestion } from './history-worker.ts'
import { isBelowGlobs, listedContractDiagnostics, pathProblemsOf } from './page-diagnostics.ts'
import { PendingRevisions } from './pending-revisions.ts'
import type { PendingParts } from './pending-revisions.ts'
import { SkillMoments } from './skill-moments.ts'
import type { SkillMomentsParts } from './skill-moments.ts'
import { healthOf } from './source-health.ts'
import { isTextFree } from './text-rule.ts'

/** The parts of the daemon that the web page shows. */
export interface NewsParts
  extends Pick<DaemonContext, 'redactor'>, SkillMomentsParts, Pick<PendingParts, 'undecided' | 'servedOf' | 'take'> {
  readonly config: ServedConfig
  readonly status: () => Status
  readonly itemsOf: ItemsOf
  /** The problems between skills of the contract, as last found. */
  readonly contractProblems: () => readonly ContractDiagnostic[]
}

/** The daemon's state for its web page. */
export class PageData implements AsyncDisposable {
  readonly host: Omit<PageHost, 'isTokenRequired'>
  readonly #parts: NewsParts
  readonly #past = new WorkerClient<PastQuestion, PastAnswer>(new URL('./history-worker.js', import.meta.url), {
    deadlineMs: 10_000,
    heapMb: 1_024,
    waiting: 8,
  })
  readonly #moments: SkillMoments
  readonly #pending: PendingRevisions
  /** Cached for one catalog, and the scans of its skills. */
  #problems:
    | { readonly catalog: Catalog; readonly scans: number; readonly problems: readonly PathProblems[] }
    | undefined
  /** Cached for one catalog and the problems that were found in it. */
  #misfits:
    | {
        readonly catalog: Catalog
        readonly of: readonly ContractDiagnostic[]
        readonly misfits: readonly MisfitDiagnostic[]
      }
    | undefined
  #status: StatusNow | undefined
  /** Answers about the past, cached for one catalog. */
  #known: { readonly catalog: Catalog; readonly answers: Map<string, Promise<PastAnswer | undefined>> } | undefined

  constructor(parts: NewsParts) {
    const { redactor, clock } = parts
    this.#parts = parts
    this.#moments = new SkillMoments(parts)
    this.#pending = new PendingRevisions({
      ...parts,
      clean: (text) => this.#clean(text),
      compare: (sides) => this.#comparePending(sides),
    })
    this.host = {
      clean: (text) => redactor.clean(text),
      now: () => clock.now(),
      sources: () => this.#now().sources,
      problems: () => this.#problemsNow(),
      scanFindings: ({ source, digest }) => {
        const scan = scanIn(parts.store.scans.knownOf(source), 'skill', digest)
        return scan === undefined ? [] : scanTexts(scan).findings
      },
      items: () => this.#now().items,
      misfits: () => this.#misfitsNow(),
      packBudgets: parts.config.packBudgets,
      decisions: (about) => this.#decisions(about),
      history: () => this.#history(),
      lastChanges: () => this.#moments.read(),
      compare: (from, to) => this.#compare(from, to),
      pending: (source) => this.#pendingOf(source),
      ...(parts.config.rings.length > 0 && { rings: () => this.#now().rings }),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#moments[Symbol.asyncDispose]()
    await this.#pending[Symbol.asyncDispose]()
    await this.#past[Symbol.asyncDispose]()
  }

  /** A status visits all skills, so it is cached for one second. */
  #now(): StatusNow {
    const { clock, status, itemsOf, undecided } = this.#parts
    const nowMs = clock.monotonicMs()
    if (this.#status !== undefined && nowMs - this.#status.atMs < 1_000) return this.#status
    const clean = (text: string): string => this.#clean(text)
    const now = status()
    const items = itemsOf(now, clock.now())
    const sources = now.sources.map((source) => healthOf(source, undecided(source.id), { clean, now: clock.now() }))
    const rings = pageRingsOf(now.rings ?? [], now.sources, clean)
    this.#status = { atMs: nowMs, sources, items: items.map((item) => cleanItem(item, clean)), rings }
    return this.#status
  }

  /** Removes secrets and paths of this machine. */
  #clean(text: string): string {
    const { redactor, config } = this.#parts
    const withoutLock = config.lock === undefined ? text : text.replaceAll(config.lock, 'skills.lock')
    return redactor.clean(withoutLock.replaceAll(config.state, 'the state folder'))
  }

  #misfitsNow(): readonly MisfitDiagnostic[] {
    const { catalog } = this.#parts.registry
    const of = this.#parts.contractProblems()
    if (this.#misfits?.catalog === catalog && this.#misfits.of === of) return this.#misfits.misfits
    const misfits = listedContractDiagnostics(catalog, of)
    this.#misfits = { catalog, of, misfits }
    return misfits
  }

  #problemsNow(): readonly PathProblems[] {
    const { registry, config, store } = this.#parts
    const { catalog } = registry
    const { version } = store.scans
    if (this.#problems?.catalog === catalog && this.#problems.scans === version) return this.#problems.problems
    const problems = catalog.snapshots.flatMap((snapshot) => {
      if (config.sources.every(({ source }) => source.id !== snapshot.source)) return []
      const { decisions, scans } = store
      return pathProblemsOf(snapshot, { catalog, config, decisions, scans: scans.knownOf(snapshot.source) })
    })
    const sorted = problems.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state))
    this.#problems = { catalog, scans: version, problems: sorted }
    return sorted
  }

  #decisions(about?: Parameters<PageHost['decisions']>[0]): readonly PageDecision[] {
    const { history } = this.#parts.store.decisions
    const isAsked = (one: Decided): boolean =>
      about === undefined || (one.source === about.source && isOfSkill(one, about.skill))
    const newest = history.filter(isAsked).toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))
    return newest.slice(0, MOST_MOMENTS).map((decided) => ({
      at: decided.at,
      id: idOfDecided(decided),
      text: this.#clean(decidedText(this.#isNamed(decided) ? decided : { ...decided, skill: '(in no list)' })),
    }))
  }

  /** True if the decision names no skill, or one that its source does not keep out of lists. The skill may be gone. */
  #isNamed(decided: Decided): boolean {
    const { source: id, skill: named } = decided
    if (named === undefined || id === undefined) return true
    const source = this.#parts.config.sources.find(({ source }) => source.id === id)?.source
    const snapshot = this.#parts.registry.catalog.snapshots.find((one) => one.source === id)
    const skill = snapshot?.skills.find((one) => isOfSkill(decided, one))
    return source !== undefined && skill?.standing !== 'unlisted' && !isHiddenIn(source)(skill?.path ?? named)
  }

  async #history(): Promise<readonly PageGeneration[] | undefined> {
    const { config } = this.#parts
    const answer = await this.#ask('history', { kind: 'history', state: config.state, most: MOST_MOMENTS })
    if (answer?.kind !== 'history') return undefined
    const configured = new Map(config.sources.map(({ source }) => [source.id, isHiddenIn(source)] as const))
    return answer.moments.map((past) => momentOf(past, configured))
  }

  async #compare(from: number, to: number): Promise<readonly SourceChange[] | undefined> {
    const { config, registry, isBound } = this.#parts
    const sources = config.sources.map((configured) => ({
      source: configured.source.id,
      withText: isTextFree(configured, isBound(configured.source.id)),
    }))
    const texts = sources.map(({ withText }) => Number(withText)).join('')
    const answer = await this.#ask(`${from} ${to} ${texts}`, {
      kind: 'compare',
      state: config.state,
      from,
      to,
      sources,
    })
    if (answer?.kind !== 'compare') return undefined
    const served = new Set(registry.catalog.listed.map(({ source, skill }) => `${source}/${skill.path}`))
    return answer.sources?.map((change) => withoutHidden(change, config, served))
  }

  async #pendingOf(source: string): Promise<PendingRevision | undefined> {
    const { config, isBound } = this.#parts
    const configured = config.sources.find(({ source: { id } }) => id === source)
    return configured && this.#pending.of(configured, isTextFree(configured, isBound(configured.source.id)))
  }

  async #comparePending(sides: PendingSides): Promise<PendingChange | undefined> {
    const answer = await this.#past.ask({ kind: 'pending', state: this.#parts.config.state, sides })
    return answer?.kind === 'pending' ? answer.change : undefined
  }

  /** Failures are not cached. */
  async #ask(key: string, question: PastQuestion): Promise<PastAnswer | undefined> {
    const { catalog } = this.#parts.registry
    if (this.#known?.catalog !== catalog || this.#known.answers.size > MOST_ANSWERS)
      this.#known = { catalog, answers: new Map() }
    const { answers } = this.#known
    const asked = answers.get(key) ?? this.#past.ask(question)
    answers.set(key, asked)
    const answer = await asked
    if (answer === undefined) answers.delete(key)
    return answer
  }
}

interface StatusNow {
  readonly atMs: number
  readonly sources: readonly SourceHealth[]
  readonly items: readonly Item[]
  readonly rings: readonly PageRing[]
}

/** Readers of the page see no secret and no path of the machine, and skills have problems of their own there. */
export function cleanItem({ place, parts: _parts, ...item }: Item, clean: (text: string) => string): Item {
  const shown = (text: string): string => {
    const known = place === undefined ? text : text.replaceAll(place, 'a folder of the hub')
    return clean(printableLine(known.replaceAll(/file:\/\/[^\s"]*/g, 'a folder of the hub')))
  }
  const problems = item.problems.map(({ code, message, fix }) => ({
    code,
    // It quotes the command and the files of the scanner.
    message: item.kind === 'scanner' ? 'skillsyncd status on the hub has the reason' : shown(message),
    fix: shown(fix),
  }))
  return { ...item, id: shown(item.id), problems }
}

const MOST_MOMENTS = 30
const MOST_ANSWERS = 16

/** Problems of no skill come before those of skills that are served. */
const ORDER: readonly PathProblems['state'][] = ['waiting', 'withheld', 'partly', 'disabled', undefined, 'served']

function momentOf(
  { generation, createdAt, isServed, before, cause, moves }: Past,
  configured: ReadonlyMap<SourceId, IsHidden>,
): PageGeneration {
  const by = cause && `${cause.action}${cause.source === undefined ? '' : ` of ${cause.source}`} by ${cause.trigger}`
  return {
    generation,
    createdAt,
    isServed,
    before,
    cause: cause?.rewritten === true ? `${by}, history rewritten` : by,
    moves: moves?.flatMap((move) => moveOf(move, configured.get(move.source)) ?? []),
  }
}

/** Names no unlisted skill: it is only counted. */
function moveOf({ source, from, to, skills }: SourceMove, isHidden: IsHidden | undefined): PageMove | undefined {
  if (isHidden === undefined) return undefined
  const changes = skills.map((group) => ({
    ...group,
    first: group.first.filter(({ path, isUnlisted }) => isUnlisted !== true && !isHidden(path)),
  }))
  return { source, from, to, changes }
}

/** A decision names a skill of another server by its path or its URI. */
function isOfSkill({ skill: named }: Decided, { path, upstream }: Pick<Skill, 'path' | 'upstream'>): boolean {
  return named === path || (named !== undefined && named === upstream?.uri)
}

/** The same after a restart, in which the order of its members may differ. */
function idOfDecided({ at, by, who, decision, source, ring, skill, commit, reason }: Decided): string {
  return hash('sha256', JSON.stringify([at, by, who, decision, source, ring, skill, commit, reason])).slice(0, 16)
}

/** True for the path of a skill that the source keeps out of lists now. */
type IsHidden = (path: string) => boolean

function isHiddenIn({ unlisted }: Source): IsHidden {
  return isBelowGlobs(matcher(unlisted))
}

/** Leaves out unlisted skills, and the text of any skill that is not served at this moment. */
function withoutHidden(change: SourceChange, { sources }: Config, served: ReadonlySet<string>): SourceChange {
  const found = sources.find(({ source: { id } }) => id === change.source)
  const isHidden = found === undefined ? (): boolean => false : isHiddenIn(found.source)
  const skills = change.skills
    .filter(({ path }) => !isHidden(path))
    .map((skill) => (served.has(`${change.source}/${skill.path}`) ? skill : withoutTexts(skill)))
  return { ...change, skills }
}

/** A source, and the commit that the first ring serves of it; `undefined` if it serves nothing. */
interface FirstContent {
  readonly id: string
  readonly served: { readonly commit: string } | undefined
}

/** The rings for the page, each with all sources. `clean` removes what readers must not see of a message. */
function pageRingsOf(
  rings: readonly RingStatus[],
  sources: readonly FirstContent[],
  clean: (text: string) => string,
): readonly PageRing[] {
  return rings.map(({ id, minAgeMs, share, sources: others }) => {
    const known = new Map(others.map((other) => [other.source as string, other]))
    return {
      id,
      share,
      minAge: minAgeMs === 0 ? undefined : durationText(minAgeMs),
      sources: sources.map(({ id: source, served }): PageRingSource => {
        const other = known.get(source)
        const { commit, since, next, nextAt, problem } = other ?? {}
        return {
          source,
          // A hold is listed where the ring has what the first ring has, too: then without a commit of its own.
          isNewest: other === undefined,
          commit: other === undefined ? served?.commit : commit,
          since,
          next,
          nextAt,
          stopped: problem && { code: problem.code, message: clean(problem.message) },
        }
      }),
    }
  })
}
