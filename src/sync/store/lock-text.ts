import { LineCounter, parseDocument } from 'yaml'
import { indentedJson } from '../../base/canonical-json.ts'
import { isObject } from '../../base/json-object.ts'
import type { JsonObject, JsonValue } from '../../base/json-value.ts'
import { isTexts, parseJson } from '../../base/json-value.ts'
import { setDigestOf } from '../model/decisions/lock.ts'
import type {
  Lock,
  LockedOrigin,
  LockedPack,
  LockedSelection,
  LockedSkill,
  LockEntry,
} from '../model/decisions/lock.ts'
import { isObjectId, type AskedRef, type ObjectId, type Revision } from '../model/revision.ts'
import type { Signer, Signers } from '../model/signers.ts'
import { isPackId, isSourceId, type SourceId } from '../model/source-id.ts'
import { LOCK_UNREADABLE, SyncError } from '../model/sync-error.ts'
import { HIDDEN_POLICIES } from '../skill/hidden-unicode.ts'
import { isDigest } from './skills/stored-path.ts'

/** The version of the format. A lock of a newer version is rejected, never guessed at. */
const VERSION = 1

/** Returns the text of the lock: JSON with sorted keys and one line per fact. Equal locks give equal bytes. */
export function lockText({ sources, packs, rest }: Lock): string {
  const entries = Object.fromEntries([...sources].map(([id, entry]) => [id, entryJson(entry)]))
  const locked = Object.fromEntries([...packs].map(([id, pack]) => [id, packJson(pack)]))
  return indentedJson({ ...rest, version: VERSION, sources: entries, ...(packs.size > 0 && { packs: locked }) })
}

function packJson({ choices, sources, digest, skills, rest }: LockedPack): JsonObject {
  const of = Object.fromEntries([...sources].map(([id, entry]) => [id, `sha256:${entry}`]))
  return { ...rest, choices: `sha256:${choices}`, sources: of, digest: `sha256:${digest}`, skills: [...skills] }
}

function entryJson(entry: LockEntry): JsonObject {
  const { url, asked, root, selection, revision, tree, signers, digest, skills, docs, rest } = entry
  return {
    ...rest,
    url,
    asked: typeof asked === 'object' ? { ...asked } : (asked ?? null),
    root,
    selection: selectionJson(selection),
    ref: revision.ref,
    commit: idText(revision.commit),
    ...(revision.tag !== undefined && { tag: idText(revision.tag) }),
    tree: idText(tree),
    ...(signers !== undefined && { signers: signersJson(signers) }),
    digest: `sha256:${digest}`,
    skills: Object.fromEntries([...skills].map(([path, skill]) => [path, skillJson(skill)])),
    ...(docs !== undefined && { docs: `sha256:${docs}` }),
  }
}

/** Uses the names of the configuration. Rare settings are written only if they differ from the default. */
function selectionJson({ hiddenUnicode, nested, onBroken, contract, docs, ...selection }: LockedSelection): JsonObject {
  return {
    ...selection,
    ...(nested === 'as-files' && { nested }),
    ...(onBroken === 'withhold' && { on_broken: onBroken }),
    ...(contract && { contract }),
    ...(docs !== undefined && { docs }),
    'hidden-unicode': hiddenUnicode,
  }
}

/** Prefixes the id with its algorithm: ids of both algorithms can occur in one lock. */
function idText(id: ObjectId): string {
  return `${id.length === 64 ? 'sha256' : 'sha1'}:${id}`
}

function signersJson({ commit, tag }: Signers): JsonObject {
  return { ...(commit !== undefined && { commit: { ...commit } }), ...(tag !== undefined && { tag: { ...tag } }) }
}

function skillJson({ name, digest, from, rest }: LockedSkill): JsonObject {
  return { ...rest, name, digest: `sha256:${digest}`, ...(from !== undefined && { from: originJson(from) }) }
}

function originJson({ ref, commit, tag }: LockedOrigin): JsonObject {
  return { ref, commit: idText(commit), ...(tag !== undefined && { tag: idText(tag) }) }
}

/**
 * Parses the output of `lockText`, possibly edited by hand or merged. Anything else is `lock-mismatch`, with the place
 * in the file.
 */
export function readLockText(text: string, file: string): Lock {
  const refuse: Refuse = (where, why) => {
    const place = where === '' ? '' : `, ${where}`
    throw new SyncError('lock-mismatch', `Cannot read the lock "${file}"${place}: ${why}`, { fix: LOCK_UNREADABLE })
  }
  const value = parseLock(text, refuse)
  const { version, sources, packs, ...rest } = value
  if (typeof version === 'number' && version > VERSION)
    return refuse('', `it is of version ${version} and this program knows ${VERSION}; use a newer one`)
  if (version !== VERSION) return refuse('', 'it has no "version" that this program knows')
  if (!isJsonObject(sources)) return refuse('', 'it has no "sources"')
  const entries = Object.entries(sources).map(([id, entry]): [SourceId, LockEntry] => {
    if (!isSourceId(id)) return refuse(`source ${JSON.stringify(id)}`, 'it is not an id of a source')
    return [id, entryFrom(entry, (where, why) => refuse(`source "${id}"${where === '' ? '' : `, ${where}`}`, why))]
  })
  return { sources: new Map(entries), packs: packsFrom(packs, refuse), rest }
}

/** Throws the error for one place in the lock. */
type Refuse = (where: string, why: string) => never

function parseLock(text: string, refuse: Refuse): JsonObject {
  const marks = /^(?:<{7}|={7}|>{7}|\|{7})(?: |$)/m.exec(text)
  if (marks !== null) {
    const line = text.slice(0, marks.index).split('\n').length
    return refuse(`line ${line}`, 'it has marks of a merge conflict; choose one side')
  }
  const value = parseJson(text)
  if (!isJsonObject(value)) return refuse('', whatIsWrong(text))
  // A merge can leave a key twice, and `JSON.parse` silently takes the last.
  if (keysWritten(text) !== keysIn(value)) refuseTwice(text, refuse)
  return value
}

/** Counts the keys in the JSON text: the strings that a colon follows. */
function keysWritten(text: string): number {
  let keys = 0
  for (const [, colon] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g)) if (colon !== undefined) keys += 1
  return keys
}

function keysIn(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0
  const items: readonly JsonValue[] = Object.values(value)
  return items.reduce<number>((keys, item) => keys + keysIn(item), Array.isArray(value) ? 0 : items.length)
}

function refuseTwice(text: string, refuse: Refuse): never {
  const lines = new LineCounter()
  // The search takes time quadratic in the number of keys.
  const few = text.slice(0, MOST_SEARCHED)
  const { errors } = parseDocument(few, { lineCounter: lines, uniqueKeys: true, schema: 'json', logLevel: 'error' })
  const error = errors.find(({ code }) => code === 'DUPLICATE_KEY')
  const place = error === undefined ? '' : `line ${lines.linePos(error.pos[0]).line}`
  return refuse(place, 'a key is there twice')
}

const MOST_SEARCHED = 2 ** 19

function whatIsWrong(text: string): string {
  try {
    JSON.parse(text)
    return 'it is not a JSON object'
  } catch (error) {
    return `it is not JSON: ${error instanceof Error ? error.message.replaceAll(/\s+/g, ' ').slice(0, 200) : ''}`
  }
}

function entryFrom(value: JsonValue, refuse: Refuse): LockEntry {
  if (!isJsonObject(value)) return refuse('', 'it is not an object')
  const { url, asked, root, selection, ref, commit, tag, tree, signers, digest, skills, docs, ...rest } = value
  const askedRef = askedFrom(asked, refuse)
  const revision: Revision = {
    asked: askedRef,
    ref: textFrom(ref, 'ref', refuse),
    commit: idFrom(commit, 'commit', refuse),
    ...(tag !== undefined && { tag: idFrom(tag, 'tag', refuse) }),
  }
  const entry: LockEntry = {
    url: textFrom(url, 'url', refuse),
    asked: askedRef,
    root: textFrom(root, 'root', refuse),
    selection: selectionFrom(selection, refuse),
    revision,
    tree: idFrom(tree, 'tree', refuse),
    signers: signers === undefined ? undefined : signersFrom(signers, refuse),
    digest: digestFrom(digest, 'digest', refuse),
    skills: skillsFrom(skills, refuse),
    docs: docs === undefined ? undefined : digestFrom(docs, 'docs', refuse),
    rest,
  }
  if (setDigestOf(entry.skills) === entry.digest) return entry
  return refuse('digest', 'it is not the digest of the skills that follow; it was edited, or merged from two locks')
}

function packsFrom(value: JsonValue | undefined, refuse: Refuse): ReadonlyMap<string, LockedPack> {
  if (value === undefined) return new Map()
  if (!isJsonObject(value)) return refuse('packs', 'it is not an object')
  return new Map(
    Object.entries(value).map(([id, pack]) => {
      const where = `pack ${JSON.stringify(id)}`
      if (!isPackId(id)) return refuse(where, 'it is not an id of a pack')
      if (!isJsonObject(pack)) return refuse(where, 'it is not an object')
      const { choices, sources, digest, skills, ...rest } = pack
      if (!isTexts(skills)) return refuse(`${where}, skills`, 'it is not a list of texts')
      if (!isJsonObject(sources)) return refuse(`${where}, sources`, 'it is not an object')
      const of = Object.entries(sources).map(([source, entry]): [SourceId, string] => {
        if (!isSourceId(source))
          return refuse(`${where}, sources`, `${JSON.stringify(source)} is not an id of a source`)
        return [source, digestFrom(entry, `${where}, sources`, refuse)]
      })
      const digests = {
        choices: digestFrom(choices, `${where}, choices`, refuse),
        digest: digestFrom(digest, `${where}, digest`, refuse),
      }
      return [id, { ...digests, sources: new Map(of), skills, rest }]
    }),
  )
}

function askedFrom(value: JsonValue | undefined, refuse: Refuse): AskedRef {
  if (value === null) return undefined
  if (typeof value === 'string') return value
  if (!isJsonObject(value)) return refuse('asked', 'it is not a ref')
  const { range, prefix, prereleases } = value
  if (typeof range !== 'string' || typeof prefix !== 'string' || typeof prereleases !== 'boolean')
    return refuse('asked', 'it is not a range of tags')
  return { range, prefix, prereleases }
}

function textFrom(value: JsonValue | undefined, key: string, refuse: Refuse): string {
  return typeof value === 'string' ? value : refuse(key, 'it is not text')
}

function idFrom(value: JsonValue | undefined, key: string, refuse: Refuse): ObjectId {
  const [algorithm, id] = typeof value === 'string' ? value.split(':') : []
  if (id !== undefined && isObjectId(id) && `${algorithm}:${id}` === idText(id)) return id
  return refuse(key, 'it is not an object id, sha1:… or sha256:…')
}

function digestFrom(value: JsonValue | undefined, key: string, refuse: Refuse): string {
  const [algorithm, digest] = typeof value === 'string' ? value.split(':') : []
  return algorithm === 'sha256' && digest !== undefined && isDigest(digest)
    ? digest
    : refuse(key, 'it is not a digest, sha256:…')
}

function selectionFrom(value: JsonValue | undefined, refuse: Refuse): LockedSelection {
  const { include, exclude, unlisted, names, lfs, 'hidden-unicode': hiddenUnicode } = isJsonObject(value) ? value : {}
  const {
    nested = 'as-skills',
    on_broken: onBroken = 'keep',
    contract = false,
    docs,
  } = isJsonObject(value) ? value : {}
  if (!isTexts(include) || !isTexts(exclude) || !isTexts(unlisted))
    return refuse('selection', 'its globs are not lists of texts')
  if ((names !== 'remap' && names !== 'exact') || !isLfsPolicy(lfs))
    return refuse('selection', '"names" or "lfs" has a value that this program does not know')
  if (nested !== 'as-skills' && nested !== 'as-files')
    return refuse('selection', '"nested" has a value that this program does not know')
  if (onBroken !== 'withhold' && onBroken !== 'keep')
    return refuse('selection', '"on_broken" has a value that this program does not know')
  const hiddenPolicy = HIDDEN_POLICIES.find((policy) => policy === hiddenUnicode)
  if (hiddenPolicy === undefined)
    return refuse('selection', '"hidden-unicode" has a value that this program does not know')
  if (typeof contract !== 'boolean') return refuse('selection', '"contract" is neither true nor false')
  if (docs !== undefined && typeof docs !== 'string') return refuse('selection', '"docs" is not text')
  return { include, exclude, unlisted, names, nested, onBroken, lfs, hiddenUnicode: hiddenPolicy, contract, docs }
}

function isLfsPolicy(value: JsonValue | undefined): value is LockedSelection['lfs'] {
  return value === 'leave-out' || value === 'withhold' || value === 'pointers'
}

function signersFrom(value: JsonValue, refuse: Refuse): Signers {
  if (!isJsonObject(value)) return refuse('signers', 'it is not an object')
  const { commit, tag } = value
  return {
    ...(commit !== undefined && { commit: signerFrom(commit, refuse) }),
    ...(tag !== undefined && { tag: signerFrom(tag, refuse) }),
  }
}

function signerFrom(value: JsonValue, refuse: Refuse): Signer {
  const { scheme, principal, fingerprint } = isJsonObject(value) ? value : {}
  if ((scheme === 'ssh' || scheme === 'openpgp') && typeof principal === 'string' && typeof fingerprint === 'string')
    return { scheme, principal, fingerprint }
  return refuse('signers', 'one lacks its scheme, principal or fingerprint')
}

function skillsFrom(value: JsonValue | undefined, refuse: Refuse): ReadonlyMap<string, LockedSkill> {
  if (!isJsonObject(value)) return refuse('skills', 'it is not an object')
  return new Map(
    Object.entries(value).map(([path, skill]) => {
      const where = `skill ${JSON.stringify(path)}`
      if (!isJsonObject(skill)) return refuse(where, 'it is not an object')
      const { name, digest, from, ...rest } = skill
      const named = textFrom(name, `${where}, name`, refuse)
      const origin = from === undefined ? {} : { from: originFrom(from, `${where}, from`, refuse) }
      return [path, { name: named, digest: digestFrom(digest, `${where}, digest`, refuse), ...origin, rest }]
    }),
  )
}

function originFrom(value: JsonValue, where: string, refuse: Refuse): LockedOrigin {
  if (!isJsonObject(value)) return refuse(where, 'it is not an object')
  const { ref, commit, tag } = value
  return {
    ref: textFrom(ref, `${where}, ref`, refuse),
    commit: idFrom(commit, `${where}, commit`, refuse),
    ...(tag !== undefined && { tag: idFrom(tag, `${where}, tag`, refuse) }),
  }
}

function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value)
}
