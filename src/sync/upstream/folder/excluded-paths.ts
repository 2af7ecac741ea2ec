import { realpath } from 'node:fs/promises'
import { isBelow } from '../../../base/paths.ts'
import { undefinedIfAway } from './open-folder.ts'

/** Returns the real paths of those places that are below a folder; `folder` is real. Missing places are left out. */
export async function realPlacesBelow(folder: string, places: readonly string[]): Promise<readonly string[]> {
  const real = await Promise.all(places.map((place) => realpath(place).catch(undefinedIfAway)))
  const top = folder === '/' ? '' : folder
  return real.filter((place) => place !== undefined).filter((place) => isBelow(place, top))
}
