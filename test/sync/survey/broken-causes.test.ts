import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { ON_BROKEN } from '../../../src/sync/survey/last-good.ts'
import type { BrokenEffect } from '../../../src/sync/survey/last-good.ts'

test('docs/sources.md has every rule that decides about an earlier version, with its effect', async () => {
  const text = await readFile(new URL('../../../docs/sources.md', import.meta.url), 'utf8')

  const rows = [...text.matchAll(/^(`[^|]*) \| (stays|does not stay)[:,]/gm)]
  const documented = rows.flatMap(([, codes = '', effect]) =>
    [...codes.matchAll(/`([a-z-]+)`/g)].map(([, code]) => [code, effect] as const),
  )

  const decided = Object.entries(ON_BROKEN).flatMap(([code, effect]) =>
    EFFECTS[effect] === undefined ? [] : [[code, EFFECTS[effect]] as const],
  )
  expect(new Map(documented)).toEqual(new Map(decided))
})

const EFFECTS: Partial<Record<BrokenEffect, string>> = { keep: 'stays', never: 'does not stay' }
