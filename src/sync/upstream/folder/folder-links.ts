import { lstat, opendir, realpath, stat } from 'node:fs/promises'
import { isBelow } from '../../../base/paths.ts'
import type { FollowedLinks } from './open-folder.ts'
import { undefinedIfAway } from './open-folder.ts'

/**
 * Finds the links directly in a folder that lead out of it to a skill folder of the same owner, as installers create
 * them. A link to or into an excluded place does not count. `folder` is real; at most `most` entries are read.
 */
export async function followedLinks(folder: string, apart: readonly string[], most: number): Promise<FollowedLinks> {
  const targetOf = await targetRule(folder, apart)
  const followed = new Map<string, Buffer>()
  let count = 0
  for await (const entry of await opendir(folder, { encoding: 'latin1', bufferSize: 256 })) {
    count += 1
    // The walk afterwards refuses such a folder.
    if (count > most) break
    if (!entry.isSymbolicLink()) continue
    const target = await targetOf(entry.name)
    if (target !== undefined) followed.set(entry.name, target)
  }
  return followed
}

/** Returns the target of one link directly in a folder, by the rule of `followedLinks`. `name` is raw. */
export async function followedTarget(
  folder: string,
  name: string,
  apart: readonly string[],
): Promise<string | undefined> {
  const targetOf = await targetRule(folder, apart)
  return (await targetOf(name))?.toString()
}

async function targetRule(
  folder: string,
  apart: readonly string[],
): Promise<(name: string) => Promise<Buffer | undefined>> {
  const owner = (await stat(folder).catch(undefinedIfAway))?.uid
  const closed = await realPathsOf([folder, ...apart])
  return async (name) => {
    const target = await skillFolderAt(raw(folder, name), owner)
    return target === undefined || closed.some((place) => isAt(place, target)) ? undefined : target
  }
}

async function realPathsOf(places: readonly string[]): Promise<readonly string[]> {
  const real = await Promise.all(places.map((place) => realpath(place).catch(undefinedIfAway)))
  return real.filter((place) => place !== undefined)
}

/** Returns the real path of the skill folder that a link leads to; `undefined` if it leads elsewhere. */
async function skillFolderAt(link: Buffer, owner: number | undefined): Promise<Buffer | undefined> {
  const real = await realpath(link, { encoding: 'buffer' }).catch(undefinedIfAway)
  const found = real && (await lstat(real).catch(undefinedIfAway))
  if (real === undefined || found?.isDirectory() !== true || found.uid !== owner) return undefined
  const document = await lstat(raw(real, 'SKILL.md')).catch(undefinedIfAway)
  return document?.isFile() === true ? real : undefined
}

function isAt(place: string, target: Buffer): boolean {
  const path = target.toString('utf8')
  return path === place || isBelow(path, place)
}

function raw(folder: string | Buffer, name: string): Buffer {
  return Buffer.concat([Buffer.from(folder), Buffer.from('/'), Buffer.from(name, 'latin1')])
}
