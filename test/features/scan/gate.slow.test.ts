import { execFileSync } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import { gateCandidateOf } from '../../../src/features/scan/candidate.ts'
import type { GateVerdict } from '../../../src/features/scan/gate.ts'
import { Hub } from '../../scenarios/hub.ts'
import { Repository } from '../../support/git/repository.ts'
import { skillText } from '../../support/git/scripted-upstream.ts'
import { pullNow } from '../../support/pull-now.ts'
import { rulesWith, Surveys } from '../../sync/survey/surveyed.ts'
import { CANDIDATE, Desk, SOURCES } from './desk.ts'

const EXAMPLE = fileURLToPath(new URL('../../../examples/gate/refuse-unseen-text.sh', import.meta.url))
describe('a program', () => {
  test.each([
    ['publish', 'echo fine; exit 0', { kind: 'publish' }],
    ['refuse', 'echo "too  many"; echo words; exit 1', { kind: 'refuse', reason: 'too many words' }],
    ['refuse', 'echo from stderr >&2; exit 2', { kind: 'refuse', reason: 'from stderr' }],
    ['refuse', 'exit 7', { kind: 'refuse', reason: 'it ended with status 7 and gave no reason' }],
    ['hold', 'echo look; exit 3', { kind: 'hold', reason: 'look' }],
    ['no answer', 'kill -KILL $$', { kind: 'refuse', reason: 'the gate gave no answer: it was ended by SIGKILL' }],
  ])('that says %s by `%s` is understood', async (_, script, verdict) => {
    await using desk = await Desk.open()

    expect(await desk.ask(script)).toEqual(verdict)
  })

  test('reads the candidate on its standard input, however long it is', async () => {
    await using desk = await Desk.open()
    const long = { ...CANDIDATE, findings: [{ rule: 'submodule', path: 'x'.repeat(2_000_000), message: '' } as const] }

    await desk.ask(`cat > ${desk.at('seen')}`, { candidate: long })

    expect(JSON.parse(await readFile(desk.at('seen'), 'utf8'))).toEqual(long)
  })

  test('that does not read its input is answered for all the same', async () => {
    await using desk = await Desk.open()
    const long = { ...CANDIDATE, url: 'x'.repeat(2_000_000) }

    expect(await desk.ask('exec <&-; exit 0', { candidate: long })).toEqual({ kind: 'publish' })
  })

  test('has nothing in its environment but PATH, HOME and what is configured', async () => {
    await using desk = await Desk.open({ SECRET_OF_OURS: 'canary', TOKEN: 'hunter2hunter2' })
    const env = 'env: { MODE: { value: strict }, SCAN: { env: TOKEN } }'

    await desk.ask(`/usr/bin/env > ${desk.at('seen')}`, { lines: [env] })

    const names = (await readFile(desk.at('seen'), 'utf8')).split('\n').map((line) => line.split('=')[0] ?? '')
    const bySh = new Set(['', '_', 'PWD', 'OLDPWD', 'SHLVL'])
    expect(names.filter((name) => !bySh.has(name)).toSorted()).toEqual(['HOME', 'MODE', 'PATH', 'SCAN'])
  })

  test('that says a secret of the configuration back has it taken out, and what steers a terminal too', async () => {
    await using desk = await Desk.open({ TOKEN: 'hunter2hunter2' })

    const verdict = await desk.ask(`printf 'no \\033[2J%s' "$SCAN"; exit 1`, {
      lines: ['env: { SCAN: { env: TOKEN } }'],
    })

    expect(verdict).toEqual({ kind: 'refuse', reason: String.raw`no \u{1b}[2J***` })
  })

  test('that talks without end is heard for a few hundred characters', async () => {
    await using desk = await Desk.open()

    const verdict = await desk.ask('head -c 3000000 /dev/zero | tr "\\0" x; exit 1')

    expect(verdict).toEqual({ kind: 'refuse', reason: `${'x'.repeat(500)}…` })
  })

  test.each(['too late', 'aborted'])('that is %s is killed with all that it started', async (how) => {
    await using desk = await Desk.open()
    const stop = new AbortController()
    execFileSync('mkfifo', [desk.at('alive')])
    const alive = createReadStream(desk.at('alive'))
    const started = new Promise((resolve) => alive.once('data', resolve))
    const script = `exec 3>${desk.at('alive')}; (sleep 1000 & sleep 1000) & echo up >&3; wait`

    const verdict = desk.ask(script, { signal: stop.signal })
    await started
    if (how === 'aborted') stop.abort(new Error('the daemon stops'))
    else await desk.clock.advance(10_000)

    const late = 'the gate gave no answer: it took more than 10000 ms'
    const end = await verdict.catch((error: unknown) => String(error))
    expect(end).toEqual(how === 'aborted' ? 'Error: the daemon stops' : { kind: 'refuse', reason: late })
    // The pipe ends when the last process that has it open is gone.
    await buffer(alive)
  })

  test('that answers and leaves something running is not waited for', async () => {
    await using desk = await Desk.open()

    expect(await desk.ask('sleep 1000 & echo no; exit 1')).toEqual({ kind: 'refuse', reason: 'no' })
  })

  test.each([
    ['refuse', { kind: 'refuse', reason: 'the gate gave no answer: it cannot be started: ENOENT' }],
    ['publish', { kind: 'publish', unanswered: 'the gate gave no answer: it cannot be started: ENOENT' }],
  ])('that is not there ends as on_failure: %s says', async (onFailure, verdict) => {
    await using desk = await Desk.open()

    expect(await desk.askBy([`command: ${desk.at('none')}`, `on_failure: ${onFailure}`])).toEqual(verdict)
  })

  test('whose secret is not there is not asked', async () => {
    await using desk = await Desk.open()

    const verdict = await desk.ask('exit 0', { lines: ['env: { SCAN: { env: TOKEN } }'] })

    expect(verdict).toMatchObject({ kind: 'refuse', reason: expect.stringContaining('environment variable "TOKEN"') })
  })
})

describe('an address', () => {
  test.each([
    ['publish', 200, '{"verdict":"publish"}', { kind: 'publish' }],
    ['refuse', 201, '{"verdict":"refuse","reason":"a\\nb"}', { kind: 'refuse', reason: 'a b' }],
    ['hold', 200, '{"verdict":"hold"}', { kind: 'hold', reason: 'it gave no reason' }],
    ['500', 500, '{"verdict":"publish"}', unanswered('it answers 500')],
    ['403', 403, '', unanswered('it answers 403')],
    ['no JSON', 200, '<html>', unanswered('its answer is not a verdict')],
    ['another verdict', 200, '{"verdict":"maybe"}', unanswered('its answer is not a verdict')],
    ['null', 200, 'null', unanswered('its answer is not a verdict')],
    ['too much', 200, ' '.repeat(65_537), unanswered('its answer is over 65536 bytes')],
  ])('that answers %s is understood', async (_, status, body, verdict) => {
    await using desk = await Desk.open()
    await using scanner = await Scanner.start((_request, response) => response.writeHead(status).end(body))

    expect(await desk.askBy([`url: ${scanner.url}`])).toEqual(verdict)
  })

  test('gets the candidate as JSON, and the token as Bearer', async () => {
    await using desk = await Desk.open({ TOKEN: 'hunter2hunter2' })
    await using scanner = await Scanner.start((_request, response) => response.end('{"verdict":"publish"}'))

    await desk.askBy([`url: ${scanner.url}`, 'auth: { token: { env: TOKEN } }'])

    const [seen] = scanner.seen
    expect(seen).toMatchObject({ method: 'POST', type: 'application/json', authorization: 'Bearer hunter2hunter2' })
    expect(JSON.parse(seen?.body ?? '')).toEqual(CANDIDATE)
  })

  test('gets a user name and a password as Basic', async () => {
    await using desk = await Desk.open({ TOKEN: 'hunter2hunter2' })
    await using scanner = await Scanner.start((_request, response) => response.end('{"verdict":"publish"}'))

    await desk.askBy([`url: ${scanner.url}`, 'auth: { basic: { username: ada, password: { env: TOKEN } } }'])

    expect(scanner.seen[0]?.authorization).toBe(`Basic ${Buffer.from('ada:hunter2hunter2').toString('base64')}`)
  })

  test('that leads elsewhere is not followed', async () => {
    await using desk = await Desk.open()
    await using other = await Scanner.start((_request, response) => response.end('{"verdict":"publish"}'))
    await using scanner = await Scanner.start((_request, response) =>
      response.writeHead(307, { location: other.url }).end(),
    )

    expect(await desk.askBy([`url: ${scanner.url}`])).toEqual(unanswered('it answers 307'))
    expect(other.seen).toEqual([])
  })

  test('that never answers is given up in time', async () => {
    await using desk = await Desk.open()
    await using scanner = await Scanner.start(() => void desk.clock.advance(10_000))

    expect(await desk.askBy([`url: ${scanner.url}`])).toEqual(unanswered('it took more than 10000 ms'))
  })

  test('where nobody listens gives no answer', async () => {
    await using desk = await Desk.open()
    const scanner = await Scanner.start(() => {})
    await scanner[Symbol.asyncDispose]()

    expect(await desk.askBy([`url: ${scanner.url}`])).toEqual(unanswered('the connection failed (ECONNREFUSED)'))
  })
})

describe('a candidate', () => {
  test('says of each skill what would change, and where its files lie', async () => {
    await using surveys = await Surveys.open()
    const same = { 'same/SKILL.md': skillText('same'), 'gone/SKILL.md': skillText('gone') }
    const before = await surveys.next({ ...same, 'edit/SKILL.md': skillText('edit') }, rulesWith())
    const after = await surveys.next(
      {
        'same/SKILL.md': skillText('same'),
        'edit/SKILL.md': skillText('edit', '', 'more\u200B\n'),
        'edit/run.sh': { executable: '#!/bin/sh\n' },
        'new/SKILL.md': skillText('new'),
        'odd/SKILL.md': 'none',
      },
      rulesWith(),
    )

    const candidate = gateCandidateOf(after, before, { pathOf: ({ folderName }) => `/state/${folderName}` })

    const { skills, ...head } = candidate
    expect(head).toMatchObject({ version: 1, source: 'team', ref: 'refs/heads/main', findings: [] })
    expect(head.commit).toBe(after.revision.commit)
    expect(head.previousCommit).toBe(before.revision.commit)
    expect(skills.map(({ path, change, folder, files }) => [path, change, folder, files.length])).toEqual([
      ['edit', 'changed', '/state/edit', 2],
      ['gone', 'removed', null, 0],
      ['new', 'added', '/state/new', 1],
      ['odd', 'added', null, 0],
      ['same', 'unchanged', '/state/same', 1],
    ])
    expect(skills[0]?.files[1]).toMatchObject({ path: 'run.sh', size: 10, executable: true })
    expect(skills[0]?.findings[0]?.rule).toBe('hidden-unicode')
  })

  test('says of the docs what would change, where the source has a docs folder', async () => {
    await using surveys = await Surveys.open()
    const rules = rulesWith({ docs: 'docs' })
    const before = await surveys.next({ 'docs/a.md': 'a' }, rules)
    const after = await surveys.next({ 'docs/a.md': 'b' }, rules)
    const gone = await surveys.next({ 'a/SKILL.md': skillText('a') }, rules)

    const checkouts = { pathOf: ({ place }: { place: string }) => `/state/${place}` }

    expect(gateCandidateOf(after, before, checkouts).docs).toMatchObject({
      change: 'changed',
      folder: '/state/docs',
      files: [{ path: 'a.md', size: 1 }],
      findings: [],
    })
    expect(gateCandidateOf(gone, after, checkouts).docs).toMatchObject({
      change: 'removed',
      folder: null,
      files: [],
      findings: [{ rule: 'docs-missing' }],
    })
  })

  test('of a first commit has nothing before it', async () => {
    await using surveys = await Surveys.open()
    const first = await surveys.next({ 'pdf/SKILL.md': skillText('pdf') }, rulesWith())

    const candidate = gateCandidateOf(first, undefined, { pathOf: () => '/x' })

    expect(candidate).toMatchObject({ previousCommit: null, skills: [{ path: 'pdf', change: 'added' }] })
  })

  test('is judged by the example gate', async () => {
    await using desk = await Desk.open()
    const ask = async (change: 'added' | 'removed', rule: 'hidden-unicode' | 'submodule'): Promise<GateVerdict> => {
      const findings = [{ rule, path: 'pdf', message: '' }]
      const skill = { path: 'pdf', name: 'pdf', digest: null, standing: 'served', folder: null, files: [] } as const
      return desk.askBy([`command: ${EXAMPLE}`], { ...CANDIDATE, skills: [{ ...skill, change, findings }] })
    }

    expect(await ask('added', 'submodule')).toEqual({ kind: 'publish' })
    expect(await ask('added', 'hidden-unicode')).toEqual({
      kind: 'refuse',
      reason: 'invisible characters in: pdf',
    })
    expect(await ask('removed', 'submodule')).toEqual({ kind: 'hold', reason: '1 skills would be removed' })
  })
})

test.each([
  ['auth: { token: { env: A } }, command: x', 'gate.auth: goes with `url` alone'],
  ['args: [a], url: https://x.example', 'gate.args: goes with `command` alone'],
  [
    'auth: { token: { env: A } }, url: http://x.example',
    'gate.auth: would cross the network in clear over http:; use https',
  ],
  [
    'auth: { token: { env: A }, zzzz: x }, url: https://x.example',
    'gate.auth: contains a key that is not known; known are `token`, `basic`, `header`',
  ],
  ['timeout: 1s', 'gate: needs exactly one of `command`, `url`, or a `scanner` that is known by name'],
])('{ %s } is refused', (entry, problem) => {
  const config = parseConfig(`${SOURCES}gate: { ${entry} }`, '/etc/skillsyncd.yaml', environmentOf({}, '/home/ada'))

  expect(Array.isArray(config) && config.map(({ key, message }) => `${key}: ${message}`)).toEqual([problem])
})

function unanswered(why: string): GateVerdict {
  return { kind: 'refuse', reason: `the gate gave no answer: ${why}` }
}

interface Seen {
  readonly method: string | undefined
  readonly type: string | undefined
  readonly authorization: string | undefined
  readonly body: string
}

/** A gate on loopback. */
class Scanner implements AsyncDisposable {
  readonly url: string
  readonly seen: Seen[] = []
  readonly #close: () => Promise<void>

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url
    this.#close = close
  }

  static async start(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Scanner> {
    const answered = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const { method, headers } = request
      const body = (await buffer(request)).toString()
      scanner.seen.push({ method, type: headers['content-type'], authorization: headers.authorization, body })
      answer(request, response)
    }
    const server = createServer((request, response) => void answered(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const scanner = new Scanner(`http://127.0.0.1:${port}/gate`, async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
    return scanner
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
  }
}

test('a commit that the gate refuses is not served, and the next step names the gate', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'pdf/SKILL.md': '---\nname: pdf\ndescription: PDF\n---\n' })
  await using hub = await Hub.start({ team: [`url: ${pathToFileURL(repository.folder).href}`] }, undefined, [
    'gate: { command: /bin/false }',
  ])

  await pullNow(hub.daemon)

  expect(hub.source('team').problem).toMatchObject({
    code: 'content-refused',
    message: expect.stringMatching(/^Cannot serve [0-9a-f]{40} of "team": the gate refuses it: /),
    fix: 'Have what the gate names corrected upstream, or change `gate`',
  })
})
