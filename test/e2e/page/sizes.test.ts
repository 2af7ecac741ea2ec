import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { idsOf } from '../../../src/daemon/config/config.ts'
import type { Content } from '../../support/git/repository.ts'
import { Repository } from '../../support/git/repository.ts'
import { barriersOn, Browser, noBrowser, STYLE_RULES } from '../../support/process/browser.ts'
import type { Watched } from '../../support/process/browser.ts'
import { serve } from '../../support/served.ts'
import type { Served } from '../../support/served.ts'

const reason = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`

/** A skill with many files, each of them on its page. */
const LARGE = 'area-0/skill-0'

/** The files of so many skills: tags of each, notes on every third, errors in every tenth, and copies of every seventh. */
function filesOf(count: number): Record<string, Content> {
  const files = Array.from({ length: count }, (_, at): readonly (readonly [string, Content])[] => {
    const folder = `area-${at % 10}/skill-${at}`
    const document = documentOf(at)
    return [
      [`${folder}/SKILL.md`, document],
      ...(at % 7 === 0 ? ([[`copies/of-${at}/skill-${at}/SKILL.md`, document]] as const) : []),
    ]
  })
  const references = Array.from({ length: 199 }, (_, at) => [`${LARGE}/references/page-${at}.md`, `# ${at}\n`])
  return { ...Object.fromEntries(files.flat()), ...Object.fromEntries(references) }
}

/** The next commit: so many skills change, some go and some come. */
function changesOf(count: number, changes: number, words: string): Record<string, Content | null> {
  const numbers = Array.from({ length: changes }, (_, at) => at)
  const changed = numbers.map((at) => [`area-${at % 10}/skill-${at}/SKILL.md`, `${documentOf(at)}\n${words}\n`])
  const added = numbers.slice(0, 20).map((at) => [`${words}/skill-${count + at}/SKILL.md`, documentOf(count + at)])
  const removed = [3, 13, 23].map((at) => [`area-3/skill-${at}/SKILL.md`, null])
  return Object.fromEntries([...changed, ...added, ...removed])
}

function documentOf(at: number): string {
  const description = `Does the work number ${at}, ${'and all that belongs to it, '.repeat(at % 12)}as its team wants it.`
  const tags = [`area-${at % 10}`, `team-${at % 97}`, ...(at % 2 === 0 ? ['even'] : [])]
  const name = at % 10 === 9 ? '[' : `skill-${at}`
  const link = at % 3 === 0 ? '\nRead [what is missing](missing.md).\n' : ''
  return `---\nname: ${name}\ndescription: ${description}\ntags: [${tags.join(', ')}]\n---\n\n# Steps\n${link}`
}

/** All rows of a list are drawn alike, and the colors of one take milliseconds: these are left out where colors are judged again. */
const LATER_ROWS = ['.list > li:nth-child(n+21)', '.files > li:nth-child(n+21)']

// All rules once, of all elements; the rules of colors and boxes in each scheme at each width.
const LOOKS = [
  { colorScheme: 'light', width: 360, rules: undefined, exclude: [] },
  { colorScheme: 'light', width: 1280, rules: STYLE_RULES, exclude: LATER_ROWS },
  { colorScheme: 'dark', width: 360, rules: STYLE_RULES, exclude: LATER_ROWS },
  { colorScheme: 'dark', width: 1280, rules: STYLE_RULES, exclude: LATER_ROWS },
] as const

/** Each page, with the elements that the catalog fills and the least number of them at each size. */
const PAGES: readonly (readonly [name: string, path: string, filled: string, least: readonly [number, number]])[] = [
  ['list', '/', '#found .list > li', [50, 50]],
  ['last page of the list', '/?page=999', '#found .list > li', [1, 1]],
  ['search', '/?q=work+team&sort=changed', '#found .list > li', [50, 50]],
  ['tag', '/?tag=even&source=many&sort=name', '#tag option', [101, 101]],
  ['skill', `/skills/many/${LARGE}/`, '#about > .files li', [200, 200]],
  ['file', `/skills/many/${LARGE}/references/page-7.md`, '#file h1', [1, 1]],
  ['sources', '/sources', 'main section', [3, 3]],
  ['changes', '/changes', '#changes .list > li', [3, 3]],
  ['difference', '/changes?from=2&to=3', 'main ins', [30, 30]],
  ['pending', '/changes?pending=many', '#pending ins', [30, 150]],
  ['problems', '/problems', '#problems .list > li', [20, 100]],
  ['problems of a source', '/problems?source=many&page=2', '#problems .list > li', [20, 100]],
  ['connect', '/connect', '.snippet', [10, 10]],
  ['nothing', '/skills/many/none/', 'h1', [1, 1]],
]

describe.skipIf(noBrowser !== undefined)(`the page of a hub with many skills${reason}`, () => {
  let browser: Browser
  let empty: Repository
  let small: Repository
  beforeAll(async () => {
    browser = await Browser.start()
    empty = await Repository.create()
    small = await Repository.create()
    await small.commit({ 'calm/SKILL.md': '---\nname: calm\ndescription: Calm\n---\n' })
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await small?.[Symbol.asyncDispose]()
    await empty?.[Symbol.asyncDispose]()
  })

  describe.each([
    [200, 0],
    [2_000, 1],
  ] as const)('%i', (count, size) => {
    let repository: Repository
    let served: Served
    let shown: Watched
    beforeAll(async () => {
      repository = await Repository.create()
      const commit = await repository.commit(filesOf(count))
      const others = { failing: empty, held: small }
      served = await serve(repository, { id: 'many', source: ['update: review'], more: others, mayFail: true })
      const [many, , held] = idsOf(served.config)
      await served.daemon.parts.decisions.decide(held!, 'hold', { hold: { noPoll: true } })
      await served.daemon.parts.decisions.decide(many!, 'approve', { commit })
      await served.sync()
      const second = await repository.commit(changesOf(count, 40, 'second'))
      await served.sync()
      await served.daemon.parts.decisions.decide(many!, 'approve', { commit: second })
      await served.sync()
      await repository.commit(changesOf(count, count / 5, 'third'))
      await served.sync()
      shown = await browser.open('about:blank', { reducedMotion: 'reduce' })
    })
    afterAll(async () => {
      await shown?.page.context().close()
      await served?.[Symbol.asyncDispose]()
      await repository?.[Symbol.asyncDispose]()
    })

    test.each(PAGES)('%s', async (_, path, filled, least) => {
      const { page } = shown
      await page.goto(served.http.url + path)
      expect(await page.locator(filled).count()).toBeGreaterThanOrEqual(least[size])
      const banner = await page.locator('#banner').innerText()
      expect(banner).toMatch(/^1 source fails: failing\. 1 source waits for approval: many\.$/)
      for (const { colorScheme, width, rules, exclude } of LOOKS) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 800 })
        expect(await page.evaluate('document.scrollingElement.scrollWidth'), `at ${width}`).toBeLessThanOrEqual(width)
        expect(await barriersOn(page, rules, exclude), `${colorScheme} at ${width}`).toEqual([])
      }
    })
  })
})
