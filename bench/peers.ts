import type { Figure } from './figure.ts'
import type { Ground } from './ground.ts'
import { measureChanges } from './peer-changes.ts'
import { measureInstall } from './peer-install.ts'
import { measureServers } from './peer-servers.ts'
import { runAlone } from './table.ts'

/** As many skills as well-known collections have. */
export const SIZES = [18, 181, 404, 1_821]

/** The same job by ours and by the peers that run from npm: the installer, and servers over a folder of skills. */
export async function measurePeers(ground: Ground, sizes: readonly number[]): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const count of sizes) {
    console.log(`peers: ${(await ground.skills(count)).skills.summary}`)
    const times = ground.quick ? 2 : 5
    figures.push(...(await measureInstall(ground, count, times)))
    figures.push(...(await measureServers(ground, count, times)))
    figures.push(...(await measureChanges(ground, count, times)))
  }
  return figures
}

const named = process.argv.slice(2).map(Number).filter(Number.isInteger)
await runAlone(import.meta.url, (ground) =>
  measurePeers(ground, named.length > 0 ? named : SIZES.slice(0, ground.quick ? 1 : undefined)),
)
