import type { Feature } from '../../daemon/cli/feature.ts'

/** The tools of authors of skills. */
export const authorFeature: Feature<unknown> = {
  commands: {
    new: async () => (await import('./new-skill.ts')).newSkill,
    validate: async () => (await import('./validate.ts')).validateCommand,
    project: async () => (await import('./project.ts')).projectCommand,
  },
}
