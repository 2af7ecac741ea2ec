import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../../src/base/async/clock.ts'
import type { Principal } from '../../../../src/serve/principal.ts'
import { EMPTY_LOCK, lockEntryOf } from '../../../../src/sync/model/decisions/lock.ts'
import { lockText } from '../../../../src/sync/store/lock-text.ts'
import { Repository } from '../../../support/git/repository.ts'
import { momentsFound, serve } from '../../../support/served.ts'
import type { Served, ServedOptions } from '../../../support/served.ts'
import { ask } from '../../http/ask.ts'
import type { Answer } from '../../http/ask.ts'

const skill = (name: string, body: string): string => `---\nname: ${name}\ndescription: About ${name}\n---\n${body}\n`

const DAY_MS = 86_400_000

/** A hub whose clock the test moves, and whose source is at the first of its commits. */
async function started(config: readonly string[] = [], options: ServedOptions = {}): Promise<Hub> {
  const repository = await Repository.create()
  await repository.commit({ 'old/SKILL.md': skill('old', '1'), 'edited/SKILL.md': skill('edited', '1') })
  let nowMs = systemClock.now().getTime()
  const now = (): Date => new Date(nowMs)
  const served = await serve(repository, { clock: { ...systemClock, now }, config, ...options })
  return {
    served,
    repository,
    pass: (days) => (nowMs += days * DAY_MS),
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
    },
  }
}

interface Hub extends AsyncDisposable {
  readonly served: Served
  readonly repository: Repository
  readonly pass: (days: number) => void
}

async function pageOf(served: Served, path: string): Promise<Answer> {
  await momentsFound(served)
  return ask(served.http.url, path)
}

/** The facts of each skill in the list, as text. */
async function factsOf(served: Served): Promise<Record<string, string>> {
  const { text } = await pageOf(served, '/')
  const items = text.matchAll(/<li>\s*<h2>[^]*?<bdi>([^<]*)<\/bdi>[^]*?<div class="facts">([^]*?)<\/div>/g)
  return Object.fromEntries(Array.from(items, ([, name = '', facts = '']) => [name, plain(facts)]))
}

function plain(text: string): string {
  return text
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

describe('when a skill changed', () => {
  test('is the time since which the hub has its content, with the author of the commit that brought it', async () => {
    await using hub = await started()
    const { served, repository, pass } = hub
    pass(5)
    const commit = await repository.commit({
      'edited/SKILL.md': skill('edited', '2'),
      'new/SKILL.md': skill('new', '1'),
    })
    await served.sync()
    pass(3)
    await repository.commit({ 'later/SKILL.md': skill('later', '1') })
    await served.sync()
    pass(3)

    const facts = await factsOf(served)
    const { text } = await pageOf(served, '/skills/fx/edited/')

    expect(facts['old']).toMatch(/^fx$/)
    expect(facts['edited']).toMatch(/^fx changed 6 days ago, with a commit by Ada Author$/)
    expect(facts['new']).toMatch(/^fx added 6 days ago, with a commit by Ada Author$/)
    expect(facts['later']).toMatch(/^fx added 3 days ago, with a commit by Ada Author$/)
    expect(text).toMatch(/changed <time datetime="\d{4}-[^"]*Z" title="[^"]*">6 days ago<\/time>/)
    expect(plain(text)).toMatch(
      new RegExp(
        `History on this hub changed \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC, generation 2 ${commit.slice(0, 12)} change Ada Author, \\d{4}-.* added \\d{4}-[^,]*, generation 1 `,
      ),
    )
  })

  test('a skill has every change that the hub has known, also after it was taken away and came back', async () => {
    await using hub = await started()
    const { served, repository } = hub
    for (const [at, body] of ['2', undefined, '3', '3', '4'].entries()) {
      const text = body === undefined ? null : skill('edited', body)
      await repository.commit({ 'edited/SKILL.md': text, 'old/SKILL.md': skill('old', `commit ${at}`) })
      await served.sync()
    }

    const { text } = await pageOf(served, '/skills/fx/edited/')
    const [, history = ''] = /<ol class="files">([^]*?)<\/ol>/.exec(text) ?? []

    expect(
      Array.from(history.matchAll(/<li>([^]*?)<\/li>/g), ([, item = '']) =>
        plain(item)
          .replace(/ \d{4}-.*UTC,/, '')
          .slice(0, 20),
      ),
    ).toEqual([
      expect.stringMatching(/^changed generation 6/),
      expect.stringMatching(/^added generation 4/),
      expect.stringMatching(/^changed generation 2/),
      expect.stringMatching(/^added generation 1/),
    ])
    expect(history).toContain('changes?from=5&#38;to=6')
  })

  test('a skill that was taken away and came back is one that was added', async () => {
    await using hub = await started()
    const { served, repository, pass } = hub
    await repository.commit({ 'edited/SKILL.md': null })
    await served.sync()
    pass(2)
    await repository.commit({ 'edited/SKILL.md': skill('edited', '1') })
    await served.sync()

    expect((await factsOf(served))['edited']).toMatch(/^fx added 0 s ago, with a commit by /)
  })

  test('is known of generations that are not kept, without a comparison and without the author', async () => {
    await using hub = await started(['retention: { generations: 2, younger_than: 1s }'])
    const { served, repository, pass } = hub
    const commits: string[] = []
    for (const body of ['2', '3', '4']) {
      pass(3)
      commits.push(await repository.commit({ 'edited/SKILL.md': skill('edited', body) }))
      await served.sync()
    }

    const facts = await factsOf(served)
    const old = await pageOf(served, '/skills/fx/old/')
    const edited = await pageOf(served, '/skills/fx/edited/')
    const [, history = ''] = /<ol class="files">([^]*?)<\/ol>/.exec(edited.text) ?? []
    const offered = Array.from(history.matchAll(/changes\?from=\d+&#38;to=\d+/g), ([link]) => link.replace('#38;', ''))

    expect(facts['edited']).toMatch(/^fx changed 0 s ago, with a commit by Ada Author$/)
    expect(facts['old']).toBe('fx')
    expect(plain(old.text)).toContain('added 9 days ago')
    expect(plain(history)).toMatch(
      new RegExp(
        `generation 4 ${commits[2]?.slice(0, 12)} change Ada .* generation 3 .* generation 2 ${commits[0]?.slice(0, 12)} added .* generation 1$`,
      ),
    )
    expect(offered).toEqual(['changes?from=3&to=4'])
    expect((await ask(served.http.url, `/${offered[0]}`)).status).toBe(200)
  })

  test('is not said beyond ninety days: it is at least so long ago', async () => {
    await using hub = await started()
    const { served, repository, pass } = hub
    pass(100)
    await repository.commit({ 'edited/SKILL.md': skill('edited', '2') })
    await served.sync()
    pass(3)
    await repository.commit({ 'edited/SKILL.md': skill('edited', '3') })
    await served.sync()

    const facts = await factsOf(served)
    const { text } = await pageOf(served, '/skills/fx/old/')

    expect(facts['old']).toBe('fx')
    expect(plain(text)).toContain('unchanged since at least 3 days ago')
    expect(facts['edited']).toMatch(/^fx changed 0 s ago, with a commit by /)
  })

  test('is shown without the commit to a reader of packs, whose skills it need not be about', async () => {
    const reader: Principal = { id: 'ada', scopes: new Set(['page']), packs: new Set(['some']) }
    await using hub = await started(['packs:', '  - { id: some, include: [{ source: fx, path: edited }] }'], {
      access: { isTokenRequired: true, authenticate: async () => reader },
    })
    const { served, repository } = hub
    await repository.commit(
      { 'edited/SKILL.md': skill('edited', '2'), 'old/SKILL.md': skill('old', '2') },
      { message: 'names of the others' },
    )
    await served.sync()
    await momentsFound(served)
    const headers = { authorization: 'Bearer x' }

    const list = await ask(served.http.url, '/', { headers })
    const one = await ask(served.http.url, '/skills/fx/edited/', { headers })

    for (const { text } of [list, one]) expect(text).toMatch(/changed <time/)
    for (const { text } of [list, one]) expect(text).not.toMatch(/names of the others|Ada Author/)
  })

  test('where a lock binds the source, no commit before the present one is named', async () => {
    await using hub = await started()
    const { served, repository } = hub
    await repository.commit({ 'edited/SKILL.md': skill('edited', '2') }, { message: 'of the second' })
    await served.sync()
    await repository.commit({ 'old/SKILL.md': skill('old', '2') }, { message: 'of the third' })
    await served.sync()
    const free = await pageOf(served, '/skills/fx/edited/')

    await lock(served)
    await served.sync()
    const bound = await pageOf(served, '/skills/fx/edited/')

    expect(free.text).toContain('of the second')
    expect(bound.text).not.toContain('of the second')
    expect(bound.text).toContain('of the third')
  })
})

/** Locks what is served. */
async function lock({ config, configFile, daemon }: Served): Promise<void> {
  const [configured] = config.sources
  const [snapshot] = daemon.registry.catalog.snapshots
  const entry = lockEntryOf(configured!.source, snapshot!)
  const text = lockText({ ...EMPTY_LOCK, sources: new Map([[snapshot!.source, entry]]) })
  await writeFile(join(dirname(configFile), 'skills.lock'), text)
}
