import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

/** Whether PATH leads to a program. Tests with programs that are no dependency of ours are skipped where it does not. */
export function hasProgram(name: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
