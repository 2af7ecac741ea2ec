import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser, noBrowser } from '../../support/process/browser.ts'
import { World, skill } from '../world.ts'

const reason = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`

describe.skipIf(noBrowser !== undefined)(`the page in a browser${reason}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await Browser.start()
  })
  afterAll(async () => browser[Symbol.asyncDispose]())

  describe('of two generations', () => {
    let world: World
    let origin: string
    let commit: string
    beforeAll(async () => {
      world = await World.createShared()
      commit = await fillTwoGenerations(world)
      ;({ origin } = await started(world))
    })
    afterAll(async () => world?.[Symbol.asyncDispose]())

    test('what one types is searched for at once, and the address says what was found', async () => {
      const { page, said } = await browser.open(origin)
      const names = page.locator('#found h2')
      expect(await names.allTextContents()).toEqual(['alpha', 'beta', 'delta', 'gamma'])

      await page.getByLabel('Search').fill('BETA')
      await page.locator('#count', { hasText: '2 skills, of 4' }).waitFor()

      expect(await names.allTextContents()).toEqual(['beta', 'gamma'])
      expect(page.url()).toBe(`${origin}/?q=BETA`)
      expect(await page.getByRole('status').textContent()).toBe('2 skills, of 4')
      await page.getByLabel('Search').fill('nothing is called so')
      await page.getByText('No skill has all of these words').waitFor()
      expect(said).toEqual([])
    })

    test('a skill is read with its files, its commit and its digest, and its links lead to its files', async () => {
      const { page, said } = await browser.open(origin)

      await page.getByRole('link', { name: 'delta' }).click()
      expect(page.url()).toBe(`${origin}/skills/team/delta/`)
      expect(await page.getByRole('heading', { name: 'How to' }).count()).toBe(1)
      const about = await page.locator('#about').textContent()
      expect(about).toContain(commit)
      expect(about).toContain('Teach <b>delta</b>')
      expect(
        await page
          .locator('#digests')
          .getByText(/[0-9a-f]{64}/)
          .first()
          .isVisible(),
      ).toBe(false)
      await page.getByText('Digests (SHA-256)').click()
      expect(await page.locator('#digests').innerText()).toMatch(
        /Digest of the skill\s+(?:Copy\s+)?[0-9a-f]{64}\s+SKILL\.md\s+[0-9a-f]{64}/,
      )
      expect(await page.getByRole('link', { name: 'the web' }).getAttribute('rel')).toBe('noopener noreferrer nofollow')
      expect(await page.getByRole('link', { name: 'up', exact: true }).count()).toBe(0)
      expect(await page.getByText('Image: a cat').count()).toBe(1)

      await page.getByRole('link', { name: 'more', exact: true }).click()
      expect(page.url()).toBe(`${origin}/skills/team/delta/references/more.md`)
      expect(await page.getByRole('heading', { name: 'More', exact: true }).count()).toBe(1)
      await page.getByRole('link', { name: 'back' }).click()
      expect(page.url()).toBe(`${origin}/skills/team/delta/`)
      await page.getByRole('link', { name: 'run.sh' }).click()
      expect(await page.locator('pre').textContent()).toContain('echo <b>')
      expect(said).toEqual([])
    })

    test('what changed between two generations is shown line by line', async () => {
      const { page, said } = await browser.open(`${origin}/changes`)

      expect(await page.locator('ol > li').first().textContent()).toMatch(/added\s+beta\s+changed\s+alpha/)
      await page.getByRole('link', { name: 'Compare with generation 1' }).click()
      await page.waitForURL(`${origin}/changes?from=1&to=2`)

      expect(await page.locator('del').allTextContents()).toEqual(['- first'])
      expect((await page.locator('ins').allTextContents()).join('\n')).toBe(
        '+ a line\n+ <script>alert(1)</script>\n+ x\n+ ---\n+ name: beta\n+ description: beta of the tests\n+ ---\n+ second',
      )
      expect(await page.locator('section li h3').allTextContents()).toEqual([
        expect.stringMatching(/alpha\s+changed/),
        expect.stringMatching(/beta\s+added/),
      ])
      const files = await page.locator('section li').first().locator('summary').allTextContents()
      expect(files).toEqual([expect.stringMatching(/changed\s+SKILL\.md/), expect.stringMatching(/added\s+new\.txt/)])
      expect(said).toEqual([])
    })

    test('what a client is told is copied at the press of a button', async () => {
      const { page } = await browser.open(`${origin}/connect`, { permissions: ['clipboard-read', 'clipboard-write'] })

      await page.getByRole('button', { name: 'Copy for Claude Code, MCP, Shell' }).click()
      await page.getByText('Copied').first().waitFor()

      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
        `claude mcp add --transport http skills ${origin}/mcp`,
      )
    })

    test('the command that a skill has at its top is copied, and links the skill', async () => {
      const { page } = await browser.open(`${origin}/skills/team/delta/`, {
        permissions: ['clipboard-read', 'clipboard-write'],
      })

      await page.getByRole('button', { name: 'Copy the command that links the skill' }).click()
      await page.getByText('Copied').first().waitFor()
      const [program, ...words] = (await page.evaluate<string>('navigator.clipboard.readText()')).split(' ')
      const linked = await world.home.command(...words, '--json')

      expect(program).toBe('skillsyncd')
      expect(linked).toMatchObject({ status: 0 })
      expect(linked.stdout).toContain('delta')
      expect(linked.stdout).not.toContain('gamma')
    })

    test('nobody needs a script: searching, reading and comparing go by links and forms', async () => {
      const { page, asked } = await browser.open(origin, { javaScriptEnabled: false })

      await page.getByLabel('Search').fill('beta')
      await page.keyboard.press('Enter')
      await page.waitForURL(`${origin}/?q=beta&source=&sort=`)
      await page.getByRole('link', { name: 'beta' }).click()
      expect(await page.locator('.prose').textContent()).toContain('second')
      await page.getByRole('link', { name: 'Changes' }).click()
      await page.getByRole('button', { name: 'Compare' }).click()
      expect(await page.locator('section li h3').allTextContents()).toEqual([
        expect.stringMatching(/alpha\s+changed/),
        expect.stringMatching(/beta\s+added/),
      ])
      await page.getByRole('link', { name: 'Connect' }).click()
      expect(await page.getByText(`claude mcp add --transport http skills ${origin}/mcp`).count()).toBe(1)
      expect(asked.every((url) => url.startsWith(origin))).toBe(true)
    })
  })

  test.each([true, false])(
    'a skill leads by its tags to the others that have them, with a script: %s',
    async (javaScriptEnabled) => {
      await using world = await World.create()
      const tagged = (name: string, tags: string): string =>
        `---\nname: ${name}\ndescription: About ${name}\nmetadata: { tags: ${tags} }\n---\n`
      await world.repository.commit({
        'forms/SKILL.md': tagged('forms', '"pdf, m&a"'),
        'charts/SKILL.md': tagged('charts', '[PDF]'),
      })
      const { origin } = await started(world)
      const { page, said } = await browser.open(`${origin}/skills/team/forms/`, { javaScriptEnabled })

      await page.getByRole('list', { name: 'Tags' }).getByRole('link', { name: 'pdf' }).click()
      expect(page.url()).toBe(`${origin}/?tag=pdf`)
      expect(await page.locator('#found h2').allTextContents()).toEqual(['charts', 'forms'])
      await page.getByLabel('Tag').selectOption({ label: 'm&a (1)' })
      if (!javaScriptEnabled) await page.getByRole('button', { name: 'Search' }).click()
      await page.locator('#count', { hasText: '1 skill, of 3' }).waitFor()

      expect(new URL(page.url()).searchParams.get('tag')).toBe('m&a')
      expect(await page.locator('#found h2').allTextContents()).toEqual(['forms'])
      expect(await page.getByLabel('Tag').inputValue()).toBe('m&a')
      expect(said).toEqual([])
    },
  )

  test('a source is chosen from the keyboard, and only its skills are left', async () => {
    await using world = await World.create()
    const { home, git, repository } = world
    await home.configure({
      team: [`url: ${git.serve('team', repository)}`, 'every: 1h'],
      other: [`url: ${git.serve('team', repository)}`, 'every: 1h', 'include: [none]'],
    })
    const { origin } = await started(world)
    const { page } = await browser.open(origin)

    await page.keyboard.press('Tab')
    expect(await page.locator(':focus').textContent()).toBe('Skip to the content')
    await page.getByLabel('Source').focus()
    await page.keyboard.type('other')
    await page.locator('#count', { hasText: '0 skills' }).waitFor()

    expect(page.url()).toBe(`${origin}/?source=other`)
  })

  test('a commit is seen without a reload, while nobody loses what is typed', async () => {
    await using world = await World.create()
    const { origin, home } = await started(world)
    const { page, said } = await browser.open(`${origin}/`)
    await page.getByLabel('Search').pressSequentially('o')
    await page.locator('#count', { hasText: '1 skill, of 1' }).waitFor()

    await world.repository.commit({ 'omega/SKILL.md': skill('omega', 'last') })
    expect(await home.command('sync')).toMatchObject({ status: 0 })
    await page.locator('#found h2', { hasText: 'omega' }).waitFor()

    expect(await page.getByLabel('Search').inputValue()).toBe('o')
    expect(await page.locator(':focus').getAttribute('id')).toBe('q')
    expect(await page.getByRole('status').textContent()).toBe('Updated: generation 2')
    expect(await page.locator('#generation').textContent()).toBe('2')
    expect(said).toEqual([])
  })

  test('a page that is open goes on when the configuration is read anew', async () => {
    await using world = await World.create()
    const { origin, home } = await started(world)
    const { page } = await browser.open(`${origin}/`)
    const text = await readFile(home.configFile, 'utf8')
    await writeFile(home.configFile, text.replace('serve: {', 'serve: { page: { title: Renamed },'))

    expect(await home.command('reload')).toMatchObject({ status: 0 })
    await world.repository.commit({ 'omega/SKILL.md': skill('omega', 'last') })
    expect(await home.command('sync')).toMatchObject({ status: 0 })
    await page.locator('#found h2', { hasText: 'omega' }).waitFor()

    await page.reload()
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Renamed')
  })

  test('a skill that is disabled goes from the page at once, and is a problem without its content', async () => {
    await using world = await World.create()
    const { origin, home } = await started(world)
    const { page } = await browser.open(`${origin}/skills/team/alpha/`)
    expect(await page.getByText('first').count()).toBe(1)

    expect(await home.command('disable', 'team/alpha')).toMatchObject({ status: 0 })
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
    await page.getByRole('link', { name: /^Problems/ }).click()

    expect(await page.locator('#problems').textContent()).toMatch(/team\/\s*alpha\s+disabled/)
    expect(await page.locator('main').textContent()).not.toContain('first')
  })

  test('a source that cannot be reached says so, with the mend and without a password', async () => {
    await using world = await World.create()
    const { origin, home } = await started(world)
    await world.git[Symbol.asyncDispose]()
    expect(await home.command('sync')).toMatchObject({ status: 1 })

    const { page } = await browser.open(`${origin}/sources`)

    const card = page.getByRole('region', { name: 'Source team' })
    expect(await card.textContent()).toContain('source-unreachable')
    expect(await card.textContent()).toContain('tried again')
    expect(await page.getByText('1 source is tried again').count()).toBe(1)
    expect(await card.textContent()).not.toContain('up to date')
  })

  test('where a token is needed one signs in, comes to the page that was asked for, and signs out', async () => {
    await using world = await World.create()
    const { home } = world
    await world.synced()
    const { stdout } = await home.command('hub', 'token', 'add', 'ada', '--scope', 'page')
    const token = stdout
      .trim()
      .split(/\s+/)
      .find((word) => word.length > 30)!
    const daemon = home.start('start', '--host', '0.0.0.0')
    const origin = `http://127.0.0.1:${new URL(await daemon.line()).port}`
    const { page } = await browser.open(`${origin}/skills/team/alpha/`)
    expect(await page.content()).not.toContain('alpha of the tests')

    await page.getByLabel('Token').fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    expect(await page.getByRole('alert').textContent()).toBe('This token has no access to this page.')
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()

    expect(page.url()).toBe(`${origin}/skills/team/alpha/`)
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('alpha')
    await page.getByRole('button', { name: 'Sign out' }).click()
    expect(await page.getByLabel('Token').count()).toBe(1)
    expect(await page.context().cookies()).toEqual([])
  })
})

/** The daemon, once it serves what the source has now. */
async function started(world: World): Promise<{ readonly origin: string; readonly home: World['home'] }> {
  const { home } = world
  await world.synced()
  const daemon = home.start('start')
  const { origin } = new URL(await daemon.line())
  return { origin, home }
}

/** Brings the second generation, in which `alpha` is another, `beta` is new and `gamma` and `delta` are as they were. Returns its commit. */
async function fillTwoGenerations(world: World): Promise<string> {
  const { repository } = world
  await repository.commit({
    'gamma/SKILL.md': '---\nname: gamma\ndescription: Says something of beta\n---\n',
    'delta/SKILL.md': skill('delta', DELTA),
    'delta/references/more.md': '# More\n\n[back](../SKILL.md)\n',
    'delta/run.sh': { executable: '#!/bin/sh\necho <b>\n' },
  })
  await world.synced()
  return repository.commit(
    {
      'alpha/SKILL.md': skill('alpha', 'a line\n<script>alert(1)</script>'),
      'alpha/new.txt': 'x',
      'beta/SKILL.md': skill('beta', 'second'),
    },
    { message: 'Teach <b>delta</b>\n\nmore' },
  )
}

const DELTA =
  '# How to\n\nRead [more](references/more.md), [the web](https://example.com/x), [up](../../..), ![a cat](cat.png)\n\n| a | b |\n|---|--:|\n| 1 | 2 |'
