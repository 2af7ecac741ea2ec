import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { makeBulk } from './bulk.ts'
import { figureOf, rounds } from './figure.ts'
import type { Figure } from './figure.ts'
import type { Ground } from './ground.ts'
import { makeSkills } from './skills.ts'
import { runAlone } from './table.ts'
import { serveSkills } from './upstream.ts'

const run = promisify(execFile)
const FIRST_SYNC = fileURLToPath(new URL('./first-sync-process.ts', import.meta.url))
const SKILLS = 20

/** The memory of one first sync of a large repository, with each backend that unpacks it in the process itself. */
export async function measureBackendMemory(ground: Ground): Promise<Figure[]> {
  const mebibytes = ground.quick ? 4 : 64
  const paths = Array.from({ length: mebibytes }, (_, index) => `media/part-${index + 1}.bin`)
  const skills = makeSkills(SKILLS)
  await using served = await serveSkills({ ...skills, files: { ...skills.files, ...makeBulk(paths, 2 ** 20) } })
  const peakOf = (backend: string): string => `${backend}: peak of ${SKILLS} skills in ${mebibytes} MiB`
  const [ours, reference] = ['isomorphic-git, http', 'embedded, http'] as const
  const all = await rounds(
    ground.quick ? 1 : 5,
    [ours, reference].map((backend) => async () => ({ [peakOf(backend)]: await peakKiB(ground, served.url, backend) })),
  )
  return [figureOf('git', all, [peakOf(ours), peakOf(reference)], undefined, 'KiB')]
}

async function peakKiB(ground: Ground, url: string, backend: string): Promise<number> {
  const state = join(await ground.fresh(), 'state')
  const { stdout } = await run(process.execPath, [FIRST_SYNC, url, state, backend])
  const { peakKiB: peak, skills }: { peakKiB: number; skills: number } = JSON.parse(stdout)
  if (skills !== SKILLS) throw new Error(`${backend} serves ${skills} skills of ${SKILLS}`)
  return peak
}

await runAlone(import.meta.url, measureBackendMemory)
