import {
  ENROLLMENT_CHECKS,
  MACHINE_CHECKS,
  SKILL_PROBLEMS,
  STATE_PROBLEMS,
  STORE_FINDINGS,
} from '../../../daemon/cli/check-names.ts'
import type { CodeText } from '../../../daemon/runtime/operator-error.ts'
import { OPERATOR_ERRORS } from '../../../daemon/runtime/operator-error.ts'
import { isSkillCode } from '../../../sync/model/code-descriptions.ts'
import { SYNC_ERROR_RULES } from '../../../sync/model/sync-error.ts'
import type { SkillCode } from '../../../sync/skill/skill-diagnostic.ts'
import { describeCode, lintCodes } from '../lint/rule-texts.ts'
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
      const { severity, says, fix } = describeCode(code)
      const effect = isSkillCode(code) ? STATES[code] : SEVERITIES[severity]
      return { code, kind: 'finding in a skill', meaning: says, effect, fix }
    }),
    ...checksOf(MACHINE_CHECKS, 'check of doctor', 'skillsyncd doctor ends with 3 if it fails'),
    ...checksOf(STORE_FINDINGS, 'finding of verify', 'skillsyncd verify ends with 3 if it fails'),
    ...checksOf(
      STATE_PROBLEMS,
      'problem in status',
      'What is served stays; skillsyncd status --check ends with 3 if it needs a person',
    ),
    ...checksOf(SKILL_PROBLEMS, 'problem of a skill', 'skillsyncd why SKILL shows what becomes of the skill'),
    ...checksOf(ENROLLMENT_CHECKS, 'check of enroll', 'skillsyncd hub enroll --check ends with 3 if it fails'),
    ...checksOf(LOG_EVENTS, 'event of the log', EVENT_EFFECT),
  ]
}

const EVENT_EFFECT =
  'What is served stays, unless the meaning says otherwise. A failure is logged once until its reason changes; then `recovered` follows'

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

const WITHHELD = 'Withheld: no client is offered the skill'
const TOOLS = 'Partly served: no `skill://` URI can express the skill, and the tools offer it'
const UNLISTED =
  'Partly served, and left out of `skills/list`: clients would refuse the whole list; all other ways have the skill'
const NOTED = 'Served: the finding is a note'

/** The state of a skill with a finding; a source or a folder beside skills has a note. */
const STATES: Readonly<Record<SkillCode, string>> = {
  'frontmatter-missing': WITHHELD,
  'frontmatter-unterminated': WITHHELD,
  'frontmatter-invalid': TOOLS,
  'frontmatter-unquoted': UNLISTED,
  'frontmatter-too-large': WITHHELD,
  'yaml-comment': NOTED,
  'encoding-invalid': WITHHELD,
  'name-missing': TOOLS,
  'name-invalid': TOOLS,
  'name-unlike-folder': 'Served, or withheld where `names` is `exact`: served under its name',
  'name-clash': 'Partly served, or withheld if it is a copy: a skill whose folder has its name goes first',
  'nested-skill': 'Withheld as a skill of its own: with `nested: as-files` it is a part of the outer one',
  'description-missing': WITHHELD,
  'description-too-long': TOOLS,
  'description-padded': UNLISTED,
  'metadata-not-text': UNLISTED,
  'compatibility-invalid': UNLISTED,
  'field-refused': UNLISTED,
  'hidden-unicode': 'Served or withheld: `hidden_unicode` of the source decides, and the characters',
  'unrendered-text': NOTED,
  'look-alike-letters': NOTED,
  'file-name-case': WITHHELD,
  'limit-files': WITHHELD,
  'limit-bytes': WITHHELD,
  'link-refused': 'Served, or withheld if SKILL.md is the link: the file is left out',
  submodule: NOTED,
  'lfs-pointer': WITHHELD,
  'lfs-left-out': NOTED,
  'path-collision': WITHHELD,
  'path-refused': WITHHELD,
  'not-read': NOTED,
  'skill-ignored': WITHHELD,
  'kept-version': 'Served, or withheld if no trusted signer signed the earlier commit',
  'archive-refused': NOTED,
  'contract-violated': WITHHELD,
  'contract-noted': NOTED,
  'docs-missing': NOTED,
  'marketplace-unread': NOTED,
  'marketplace-differs': NOTED,
  'plugin-refused': NOTED,
  'entry-refused': WITHHELD,
  'listing-incomplete': NOTED,
  'no-answer-for-entry': 'Served: a skill that was served stays as it was, and a new one is left out',
  'size-unknown': WITHHELD,
  'not-verifiable': 'Withheld if the files are dynamic, else served: nothing proves the files that were read',
  'content-mismatch': WITHHELD,
}

function checksOf(texts: Readonly<Record<string, CodeText>>, kind: string, effect: string): readonly ExplainedCode[] {
  return Object.entries(texts).map(([code, { meaning, fix = AS_SAID }]) => ({ code, kind, meaning, effect, fix }))
}
