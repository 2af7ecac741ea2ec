import type { Programs } from '../../../src/sync/git/objects/git-host.ts'

/** A machine without the git program, for what never asks for it. */
export const NO_PROGRAMS: Programs = {
  git: '/nonexistent/git',
  ssh: '/nonexistent/ssh',
  path: '',
  access: async () => {
    throw new Error('Nobody reaches a host of ssh here')
  },
}
