import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Principal } from '../../../../src/serve/principal.ts'
import { lockEntryOf, type Lock } from '../../../../src/sync/model/decisions/lock.ts'
import { changeLock } from '../../../../src/sync/store/lock-file.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { Repository, runGit } from '../../../support/git/repository.ts'
import { SigningWorld } from '../../../support/git/signing.ts'
import { serve } from '../../../support/served.ts'
import type { Served, ServedOptions } from '../../../support/served.ts'
import { sourceId } from '../../../sync/store/samples.ts'
import { ask } from '../../http/ask.ts'
import type { Answer } from '../../http/ask.ts'

const FX = sourceId('fx')
const PENDING = '/changes?pending=fx'

function skill(name: string, text: string): Record<string, string> {
  return { [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Says ${name}\n---\n\n${text}\n` }
}

/** A source whose moves wait for approval, with its first commit approved. */
async function reviewed(repository: Repository, options: ServedOptions = {}): Promise<Served> {
  const commit = await repository.commit({ ...skill('kept', 'first words'), ...skill('gone', 'words of old') })
  const source = ['update: review', ...(options.source ?? [])]
  const served = await serve(repository, { ...options, source })
  await served.daemon.parts.decisions.decide(FX, 'approve', { commit })
  await served.sync()
  return served
}

/** Asks for a page, and again while it asks its reader to: the hub waits only some seconds for a fetch. */
async function page(served: Served, path: string, headers = {}): Promise<Answer> {
  const answer = await ask(served.http.url, path, { headers })
  const text = answer.text.replaceAll(/\s+/g, ' ')
  return text.includes('Reload this page in a moment') ? page(served, path, headers) : { ...answer, text }
}

/** The number of requests for a commit. */
function fetchesOf(commit: string, { git }: Served): number {
  return git.requests.filter(({ body }) => body.includes(`want ${commit}`)).length
}

test('the first revision of a source is shown whole, and nothing of it is served', async () => {
  await using repository = await Repository.create()
  const commit = await repository.commit(skill('kept', 'first words'))
  await using served = await serve(repository, { source: ['update: review'] })

  const { status, text } = await page(served, PENDING)

  expect(status).toBe(200)
  expect(text).toContain(`skillsyncd approve fx ${commit}`)
  expect(text).toContain(`skillsyncd reject fx ${commit}`)
  expect(text).toMatch(/<bdi>kept<\/bdi> <span class="tag good">added/)
  expect(text).toContain('<ins>+ first words</ins>')
  expect(served.daemon.registry.catalog.skills.size).toBe(0)
  expect((await page(served, '/skills/fx/kept/')).status).toBe(404)
})

test('a pending revision is shown with its changed, added and removed skills, and is fetched once', async () => {
  await using repository = await Repository.create()
  await using served = await reviewed(repository)
  const commit = await repository.commit({
    ...skill('kept', 'second words'),
    ...skill('new', 'new words'),
    'gone/SKILL.md': null,
  })
  await served.sync()
  const before = fetchesOf(commit, served)

  const [{ text }, again] = await Promise.all([page(served, PENDING), page(served, PENDING)])

  expect(text).toContain('<strong>awaiting-approval</strong>')
  expect(text).toContain(`skillsyncd approve fx ${commit}`)
  expect(text).toContain('<del>- first words</del>')
  expect(text).toContain('<ins>+ second words</ins>')
  expect(text).toContain('<ins>+ new words</ins>')
  expect(text).toMatch(/<bdi>gone<\/bdi> <span class="tag bad">removed/)
  expect(text).not.toContain('words of old')
  expect(again.text).toBe(text)
  expect((await page(served, PENDING)).text).toBe(text)
  expect(fetchesOf(commit, served) - before).toBe(1)
  for (const path of ['/', '/?q=second', '/skills/fx/kept/', '/skills/fx/new/', '/problems', '/changes', '/sources'])
    expect((await page(served, path)).text, path).not.toMatch(/second words|new words|Says new/)
  const sources = (await page(served, '/sources')).text
  expect(sources).toContain('<a href="./changes?pending=fx">Review the changes</a>')
  expect(sources).toContain(`<code title="${commit}">`)

  await served.daemon.parts.decisions.decide(FX, 'approve', { commit })
  await served.sync()
  expect((await page(served, PENDING)).status).toBe(404)
})

test('a moved tag of a source that follows by itself is shown too, by the id of the tag object', async () => {
  await using repository = await Repository.create()
  await repository.commit(skill('kept', 'first words'))
  await repository.tag('v1', { annotated: true })
  await using served = await serve(repository, { source: ['ref: v1'] })
  await repository.commit(skill('kept', 'second words'))
  await repository.git('tag', '--delete', 'v1')
  const tag = await repository.tag('v1', { annotated: true })
  await served.sync()

  const { text } = await page(served, PENDING)

  expect(text).toContain('<strong>tag-moved</strong>')
  expect(text).toContain(`skillsyncd approve fx ${tag}`)
  expect(text).toContain('<ins>+ second words</ins>')
})

test('a rejected, held or unknown source has no pending revision, and none is fetched', async () => {
  await using repository = await Repository.create()
  await using served = await reviewed(repository)
  const commit = await repository.commit(skill('kept', 'second words'))
  await served.sync()
  await served.daemon.parts.decisions.decide(FX, 'hold')
  const held = await page(served, PENDING)
  await served.daemon.parts.decisions.decide(FX, 'release')
  await served.sync()
  await served.daemon.parts.decisions.decide(FX, 'reject', { commit })
  await served.sync()
  const before = served.git.requests.length

  const rejected = await page(served, PENDING)
  const unknown = await page(served, '/changes?pending=none')
  const unnamed = await page(served, '/changes?pending=')

  expect([held, rejected, unknown, unnamed].map(({ status }) => status)).toEqual([404, 404, 404, 404])
  expect(served.git.requests.length).toBe(before)
})

test('unlisted skills are counted and not named, and disabled ones are named without their text', async () => {
  await using repository = await Repository.create()
  await using served = await reviewed(repository, { source: ["unlisted: ['secret']"] })
  await served.daemon.parts.decisions.disable(FX, 'kept', true)
  await repository.commit({ ...skill('kept', 'second words'), ...skill('secret', 'secret words') })
  await served.sync()

  const { text } = await page(served, PENDING)

  expect(text).toMatch(/<bdi>kept<\/bdi> <span class="tag warn">changed/)
  expect(text).toContain('1 further changed skill is in no list')
  expect(text).not.toMatch(/secret|second words|first words/)
})

test('the programs of all changed skills are named, also of more skills than are shown', async () => {
  await using repository = await Repository.create()
  await using served = await reviewed(repository)
  const names = Array.from({ length: 205 }, (_, index) => `s${String(index).padStart(3, '0')}`)
  const added = Object.assign({}, ...names.map((name) => skill(name, 'new words')))
  await repository.commit({ ...added, 's203/scripts/run.py': 'print(1)\n' })
  await served.sync()
  const one = await page(served, PENDING)
  await repository.commit(Object.fromEntries(names.map((name) => [`${name}/run.sh`, 'true\n'])))
  await served.sync()
  const all = await page(served, PENDING)

  expect(one.text).toContain('<strong>1 program</strong> <bdi>s203/scripts/run.py (added)</bdi>')
  expect(one.text).toContain('5 further skills are not shown here')
  expect(all.text).toContain('<strong>206 programs</strong> <bdi>s000/run.sh (added), s001/run.sh (added)')
  expect(all.text).not.toContain('not shown here. skillsyncd diff')
})

test('the programs of a skill at the root are named by their own paths', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'SKILL.md': '---\nname: top\ndescription: Top\n---\n', 'scripts/run.py': 'print(1)\n' })
  await using served = await serve(repository, { source: ['update: review'] })

  expect((await page(served, PENDING)).text).toContain('<strong>1 program</strong> <bdi>scripts/run.py (added)</bdi>')
})

const DOCS = ['docs: docs', 'marketplace: true']

test('changed docs are shown with their lines, and the plugins of a changed marketplace with their skills', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'docs/usage.md': 'first lines\n' })
  await using served = await reviewed(repository, { source: DOCS })
  await repository.commit({
    'docs/usage.md': 'second lines\n',
    'kept/go': { executable: Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0]) },
    '.claude-plugin/marketplace.json': MARKETPLACE,
  })
  await served.sync()

  const { text } = await page(served, PENDING)

  expect(text).toContain('The docs folder <span class="tag warn">changed</span>')
  expect(text).toContain('<del>- first lines</del>')
  expect(text).toContain('<ins>+ second lines</ins>')
  expect(text).toMatch(
    /<bdi>go<\/bdi> <span class="quiet">it is a program and no text; 5 bytes, sha256 <code>[0-9a-f]{64}/,
  )
  expect(text).toMatch(/<bdi>tools<\/bdi>: added; gains <bdi>kept<\/bdi>/)
  expect(text).not.toContain('skillsyncd diff shows its files')
})

test('no doc is shown where a skill among them may be disabled or in no list, and no such skill of a plugin', async () => {
  await using repository = await Repository.create()
  const copy = skill('kept', 'first words')['kept/SKILL.md']!
  await repository.commit({ 'docs/usage.md': 'first lines\n' })
  await using disabling = await reviewed(repository, { source: DOCS })
  await using hiding = await serve(repository, { source: ['update: review', ...DOCS, "unlisted: ['kept']"] })
  await disabling.daemon.parts.decisions.disable(FX, 'kept', true)
  await repository.commit({ 'docs/copy.md': copy, '.claude-plugin/marketplace.json': MARKETPLACE })
  await Promise.all([disabling.sync(), hiding.sync()])

  const [disabled, unlisted] = [await page(disabling, PENDING), await page(hiding, PENDING)]

  for (const { text } of [disabled, unlisted]) {
    expect(text).toMatch(/The docs folder <span class="tag [a-z]+">[a-z]+<\/span>/)
    expect(text).toContain('skillsyncd diff shows its files')
    expect(text).not.toMatch(/usage\.md|copy\.md|first lines/)
  }
  expect(disabled.text).not.toContain('first words')
  expect(unlisted.text).toMatch(/<bdi>tools<\/bdi>: added/)
  expect(unlisted.text).not.toMatch(/first words|<bdi>kept/)
})

const MARKETPLACE = JSON.stringify({
  name: 'fx',
  owner: { name: 'fx' },
  plugins: [{ name: 'tools', source: './', strict: false, skills: ['./kept'] }],
})

test('where signatures bind the source, the changed skills are named and no line is shown', async () => {
  await using repository = await Repository.create()
  await using keys = await SigningWorld.create()
  const key = await keys.sshKey('ada')
  const list = join(keys.folder, 'signers')
  await writeFile(list, `ada@example.com ${key.line}\n`)
  const signed = async (text: string): Promise<string> => {
    const plain = await repository.commit(skill('kept', text))
    const command = ['commit-tree', '-S', '-m', 'a signed subject', `${plain}^{tree}`, '-p', `${plain}^`]
    const from = (await repository.git('rev-list', '--count', plain)).trim() === '1' ? command.slice(0, -2) : command
    const commit = (await runGit(['--git-dir', repository.folder, ...key.options, ...from])).toString().trim()
    await repository.setRef('refs/heads/main', commit)
    return commit
  }
  const commit = await signed('first words')
  const source = ['update: review', `signed: { require: commit, allowed_signers: ${list} }`]
  await using served = await serve(repository, { source })
  await served.daemon.parts.decisions.decide(FX, 'approve', { commit })
  await served.sync()
  await signed('second words')
  await served.sync()

  const { text } = await page(served, PENDING)

  expect(text).toMatch(/<bdi>kept<\/bdi> <span class="tag warn">changed/)
  expect(text).toContain('the page shows no text that is not served')
  expect(text).toContain('<code>skillsyncd diff served upstream --only fx</code>')
  expect(text).not.toMatch(/words|signed subject/)
})

const READER: Principal = { id: 'ada', scopes: new Set(['page']) }

test('where a lock is followed, the command moves the lock, and no line is shown', async () => {
  await using repository = await Repository.create()
  await repository.commit(skill('kept', 'first words'))
  await repository.tag('v1')
  await using served = await serve(repository, { source: ['ref: v1'] })
  const [configured] = served.config.sources
  const [snapshot] = served.daemon.registry.catalog.snapshots
  const entry = lockEntryOf(configured!.source, snapshot!)
  const change = (lock: Lock): Lock => ({ ...lock, sources: new Map([[FX, entry]]) })
  await changeLock(served.config.lock!, change, Date.now, new AbortController().signal)
  await repository.commit(skill('kept', 'second words'))
  await repository.git('tag', '--force', 'v1')
  await served.sync()

  const { text } = await page(served, PENDING)

  expect(text).toContain('<strong>tag-moved</strong>')
  expect(text).toMatch(/<bdi>kept<\/bdi> <span class="tag warn">changed/)
  expect(text).toContain('<pre tabindex="0">skillsyncd update fx</pre>')
  expect(text).not.toMatch(/skillsyncd approve fx [0-9a-f]{40}<\/pre>|words/)
})

test('a reader of packs gets the answer of a page that does not exist', async () => {
  await using repository = await Repository.create()
  let reader: Principal = { ...READER, packs: new Set(['some']) }
  await using served = await reviewed(repository, {
    config: ['packs:', '  - { id: some, include: [{ source: fx }] }'],
    access: { isTokenRequired: true, authenticate: async () => reader },
  })
  await repository.commit(skill('kept', 'second words'))
  await served.sync()
  const asked = async (path: string): Promise<Answer> => page(served, path, { authorization: 'Bearer x' })

  const ofPacks = await asked(PENDING)
  const unknown = await asked('/changes?pending=none')
  reader = READER
  const ofAll = await asked(PENDING)

  expect(ofPacks).toMatchObject({ status: 404, text: unknown.text })
  expect(ofAll.text).toContain('<ins>+ second words</ins>')
})

test('a public page shows no change of a pending revision, and fetches none', async () => {
  await using repository = await Repository.create()
  await using served = await reviewed(repository, {
    config: ['serve:', '  public: [page]', '  http: { allowed_hosts: [skills.example.com] }'],
  })
  await repository.commit({ ...skill('kept', 'second words'), ...skill('new', 'new words') })
  await served.sync()
  const before = served.git.requests.length

  const { status, text } = await page(served, PENDING)

  expect(status).toBe(200)
  expect(text).toContain('This page is public')
  expect(text).not.toMatch(/words|Says new/)
  expect(served.git.requests.length).toBe(before)
})

test('a revision that cannot be fetched is reported, and is not tried again at once', async () => {
  await using repository = await Repository.create()
  const clock = new FakeClock()
  await using served = await reviewed(repository, { clock })
  await repository.commit(skill('kept', 'second words'))
  await served.sync()
  served.git.fault = { kind: 'status', status: 500, body: 'x' }

  const failed = await page(served, PENDING)
  served.git.fault = { kind: 'none' }
  const before = served.git.requests.length
  const soon = await page(served, PENDING)
  const asked = served.git.requests.length
  await clock.advance(60_000)
  const later = await page(served, PENDING)

  expect(failed.text).toMatch(/The changes cannot be shown\. [^<]*500/)
  expect(soon.text).toBe(failed.text)
  expect(asked).toBe(before)
  expect(later.text).toContain('<ins>+ second words</ins>')
})

test('a source that is held without polls has no pending revision, and has it again when it is released', async () => {
  await using repository = await Repository.create()
  await using served = await reviewed(repository)
  const commit = await repository.commit(skill('kept', 'second words'))
  await served.sync()
  await served.daemon.parts.decisions.decide(FX, 'hold', { hold: { noPoll: true } })
  const before = fetchesOf(commit, served)

  const held = await page(served, PENDING)
  const after = fetchesOf(commit, served)
  await served.daemon.parts.decisions.decide(FX, 'release')
  const released = await page(served, PENDING)

  expect(held.text).toContain('No revision waits')
  expect(after).toBe(before)
  expect(released.text).toContain('<ins>+ second words</ins>')
})

test('a reader does not wait for a long fetch, and a later one has its result', async () => {
  await using repository = await Repository.create()
  const clock = new FakeClock()
  await using served = await reviewed(repository, { clock })
  const commit = await repository.commit(skill('kept', 'second words'))
  await served.sync()
  const before = fetchesOf(commit, served)
  const arrived = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  served.git.before = async () => {
    arrived.resolve()
    await answered.promise
  }

  const first = ask(served.http.url, PENDING)
  await arrived.promise
  await clock.advance(8_000)
  const early = await first
  answered.resolve()
  const late = await page(served, PENDING)

  expect(early.text).toContain('The hub fetches the revision.')
  expect(early.text).toContain(`skillsyncd approve fx ${commit}`)
  expect(late.text).toContain('<ins>+ second words</ins>')
  expect(fetchesOf(commit, served) - before).toBe(1)
})
