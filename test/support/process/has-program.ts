import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { TestRunner, describe, test } from 'vitest'

/** True if PATH leads to a program. Tests with programs that are no dependency of ours are skipped where it does not. */
export function hasProgram(name: string): boolean {
  return programPath(name) !== undefined
}

/** The path of a program that PATH leads to. */
export function programPath(name: string): string | undefined {
  const places = (process.env['PATH'] ?? '').split(':').map((folder) => join(folder, name))
  return places.find((place) => {
    try {
      accessSync(place, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Groups tests whose preparation needs programs. Where one is missing they are not prepared, and one skip names it. */
export function describeWith(programs: readonly string[], name: string, tests: () => void | Promise<void>): void {
  const missing = programs.find((program) => !hasProgram(program))
  // oxlint-disable-next-line vitest/valid-title, vitest/valid-describe-callback, vitest/no-conditional-tests -- the rules do not follow parameters
  if (missing === undefined) describe(name, tests)
  // oxlint-disable-next-line vitest/no-disabled-tests, vitest/no-conditional-tests -- vitest prepares a skipped suite too
  else test.skip(`${name} (${reasonWithout(missing)})`, () => {})
}

/** The path of a program. Without it the running test is skipped, and its report names the program. */
export function neededProgram(name: string): string {
  const path = programPath(name)
  if (path !== undefined) return path
  const running = TestRunner.getCurrentTest()
  if (running === undefined) throw new Error(`Outside of a test ${reasonWithout(name)}: use describeWith`)
  return running.context.skip(reasonWithout(name))
}

function reasonWithout(name: string): string {
  return `there is no ${name} on PATH`
}
