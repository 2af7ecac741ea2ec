import { matcher } from '../../../base/globs.ts'
import { joinPath } from '../../../base/paths.ts'
import { printablePath } from '../../../base/text/printable.ts'
import { withheldSkill } from '../../../sync/model/skill.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import type { ChannelSkills } from '../../../sync/model/snapshot.ts'
import type { ChannelSource } from '../../../sync/model/source.ts'
import { nameProblem, pathProblem } from '../../../sync/skill/skill-path.ts'
import { namedLimit } from '../../../sync/upstream/upstream.ts'
import type { FetchLimits } from '../../../sync/upstream/upstream.ts'

/**
 * The sources of a hub with those of their skills that this source selects by their paths below it. A skill that is over
 * a limit of this machine is withheld: the hub may have larger ones.
 */
export function selectedIn(
  sources: readonly ChannelSkills[],
  { include, exclude }: ChannelSource,
  limits: FetchLimits,
): readonly ChannelSkills[] {
  const [isIncluded, isExcluded] = [matcher(include), matcher(exclude)]
  const isSelected = (path: string): boolean => isIncluded(path) && !isExcluded(path)
  return sources.map((one) => ({
    ...one,
    parts: one.parts.map(({ digest, skills }) => ({
      digest,
      skills: skills?.flatMap((skill) =>
        isSelected(joinPath(one.source, skill.path)) ? [withinLimits(skill, limits)] : [],
      ),
    })),
  }))
}

function withinLimits(skill: Skill, limits: FetchLimits): Skill {
  const bytes = skill.files.reduce((sum, { size }) => sum + size, 0)
  if (bytes > limits.blobBytes) {
    const message = `Its files have ${bytes} bytes, over ${namedLimit('blobBytes', limits)}`
    return withheldSkill(skill, { rule: 'limit-bytes', path: skill.path, message })
  }
  const refused = (path: string, problem: string | undefined): Skill | undefined => {
    if (problem === undefined) return undefined
    const message = `The path ${printablePath(path)} ${problem}`
    return withheldSkill(skill, { rule: 'path-refused', path: skill.path, message })
  }
  for (const place of [skill.path, skill.servedPath ?? '']) {
    const withheld = refused(place, nameProblem(place))
    if (withheld !== undefined) return withheld
  }
  for (const { path } of skill.files) {
    const withheld = refused(path, pathProblem(path, limits))
    if (withheld !== undefined) return withheld
  }
  return skill
}
