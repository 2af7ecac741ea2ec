import { SyncError } from '../../sync/model/sync-error.ts'
import { ignoreAbort } from '../../base/abort-error.ts'
import type { Clock } from '../../base/clock.ts'
import type { Environment } from '../config/environment.ts'
import type { GateConfig } from '../config/gate.ts'
import type { Candidate } from './candidate.ts'
import { askAddress } from './http.ts'
import { askProgram } from './program.ts'
import { Unanswered } from './unanswered.ts'
import { printable } from '../base/log-line.ts'
import type { Redactor } from '../base/redactor.ts'

/** What becomes of a candidate. `unanswered`: the gate said nothing, and why; the operator wants it published then. */
export type Verdict =
  | { readonly kind: 'publish'; readonly unanswered?: string }
  | { readonly kind: 'refuse' | 'hold'; readonly reason: string }

/** A gate, and what it is asked with. */
export interface Gate {
  readonly config: GateConfig
  readonly environment: Environment
  readonly redactor: Redactor
  readonly clock: Clock
}

/**
 * Asks the gate once, within its time, and has a verdict in any case: where there is no answer, the one that the operator
 * chose for that. Rejects only where the signal aborts. `docs/gate.md` says what both sides hold to.
 */
export async function askGate(candidate: Candidate, gate: Gate, signal: AbortSignal): Promise<Verdict> {
  signal.throwIfAborted()
  const document = Buffer.from(JSON.stringify(candidate))
  try {
    const verdict = await within(gate, signal, (limited) => ask(document, gate, limited))
    return verdict.kind === 'publish' ? verdict : { ...verdict, reason: lineOf(verdict.reason, gate.redactor) }
  } catch (error) {
    signal.throwIfAborted()
    // A secret of the gate that cannot be read is a SyncError: without it nobody can be asked.
    if (!(error instanceof Unanswered || error instanceof SyncError)) throw error
    const reason = `the gate gave no answer: ${lineOf(error.message, gate.redactor)}`
    return gate.config.onFailure === 'publish' ? { kind: 'publish', unanswered: reason } : { kind: 'refuse', reason }
  }
}

async function ask(document: Uint8Array, gate: Gate, signal: AbortSignal): Promise<Verdict> {
  const { asked } = gate.config
  switch (asked.kind) {
    case 'program':
      return askProgram(document, asked, gate, signal)
    case 'address':
      return askAddress(document, asked, gate, signal)
    default:
      return asked satisfies never
  }
}

async function within(
  { clock, config }: Gate,
  signal: AbortSignal,
  run: (limited: AbortSignal) => Promise<Verdict>,
): Promise<Verdict> {
  const overdue = new AbortController()
  const done = new AbortController()
  const late = new Unanswered(`it took more than ${config.timeoutMs} ms`)
  void clock.wait(config.timeoutMs, done.signal).then(() => overdue.abort(late), ignoreAbort)
  try {
    return await run(AbortSignal.any([signal, overdue.signal]))
  } catch (error) {
    // Whatever breaks off in consequence breaks off for this reason.
    throw overdue.signal.aborted ? late : error
  } finally {
    done.abort()
  }
}

/** The first words of a text that somebody else wrote, in one line and clean of secrets. */
function lineOf(text: string, redactor: Redactor): string {
  const line = redactor.clean(text).trim().replaceAll(/\s+/g, ' ')
  const cut = line.length > REASON_CHARACTERS ? `${line.slice(0, REASON_CHARACTERS).toWellFormed()}…` : line
  return printable(cut)
}

const REASON_CHARACTERS = 500
