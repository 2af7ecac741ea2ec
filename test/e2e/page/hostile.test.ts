import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { idsOf } from '../../../src/daemon/config/config.ts'
import { Repository } from '../../support/git/repository.ts'
import { Browser, noBrowser } from '../../support/process/browser.ts'
import type { Watched } from '../../support/process/browser.ts'
import { serve } from '../../support/served.ts'
import type { Served } from '../../support/served.ts'

const reason = noBrowser === undefined ? '' : ` (skipped: ${noBrowser})`

/** What each of these would do if it ran: open a dialog. And if it loaded: ask a host that is not ours. */
const SHOTS = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(2)>',
  '<svg onload=alert(3)><script>alert(4)</script></svg>',
  '<iframe srcdoc="<script>alert(5)</script>"></iframe>',
  '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
  '<style>body{display:none}*{background:url(https://evil.example/css)}</style>',
  '<link rel=stylesheet href=https://evil.example/x.css>',
  '<base href="https://evil.example/">',
  '<form action="https://evil.example/"><button autofocus onfocus=alert(6)>x</button></form>',
  '<object data="data:text/html,<script>alert(7)</script>"></object>',
  '<a href="javascript:alert(8)">html</a>',
  '</title></textarea></script></style></template><script>alert(9)</script>',
  '${alert(10)} {{constructor.constructor("alert(11)")()}} <%= alert(12) %>',
  '<template><script>alert(13)</script></template>',
  '<input name=q id=found><div id=heard>',
]

const DOCUMENT = [
  ...SHOTS,
  '[js](javascript:alert(20)) [JS](JaVaScRiPt:alert(21)) [tab](java\tscript:alert(22)) [entity](&#106;avascript:alert(23))',
  '[data](data:text/html;base64,PHNjcmlwdD5hbGVydCgyNCk8L3NjcmlwdD4=) [vb](vbscript:alert(25)) [file](file:///etc/passwd)',
  '[blob](blob:https://evil.example/x) [scheme](//evil.example/x) [back](\\\\evil.example) [root](/logout)',
  '[out](../../../../../../../etc/passwd) [enc](..%2f..%2f..%2flogout) [nul](a%00b) [quote](https://evil.example/"onmouseover="alert(26))',
  '![pixel](https://evil.example/pixel.png) ![js](javascript:alert(27)) ![svg](data:image/svg+xml,<svg/onload=alert(28)>)',
  '<javascript:alert(29)> <https://evil.example/auto>',
  '[ref]: javascript:alert(30) "title"',
  'See [ref] and ![alt <img src=x onerror=alert(31)>][ref].',
  '# <img src=x onerror=alert(32)> heading {#x onclick=alert(33)}',
  '```"><script>alert(34)</script>\n<script>alert(35)</script>\n```',
  '| <script>alert(36)</script> | b |\n|:-:|-|\n| <img src=x onerror=alert(37)> | `<script>alert(38)</script>` |',
  'seen \u202Etxt.exe\u202C and \u200B\u{E0041}\u{E0042} and \u0007bell',
].join('\n\n')

const HOSTILE = SHOTS.join(' ')

const TAGS = ['"><script>alert(60)</script>', '</select><img src=x onerror=alert(61)>', 'javascript:alert(62)']

const FILES = {
  'wild/SKILL.md': `---\nname: wild\ndescription: ${JSON.stringify(HOSTILE.slice(0, 1000))}\nlicense: ${JSON.stringify(HOSTILE.slice(0, 400))}\ntags: ${JSON.stringify(TAGS)}\n"<img src=x onerror=alert(40)>": ${JSON.stringify('</dd><script>alert(41)</script>')}\n---\n${DOCUMENT}\n`,
  'wild/<img src=x onerror=alert(42)>.md': DOCUMENT,
  'wild/page.html': HOSTILE,
  'wild/picture.svg': '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(43)"/>',
  'wild/"onclick="alert(44)".txt': HOSTILE,
  'evil "><script>alert(45)<x>/SKILL.md': '---\nname: Evil <script>alert(46)</script>\ndescription: x\n---\n',
}

describe.skipIf(noBrowser !== undefined)(`a hostile skill in a browser${reason}`, () => {
  let browser: Browser
  let repository: Repository
  let served: Served
  beforeAll(async () => {
    browser = await Browser.start()
    repository = await Repository.create()
    await repository.commit(FILES, { message: HOSTILE })
    // By default such a skill is withheld; where it is noted, the page has to show it.
    served = await serve(repository, { source: ['hidden_unicode: note'] })
    await repository.commit(
      { 'wild/SKILL.md': `${FILES['wild/SKILL.md']}\n<script>alert(47)</script>\n` },
      { message: HOSTILE },
    )
    await served.sync()
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await served?.[Symbol.asyncDispose]()
    await repository?.[Symbol.asyncDispose]()
  })

  const pages = {
    'the list': '/',
    'a search for it': `/?q=${encodeURIComponent('<script>alert(50)</script>')}&source=${encodeURIComponent('"><img src=x onerror=alert(51)>')}`,
    'a filter by its tag': `/?tag=${encodeURIComponent('</select><img src=x onerror=alert(61)>')}`,
    'a filter by a tag that no skill has': `/?tag=${encodeURIComponent('<script>alert(53)</script>')}`,
    'its page': '/skills/fx/wild/',
    'its SKILL.md as text': '/skills/fx/wild/SKILL.md',
    'a Markdown file of it': `/skills/fx/wild/${encodeURIComponent('<img src=x onerror=alert(42)>.md')}`,
    'a page among its files': '/skills/fx/wild/page.html',
    'a picture among its files': '/skills/fx/wild/picture.svg',
    'the problems': '/problems',
    'the changes': '/changes',
    'the difference': '/changes?from=1&to=2',
    'the sources': '/sources',
    'an address that says something': `/skills/${encodeURIComponent('<script>alert(52)</script>')}/`,
  }

  test.each(Object.entries(pages))('%s runs nothing, and asks no other host for anything', async (_, path) => {
    const watched = await browser.open(served.http.url + path)

    await provoke(watched)

    expect(watched.dialogs).toEqual([])
    expect(watched.asked.filter((url) => !url.startsWith(`${served.http.url}/`))).toEqual([])
    // A refusal of the policy would mean that something of it had become part of the page.
    expect(watched.said.filter((text) => !text.includes('404'))).toEqual([])
  })

  test('the feed of its changes is XML, whatever it and a decision about it say', async () => {
    const [id] = idsOf(served.config)
    const reason = `${HOSTILE} ]]> \u0000 \u0001 \u202E \uFFFE \uD800 & &amp;`
    await served.daemon.parts.decisions.disable(id!, 'wild', true, { reason })
    await served.daemon.parts.decisions.disable(id!, 'wild', false)
    const { page } = await browser.open(`${served.http.url}/changes`)

    const feed = await page.evaluate<{ errors: number; entries: string[][] }>(`(async () => {
      const address = document.querySelector('link[rel=alternate]').href
      const feed = new DOMParser().parseFromString(await (await fetch(address)).text(), 'application/xml')
      const entries = [...feed.querySelectorAll('entry')]
      const textsOf = (entry) => ['id', 'title', 'content'].map((name) => entry.querySelector(name).textContent)
      return { errors: feed.querySelectorAll('parsererror').length, entries: entries.map(textsOf) }
    })()`)
    await page.goto('about:blank')
    const elements = await page.evaluate<string[]>(`${JSON.stringify(feed.entries.map(([, , content]) => content))}
      .flatMap((text) => [...new DOMParser().parseFromString(text, 'text/html').querySelectorAll('body *')])
      .map(({ localName }) => localName)`)

    expect(feed.errors).toBe(0)
    expect(feed.entries).toHaveLength(4)
    expect(feed.entries[1]?.[1]).toMatch(/^disable fx\/wild by a person: <script>/)
    expect(new Set(feed.entries.map(([entry]) => entry)).size).toBe(4)
    expect(new Set(elements).difference(new Set(['p', 'bdi', 'span', 'strong', 'code', 'ul', 'li']))).toEqual(new Set())
  })

  test('what it says is there to be read, as text', async () => {
    const { page } = await browser.open(`${served.http.url}/skills/fx/wild/`)

    const text = await page.locator('.prose').textContent()

    for (const shot of SHOTS) expect(text).toContain(shot)
    const seen = await page.locator('.prose .unseen').allTextContents()
    expect(seen).toEqual(['U+202E', 'U+202C', 'U+200B U+E0041 U+E0042', 'U+0007'])
  })

  test('its links lead to nothing but the web, its own files and its own headings', async () => {
    const { page } = await browser.open(`${served.http.url}/skills/fx/wild/`)

    const links = await page.locator('.prose a').evaluateAll((all) => all.map((link) => link.getAttribute('href')))

    expect(links).toEqual(['https://evil.example/%22onmouseover=%22alert(26)', 'https://evil.example/auto'])
    expect(await page.locator('.prose a:not([rel="noopener noreferrer nofollow"])').count()).toBe(0)
    expect(await page.locator('.prose img, .prose svg, .prose script, .prose [style], .prose form').count()).toBe(0)
  })

  test('were something of it to get through, the policy of the page would still refuse it', async () => {
    const { page, said, dialogs } = await browser.open(`${served.http.url}/`)
    const refused: string[] = []
    page.on('requestfailed', (request) => refused.push(`${request.url()} ${request.failure()?.errorText}`))

    await page.evaluate(`document.body.insertAdjacentHTML('beforeend',
      '<img src="https://evil.example/p.png" onerror="alert(1)"><img src="/favicon.ico"><iframe src="https://evil.example/"></iframe>')
      const script = document.createElement('script'); script.textContent = 'alert(2)'; document.body.append(script)`)
    await expect.poll(() => said.length).toBeGreaterThanOrEqual(4)

    expect(said.every((text) => text.includes('Content Security Policy'))).toBe(true)
    expect(dialogs).toEqual([])
    expect(refused).toContain('https://evil.example/p.png csp')
    expect(said.filter((text) => text.includes('/favicon.ico'))).toHaveLength(1)
  })
})

/** Does to a page what people do: goes through it with the keyboard, over it with the mouse, and types. */
async function provoke({ page }: Watched): Promise<void> {
  for (let at = 0; at < 12; at += 1) await page.keyboard.press('Tab')
  for (const element of (await page.locator('main a, main span, main pre').all()).slice(0, 10))
    await element.hover({ timeout: 1_000 }).catch(() => undefined)
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
}
