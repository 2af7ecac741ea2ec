import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { idsOf } from '../../../src/daemon/config/config.ts'
import type { PageUses } from '../../../src/serve/page/page-data.ts'
import { contractFrontmatter, documentOf } from '../../support/content/contract-fixture.ts'
import { Repository } from '../../support/git/repository.ts'
import { barriersOn, Browser, noBrowser, picture, STYLE_RULES } from '../../support/process/browser.ts'
import type { Watched } from '../../support/process/browser.ts'
import { serve } from '../../support/served.ts'
import type { Served } from '../../support/served.ts'

const reason = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`

const DOCUMENT = `# Release notes

Write them from the commits since the last tag, [as the guide says](references/guide.md).

1. Read \`git log\`
2. Group by [kind](https://www.conventionalcommits.org/)

> Nobody reads a list of commits.

## Form

| Kind | Heading | Count |
| :--- | :-----: | ----: |
| feat | Added   |     3 |

\`\`\`sh
git log --oneline "$(git describe --tags --abbrev=0)"..HEAD   # a long line that does not fit into a narrow window at all
\`\`\`

- [ ] nothing is missing
- ~~nothing~~ is told twice

![A diagram of the steps](steps.png)

Hidden: \u200B.
`

const FILES = {
  'release-notes/SKILL.md': `---\nname: release-notes\ndescription: Writes the notes of a release from the commits since the last one. Use it when a version is tagged.\nlicense: Apache-2.0\nallowed-tools: Bash(git log:*)\nmetadata:\n  version: "1.2"\n  tags: git, ${'a-tag-that-is-as-long-as-a-tag-of-the-page-may-be'.padEnd(50, '-')}\n---\n${DOCUMENT}`,
  'release-notes/references/guide.md': '# Guide\n\nBack to [the skill](../SKILL.md).\n',
  'release-notes/steps.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]),
  'release-notes/scripts/log.sh': { executable: '#!/bin/sh\ngit log\n' },
  'a-skill-with-a-name-that-is-as-long-as-a-name-may-be-sixty-four/SKILL.md':
    '---\nname: a-skill-with-a-name-that-is-as-long-as-a-name-may-be-sixty-four\ndescription: Long\n---\n',
  'broken/SKILL.md': '---\nname: [\n---\n',
}

/** The use of one skill. */
function usesOf(skill: string): () => Promise<PageUses> {
  const skills = new Map([[skill, { loads: 12_345, reads: 1, failures: 0, last: '2026-06-15' }]])
  return async () => ({
    days: 30,
    from: '2026-05-17',
    since: '2026-06-01',
    skills,
    lists: [{ packs: undefined, lists: 7 }],
  })
}

/** Counts what the style sheet does not show. */
const HIDDEN = `[...document.body.querySelectorAll('*')].filter((element) => !element.checkVisibility()).length`

/** A skill that keeps the contract, in this folder. */
function contracted(path: string, dependsOn: readonly string[]): Record<string, string> {
  const frontmatter = contractFrontmatter(path.split('/').at(-1) ?? '', { depends_on: dependsOn })
  return { [`${path}/SKILL.md`]: documentOf(frontmatter) }
}

describe.skipIf(noBrowser !== undefined)(`how the page looks${reason}`, () => {
  let browser: Browser
  let repository: Repository
  let served: Served
  let shown: Watched
  beforeAll(async () => {
    browser = await Browser.start()
    repository = await Repository.create()
    await repository.commit(FILES)
    const rings = 'rings: [{ id: canary, anonymous: true }, { id: stable, min_age: 3d }]'
    served = await serve(repository, { uses: usesOf('fx/release-notes'), config: [rings] })
    await repository.commit({
      'release-notes/SKILL.md': FILES['release-notes/SKILL.md'].replace('Group by', 'Sort by'),
      'new/SKILL.md': '---\nname: new\ndescription: New\n---\n',
    })
    await served.sync()
    shown = await browser.open('about:blank')
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await served?.[Symbol.asyncDispose]()
    await repository?.[Symbol.asyncDispose]()
  })

  const pages = {
    skills: '/',
    search: '/?q=nothing-is-called-so',
    tag: '/?tag=git',
    skill: '/skills/fx/release-notes/',
    file: '/skills/fx/release-notes/scripts/log.sh',
    sources: '/sources',
    usage: '/usage?by=last',
    rings: '/rings',
    changes: '/changes',
    difference: '/changes?from=1&to=2',
    problems: '/problems',
    connect: '/connect',
    nothing: '/skills/fx/none/',
  }
  // Each scheme and each width once: no rule of the style sheet is about both. None hides anything either, so that the
  // second look is tried by the rules of colours and boxes alone.
  const looks = [
    { colorScheme: 'light', width: 360, rules: undefined },
    { colorScheme: 'dark', width: 1280, rules: STYLE_RULES },
  ] as const

  test.each(Object.entries(pages))(
    '%s: nobody is kept out, and nothing is wider than its window',
    async (name, path) => {
      const { page } = shown
      const since = shown.said.length
      await page.goto(served.http.url + path)
      const hidden = new Set<number>()

      for (const { colorScheme, width, rules } of looks) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.setViewportSize({ width, height: 800 })
        hidden.add(await page.evaluate<number>(HIDDEN))
        await picture(page, `${name}-${colorScheme}-${width}`)
        expect(await page.evaluate('document.documentElement.scrollWidth'), `at ${width}`).toBeLessThanOrEqual(width)
        expect(await barriersOn(page, rules), `${colorScheme} at ${width}`).toEqual([])
      }
      expect(hidden.size).toBe(1)
      expect(shown.said.slice(since).filter((text) => !text.includes('404'))).toEqual([])
    },
  )

  test('sources that fail or are held fit into 360 pixels, and are among the problems, with what mends them', async () => {
    await using held = await Repository.create()
    await using empty = await Repository.create()
    await held.commit({ 'kept/SKILL.md': '---\nname: kept\ndescription: Kept\n---\n' })
    await held.tag('v1')
    await using troubled = await serve(held, { source: ['ref: v1'], more: { empty }, mayFail: true })
    await held.commit({
      'other/SKILL.md': '---\nname: other\ndescription: Other\n---\n',
      'upset/SKILL.md': '---\nname: [\n---\n',
    })
    await held.git('tag', '--force', 'v1')
    await troubled.sync()

    const { page } = await browser.open(troubled.http.url, { viewport: { width: 360, height: 800 } })
    for (const path of ['/', '/sources', '/problems', '/?source=empty', '/?source=none']) {
      await page.goto(troubled.http.url + path)
      await picture(page, `troubled-${path.replaceAll(/\W+/g, '-')}-360`)
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(360)
      expect(await barriersOn(page), path).toEqual([])
    }
    await page.goto(`${troubled.http.url}/problems`)
    const problems = await page.locator('#problems').innerText()
    const count = await page.locator('#problems-count').innerText()
    await page.locator('#problems').getByRole('link', { name: 'empty' }).click()

    expect(problems).toMatch(/^2 problems\n/)
    expect(problems).toMatch(/fx\s+previous revision served\s+tag-moved .*[0-9a-f]{12}.*\s+.*skillsyncd approve fx/)
    expect(problems).toMatch(/empty\s+not served\s+ref-not-found /)
    expect(count).toBe('2')
    expect(page.url()).toBe(`${troubled.http.url}/sources#source-empty`)
    await page.goto(`${troubled.http.url}/?source=empty`)
    expect(await page.locator('#source option').allInnerTexts()).toEqual(['All sources', 'fx', 'empty'])
    expect(await page.locator('#found').innerText()).toContain(
      'No skill of empty is in the list. Its problems say why.',
    )
  })

  test('the search leads from every page to the list, also where a source is called like a part of it', async () => {
    await using repository = await Repository.create()
    await repository.commit({ 'kept/SKILL.md': '---\nname: kept\ndescription: Kept\n---\n' })
    await using named = await serve(repository, { id: 'found' })
    const { page } = await browser.open(`${named.http.url}/sources`)

    await page.getByLabel('Search').fill('kept')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${named.http.url}/?q=kept`)

    expect(await page.locator('#found h2').allInnerTexts()).toEqual(['kept'])
  })

  test('copies of one skill are one row with its places, found by each of its sources, and its page leads to the others', async () => {
    await using one = await Repository.create()
    await using two = await Repository.create()
    const notes = FILES['release-notes/SKILL.md']
    await one.commit({
      'release-notes/SKILL.md': notes,
      'other/SKILL.md': '---\nname: other\ndescription: Other\n---\n',
    })
    const below = 'a-folder-with-a-long-name-that-does-not-break/and-one-below/release-notes/SKILL.md'
    await two.commit({ 'release-notes/SKILL.md': notes, [below]: notes })
    await using copied = await serve(one, { id: 'one', more: { two } })
    const at = async (path: string): Promise<{ count: string; rows: string[] }> => {
      await page.goto(copied.http.url + path)
      const count = await page.locator('#count').innerText()
      return {
        count,
        rows: await page.locator('#found h2 a').evaluateAll((all) => all.map((a) => a.getAttribute('href') ?? '')),
      }
    }
    const { page } = await browser.open(copied.http.url)

    const all = await at('/')
    const row = await page.locator('#found li', { hasText: 'release-notes' }).innerText()
    const ofTwo = await at('/?source=two')
    const byPath = await at('/?q=and-one-below')
    for (const path of ['/', '/skills/one/release-notes/']) {
      await page.goto(copied.http.url + path)
      for (const { width, rules } of looks) {
        await page.setViewportSize({ width, height: 800 })
        await picture(page, `copies-${path.replaceAll(/\W+/g, '-')}-${width}`)
        expect(await page.evaluate('document.documentElement.scrollWidth'), `${path} at ${width}`).toBe(width)
        expect(await barriersOn(page, rules), path).toEqual([])
      }
    }
    const others = page.locator('#places ~ ul').first().getByRole('link')
    const named = await others.allInnerTexts()
    await others.last().click()

    expect(all).toEqual({
      count: '2 skills (2 duplicates)',
      rows: ['./skills/one/other/', './skills/one/release-notes/'],
    })
    expect(row).toContain('Also in')
    expect(ofTwo).toEqual({
      count: '1 skill (1 duplicate), of 2',
      rows: [`./skills/two/${below.replace('SKILL.md', '')}`],
    })
    expect(byPath).toEqual({ count: '1 skill, of 2', rows: ofTwo.rows })
    expect(named).toEqual([`two/${below.replace('/SKILL.md', '')}`, 'two/release-notes'])
    expect(page.url()).toBe(`${copied.http.url}/skills/two/release-notes/`)
  })

  test('what is wrong with the hub, between skills and with archives is among the problems, with the way to the skills', async () => {
    await using team = await Repository.create()
    await using house = await Repository.create()
    const long = `notes/${'a-folder-with-a-name-that-tar-cannot-hold-in-any-of-its-parts/'.repeat(4)}page.md`
    await team.commit({
      ...contracted('pdf', []),
      ...contracted('more/pdf', ['nothing-that-is-served']),
      ...contracted('a', ['b']),
      ...contracted('b', ['a']),
      [`pdf/${long}`]: 'x',
      '.agent/pdf/SKILL.md': { link: '../none/SKILL.md' },
    })
    await house.commit({ 'pdf/SKILL.md': '---\nname: pdf\ndescription: Another\n---\n' })
    const [source, config] = [['contract: true'], ['serve: { forms: [default, archives] }']]
    await using troubled = await serve(team, { id: 'team', source, config, more: { house }, mayFail: true })
    await writeFile(join(dirname(troubled.configFile), 'skills.lock'), '<<<<<<< ours\n')
    await troubled.sync()
    await troubled.daemon.parts.contract.diagnostics()

    const { page } = await browser.open(`${troubled.http.url}/problems`)
    for (const { width, rules } of looks) {
      await page.setViewportSize({ width, height: 800 })
      await picture(page, `hub-problems-${width}`)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      expect(await barriersOn(page, rules)).toEqual([])
    }
    const said = await page.locator('#problems').innerText()
    await page.goto(`${troubled.http.url}/problems?source=house`)
    const ofHouse = await page.locator('#problems').innerText()
    await page.goto(`${troubled.http.url}/problems?source=team`)
    const ofTeam = await page.locator('#problems').innerText()

    expect(said).toMatch(/skills\.lock lock-unreadable\s+lock\s+.*skills\.lock/)
    expect(said).not.toContain(dirname(troubled.configFile))
    expect(said).toMatch(
      /id-clash\s+between skills\s+2 skills have the id "pdf".*\s+team\/more\/pdf team\/pdf\s+.*skillsyncd disable/,
    )
    expect(said).toMatch(
      /dependency-missing\s+between skills\s+.*nothing-that-is-served.*\s+team\/more\/pdf\s+Add the missing skill/,
    )
    expect(said).toMatch(/dependency-cycle\s+between skills\s+.*\s+team\/a team\/b\s+Remove one/)
    expect(said).toMatch(/team\/pdf\s+served\s+archive-refused .*shorten or rename the path/s)
    expect(said).toMatch(/team\/\.agent\/pdf\s+withheld\s+stray-link/)
    expect(ofTeam).toContain('id-clash')
    expect(ofTeam).not.toMatch(/lock-unreadable/)
    expect(ofHouse).not.toMatch(/id-clash|dependency-/)
    await page.getByRole('link', { name: 'team/pdf' }).first().click()
    expect(page.url()).toBe(`${troubled.http.url}/skills/team/pdf/`)
  })

  test('a problem has what mends it, and a skill with a note the way to its page', async () => {
    const { page } = await browser.open(`${served.http.url}/problems`)
    const broken = page.locator('#problems li', { hasText: 'broken' })
    const noted = page.locator('#problems li', { has: page.locator('.tag', { hasText: /^served$/ }) }).first()

    expect(await page.locator('#problems > p').innerText()).toMatch(/^1 problem, \d+ notes?$/)
    expect(await broken.innerText()).toContain('quote values with ')
    await noted.getByRole('link').last().click()
    expect(new URL(page.url()).pathname).toMatch(/^\/skills\/fx\/.+\/$/)
  })

  test('the form that asks for a token keeps nobody out either', async () => {
    await using closed = await serve(repository, {
      config: ['serve:', '  http: { allowed_hosts: [skills.example.com] }'],
    })
    const { page } = await browser.open(closed.http.url, { viewport: { width: 360, height: 700 } })
    for (const { colorScheme, rules } of looks) {
      await page.emulateMedia({ colorScheme })
      await picture(page, `sign-in-${colorScheme}-360`)
      expect(await barriersOn(page, rules)).toEqual([])
    }
  })

  test('the icon is a picture that the policy of the page admits', async () => {
    const { page, said } = await browser.open(served.http.url)

    const width = await page.evaluate<number>(`(async () => {
      const image = new Image()
      image.src = document.querySelector('link[rel=icon]').href
      await image.decode()
      return image.naturalWidth
    })()`)

    expect(width).toBeGreaterThan(0)
    expect(said).toEqual([])
  })

  test('what has the focus is seen, on every stop of the keyboard', async () => {
    const { page } = await browser.open(`${served.http.url}/skills/fx/release-notes/`)
    for (let stop = 0; stop < 12; stop += 1) {
      await page.keyboard.press('Tab')
      const focused = await page.evaluate<{ outline: string; html: string }>(
        '({ outline: getComputedStyle(document.activeElement).outlineStyle, html: document.activeElement.outerHTML })',
      )
      expect(focused.outline, focused.html.slice(0, 200)).toBe('solid')
    }
  })
})

/** A word that has no place to break. */
const ENDLESS = 'endless'.repeat(16)
const LONG_ID = `held${'x'.repeat(60)}`
const FAILING_ID = `failing${'x'.repeat(57)}`
const LONG_PATH = `${'a-folder-with-a-long-name-that-does-not-break/'.repeat(3)}deep`

describe.skipIf(noBrowser !== undefined)(`how a hub in trouble looks${reason}`, () => {
  let browser: Browser
  let repository: Repository
  let empty: Repository
  let troubled: Served
  let shown: Watched
  beforeAll(async () => {
    browser = await Browser.start()
    repository = await Repository.create()
    empty = await Repository.create()
    const deep = (text: string): string => `---\nname: deep\ndescription: ${ENDLESS}\n---\n\n${text}\n`
    const commit = await repository.commit({
      [`${LONG_PATH}/SKILL.md`]: deep(`${ENDLESS}, first`),
      [`${LONG_PATH}/${ENDLESS}.md`]: `# ${ENDLESS}\n`,
      [`${ENDLESS}/SKILL.md`]: '---\nname: [\n---\n',
    })
    const source = ['update: review', "unlisted: ['secret']"]
    troubled = await serve(repository, {
      id: LONG_ID,
      source,
      more: { [FAILING_ID]: empty },
      mayFail: true,
      uses: usesOf(`${LONG_ID}/${LONG_PATH}`),
    })
    const [id] = idsOf(troubled.config)
    await troubled.daemon.parts.decisions.decide(id!, 'approve', { commit })
    await troubled.sync()
    await troubled.daemon.parts.decisions.disable(id!, ENDLESS, true)
    await repository.commit({
      [`${LONG_PATH}/SKILL.md`]: deep(`${ENDLESS}, second`),
      'secret/SKILL.md': '---\nname: secret\ndescription: Secret\n---\n',
      [`new-${ENDLESS}/SKILL.md`]: `---\nname: new-one\ndescription: New\n---\n\n${'long line '.repeat(60)}\n`,
    })
    await troubled.sync()
    shown = await browser.open('about:blank')
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await troubled?.[Symbol.asyncDispose]()
    await repository?.[Symbol.asyncDispose]()
    await empty?.[Symbol.asyncDispose]()
  })

  const skill = `/skills/${LONG_ID}/${LONG_PATH}/`
  const pages = {
    start: '/',
    search: `/?q=${ENDLESS}`,
    'failing-source': `/?source=${FAILING_ID}`,
    'no-source': `/?source=${ENDLESS}`,
    skill,
    file: `${skill}${ENDLESS}.md`,
    text: `${skill}${ENDLESS}.md?as=text`,
    sources: '/sources',
    usage: '/usage',
    changes: '/changes',
    difference: '/changes?from=0&to=1',
    'no-difference': '/changes?from=1&to=99',
    pending: `/changes?pending=${LONG_ID}`,
    'no-pending': `/changes?pending=${ENDLESS}`,
    problems: '/problems',
    'problems-of-one': `/problems?source=${LONG_ID}`,
    connect: '/connect',
    nothing: `/skills/${LONG_ID}/${ENDLESS}/none/`,
  }
  // All rules once; the rules of colors and boxes in each scheme at each width.
  const looks = [
    { colorScheme: 'light', width: 360, rules: undefined },
    { colorScheme: 'light', width: 1280, rules: STYLE_RULES },
    { colorScheme: 'dark', width: 360, rules: STYLE_RULES },
    { colorScheme: 'dark', width: 1280, rules: STYLE_RULES },
  ] as const

  test.each(Object.entries(pages))('%s fits its window and has no barrier, light and dark', async (name, path) => {
    const { page } = shown
    await page.goto(troubled.http.url + path)

    for (const { colorScheme, width, rules } of looks) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height: 800 })
      await picture(page, `trouble-${name}-${colorScheme}-${width}`)
      expect(await page.evaluate('document.documentElement.scrollWidth'), `at ${width}`).toBeLessThanOrEqual(width)
      expect(await barriersOn(page, rules), `${colorScheme} at ${width}`).toEqual([])
    }
    const banner = await page.locator('#banner').innerText()
    expect(banner).toContain(`1 source fails: ${FAILING_ID}. `)
    expect(banner).toContain(`1 source waits for approval: ${LONG_ID}`)
  })

  test('the banner leads to the review, and the review has the lines and the commands', async () => {
    const { page } = shown
    await page.goto(`${troubled.http.url}/connect`)

    await page.locator('#banner').getByRole('link', { name: LONG_ID }).click()

    expect(page.url()).toBe(`${troubled.http.url}/changes?pending=${LONG_ID}`)
    const commands = await page.locator('.snippet pre').allInnerTexts()
    expect(commands[0]).toMatch(new RegExp(`^skillsyncd approve ${LONG_ID} [0-9a-f]{40}$`))
    expect(commands[1]).toMatch(new RegExp(`^skillsyncd reject ${LONG_ID} [0-9a-f]{40}$`))
    expect(await page.locator('#pending ins').allInnerTexts()).toContain(`+ ${ENDLESS}, second`)
    expect(await page.locator('main').innerText()).toContain('1 further changed skill is in no list')
  })
})
