import { open, readdir, rename, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { cannot, isDiskError, unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import { FileLock } from '../../../sync/store/files/file-lock.ts'
import { makeFolder } from '../../../sync/store/files/state-folder.ts'
import type { AuditConfig } from '../../config/config.ts'
import { AuditFile } from './audit-file.ts'

/** The current file of reads. Earlier files are `audit-<number>.jsonl`; the highest number is the youngest. */
export const AUDIT_FILE = 'audit.jsonl'

/** The files of each kind of line: reads, decisions on known clients, and refusals of unknown ones. */
export type AuditName = 'audit' | 'decisions' | 'strangers'

/**
 * Lines in a folder of bounded files, which any number of processes write at the same time. Each piece is one write at
 * the end of the file, and only the process that holds the turn renames the file. A process leaves no files of its own
 * behind.
 */
export class AuditFiles {
  readonly #folder: string
  readonly #limits: AuditConfig
  readonly #now: () => number
  readonly #name: string
  readonly #numberedName: RegExp

  /**
   * `now` is the wall clock, for the traces of killed processes. The files are `<name>.jsonl` and
   * `<name>-<number>.jsonl`.
   */
  constructor(folder: string, limits: AuditConfig, now: () => number, name: AuditName = 'audit') {
    this.#folder = folder
    this.#limits = limits
    this.#now = now
    this.#name = name
    this.#numberedName = new RegExp(`^${name}-([1-9]\\d{0,14})\\.jsonl$`)
  }

  /**
   * Writes lines, oldest first, and removes the written ones from the array. Throws `store-failed` if the disk refuses
   * the next one.
   */
  async append(lines: string[]): Promise<void> {
    makeFolder(this.#folder, 0o700)
    await this.#appendAll(lines).catch(cannot('write the audit log'))
  }

  async #appendAll(lines: string[]): Promise<void> {
    while (lines.length > 0) {
      if (await this.#appendSome(lines)) continue
      if (await this.#rotate(Buffer.byteLength(lines[0] ?? ''))) continue
      // Another process is rotating the file, or was killed while it did. The file may exceed its limit meanwhile, but
      // not without bound.
      if (!(await this.#appendSome(lines, 2))) return
    }
  }

  /** False if the file is full: it has reached its limit times `times`. */
  async #appendSome(lines: string[], times = 1): Promise<boolean> {
    const { bytes } = this.#limits
    await using file = await AuditFile.open(this.#path)
    return await file.write(lines, { limit: bytes * times, atOnce: bytes / PIECES })
  }

  /** Gives the full file its number and removes surplus files. False if another process is doing so. */
  async #rotate(needed: number): Promise<boolean> {
    await using turn = await FileLock.takeIfFree(
      join(this.#folder, this.#name === 'audit' ? 'rotating' : `rotating-${this.#name}`),
      this.#now,
    )
    if (turn === undefined) return false
    // The previous holder of the turn may have rotated the file already.
    const found = await unlessAbsent(stat(this.#path))
    if (found === undefined || found.size === 0 || found.size + needed <= this.#limits.bytes) return true
    const numbers = await this.#numbersBelowLast()
    const next = await this.#reserve((numbers.at(-1) ?? 0) + 1)
    const isMoved = (await turn.isOurs()) && (await isDone(rename(this.#path, this.#pathOf(next))))
    if (!isMoved) {
      await unlessAbsent(unlink(this.#pathOf(next)))
      return false
    }
    const all = [...numbers, next]
    for (const old of all.slice(0, Math.max(0, all.length + 1 - this.#limits.files))) {
      await unlessAbsent(unlink(this.#pathOf(old)))
    }
    return true
  }

  /**
   * Reserves a number that no other process has. Even if the turn was taken away, no file replaces another one that has
   * lines.
   */
  async #reserve(number: number): Promise<number> {
    try {
      await using _made = await open(this.#pathOf(number), 'wx', 0o600)
      return number
    } catch (error) {
      if (!isDiskError(error, 'EEXIST')) throw error
      return this.#reserve(number + 1)
    }
  }

  /**
   * The present numbers, oldest first. If a file has the highest possible number, renumbers all from 1, so that each
   * number has a successor.
   */
  async #numbersBelowLast(): Promise<readonly number[]> {
    const numbers = await this.#numbers()
    if (numbers.at(-1) !== LAST_NUMBER) return numbers
    for (const [index, number] of numbers.entries()) {
      // No file is in the way: each earlier one already has its new name.
      await unlessAbsent(rename(this.#pathOf(number), this.#pathOf(index + 1)))
    }
    return this.#numbers()
  }

  async #numbers(): Promise<readonly number[]> {
    const entries = await readdir(this.#folder, { withFileTypes: true })
    const found = entries.flatMap((entry) => (entry.isFile() ? (this.#numberedName.exec(entry.name)?.[1] ?? []) : []))
    return found.map(Number).toSorted((a, b) => a - b)
  }

  #pathOf(number: number): string {
    return join(this.#folder, `${this.#name}-${number}.jsonl`)
  }

  get #path(): string {
    return join(this.#folder, `${this.#name}.jsonl`)
  }
}

async function isDone(moved: Promise<void>): Promise<boolean> {
  return (await unlessAbsent(moved.then(() => true))) ?? false
}

/** A thousand processes that write at the same moment exceed the limit of a file by no more than that limit. */
const PIECES = 1_024

const LAST_NUMBER = 999_999_999_999_999
