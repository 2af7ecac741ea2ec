import { expect, test } from 'vitest'
import { readResource } from '../../../../src/serve/mcp/resources/resources.ts'
import { announcedBytes } from '../../../../src/serve/mcp/tools/response-size.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { catalogOfWorld, readWorld } from '../../../support/content/contract-world.ts'

const FILES = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`files/${index}.txt`, `${index}\n`]))
const FORMS = formsOf({ archives: ['tar.gz'] })

test.each([
  ['the index', 'skill://index.json'],
  ['a manifest', 'skill://team/a/_manifest'],
  ['an archive', 'skill://team/a.tar.gz'],
])('%s counts as large as it is, once it was made', async (_, uri) => {
  const catalog = catalogOfWorld({ team: { skills: [{ path: 'a', id: 'a', files: FILES, body: 'x'.repeat(2_000) }] } })
  const read: any = await readResource(catalog, uri, { era: 'modern' }, { forms: FORMS, read: readWorld })
  const [{ text, blob }] = read.contents

  const asked = announcedBytes(catalog, FORMS, { method: 'resources/read', params: { uri } })

  expect(asked).toBeGreaterThan(Buffer.byteLength(text ?? blob))
})
