import { expect, test } from 'vitest'
import { meantBy, nameOf, offeredFixes } from './offered.ts'
import { REPRODUCED, UNTYPED } from './reproduced.ts'
import { TODO } from './todo.ts'

const offered = offeredFixes()
const names = offered.filter((fix) => meantBy(fix) === undefined).map(nameOf)

test('each fix that the tables offer is carried out by a test, or has the reason why nobody can type it', () => {
  expect(names.length).toBeGreaterThan(190)
  expect([...REPRODUCED, ...Object.keys(UNTYPED), ...TODO].toSorted()).toEqual(names.toSorted())
})

test('a fix that names another code is that of a problem whose fix a test carries out', () => {
  const meant = offered.map(meantBy).filter((name) => name !== undefined)

  expect(meant.length).toBeGreaterThan(4)
  expect(meant.filter((name) => !REPRODUCED.has(name))).toEqual([])
})

test('at most one fix in five cannot be typed', () => {
  expect(Object.keys(UNTYPED).length).toBeLessThanOrEqual(names.length / 5)
})

test('the list of fixes that no test carries out yet has exactly so many', () => {
  expect(TODO).toHaveLength(76)
})
