import { isObjectId } from '../model/revision.ts'
import type { Skill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { TrackedRef } from '../model/tracked-ref.ts'
import type { Pull } from './pull-context.ts'

/** The revision from which the ref can have moved. `undefined` if it is of a repository that was configured before. */
export function followedBefore({ source, current, orders }: Pull): TrackedRef | undefined {
  const served = current === undefined || isObjectId(current.snapshot.revision.ref) ? undefined : current.snapshot
  const followed = served === undefined ? orders.followed : followedIn(served)
  return followed?.url === source.url ? followed : undefined
}

/** The part of a followed snapshot that the brakes need. */
export function followedIn({ url, revision, skills }: Snapshot): TrackedRef {
  return { url, revision, skills: offeredCount(skills) }
}

/** The number of skills that are not withheld. */
export function offeredCount(skills: readonly Skill[]): number {
  return skills.filter(({ standing }) => standing !== 'withheld').length
}
