import { OF_CHECKS } from './of-checks.ts'
import { OF_SKILLS } from './of-skills.ts'
import { OF_SOURCES } from './of-sources.ts'

/** The fixes that a test carries out, by `nameOf`. */
export const REPRODUCED: ReadonlySet<string> = new Set([
  ...Object.keys(OF_SOURCES).map((code) => `problem of a source: ${code}`),
  ...Object.keys(OF_CHECKS),
  ...OF_SKILLS.map(({ code }) => `finding in a skill: ${code}`),
])

/** The fixes that nobody can type here, each with the reason. */
export const UNTYPED: Readonly<Record<string, string>> = {
  'problem of a source: log-forked':
    'The operator of the other hub answers, and nothing on this machine changes its log',
  'problem of a source: log-rolled-back':
    'The operator of the other hub answers, and nothing on this machine changes its log',
  'problem of a source: unsupported': 'It says what this version cannot do, and no input changes that',
  'finding of verify: file-damaged': 'A read by a client does it, which test/faults/damage.test.ts shows',
  'finding of verify: object-damaged': 'What damages files is found with tools of the system',
  'finding of verify: proof-missing': 'There is nothing to do: the proof was never stored',
  'finding of verify: record-damaged': 'There is nothing to do: the record goes by its age',
  'finding of verify: not-compared': 'There is nothing to do: the second reader cannot read such a source',
  'check of enroll: managed-rule': 'Another person manages the file',
  'event of the log: store-log-made-again': 'What removes files is found with tools of the system',
  'event of the log: store-mended': 'What damages files is found with tools of the system',
  'event of the log: decisions-damaged': 'What damages files is found with tools of the system',
  'event of the log: control-socket-made-again': 'What removes files is found with tools of the system',
  'event of the log: request-failed': 'A person writes the report',
  'event of the log: shared-store-behind': 'Why a copy of a database was behind is found at the database',
  'event of the log: not-cosigned': 'Where a copy of a key is in use is found by people',
}
