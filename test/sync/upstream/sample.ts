import { createHash } from 'node:crypto'
import { Repository, type Content } from '../../support/repository.ts'

const LINES = Array.from({ length: 400 }, (_, index) => `line ${index * 7919}\n`)

/** Texts that are alike become deltas in a pack. */
export const FILES: Readonly<Record<string, Content>> = {
  'README.md': 'read me\n',
  empty: '',
  link: { link: 'skills/one/SKILL.md' },
  module: { submodule: '1234567890123456789012345678901234567890' },
  'run.sh': { executable: '#!/bin/sh\n' },
  'ünïcode/ø': Buffer.from([0, 1, 2, 255]),
  ...Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [
      `skills/s${index}/SKILL.md`,
      LINES.toSpliced(index * 10, 3, `changed ${index}\n`).join(''),
    ]),
  ),
}

/** A repository with one of everything, in one pack. */
export async function sample(): Promise<Repository> {
  const repository = await Repository.create()
  await repository.commit({ 'README.md': 'old\n' })
  await repository.commit(FILES)
  await repository.git('repack', '-adfq')
  return repository
}

/** The id that git gives an object. */
export function hashOf(type: string, bytes: Uint8Array): string {
  return createHash('sha1').update(`${type} ${bytes.length}\0`).update(bytes).digest('hex')
}
