import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NO_HOLDER } from '../../../../src/serve/fair-shares.ts'
import type { ListPart } from '../../../../src/serve/mcp/events/list-kinds.ts'
import { Subscriptions, type Subscriber } from '../../../../src/serve/mcp/events/subscriptions.ts'

/** A subscriber that remembers what it was told. */
class Listening implements Subscriber {
  readonly holder = NO_HOLDER
  readonly heard: string[] = []
  updated(uri: string): void {
    this.heard.push(uri)
  }
  listChanged(): void {
    this.heard.push('the list')
  }
}

function changed(...uris: string[]) {
  return { updated: new Set(uris), lists: [] }
}

describe('a change', () => {
  test('is told to those who asked for it, once to each, and to nobody else', () => {
    const hub = new Subscriptions()
    const [one, both, none] = [new Listening(), new Listening(), new Listening()]
    hub.subscribe(one, 'skill://s/a', 'skill://s/a')
    hub.subscribe(both, 'skill://s/a', 'skill://s/a')
    hub.subscribe(both, 'skill://s/b', 'skill://s/b')
    hub.subscribe(none, 'skill://s/c', 'skill://s/c')

    hub.tell(changed('skill://s/a', 'skill://s/b', 'skill://s/d'))

    expect([one, both, none].map(({ heard }) => heard)).toEqual([['skill://s/a'], ['skill://s/a', 'skill://s/b'], []])
  })

  test('is told by the URI that the subscriber wrote, each spelling once', () => {
    const hub = new Subscriptions()
    const subscriber = new Listening()
    for (const asked of ['skill://s/a b', 'skill://s/a%20b', 'skill://s/a b']) {
      hub.subscribe(subscriber, asked, 'skill://s/a%20b')
    }

    hub.tell(changed('skill://s/a%20b'))
    hub.unsubscribe(subscriber, 'skill://s/a b', 'skill://s/a%20b')
    hub.tell(changed('skill://s/a%20b'))

    expect(subscriber.heard).toEqual(['skill://s/a b', 'skill://s/a%20b', 'skill://s/a%20b'])
  })

  test('of the list is told to those who want to hear of lists, once however often they said so', () => {
    const hub = new Subscriptions()
    const [lists, uris] = [new Listening(), new Listening()]
    hub.subscribeToLists(lists)
    hub.subscribeToLists(lists)
    hub.subscribe(uris, 'skill://s/a', 'skill://s/a')

    hub.tell({ updated: new Set(), lists: ['skills'] })
    hub.tell(changed('skill://s/a'))
    hub.unsubscribeFromLists(lists)
    hub.tell({ updated: new Set(), lists: ['skills'] })

    expect([lists.heard, uris.heard]).toEqual([['the list'], ['skill://s/a']])
  })

  test('of lists is told to each in the parts that it wants to hear of, and counted where it was', () => {
    const hub = new Subscriptions()
    const heard: (readonly ListPart[])[] = []
    const listening = {
      holder: NO_HOLDER,
      updated: () => {},
      listChanged: (parts: readonly ListPart[]) => void heard.push(parts),
    }
    hub.subscribeToLists(listening, new Set<ListPart>(['prompts']))

    hub.tell({ updated: new Set(), lists: ['skills', 'contract'] })
    hub.tell({ updated: new Set(), lists: ['skills', 'prompts'] })

    expect(heard).toEqual([['prompts']])
    expect(hub.told.listChanges).toBe(1)
  })

  test('that makes a subscriber leave, or another come, is told to all who were there', () => {
    const hub = new Subscriptions()
    const last = new Listening()
    const leaving: Subscriber = {
      holder: NO_HOLDER,
      updated: () => hub.unsubscribe(leaving, 'skill://s/a', 'skill://s/a'),
      listChanged: () => {},
    }
    hub.subscribe(leaving, 'skill://s/a', 'skill://s/a')
    hub.subscribe(last, 'skill://s/a', 'skill://s/a')

    hub.tell(changed('skill://s/a'))
    hub.unsubscribe(last, 'skill://s/a', 'skill://s/a')

    expect(last.heard).toEqual(['skill://s/a'])
    expect(hub.size).toBe(0)
  })
})

test('whoever was not subscribed can leave, and nothing happens', () => {
  const hub = new Subscriptions()
  const [there, stranger] = [new Listening(), new Listening()]
  hub.subscribe(there, 'skill://s/a', 'skill://s/a')

  hub.unsubscribe(stranger, 'skill://s/a', 'skill://s/a')
  hub.unsubscribe(there, 'skill://s/b', 'skill://s/b')
  hub.unsubscribe(there, 'skill://s/%61', 'skill://s/a')
  hub.unsubscribeFromLists(stranger)
  hub.tell(changed('skill://s/a'))

  expect(there.heard).toEqual(['skill://s/a'])
})

test('it is full when the bytes of what is subscribed to are too many, however few characters they are', () => {
  const hub = new Subscriptions()
  const subscriber = new Listening()
  const uris = Array.from({ length: 1_400 }, (_, index) => `skill://s/${index}${'文'.repeat(32_000)}`)

  for (const uri of uris) hub.subscribe(subscriber, uri, uri)
  const wasFull = hub.isFull
  for (const uri of uris) hub.unsubscribe(subscriber, uri, uri)

  expect([wasFull, hub.isFull]).toEqual([true, false])
})

test('after any coming and going it tells exactly those who are left, and keeps nothing of those who are not', () => {
  const uri = fc.constantFrom('skill://s/a', 'skill://s/b', 'skill://s/c')
  const step = fc.tuple(fc.boolean(), fc.nat(2), uri, fc.boolean())

  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const hub = new Subscriptions()
      const subscribers = [new Listening(), new Listening(), new Listening()]
      const expected = new Set<string>()
      for (const [comes, who, canonical, isSlashed] of steps) {
        const asked = isSlashed ? `${canonical}/` : canonical
        if (comes) expected.add(`${who} ${asked}`)
        else expected.delete(`${who} ${asked}`)
        hub[comes ? 'subscribe' : 'unsubscribe'](subscribers[who]!, asked, canonical)
      }

      hub.tell(changed('skill://s/a', 'skill://s/b', 'skill://s/c'))

      const heard = subscribers.flatMap(({ heard }, who) => heard.map((asked) => `${who} ${asked}`))
      expect(heard.toSorted()).toEqual([...expected].toSorted())
      expect(hub.size).toBe(new Set([...expected].map((entry) => entry.slice(2).replace(/\/$/, ''))).size)
    }),
    { numRuns: 500 },
  )
})
