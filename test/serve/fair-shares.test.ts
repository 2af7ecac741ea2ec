import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { FairShares, holderOf } from '../../src/serve/fair-shares.ts'

test('a holder alone may hold every place, and gives up as many as others come for', () => {
  const shares = new FairShares<string>()
  for (const place of ['a', 'b', 'c', 'd']) shares.hold('one', place)

  const toOther = shares.giverTo('other')
  const toItself = shares.giverTo('one')
  shares.release('one', 'a')
  shares.hold('other', 'e')
  const toOtherAgain = shares.giverTo('other')
  shares.release('one', 'b')
  shares.hold('other', 'f')

  expect([toOther, toItself, toOtherAgain]).toEqual(['one', undefined, 'one'])
  expect(shares.giverTo('other')).toBeUndefined()
  expect(shares.giverTo('third')).toBe('one')
})

test('places are given in the order of their last use', () => {
  const shares = new FairShares<string>()
  for (const place of ['a', 'b', 'c']) shares.hold('one', place)

  shares.use('one', 'a')

  expect([...shares.placesOf('one')]).toEqual(['b', 'c', 'a'])
})

test('a principal is one holder from any address, and no address is a principal', () => {
  expect(holderOf('ada', '192.0.2.1')).toBe(holderOf('ada', '192.0.2.2'))
  expect(holderOf(undefined, 'ada')).not.toBe(holderOf('ada'))
})

test('the largest holder is the one with most places, whatever was held, used and released before', () => {
  const step = fc.record({ holder: fc.nat(4).map(String), place: fc.nat(9), isHeld: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const shares = new FairShares<string>()
      const model = new Map<string, Set<string>>()
      for (const { holder, place, isHeld } of steps) {
        const name = `${holder} ${place}`
        const places = model.get(holder) ?? new Set()
        model.set(holder, places)
        if (isHeld) shares.hold(holder, name)
        else shares.release(holder, name)
        if (isHeld) places.add(name)
        else places.delete(name)

        const most = Math.max(...[...model.values()].map(({ size }) => size))
        const { largest } = shares
        expect(largest === undefined ? 0 : shares.countOf(largest)).toBe(most)
        expect(new Set(shares.placesOf(holder))).toEqual(places)
      }
    }),
  )
})
