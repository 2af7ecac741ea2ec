import { NO_DISABLED_SKILLS } from './disabled-skills.ts'
import type { DisabledSkills } from './disabled-skills.ts'
import { NO_RECALLS } from './recalled-skills.ts'
import type { RecalledSkills } from './recalled-skills.ts'

/** The decisions that keep skills out of service: those of this operator, and recalls of this hub and of others. */
export interface OutOfService {
  readonly disabled: DisabledSkills
  readonly recalls: RecalledSkills
}

export const NOTHING_OUT: OutOfService = { disabled: NO_DISABLED_SKILLS, recalls: NO_RECALLS }
