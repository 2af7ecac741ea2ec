import { describeCode, lintCodes } from '../../../features/author/lint/rule-texts.ts'
import { SYNC_ERROR_RULES } from '../../../sync/model/sync-error.ts'
import { ENROLLMENT_CHECKS, MACHINE_CHECKS, STATE_PROBLEMS, STORE_FINDINGS } from '../../cli/check-names.ts'
import type { CodeText } from '../../runtime/operator-error.ts'
import { OPERATOR_ERRORS } from '../../runtime/operator-error.ts'
import { LOG_EVENTS } from './log-events.ts'

/** A code with its meaning, its effect and the next step, as `explain` prints it. */
export interface ExplainedCode {
  readonly code: string
  readonly kind: string
  readonly meaning: string
  readonly effect: string
  readonly fix: string
}

/** Every code that commands, documents and the log have, by kind. A code can be of several kinds. */
export function explainedCodes(): readonly ExplainedCode[] {
  return [
    ...Object.entries(SYNC_ERROR_RULES).map(([code, { meaning, fix, ends }]) => {
      return { code, kind: 'problem of a source', meaning, effect: EFFECTS[ends], fix }
    }),
    ...Object.entries(OPERATOR_ERRORS).map(([code, { meaning, status }]) => {
      return { code, kind: 'error of a command', meaning, effect: `The command ends with ${status}`, fix: AS_SAID }
    }),
    ...lintCodes().map((code) => {
      const { severity, says, mend } = describeCode(code)
      return { code, kind: 'finding in a skill', meaning: says, effect: SEVERITIES[severity], fix: mend }
    }),
    ...checksOf(MACHINE_CHECKS, 'check of doctor', 'skillsyncd doctor ends with 3 if it fails'),
    ...checksOf(STORE_FINDINGS, 'finding of verify', 'skillsyncd verify ends with 3 if it fails'),
    ...checksOf(
      STATE_PROBLEMS,
      'problem in status',
      'What is served stays; skillsyncd status --check ends with 3 if it needs a person',
    ),
    ...checksOf(ENROLLMENT_CHECKS, 'check of enroll', 'skillsyncd enroll --check ends with 3 if it fails'),
    ...checksOf(LOG_EVENTS, 'event of the log', 'What is served stays, unless the meaning says otherwise'),
  ]
}

const AS_SAID = 'The message has the next step'

const EFFECTS = {
  itself: 'What is served stays; a running daemon tries again, with growing delay',
  person: 'What is served stays, and nothing newer comes until a person acts',
  decision: 'What is served stays, and the newer commit waits for a decision',
  choice: 'The source stays as it is, because a person chose that',
} as const

const SEVERITIES = {
  error: 'A standard is violated, or the skill is not served; skillsyncd why SKILL tells which',
  warning: 'The skill is served',
} as const

function checksOf(texts: Readonly<Record<string, CodeText>>, kind: string, effect: string): readonly ExplainedCode[] {
  return Object.entries(texts).map(([code, { meaning, fix = AS_SAID }]) => ({ code, kind, meaning, effect, fix }))
}
