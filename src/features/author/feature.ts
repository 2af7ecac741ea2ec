import type { Feature } from '../../daemon/cli/feature.ts'

/** The tools of authors of skills. */
export const authorFeature: Feature<unknown> = {
  commands: {
    explain: async () => (await import('./explain/explain.ts')).explain,
    'skill new': async () => (await import('./new-skill.ts')).newSkill,
    'skill validate': async () => (await import('./validate.ts')).validateCommand,
    'skill project': async () => (await import('./project.ts')).projectCommand,
  },
}
