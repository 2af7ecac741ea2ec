import type { Figure } from './figure.ts'
import type { Ground } from './ground.ts'
import { measureChanges } from './peer-changes.ts'
import { measureInstall } from './peer-install.ts'
import { measureServers } from './peer-servers.ts'
import { runAlone } from './table.ts'

/** As many skills as well-known collections have. */
const SIZES = [18, 181, 404, 1_821]

/** The same job by ours and by the peers that run from npm: the installer, and servers over a folder of skills. */
export async function measurePeers(ground: Ground, sizes: readonly number[] = SIZES): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const count of ground.quick ? sizes.slice(0, 1) : sizes) {
    const upstream = await ground.skills(count)
    console.log(`peers: ${upstream.skills.summary}`)
    const times = ground.quick ? 2 : 5
    figures.push(...(await measureInstall(upstream, count, times)))
    figures.push(...(await measureServers(upstream, count, times)))
    figures.push(...(await measureChanges(upstream, count, times)))
  }
  return figures
}

const named = process.argv.slice(2).map(Number).filter(Number.isInteger)
await runAlone(import.meta.url, (ground) => measurePeers(ground, named.length > 0 ? named : SIZES))
