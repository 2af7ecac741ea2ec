import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../src/base/json-object.ts'
import { EditRefused } from '../../src/base/settings/edit-refused.ts'
import { withMembers } from '../../src/base/settings/jsonc-edit.ts'
import { parseJsonc } from '../../src/base/settings/jsonc-tree.ts'
import { netrcToken, withNetrcToken } from '../../src/base/settings/netrc-edit.ts'
import type { JsonMember, SettingsEdit } from '../../src/base/settings/settings-edit.ts'
import { parseToml, withTables } from '../../src/base/settings/toml-edit.ts'
import { expect, refuse } from './target.ts'
import type { Target } from './target.ts'

/** Editors of the files of agents and of git. */
export const SETTINGS = {
  jsonc: async (bytes) => {
    const edit = (text: string) => withMembers(text, MEMBERS)
    const { text } = twice(bytes, edit)
    const value = JSON.stringify(parseJsonc(text)?.value)
    expect(value.includes('"docs@acme":true') && value.includes('"https://hub/x.git"'), 'a member is missing')
  },
  toml: async (bytes) => {
    const edit = (text: string) => withTables(text, [TABLE])
    const { text, changed } = twice(bytes, edit)
    const { plugins } = parseToml(text)
    const table = isObject(plugins) ? plugins['docs@acme'] : undefined
    expect(isObject(table) && table['enabled'] === true, 'the table is missing')
    expect(changed.length === 0 || text.startsWith(bytes.toString('utf8')), 'the text before the table changed')
  },
  netrc: async (bytes) => {
    const edit = (text: string) => withNetrcToken(text, 'hub', 'sks_new')
    const { text } = twice(bytes, edit)
    // An entry for all hosts before it has priority, and stays.
    const token = netrcToken(text, 'hub')
    expect(token === 'sks_new' || /\bdefault\b/.test(text), 'git gets another token')
  },
} as const satisfies Readonly<Record<string, Target>>

const MEMBERS: readonly JsonMember[] = [
  { path: ['enabledPlugins', 'docs@acme'], value: true },
  { path: ['list'], item: 'https://hub/x.git' },
]
const TABLE = { path: ['plugins', 'docs@acme'], values: { enabled: true } }

/** The edit, of which a second one changes nothing. */
function twice(bytes: Buffer, edit: (text: string) => SettingsEdit): SettingsEdit {
  try {
    const first = edit(bytes.toString('utf8'))
    const second = edit(first.text)
    expect(second.text === first.text && isDeepStrictEqual(second.changed, []), 'a second edit changes the text')
    return first
  } catch (error) {
    if (error instanceof EditRefused) refuse(error.message)
    throw error
  }
}

/** Sound files of each kind. */
export const SETTINGS_SEEDS: Readonly<Record<keyof typeof SETTINGS, readonly string[]>> = {
  jsonc: [
    '{\n  // mine\n  "theme": "dark", /* why */\n  "enabledPlugins": { "a@b": false, },\n  "list": ["x", // y\n  ],\n}\n',
    '\uFEFF{"env":{"KEY":"\\u00e9"},"list":[],"enabledPlugins":{"docs@acme":false,"__proto__":{}},"n":[1,-2.5e3,null]}',
    '{\r\n\t"list": ["https://hub/x.git"]\r\n}\r\n',
  ],
  toml: [
    'model = "x"\n[mcp_servers.a]\nargs = ["-y", \'b\']\nenv = { K = "v" }\n[plugins."a@b"]\nenabled = false\n',
    '# c\r\ndate = 2026-01-01T00:00:00Z\r\ntext = """\r\n[plugins."docs@acme"]\r\n"""\r\n[[list]]\r\nn = 1_000\r\n',
    '[plugins."docs@acme"]\nenabled = true\nmore = 0xFFFFFFFFFFFFFF\n',
  ],
  netrc: [
    'machine a login b password c\nmachine hub\n\tlogin token\n\tpassword old # mine\n',
    '# machine hub\nmachine a login b password c account d\nmacdef init\ncd /x\n\ndefault login e password f\n',
  ],
}
