import { join } from 'node:path'
import { z } from 'zod'
import { utf8 } from '../../sync/skill/frontmatter.ts'
import { writeWhole } from '../../sync/store/files/atomic.ts'
import { unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { readBounded } from './plain-file.ts'
import { UsageError } from './usage-error.ts'

/**
 * Maps each name to the digests of what was written to an output folder. Usually one; two while a folder is being
 * replaced, so that the run after a killed run recognizes both the old and the new content.
 */
export type WrittenRecord = ReadonlyMap<string, readonly string[]>

/**
 * Reads the record of an output folder; empty if it does not exist. An unreadable record is a usage error, never empty.
 */
export async function readRecord(folder: string): Promise<WrittenRecord> {
  const path = join(folder, FILE)
  const bytes = await unlessAbsent(readBounded(path, MOST_BYTES).then((found) => found ?? NO_FILE))
  if (bytes === undefined) return new Map()
  try {
    return new Map(Object.entries(DIGESTS.parse(JSON.parse((bytes.length <= MOST_BYTES && utf8(bytes)) || ''))))
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof z.ZodError)) throw error
    const mend = 'move it out of the way, or name another --out'
    throw new UsageError(`"${path}" is not a record of this command; ${mend}`, { cause: error })
  }
}

/** Replaces the record in one step. */
export async function writeRecord(folder: string, record: WrittenRecord): Promise<void> {
  const inOrder = [...record].toSorted(([one], [other]) => (one < other ? -1 : 1))
  await writeWhole(join(folder, FILE), `${JSON.stringify(Object.fromEntries(inOrder), null, 2)}\n`)
}

/** The name of a skill never begins with a dot. */
const FILE = '.skillsyncd-projections.json'

/** Room for some 30,000 skills. */
const MOST_BYTES = 2 ** 23

/** A pipe or a folder is not a record either. */
const NO_FILE = new Uint8Array()

const DIGESTS = z.record(
  z.string(),
  z
    .array(z.string().regex(/^[0-9a-f]{64}$/))
    .min(1)
    .max(2),
)
