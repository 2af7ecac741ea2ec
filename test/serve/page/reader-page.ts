import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { Principal } from '../../../src/serve/principal.ts'
import { Repository } from '../../support/git/repository.ts'
import { serve } from '../../support/served.ts'
import { ask } from '../http/ask.ts'
import type { Answer } from '../http/ask.ts'

type ServeOptions = NonNullable<Parameters<typeof serve>[1]>

/** The page of a hub that the tests of a file share, for a reader whose packs each test can choose. */
export class ReaderPage {
  /** The packs of the reader: everything, until a test says otherwise. */
  packs: Principal['packs']
  #url = ''

  /** Serves these files from the first test of the group to the last one; those below `secret` are in no list. */
  static ofGroup(files: Readonly<Record<string, string>>, options: ServeOptions): ReaderPage {
    const page = new ReaderPage()
    const stack = new AsyncDisposableStack()
    beforeAll(async () => {
      const repository = stack.use(await Repository.create())
      await repository.commit(files)
      const authenticate = async () => {
        const { packs } = page
        return { id: 'ada', scopes: new Set(['page'] as const), ...(packs !== undefined && { packs }) }
      }
      const access = { isTokenRequired: true, authenticate }
      const served = stack.use(await serve(repository, { source: ["unlisted: ['secret/**']"], access, ...options }))
      page.#url = served.http.url
    })
    beforeEach(() => {
      page.packs = undefined
    })
    afterAll(async () => stack.disposeAsync())
    return page
  }

  /** Opens a path. In the text, a run of white space is one space. */
  async get(path: string): Promise<Pick<Answer, 'status' | 'text'>> {
    const { status, text } = await ask(this.#url, path, { headers: { authorization: 'Bearer x' } })
    return { status, text: text.replaceAll(/\s+/g, ' ') }
  }
}
