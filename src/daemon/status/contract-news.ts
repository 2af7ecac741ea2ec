import { createHash } from 'node:crypto'
import { runInSlices } from '../../base/async/cooperative.ts'
import type { Diagnostic } from '../../base/diagnostic.ts'
import type { Registry } from '../../serve/registry.ts'
import { contractDiagnosticSteps, CONTRACT_CODES } from '../../sync/catalog/contract-diagnostics.ts'
import type { ContractCode, ContractDiagnostic } from '../../sync/catalog/contract-diagnostics.ts'
import type { DaemonContext } from '../runtime/context.ts'
import { Reaction } from '../runtime/reaction.ts'

/** Logs the diagnostics between skills of the contract: each code once, and again when its diagnostics change. */
export class ContractNews {
  readonly #registry: Registry
  readonly #log: DaemonContext['log']
  readonly #reaction: Reaction
  #diagnostics: readonly ContractDiagnostic[] = []

  constructor(registry: Registry, { clock, log }: Pick<DaemonContext, 'clock' | 'log'>) {
    this.#registry = registry
    this.#log = log
    this.#reaction = new Reaction({
      clock,
      on: (changed) => registry.watch(changed),
      run: async () => this.#look(),
    })
  }

  /** Follows each catalog from now on. */
  start(): void {
    this.#reaction.start()
  }

  /** The diagnostics of the served catalog. */
  async diagnostics(): Promise<readonly ContractDiagnostic[]> {
    await this.#reaction.settled()
    return this.#diagnostics
  }

  /** The diagnostics as last found: of the served catalog, or for a moment of the previous one. */
  get known(): readonly ContractDiagnostic[] {
    return this.#diagnostics
  }

  /** Works in slices, because a check of thousands of skills would block clients for too long. */
  async #look(): Promise<void> {
    this.#diagnostics = await runInSlices(contractDiagnosticSteps(this.#registry.catalog))
    for (const { code, message, digest } of summarizeContract(this.#diagnostics))
      this.#log.failure('warn', code, { source: '', code, message }, digest)
    for (const code of CONTRACT_CODES)
      if (!this.#diagnostics.some((diagnostic) => diagnostic.code === code)) this.#log.recovery(code, '')
  }
}

/** The diagnostics of one code on one line. */
export interface ContractSummary extends Diagnostic<ContractCode> {
  /** The digest of all diagnostics of the code. */
  readonly digest: string
}

/** The first diagnostic of each code; `status` shows all. */
export function summarizeContract(diagnostics: readonly ContractDiagnostic[]): readonly ContractSummary[] {
  return [...Map.groupBy(diagnostics, ({ code }) => code)].map(([code, all]) => {
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
