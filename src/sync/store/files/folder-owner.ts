import type { Stats } from 'node:fs'
import { lstat, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { SyncError } from '../../model/sync-error.ts'
import { cannot, unlessAbsent } from './disk-error.ts'

/** `asReader`: root may read the state folder of a service, but neither serves nor writes it. */
export interface FolderOpening {
  readonly asReader: boolean
}

/**
 * Throws if another user owns the state folder or can write to it, as ssh does with its files: an added `tokens.json`
 * would open the daemon. A system without users has no such folder.
 */
export async function expectOwnFolder(root: string, { asReader }: FolderOpening): Promise<void> {
  const [found, me] = [await foundAt(root, stat), process.getuid?.()]
  if (found === undefined || me === undefined) return
  if (!ownersOf(found, me, asReader).has(found.uid)) {
    const mend = `run it as that user (sudo -u '#${found.uid}' skillsyncd …), or as root: chown -R ${me} "${root}"`
    throw unsafe(root, `its owner is user ${found.uid}, and this is user ${me}; ${mend}`)
  }
  expectClosed(root, root, found)
}

/**
 * Makes the same checks at the top level of the state folder: an entry may date from a time when other users could
 * write.
 */
export async function expectOwnEntries(root: string, { asReader }: FolderOpening): Promise<void> {
  const [found, me] = [await foundAt(root, stat), process.getuid?.()]
  if (found === undefined || me === undefined) return
  const owners = ownersOf(found, me, asReader)
  const names = (await unlessAbsent(readdir(root)).catch(cannot(`list "${root}"`))) ?? []
  // The file system creates that folder, and a cluster opens it to the group of a volume.
  for (const name of names.filter((each) => each !== 'lost+found')) await expectOwnEntry(root, join(root, name), owners)
}

/** Checks the target of a link too, because a read opens the target. */
async function expectOwnEntry(root: string, path: string, owners: ReadonlySet<number>): Promise<void> {
  const entry = await foundAt(path, lstat)
  if (entry === undefined) return
  expectOwner(root, path, entry, owners)
  if (!entry.isSymbolicLink()) return expectClosed(root, path, entry)
  const target = await foundAt(path, stat)
  if (target === undefined) return
  expectOwner(root, path, target, owners)
  expectClosed(root, path, target)
}

function expectOwner(root: string, path: string, { uid }: Stats, owners: ReadonlySet<number>): void {
  if (owners.has(uid)) return
  throw unsafe(root, `the owner of "${path}" is user ${uid}; see what it is, then remove it, or as root chown it`)
}

function expectClosed(root: string, path: string, { mode }: Stats): void {
  if ((mode & OTHERS_WRITE) === 0) return
  const what = `others can write to "${path}" (mode ${(mode & 0o777).toString(8)})`
  throw unsafe(root, `${what}; check its content, then: chmod -R go-w "${root}"`)
}

const OTHERS_WRITE = 0o022

/**
 * Returns the trusted users: this user and root. If root reads the folder of a service, the user of that service is
 * trusted too.
 */
function ownersOf({ uid }: Stats, me: number, asReader: boolean): ReadonlySet<number> {
  return new Set(asReader && me === ROOT ? [me, uid] : [me, ROOT])
}

const ROOT = 0

async function foundAt(path: string, look: (path: string) => Promise<Stats>): Promise<Stats | undefined> {
  return unlessAbsent(look(path)).catch(cannot(`read the attributes of "${path}"`))
}

function unsafe(root: string, why: string): SyncError {
  return new SyncError('folder-unsafe', `Cannot use the state folder "${root}": ${why}`)
}
