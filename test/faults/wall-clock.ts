import { existsSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Home } from '../support/process/program.ts'

const FOLDERS = ['x86_64-linux-gnu/faketime', 'aarch64-linux-gnu/faketime', 'faketime']
/** The library that shows a program another time; `undefined` where it is not installed. */
export const FAKETIME = FOLDERS.flatMap((folder) => [`/usr/lib/${folder}`, `/usr/local/lib/${folder}`])
  .map((folder) => join(folder, 'libfaketimeMT.so.1'))
  .find((file) => existsSync(file))

export const HOUR_MS = 3_600_000

/** The wall clock that the daemon sees, and what is started beside it. Its other clock is the machine's. */
export class WallClock {
  /** The distance to the right time. */
  offMs = 0
  readonly #file: string

  constructor(home: Pick<Home, 'path' | 'env'>) {
    this.#file = join(home.path, 'clock')
    home.env['LD_PRELOAD'] = FAKETIME ?? ''
    home.env['FAKETIME_TIMESTAMP_FILE'] = this.#file
    home.env['FAKETIME_NO_CACHE'] = '1'
    home.env['FAKETIME_DONT_FAKE_MONOTONIC'] = '1'
    home.env['NO_FAKE_STAT'] = '1'
  }

  get now(): number {
    return Date.now() + this.offMs
  }

  async jump(hours: number): Promise<void> {
    this.offMs = hours * HOUR_MS
    // Whoever looks at it meanwhile finds a time.
    await writeFile(`${this.#file}.new`, `${hours < 0 ? '' : '+'}${hours}h\n`)
    await rename(`${this.#file}.new`, this.#file)
  }
}
