import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { bundledPackages } from './npm-lock.ts'
import type { Ended, Home } from './program.ts'

/** The module that records what a process loads. */
export const RECORD = new URL('record-loads.mjs', import.meta.url).pathname

/** The files of the program that a run loaded, and the names of the packages whose code is in them. */
export interface Loaded {
  readonly end: Ended
  readonly files: ReadonlySet<string>
  readonly packages: readonly string[]
}

/** Runs a command of the program, and tells what it loaded. */
export async function loadedBy(home: Home, ...words: readonly string[]): Promise<Loaded> {
  const record = join(home.path, 'loaded')
  await rm(record, { force: true })
  home.env['NODE_OPTIONS'] = `--import ${RECORD}`
  home.env['RECORD_LOADS'] = record
  const end = await home.run(...words)
  delete home.env['NODE_OPTIONS']
  const files = new Set((await readFile(record, 'utf8')).trim().split('\n'))
  const used = (await bundledPackages()).filter((one) => one.files.some((file) => files.has(file)))
  return { end, files, packages: used.map(({ name }) => name) }
}
