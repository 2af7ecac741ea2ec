import { createHash } from 'node:crypto'
import { stepByStep } from '../../base/cooperative.ts'
import type { Registry } from '../../serve/registry.ts'
import { findingProblems, PROBLEM_KINDS } from '../../sync/catalog/contract-diagnostics.ts'
import type { ContractProblem } from '../../sync/catalog/contract-diagnostics.ts'
import type { Log } from '../base/log.ts'

/** Logs the problems between skills of the contract: each kind once, and again when that kind changes. */
export class ContractNews {
  readonly #registry: Registry
  readonly #log: Pick<Log, 'failure' | 'recovery'>
  #problems: readonly ContractProblem[] = []
  #isDue = false
  #working: Promise<void> | undefined

  constructor(registry: Registry, log: Pick<Log, 'failure' | 'recovery'>) {
    this.#registry = registry
    this.#log = log
    registry.watch(() => this.#follow())
  }

  /** The problems of the served catalog. */
  async problems(): Promise<readonly ContractProblem[]> {
    await this.#working
    return this.#problems
  }

  /** The problems as last found: of the served catalog, or for a moment of the previous one. */
  get known(): readonly ContractProblem[] {
    return this.#problems
  }

  /** Catalogs that arrive during a check are checked together afterwards. */
  #follow(): void {
    this.#isDue = true
    this.#working ??= this.#lookAll().finally(() => (this.#working = undefined))
  }

  /** Works in slices, because a check of thousands of skills would block clients for too long. */
  async #lookAll(): Promise<void> {
    while (this.#isDue) {
      this.#isDue = false
      this.#problems = await stepByStep(findingProblems(this.#registry.catalog))
      this.#tell()
    }
  }

  #tell(): void {
    for (const { code, message, digest } of problemNotes(this.#problems))
      this.#log.failure('warn', code, { source: '', code, message }, digest)
    for (const kind of PROBLEM_KINDS)
      if (!this.#problems.some((problem) => problem.kind === kind)) this.#log.recovery(kind, '')
  }
}

/** One kind of problem on one line. */
export interface ProblemNote {
  readonly code: ContractProblem['kind']
  readonly message: string
  /** The digest of all problems of the kind. */
  readonly digest: string
}

/** The first problem of each kind; `status` shows all. */
export function problemNotes(problems: readonly ContractProblem[]): readonly ProblemNote[] {
  return [...Map.groupBy(problems, ({ kind }) => kind)].map(([code, all]) => {
    const [first = ''] = all.map(({ message }) => message)
    const digest = createHash('sha256').update(JSON.stringify(all)).digest('hex')
    return {
      code,
      message: all.length === 1 ? cut(first) : `${cut(first)}; skillsyncd status shows the others`,
      digest,
    }
  })
}

function cut(text: string): string {
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS).toWellFormed()}…`
}

/** Paths have no length limit, and an answer on the socket is one line. */
const MOST_CHARACTERS = 2_000
