import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { NONE_APPROVED } from '../model/approvals.ts'
import { NO_DISABLED_SKILLS } from '../model/disabled.ts'
import { NONE_NAMED } from '../model/namings.ts'
import { SyncError } from '../model/sync-error.ts'
import { writeWhole } from './atomic.ts'
import { parseDecisions, textForm } from './decisions-text.ts'
import type { Written } from './decisions-text.ts'
import { cannot, isDiskError, unlessAbsent } from './disk-error.ts'
import { canonicalJson } from './json.ts'
import type { StateFolder } from './state-folder.ts'

/**
 * `decisions.json`, and a copy of it: what a person took out of service must not come back since one file was damaged. The file
 * counts where it can be read.
 */
export class DecisionFiles {
  /** Replaced whole whenever something is decided. */
  readonly file: string
  readonly copy: string

  constructor(state: StateFolder) {
    this.file = join(state.path, 'decisions.json')
    this.copy = join(state.path, 'decisions-copy.json')
  }

  /** Throws where neither can be read. `damage`: why the file could not be. */
  async read(): Promise<{ readonly written: Written; readonly damage?: SyncError }> {
    const file = await lookedAt(this.file)
    if (file.kind === 'whole') return file
    const copy = await lookedAt(this.copy)
    if (file.kind === 'absent' && copy.kind === 'absent') return { written: NOTHING }
    const attempt = `Cannot read "${this.file}": ${file.why}`
    if (copy.kind === 'whole') {
      const message = `${attempt}; what people decided is taken from its copy "${this.copy}"`
      return { written: copy.written, damage: new SyncError('store-failed', message, file) }
    }
    const rest =
      'holds, pauses, approvals, disabled and named skills are in them, so look before you remove them: skillsyncd doctor says how'
    throw new SyncError('store-failed', `${attempt}, nor its copy "${this.copy}": ${copy.why}; ${rest}`, file)
  }

  /** It is on the disk when this returns. */
  async write(written: Written): Promise<void> {
    const text = canonicalJson(textForm(written))
    await writeWhole(this.file, text)
    // With the file it is decided. A copy that the disk has no room for is written by the next look, and told of by that.
    await writeWhole(this.copy, text).catch(isExpected)
  }

  /** Writes again what is gone or damaged of the two. Says whether something was damaged. */
  async mend(known: Written): Promise<boolean> {
    const text = canonicalJson(textForm(known))
    const file = await textIn(this.file)
    const isWhole = file === undefined ? text === TEXT_OF_NOTHING : parseDecisions(file) !== undefined
    if (!isWhole) await writeWhole(this.file, text)
    const sound = isWhole ? file : text
    const copy = await textIn(this.copy)
    if (sound === undefined || copy === sound) return !isWhole
    await writeWhole(this.copy, sound)
    // It may also be older: another version of the program, or a person, wrote the file.
    return !isWhole || (copy !== undefined && parseDecisions(copy) === undefined)
  }
}

export const NOTHING: Written = {
  sources: new Map(),
  disabled: NO_DISABLED_SKILLS,
  approvals: NONE_APPROVED,
  namings: NONE_NAMED,
}

const TEXT_OF_NOTHING = canonicalJson(textForm(NOTHING))

/** What was found at the path of one of them. */
type Looked =
  | { readonly kind: 'whole'; readonly written: Written }
  | { readonly kind: 'absent' | 'damaged'; readonly why: string; readonly cause?: unknown }

async function lookedAt(path: string): Promise<Looked> {
  try {
    const text = await unlessAbsent(readFile(path, 'utf8'))
    if (text === undefined) return { kind: 'absent', why: 'it is gone' }
    const written = parseDecisions(text)
    return written === undefined ? { kind: 'damaged', why: 'it is damaged' } : { kind: 'whole', written }
  } catch (cause) {
    if (!isDiskError(cause)) throw cause
    return { kind: 'damaged', why: cause.code, cause }
  }
}

async function textIn(path: string): Promise<string | undefined> {
  return unlessAbsent(readFile(path, 'utf8')).catch(cannot(`read "${path}"`))
}

function isExpected(error: unknown): void {
  if (!(error instanceof SyncError)) throw error
}
