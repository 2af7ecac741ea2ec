import { expect, test } from 'vitest'
import { gitFailureOf, statusFailure } from '../../../../src/sync/upstream/http/http-failure.ts'
import { redirectOf } from '../../../../src/sync/upstream/http/http-redirect.ts'

const DATE = 'Sat, 28 Nov 2026 12:00:00 GMT'
const NOW = Date.parse(DATE) / 1000

interface Said {
  readonly headers?: Readonly<Record<string, string>>
  readonly text?: string
}

function answer(status: number, { headers = {}, text = '' }: Said = {}) {
  const all: Record<string, string> = { date: DATE, 'content-type': 'text/plain', ...headers }
  return { status, text, method: 'POST', header: (name: string) => all[name] }
}

const SPENT = { 'x-ratelimit-remaining': '0' }

test.each([
  ['403, spent until a time', 403, { headers: { ...SPENT, 'x-ratelimit-reset': `${NOW + 90}` } }, 90_000],
  [
    '403, spent until a time in milliseconds',
    403,
    { headers: { ...SPENT, 'x-ratelimit-reset': `${NOW}90000` } },
    86_400_000,
  ],
  ['403, spent without an end', 403, { headers: SPENT }, undefined],
  [
    '403, spent until a time that is over',
    403,
    { headers: { ...SPENT, 'x-ratelimit-reset': `${NOW - 5}` } },
    undefined,
  ],
  ['403 with a secondary limit in words', 403, { text: 'You have exceeded a secondary rate limit.' }, 60_000],
  ['403 with a delay', 403, { headers: { 'retry-after': '7' } }, 7000],
  ['403 in the words of the standard', 403, { headers: { ratelimit: '"default";r=0;t=30' } }, 30_000],
  ['403 in the words of its draft', 403, { headers: { ratelimit: 'limit=9, remaining=0, reset=50' } }, 50_000],
  [
    '403 by separate headers of the draft',
    403,
    { headers: { 'ratelimit-remaining': '0', 'ratelimit-reset': '8' } },
    8000,
  ],
  ['429 with an end alone', 429, { headers: { 'x-ratelimit-reset': `${NOW + 30}` } }, 30_000],
  ['429 with an end in milliseconds', 429, { headers: { 'x-ratelimit-reset': `${NOW * 1000 + 4000}` } }, 4000],
  ['429 with an end in seconds from now', 429, { headers: { 'ratelimit-reset': '12' } }, 12_000],
  ['429 with an absurd end', 429, { headers: { 'x-ratelimit-reset': '99999999999' } }, 86_400_000],
  ['429 with a delay and an end', 429, { headers: { 'retry-after': '3', 'x-ratelimit-reset': `${NOW + 90}` } }, 3000],
  ['429 without a word', 429, {}, undefined],
])('a pause is requested by %s', (_, status, said, retryAfterMs) => {
  const failure = gitFailureOf(answer(status, said), 'Cannot reach "x"', false)

  expect(failure).toMatchObject({ code: 'rate-limited', retryAfterMs })
})

const PAGE = { 'content-type': 'text/html' }
const PASSWORD = '<form><input name=p type="password"></form>'

test.each([
  ['a 403 that has requests left', 403, { headers: { 'x-ratelimit-remaining': '4999' } }, 'credentials-rejected'],
  ['a 203 with a page', 203, { headers: PAGE, text: '<html>' }, 'credentials-rejected'],
  ['a 203 with text', 203, {}, 'credentials-rejected'],
  ['a page with a field for a password', 200, { headers: PAGE, text: PASSWORD }, 'credentials-rejected'],
  ['any other page', 200, { headers: PAGE, text: '<html>hello' }, 'source-unreachable'],
  ['text in place of git', 200, { text: 'hello' }, 'protocol-not-spoken'],
  ['400', 400, {}, 'protocol-not-spoken'],
  ['402', 402, {}, 'protocol-not-spoken'],
  ['405', 405, {}, 'protocol-not-spoken'],
  ['418', 418, {}, 'protocol-not-spoken'],
  ['451', 451, {}, 'protocol-not-spoken'],
  ['501', 501, {}, 'protocol-not-spoken'],
  ['408', 408, {}, 'source-unreachable'],
  ['500', 500, {}, 'source-unreachable'],
  ['503', 503, {}, 'source-unreachable'],
  ['404', 404, {}, 'repository-not-found'],
  ['401', 401, {}, 'credentials-rejected'],
])('%s of a git host has a code whose advice is true', (_, status, said, code) => {
  expect(gitFailureOf(answer(status, said), 'Cannot reach "x"', false)?.code).toBe(code)
})

test.each([
  [400, 'Ask the operator of the host'],
  [405, 'Ask the operator of the host; if it is an MCP server, name it so: skillsyncd add --mcp URL'],
])('the fix of a refusal with %i names what is left to do, and no reader that was tried', (status, fix) => {
  expect(gitFailureOf(answer(status), 'Cannot reach "https://hub.example/mix"', false)?.fix).toBe(fix)
})

test.each([
  ['TF401022: multi_ack\u001b[31m is required\r\nmore', 'it says "TF401022: multi_ack [31m is required"'],
  ['long '.repeat(100), `it says "${'long '.repeat(40).trim()}"`],
  ['{\n "message": "secondary rate limit",\n "url": "x" }', 'it says "secondary rate limit"'],
  ['<html><body>no</body></html>', 'the host answers 400'],
  ['', 'the host answers 400'],
])('the message has the first line that the host says, bounded and without control characters: %j', (text, end) => {
  const { message } = statusFailure(answer(400, { text }), 'Cannot reach "x"', false)

  expect(message.endsWith(end)).toBe(true)
})

const MCP = 'Cannot reach "https://hub.example/mcp"'
const RPC = '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request"},"id":null}'

test.each([
  ['404 at /mcp', 404, {}, MCP, 'repository-not-found'],
  ['405 at /mcp/', 405, {}, 'Cannot reach "http://127.0.0.1:8741/mcp/"', 'protocol-not-spoken'],
  ['406 at /sse', 406, {}, 'Cannot reach "https://hub.example/sse"', 'protocol-not-spoken'],
  ['400 that speaks JSON-RPC', 400, { text: RPC }, 'Cannot reach "https://hub.example/x"', 'protocol-not-spoken'],
  [
    '404 of a session',
    404,
    { headers: { 'mcp-session-id': 'x' } },
    'Cannot reach "https://hub.example/x"',
    'repository-not-found',
  ],
  ['200 at /mcp', 200, { text: '{}' }, MCP, 'protocol-not-spoken'],
] as const)('%s is told to look like an MCP server, with the command that adds one', (_, status, said, what, code) => {
  const failure = gitFailureOf(answer(status, said), what, false)

  expect(failure?.code).toBe(code)
  expect(failure?.message).toMatch(/; this looks like an MCP server: .*skillsyncd add --mcp URL/)
})

test.each([
  ['404 elsewhere', 404, 'Cannot reach "https://hub.example/team/skills.git"'],
  ['404 of a repository mcp.git', 404, 'Cannot reach "https://hub.example/team/mcp.git"'],
  ['404 of a repository mcp', 404, 'Cannot reach "https://github.com/acme/mcp"'],
  ['404 below /mcp', 404, 'Cannot reach "https://hub.example/mcp/skills"'],
  ['401 at /mcp', 401, MCP],
  ['503 at /mcp', 503, MCP],
])('%s is not', (_, status, what) => {
  expect(gitFailureOf(answer(status), what, false)?.message).not.toContain('MCP')
})

const ASKED = new URL('https://git.example/o/r.git/info/refs?service=git-upload-pack')

test.each([
  'https://login.example/common/oauth2/authorize?client_id=1',
  '/users/sign_in',
  '/_signin?realm=git.example',
  '/login?next=%2Fo%2Fr',
  '/accounts/Logon.aspx',
  'https://idp.example/app?RelayState=1',
  '/start?return_to=%2Fo',
])('a redirect to %s is a missing credential, of a GET and of a POST', (location) => {
  for (const method of ['GET', 'POST'])
    expect(() => redirectOf(answer(302, { headers: { location } }), method, ASKED, 'x')).toThrow(
      expect.objectContaining({ code: 'credentials-rejected' }),
    )
})

test.each([
  ['https://other.example/o/r.git/info/refs?service=git-upload-pack', 'source-unreachable'],
  ['https://portal.example/', 'source-unreachable'],
  ['https://other.example/login/r.git/info/refs', 'source-unreachable'],
])('a redirect to %s of another origin is refused as ever', (location, code) => {
  expect(() => redirectOf(answer(302, { headers: { location } }), 'GET', ASKED, 'x')).toThrow(
    expect.objectContaining({ code }),
  )
})

test('a redirect of a repository whose name is that of a page to sign in is followed', () => {
  const location = '/new/login.git/info/refs?service=git-upload-pack'

  expect(redirectOf(answer(301, { headers: { location } }), 'GET', ASKED, 'x').pathname).toBe(
    '/new/login.git/info/refs',
  )
})
