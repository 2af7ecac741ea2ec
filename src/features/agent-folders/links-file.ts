import { realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { indentedJson } from '../../base/canonical-json.ts'
import { parseJson } from '../../base/json-value.ts'
import { readBounded } from '../../daemon/runtime/plain-file.ts'
import { isSourceId } from '../../sync/model/source-id.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { isSkillName } from '../../sync/skill/skill-name.ts'
import { writeWhole } from '../../sync/store/files/atomic.ts'
import { cannot, isDiskError, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { MOST_DIGESTS, MOST_TARGETS, NO_LINKS } from './link-record.ts'
import type { LinkEntry, LinkedFolder, Links } from './link-record.ts'

/**
 * Reads the record of what was put into agents' folders, `links.json` in the state folder. An unreadable file is an
 * error: forgotten entries would stay in users' folders forever.
 */
export async function readLinks(state: string): Promise<Links> {
  const file = fileIn(state)
  const bytes = await unlessAbsent(readBounded(file, MOST_BYTES).then((found) => found ?? NO_FILE)).catch(
    cannot(`read "${file}"`),
  )
  if (bytes === undefined) return NO_LINKS
  const { data } = LINKS.safeParse(bytes.length > MOST_BYTES ? undefined : parseJson(Buffer.from(bytes).toString()))
  if (data !== undefined) return withoutOtherStates(data, state)
  const message = `Cannot read "${file}": it is damaged; it lists the skills in the folders of agents, so check it before you remove it`
  throw new SyncError('store-failed', message)
}

/**
 * The record without the targets in another state folder that is still there. It has them if it was restored from a
 * backup beside the folder that it was made of, whose links these are.
 */
async function withoutOtherStates(links: Links, state: string): Promise<Links> {
  const entries = [...links.folders.values()].flatMap((folder) => Array.from(folder.entries.values()))
  const parents = new Set(entries.flatMap(({ targets }) => targets.map((target) => dirname(target))))
  const own = await realpathOf(join(state, 'links'))
  const others = new Set<string>()
  for (const parent of parents) {
    const real = await realpathOf(parent)
    if (real !== undefined && real !== own) others.add(parent)
  }
  if (others.size === 0) return links
  const isOwn = (target: string): boolean => !others.has(dirname(target))
  const folders = [...links.folders].map(([path, folder]): [string, LinkedFolder] => {
    const kept = [...folder.entries].map(([name, { targets, digests }]): [string, LinkEntry] => [
      name,
      { targets: targets.filter(isOwn), digests },
    ])
    return [path, { ...folder, entries: new Map(kept) }]
  })
  return { skills: links.skills, folders: new Map(folders) }
}

/** `undefined` if there is nothing, or nothing that this user can see. */
async function realpathOf(path: string): Promise<string | undefined> {
  return realpath(path).catch((error: unknown) => {
    if (isDiskError(error)) return undefined
    throw error
  })
}

/** Replaces the file atomically; it is on disk when this returns. Only for the process that holds the lock. */
export async function writeLinks(state: string, { skills, folders }: Links): Promise<void> {
  const written = {
    skills: Object.fromEntries(skills),
    folders: Object.fromEntries(
      [...folders].map(([path, { entries, ...rest }]) => [path, { ...rest, entries: Object.fromEntries(entries) }]),
    ),
  }
  const text = indentedJson(written)
  // Every written file can be read again.
  if (Buffer.byteLength(text) > MOST_BYTES)
    throw new SyncError(
      'store-failed',
      `Cannot write "${fileIn(state)}": there are more links than ${MOST_BYTES} bytes hold`,
      { fix: 'Link fewer skills: skillsyncd link --remove takes some away' },
    )
  await writeWhole(fileIn(state), text)
}

function fileIn(state: string): string {
  return join(state, 'links.json')
}

/** Some 100,000 links. */
const MOST_BYTES = 2 ** 24

/** A pipe or a folder holds no record. */
const NO_FILE = new Uint8Array()

export const NAME = z.string().refine((text) => isSkillName(text))

export const LINKED_SKILL = z.object({ source: z.string().refine(isSourceId), path: z.string() })

export const USE = z.object({ agent: z.string(), project: z.string().optional() })

export const ONLY = z.object({ sources: z.array(z.string()).readonly(), skills: z.array(z.string()).readonly() })

export const ENTRY = z.object({
  targets: z.array(z.string()).max(MOST_TARGETS).readonly(),
  digests: z
    .array(z.string().regex(/^[0-9a-f]{64}$/))
    .max(MOST_DIGESTS)
    .readonly(),
})

const FOLDER = z.object({
  uses: z.array(USE),
  made: z.array(z.string()),
  copies: z.boolean(),
  only: ONLY.optional(),
  entries: byKey(NAME, ENTRY),
})

const LINKS = z.object({ skills: byKey(NAME, LINKED_SKILL), folders: byKey(z.string(), FOLDER) })

/** A Map, because a plain object also has the names of its prototype. */
function byKey<Value extends z.ZodType>(
  key: z.ZodType<string, string>,
  value: Value,
): z.ZodType<ReadonlyMap<string, z.output<Value>>> {
  return z.record(key, value).transform((found) => new Map(Object.entries(found)))
}
