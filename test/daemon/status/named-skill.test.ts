import { expect, test } from 'vitest'
import { unknownNameHint } from '../../../src/daemon/status/named-skill.ts'

test('a name that no skill has leads to the closest one, to the list, or to a sync where there is none', () => {
  const all = ['pdf', 'review'].map((name) => ({ source: 'team', path: name, uri: undefined, name }))

  expect(unknownNameHint(all, 'pfd')).toBe('did you mean "pdf"?')
  expect(unknownNameHint(all, 'deployment')).toBe('skillsyncd list shows them')
  expect(unknownNameHint([], 'pdf')).toBe('none is served yet: skillsyncd sync brings them, or shows why it cannot')
})
