import { skill, type World } from '../e2e/world.ts'
import type { Reader } from './reproduction.ts'

export async function nothing(): Promise<void> {}

/** Moves the branch of `team` on. */
export async function next({ repository }: World): Promise<string> {
  return repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
}

export async function write({ home, git, repository }: World, lines: readonly string[], rest: readonly string[] = []) {
  await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h', ...lines] }, rest)
}

/** Writes the source `team` anew, with its address and these lines. */
export function configured(...lines: readonly string[]): (reader: Reader) => Promise<void> {
  return async ({ world }) => write(world, lines)
}

export function typing(command: RegExp, filled?: Readonly<Record<string, string>>): (reader: Reader) => Promise<void> {
  return async (reader) => void (await reader.types(command, filled))
}
