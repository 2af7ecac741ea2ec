import { join } from 'node:path'
import { z } from 'zod'
import { utf8 } from '../../sync/skill-md/frontmatter.ts'
import { writeWhole } from '../../sync/store/files/atomic.ts'
import { unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { UsageError } from './usage-error.ts'
import { readBounded } from './plain-file.ts'

/**
 * By name, the digests of what was written to an output folder: one; or two while a folder is being replaced, so that whoever
 * comes after a run that was killed knows the old one and the new one.
 */
export type WrittenRecord = ReadonlyMap<string, readonly string[]>

/** The record in an output folder; empty where there is none. One that cannot be read is wrong usage, never empty. */
export async function readRecord(folder: string): Promise<WrittenRecord> {
  const path = join(folder, FILE)
  const bytes = await unlessAbsent(readBounded(path, MOST_BYTES).then((found) => found ?? NO_FILE))
  if (bytes === undefined) return new Map()
  try {
    return new Map(Object.entries(DIGESTS.parse(JSON.parse((bytes.length <= MOST_BYTES && utf8(bytes)) || ''))))
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof z.ZodError)) throw error
    const mend = 'move it out of the way, or name another --out'
    throw new UsageError(`"${path}" is no record of this command; ${mend}`, { cause: error })
  }
}

/** Replaces the record in one step. */
export async function writeRecord(folder: string, record: WrittenRecord): Promise<void> {
  const inOrder = [...record].toSorted(([one], [other]) => (one < other ? -1 : 1))
  await writeWhole(join(folder, FILE), `${JSON.stringify(Object.fromEntries(inOrder), null, 2)}\n`)
}

/** No name of a skill begins with a dot. */
const FILE = '.skillsyncd-projections.json'

/** Some 30,000 skills. */
const MOST_BYTES = 2 ** 23

/** A pipe or a folder holds no record either. */
const NO_FILE = new Uint8Array()

const DIGESTS = z.record(
  z.string(),
  z
    .array(z.string().regex(/^[0-9a-f]{64}$/))
    .min(1)
    .max(2),
)
