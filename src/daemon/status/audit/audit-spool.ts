import type { AuditFiles } from './audit-files.ts'

/** Lines that wait for the disk. Lines beyond the limit are counted, and the record itself states the gap. */
export class AuditSpool {
  readonly #files: Pick<AuditFiles, 'append'>
  readonly #lineOfLost: (lost: number) => string
  readonly #lines: string[] = []
  #characters = 0
  #lost = 0

  /** `lineOfLost` makes the line for events that were dropped. */
  constructor(files: Pick<AuditFiles, 'append'>, lineOfLost: (lost: number) => string) {
    this.#files = files
    this.#lineOfLost = lineOfLost
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0
  }

  add(line: string): void {
    if (this.#characters + line.length > MOST_CHARACTERS) {
      this.#lost += 1
      return
    }
    this.#lines.push(line)
    this.#characters += line.length
  }

  /** Writes all lines. Lines that the disk refuses stay for the next call. */
  async write(): Promise<void> {
    if (this.isEmpty && this.#lost === 0) return
    const lines = this.#lines.splice(0)
    const before = lengthOf(lines)
    try {
      await this.#files.append(lines)
      if (lines.length === 0) await this.#writeLost()
    } finally {
      this.#lines.unshift(...lines)
      this.#characters -= before - lengthOf(lines)
    }
  }

  async #writeLost(): Promise<void> {
    const lost = this.#lost
    if (lost === 0) return
    const lines = [this.#lineOfLost(lost)]
    await this.#files.append(lines)
    if (lines.length === 0) this.#lost -= lost
  }
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, { length }) => sum + length, 0)
}

/** Some ten thousand events. */
const MOST_CHARACTERS = 4 * 2 ** 20
