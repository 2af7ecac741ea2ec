import { skill, type World } from '../e2e/world.ts'
import type { Way } from './reproduction.ts'

export async function nothing(): Promise<void> {}

/** Moves the branch of `team` on. */
export async function next({ repository }: World): Promise<string> {
  return repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
}

export async function write({ home, git, repository }: World, lines: readonly string[], rest: readonly string[] = []) {
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h', ...lines] }, rest)
}

/** Writes the source `team` anew, with its address and these lines. */
export function configured(...lines: readonly string[]): Way {
  return async ({ world }) => write(world, lines)
}

/** Writes the source `team` anew, with the key that the step names and this value, or the line that it has. */
export function setting(value?: string): Way {
  return async (reader) => write(reader.world, [reader.line(value)])
}

export function typing(command: RegExp, filled?: Readonly<Record<string, string>>): Way {
  return async (reader) => void (await reader.types(command, filled))
}
