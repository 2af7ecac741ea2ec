import { chmod, mkdir, readFile, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { canonicalJson } from '../../src/base/canonical-json.ts'
import { storedIn, type StoredSkill } from '../../src/sync/store/skills/stored-path.ts'
import { Store } from '../../src/sync/store/store.ts'

/** The formats of state folders that had each thing as a file. In the first, no snapshot has parts. */
export type EarlierFormat = '1' | '2'

/**
 * Lays a state folder out as version 0.1 had it: `skills/<digest>/<name>/…`, `docs/<digest>/…`,
 * `snapshots/<digest>.json` and `.part`, `generations/<n>.json`, `current`, and links to `../skills/…`. What lies beside
 * the database was the same.
 */
export async function layOutEarlier(state: string, format: EarlierFormat): Promise<void> {
  using store = await Store.open(state)
  const folders = ['skills', 'docs', 'snapshots', 'generations']
  for (const folder of folders) await mkdir(join(state, folder), { mode: 0o700, recursive: true })
  for (const digest of await store.snapshots.digests()) await writeSnapshot(store, digest)
  for (const number of await store.generations.numbers())
    await writePrivate(
      join(state, 'generations', `${number}.json`),
      canonicalJson(await store.generations.read(number)),
    )
  const [newest] = await store.generations.numbers()
  await writePrivate(join(state, 'current'), `${newest}\n`)
  await linkToSkills(join(state, 'links'))
  store[Symbol.dispose]()
  for (const gone of ['store.db', 'store.db-wal', 'store.db-shm', 'checkouts'])
    await rm(join(state, gone), { recursive: true, force: true })
  await writePrivate(join(state, 'format'), `${format}\n`)
}

async function writeSnapshot(store: Store, digest: string): Promise<void> {
  const { parts } = await store.snapshots.outline(digest)
  const at = (name: string): string => join(store.folder.path, 'snapshots', name)
  for (const part of parts) await writePrivate(at(`${part}.part`), await bytesOf(store, part))
  await writePrivate(at(`${digest}.json`), await bytesOf(store, digest))
  for (const skill of storedIn(await store.snapshots.read(digest))) await writeSkill(store, skill)
}

async function writeSkill(store: Store, skill: StoredSkill): Promise<void> {
  for (const file of skill.files) {
    const path = earlierFile(store.folder.path, skill, file.path)
    await mkdir(dirname(path), { mode: 0o755, recursive: true })
    await rm(path, { force: true })
    await writeFile(path, await store.skills.read(skill, file))
    await chmod(path, file.executable ? 0o555 : 0o444)
  }
}

/** The path of a skill's file in a state folder of an earlier format. */
export function earlierFile(state: string, skill: StoredSkill, path: string): string {
  return join(state, skill.place, skill.digest, skill.folderName, path)
}

async function bytesOf(store: Store, digest: string): Promise<Uint8Array> {
  const bytes = await store.objects.get(digest)
  if (bytes === undefined) throw new Error(`There is no object "${digest}"`)
  return bytes
}

async function linkToSkills(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const target = (await readlink(join(folder, name))).replace('../checkouts/', '../skills/')
    await rm(join(folder, name))
    await symlink(target, join(folder, name))
  }
}

async function writePrivate(path: string, bytes: string | Uint8Array): Promise<void> {
  await writeFile(path, bytes, { mode: 0o600 })
}

/** Overwrites a read-only file of a skill, as an agent or a failing disk may. */
export async function damageFile(path: string): Promise<void> {
  const bytes = await readFile(path)
  await chmod(path, 0o644)
  await writeFile(
    path,
    bytes.map((byte) => byte ^ 1),
  )
  await chmod(path, 0o444)
}
