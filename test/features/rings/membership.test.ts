import { expect, test } from 'vitest'
import { membershipOf } from '../../../src/features/rings/membership.ts'
import type { RingMembers, RingPrincipal } from '../../../src/features/rings/membership.ts'

const RINGS = ringsOf([0.05, 0.2])
const FLEET = Array.from({ length: 10_000 }, (_, at) => machine(at))

test('shares are exact within 1 % over 10,000 ids', () => {
  const counts = new Map<string, number>()
  for (const one of FLEET) counts.set(ringOf(RINGS, one), (counts.get(ringOf(RINGS, one)) ?? 0) + 1)

  for (const [ring, share] of [
    ['canary', 0.05],
    ['beta', 0.2],
    ['stable', 0.75],
  ] as const)
    expect(Math.abs((counts.get(ring) ?? 0) / FLEET.length - share)).toBeLessThan(0.01)
})

test('a ring that grows keeps its members, and no member of any ring goes to an older one', () => {
  const order = RINGS.map(({ id }) => id)
  const grown = ringsOf([0.1, 0.2])

  const moves = FLEET.map((one) => [order.indexOf(ringOf(RINGS, one)), order.indexOf(ringOf(grown, one))] as const)

  expect(moves.every(([before, after]) => after <= before)).toBe(true)
  expect(moves.filter(([before, after]) => after < before).length).toBeGreaterThan(0)
})

test('a name is before a share, and a client without a token has a ring of its own', () => {
  const named = new Set(['ci', 'ada'])
  const rings: readonly RingMembers[] = [
    { id: 'canary', named, share: 0, isAnonymous: false },
    { id: 'beta', named: new Set<string>(), share: 1, isAnonymous: true },
    { id: 'stable', named: new Set<string>(), share: 0, isAnonymous: false },
  ]

  const found = [principal('ci'), principal('ada'), principal('eve'), undefined].map((one) => membershipOf(rings, one))

  expect(found).toEqual([
    { ring: 'canary', by: 'name' },
    { ring: 'canary', by: 'name' },
    { ring: 'beta', by: 'share', fraction: expect.any(Number) },
    { ring: 'beta', by: 'no-token' },
  ])
})

test('the place of a principal is that of every version: a release moves none', () => {
  const places = ['token:ci', 'token:ada', 'oauth:eve#1'].map((key) => membershipOf(RINGS, { key, names: [] }))

  expect(places).toMatchInlineSnapshot(`
    [
      {
        "by": "share",
        "fraction": 0.18118523285147248,
        "ring": "beta",
      },
      {
        "by": "rest",
        "fraction": 0.26010117798903565,
        "ring": "stable",
      },
      {
        "by": "rest",
        "fraction": 0.27580119581377005,
        "ring": "stable",
      },
    ]
  `)
})

function ringsOf([canary = 0, beta = 0]: readonly number[]): readonly RingMembers[] {
  return [
    { id: 'canary', named: new Set<string>(), share: canary, isAnonymous: false },
    { id: 'beta', named: new Set<string>(), share: beta, isAnonymous: false },
    { id: 'stable', named: new Set<string>(), share: 0, isAnonymous: false },
  ]
}

function ringOf(rings: readonly RingMembers[], one: RingPrincipal): string {
  return membershipOf(rings, one).ring
}

function machine(at: number): RingPrincipal {
  return principal(`machine-${at}`)
}

function principal(name: string): RingPrincipal {
  return { key: `token:${name}`, names: [name] }
}
