import { createHash } from 'node:crypto'
import { afterAll } from 'vitest'
import type { ObjectFormat } from '../../../src/sync/model/revision.ts'
import { Repository, type Content } from '../../support/git/repository.ts'

const LINES = Array.from({ length: 400 }, (_, index) => `line ${index * 7919}\n`)

/** Ids that no object has. */
export const ABSENT: Readonly<Record<ObjectFormat, string>> = {
  sha1: '0123456789'.repeat(4),
  sha256: '01234567'.repeat(8),
}

/** Texts that are alike become deltas in a pack. */
export const FILES: Readonly<Record<string, Content>> = {
  'README.md': 'read me\n',
  empty: '',
  link: { link: 'skills/one/SKILL.md' },
  'run.sh': { executable: '#!/bin/sh\n' },
  'ünïcode/ø': Buffer.from([0, 1, 2, 255]),
  ...Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [
      `skills/s${index}/SKILL.md`,
      LINES.toSpliced(index * 10, 3, `changed ${index}\n`).join(''),
    ]),
  ),
}

/** A repository with one of everything, in one pack: a copy of one that is made once. */
export async function sample(objectFormat: ObjectFormat): Promise<Repository> {
  return (await (samples[objectFormat] ??= packed(objectFormat))).copy()
}

const samples: Partial<Record<ObjectFormat, Promise<Repository>>> = {}

afterAll(async () => {
  for (const made of Object.values(samples)) await (await made)[Symbol.asyncDispose]()
})

async function packed(objectFormat: ObjectFormat): Promise<Repository> {
  const repository = await Repository.create({ objectFormat })
  await repository.commit({ 'README.md': 'old\n' })
  await repository.commit({ ...FILES, module: { submodule: ABSENT[objectFormat] } })
  await repository.git('repack', '-adfq')
  return repository
}

/** The id that git gives an object. */
export function hashOf(type: string, bytes: Uint8Array, format: ObjectFormat): string {
  return createHash(format).update(`${type} ${bytes.length}\0`).update(bytes).digest('hex')
}
