import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import type { AxeResults } from 'axe-core'
import { chromium } from 'playwright-core'
import type { BrowserContextOptions, Browser as Chromium, Page } from 'playwright-core'
import { programPath } from './has-program.ts'

const PROGRAM = programPath('chromium')

/** Why no test with a browser can run here; undefined where it can. */
export const noBrowser: string | undefined = PROGRAM === undefined ? 'there is no chromium on PATH' : undefined

/** Where pictures of pages are left for people to look at. */
const PICTURES = fileURLToPath(new URL('../../output/page/', import.meta.url))

/** A browser with an empty profile that finds no host but this machine. */
export class Browser implements AsyncDisposable {
  readonly #chromium: Chromium

  private constructor(browser: Chromium) {
    this.#chromium = browser
  }

  static async start(): Promise<Browser> {
    const args = [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
    ]
    return new Browser(
      await chromium.launch({ ...(PROGRAM !== undefined && { executablePath: PROGRAM }), headless: true, args }),
    )
  }

  /** Opens a page as somebody who has never been there. */
  async open(url: string, options: BrowserContextOptions = {}): Promise<Watched> {
    const context = await this.#chromium.newContext(options)
    const page = await context.newPage()
    const watched = watch(page)
    await page.goto(url)
    return watched
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chromium.close()
  }
}

/** A page, and what it did besides being shown. */
export interface Watched {
  readonly page: Page
  /** What it said on the console, errors of its scripts and refusals of its policy among that. */
  readonly said: readonly string[]
  readonly dialogs: readonly string[]
  /** The addresses that anything was asked for. */
  readonly asked: readonly string[]
}

function watch(page: Page): Watched {
  const [said, dialogs, asked]: [string[], string[], string[]] = [[], [], []]
  page.on('console', (message) => said.push(message.text()))
  page.on('pageerror', (error) => said.push(error.message))
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  page.on('request', (request) => asked.push(request.url()))
  return { page, said, dialogs, asked }
}

/** The rules about colours and boxes: a style sheet that hides nothing leaves what all others find as it is. */
export const STYLE_RULES: readonly string[] = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable']

/**
 * What a page keeps from people with a disability, as far as a program can tell: each rule with the elements. `rules`:
 * in place of all. `exclude`: selectors of elements that are left out.
 */
export async function barriersOn(
  page: Page,
  rules?: readonly string[],
  exclude: readonly string[] = [],
): Promise<string[]> {
  // Half a megabyte, which a page that was asked before has already.
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(axe.source)
  const options = { resultTypes: ['violations'], ...(rules !== undefined && { runOnly: rules }) }
  const context = { include: [['html']], exclude: exclude.map((selector) => [selector]) }
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run(${JSON.stringify(context)}, ${JSON.stringify(options)})`,
  )
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
}

/** Leaves a picture of the page for people to look at. */
export async function picture(page: Page, name: string): Promise<void> {
  await mkdir(PICTURES, { recursive: true })
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true })
}
