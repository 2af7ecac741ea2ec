import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Config } from '../../../src/daemon/config/config.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import {
  defineRequest,
  handlersOf,
  NOTHING,
  paramsOf,
  paramsOfSource,
  paramsOfSources,
} from '../../../src/daemon/control/request.ts'
import { answerIn, eventsFor } from '../../../src/daemon/control/running-daemon.ts'
import { aboutClient } from '../../../src/daemon/control/same-config.ts'
import { loadRequests } from '../../../src/daemon/requests.ts'

const { signal } = new AbortController()
const config = configOf('one', 'two')

const greet = defineRequest({
  name: 'greet',
  params: paramsOfSource({ word: z.string() }),
  answer: z.object({ text: z.string() }),
  event: z.object({ letter: z.string() }),
  async run({ greeting }: { readonly greeting: string }, { source, word }, { send }) {
    for (const letter of word) send({ letter })
    return { text: `${greeting} ${source}: ${word}` }
  },
})

test('a request runs with its parts, its own params and the source that it names', async () => {
  const sent = { ...aboutClient(config), source: 'two', word: 'hi', more: 'of another version' }
  const events: unknown[] = []

  const answer = await greet.answerFrom({ config, greeting: 'to' }, sent, { send: (one) => events.push(one), signal })

  expect(greet.answer.parse(answer)).toEqual({ text: 'to two: hi' })
  expect(events).toEqual([{ letter: 'h' }, { letter: 'i' }])
})

test.each([
  ['other-config', { ...aboutClient(configOf('one')), source: 'one', word: 'hi' }],
  ['other-config', { ...aboutClient(config), mode: { locked: true, offline: false }, source: 'one', word: 'hi' }],
  ['bad-request', { source: 'one', word: 'hi' }],
  ['bad-request', { ...aboutClient(config), source: 'one' }],
  ['bad-request', { ...aboutClient(config), word: 'hi' }],
  ['unknown-source', { ...aboutClient(config), source: 'three', word: 'hi' }],
])('a request is refused as %s before it runs', async (code, sent) => {
  const answer = greet.answerFrom({ config, greeting: 'to' }, sent, { send: () => {}, signal })

  await expect(answer).rejects.toMatchObject({ code })
})

test.each([
  [{ user: 'ada' }, 'ada'],
  [{ user: '' }, 'a person'],
  [{ user: 'a'.repeat(257) }, 'a person'],
  [{}, 'a person'],
])(
  'of a client that sends %o, the person who decides is %s, and never the user of the daemon',
  async (sent, person) => {
    const decide = defineRequest({
      name: 'decide',
      checks: 'nothing',
      params: paramsOf({}),
      answer: z.string(),
      run: async (_parts: object, _params, { by }) => by,
    })

    expect(await decide.answerFrom({ config }, sent, { send: () => {}, signal })).toBe(person)
  },
)

test('a request of a reader is answered whatever its configuration is, but not without its caution', async () => {
  const look = defineRequest({
    name: 'look',
    checks: 'mode',
    params: paramsOf({}),
    answer: NOTHING,
    run: async () => {},
  })
  const other = aboutClient(configOf('other'))
  const exchange = { send: () => {}, signal }

  await expect(look.answerFrom({ config }, other, exchange)).resolves.toBeUndefined()
  await expect(
    look.answerFrom({ config }, { ...other, mode: { locked: false, offline: true } }, exchange),
  ).rejects.toMatchObject({ code: 'other-config' })
})

test('a request of which nothing is checked needs no configuration of its client', async () => {
  const place = defineRequest({
    name: 'place',
    checks: 'nothing',
    params: paramsOf({}),
    answer: z.string(),
    run: async (parts: { readonly config: Config }) => parts.config.state,
  })
  const handlers = handlersOf({ config }, place)

  await expect(handlers['place']?.({}, () => {}, signal)).resolves.toBe(config.state)
})

test('a request about sources means all of them if it names none, and each once', () => {
  const { read } = paramsOfSources({ isFresh: z.boolean() })

  expect(read({ isFresh: true }, config)).toEqual({ isFresh: true, sources: ['one', 'two'] })
  expect(read({ isFresh: true, sources: ['two', 'two'] }, config)).toEqual({ isFresh: true, sources: ['two'] })
})

test('an event that only another version knows is an error: the results of a request may be events', () => {
  const letters: string[] = []
  const onEvent = eventsFor(greet, ({ letter }) => letters.push(letter))

  onEvent({ letter: 'h' })

  expect(() => onEvent({ number: 7 })).toThrow(expect.objectContaining({ code: 'bad-answer' }))
  expect(letters).toEqual(['h'])
})

test('an answer that only another version gives is an error, too', () => {
  expect(answerIn(greet, { text: 'hi' })).toEqual({ text: 'hi' })
  expect(() => answerIn(greet, { number: 7 })).toThrow(expect.objectContaining({ code: 'bad-answer' }))
})

test('a line without params names nothing', () => {
  expect(paramsOf({ name: z.string().optional() }).read(undefined, config)).toEqual({})
})

test('the list has each request under its name, and says which of them the process that leads answers', async () => {
  const requests = await loadRequests()
  const forLeader = [...requests.values()].filter(({ isForLeader }) => isForLeader).map(({ name }) => name)

  expect([...requests].filter(([name, request]) => name !== request.name)).toEqual([])
  expect(requests.size).toBe(38)
  expect(forLeader.toSorted()).toEqual([
    'add-uri',
    'approve-skill',
    'decide',
    'follow',
    'look',
    'measure',
    'promote',
    'publish',
    'pull',
    'recheck',
    'remove-uri',
    'rollback',
    'sync',
  ])
})

function configOf(...ids: readonly string[]): Config {
  const sources = ids.flatMap((id) => [`  - id: ${id}`, `    url: https://git.example.com/${id}.git`])
  const text = ['sources:', ...sources, 'state: /srv/state'].join('\n')
  const parsed = parseConfig(text, '/etc/skillsyncd.yaml', environmentOf({}, '/home'))
  if (Array.isArray(parsed)) throw new Error(JSON.stringify(parsed))
  return parsed
}
